/* A rung's program: its kernels, their arguments and their launches. */
#include "base/clock.h"
#include "io/fs.h"
#include "workloads/common/session_parts.h"
#include "workloads/operator/cuda.h"

#include <stdlib.h>

#define CUDA(call) TRY(cuda_check(&s->sample.gpu->api, s->sample.gpu->api.call, #call, err))

/* ---- launch ---------------------------------------------------------------------------------- */

static status_t launch_one(operator_cuda_t *s, size_t i, error_t *err) {
    const launch_size_t *size = &s->sizes[i];
    const unsigned *grid = size->grid, *threads = size->threads, *cluster = size->cluster;
    const bool clustered = cluster[0] * cluster[1] * cluster[2] > 1;
    if (!clustered && !s->launches.items[i].cooperative) {
        CUDA(launch(s->functions[i], grid[0], grid[1], grid[2], threads[0], threads[1], threads[2],
                    size->shared, s->sample.gpu->stream, s->arguments, NULL));
        return STATUS_OK;
    }
    cu_launch_attribute_t attributes[2];
    unsigned n = 0;
    if (s->launches.items[i].cooperative)
        attributes[n++] = (cu_launch_attribute_t){.id = CU_LAUNCH_COOPERATIVE, .value.flag = 1};
    if (clustered)
        attributes[n++] = (cu_launch_attribute_t){
            .id = CU_LAUNCH_CLUSTER, .value.cluster = {cluster[0], cluster[1], cluster[2]}};
    const cu_launch_config_t config = {.grid = {grid[0], grid[1], grid[2]},
                                       .block = {threads[0], threads[1], threads[2]},
                                       .dynamic_shared = size->shared,
                                       .stream = s->sample.gpu->stream,
                                       .attributes = attributes,
                                       .n_attributes = n};
    CUDA(launch_ex(&config, s->functions[i], s->arguments, NULL));
    return STATUS_OK;
}

status_t operator_launch(gpu_sample_t *sample, error_t *err) {
    operator_cuda_t *s = (operator_cuda_t *)sample;
    for (size_t i = 0; i < s->launches.n; i++)
        if (launch_one(s, i, err) != STATUS_OK)
            return error_within(err, "kernel \"%s\"", s->launches.items[i].entry);
    return STATUS_OK;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void set_scalar(operator_cuda_t *s, size_t i) {
    const operator_scalar_t *scalar = &s->description->scalars[i];
    switch (scalar->element) {
    case ELEMENT_F32:
        s->scalars[i].f32 = (float)scalar->value;
        break;
    case ELEMENT_I32:
        s->scalars[i].i32 = (int32_t)scalar->value;
        break;
    case ELEMENT_I64:
        s->scalars[i].i64 = (int64_t)scalar->value;
        break;
    default:
        s->scalars[i].f64 = scalar->value;
    }
}

/* In the order of OPERATOR_ARGUMENTS (operators.c). */
void operator_list_arguments(operator_cuda_t *s, const case_t *spec) {
    static const array_role_t ORDER[] = {ARRAY_INPUT, ARRAY_IN_PLACE, ARRAY_OUTPUT,
                                         ARRAY_WORKSPACE};
    const operator_description_t *d = s->description;
    size_t n = 0;
    for (size_t o = 0; o < sizeof ORDER / sizeof *ORDER; o++)
        for (size_t i = 0; i <= d->n_arrays; i++)
            if (s->arrays[i].role == ORDER[o])
                s->arguments[n++] = &s->arrays[i].current;
    for (size_t i = 0; i < d->n_scalars; i++) {
        set_scalar(s, i);
        s->arguments[n++] = &s->scalars[i];
    }
    for (size_t i = 0; i < d->params.n; i++) {
        s->params[i] = case_param_int(spec, d->params.items[i], 0);
        if (!d->constant[i])
            s->arguments[n++] = &s->params[i];
    }
}

/* ---- loading --------------------------------------------------------------------------------- */

static status_t load_functions(session_t *session, operator_cuda_t *s, const char *image,
                               error_t *err) {
    gpu_t *gpu = s->sample.gpu;
    CUDA(module_load(&s->module, image));
    for (size_t i = 0; i < s->launches.n; i++) {
        const launch_size_t *size = &s->sizes[i];
        const unsigned threads = size->threads[0] * size->threads[1] * size->threads[2];
        double occupancy_frac;
        if (cuda_check(
                &gpu->api,
                gpu->api.module_function(&s->functions[i], s->module, s->launches.items[i].entry),
                "module_function", err) != STATUS_OK ||
            gpu_prepare_function(gpu, s->functions[i], threads, size->shared, &occupancy_frac,
                                 err) != STATUS_OK)
            return error_within(err, "kernel \"%s\"", s->launches.items[i].entry);
        if (i == 0 || occupancy_frac < session->resources.occupancy_frac)
            session->resources.occupancy_frac = occupancy_frac;
        if (gpu->arch >= 90) /* allow more than 8 blocks in a cluster */
            CUDA(function_set(s->functions[i], CU_FUNCTION_NON_PORTABLE_CLUSTER, 1));
    }
    return STATUS_OK;
}

static status_t evaluate(session_t *session, operator_cuda_t *s, const case_t *spec,
                         size_t *workspace_bytes, error_t *err) {
    operator_values_t values;
    description_values(s->description, spec, s->sample.gpu->multiprocessors, &values);
    for (size_t i = 0; i < s->launches.n; i++)
        TRY(session_skip(session, launches_size(&s->launches.items[i], &values,
                                                (unsigned)s->sample.gpu->arch, &s->sizes[i], err)));
    return session_skip(session, launches_workspace(&s->launches, &values, workspace_bytes, err));
}

static status_t load_image(session_t *session, const char *image, size_t bytes,
                           size_t *workspace_bytes, error_t *err) {
    operator_cuda_t *s = session->state;
    cubin_t cubin;
    const int64_t start_ns = clock_ns();
    TRY(cubin_open(image, bytes, &cubin, err));
    TRY(launches_read(&cubin, &s->launches, err));
    TRY(evaluate(session, s, &session->spec, workspace_bytes, err));
    TRY(load_functions(session, s, image, err));
    session_add_once(session, "module_load", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

status_t operator_program_load(session_t *session, const char *path, size_t *workspace_bytes,
                               error_t *err) {
    char *image;
    size_t bytes;
    TRY(fs_read(path, &image, &bytes, err));
    const status_t status = load_image(session, image, bytes, workspace_bytes, err);
    free(image);
    return status;
}

void operator_program_unload(operator_cuda_t *s) {
    if (s->module != NULL)
        s->sample.gpu->api.module_unload(s->module);
    s->module = NULL;
}

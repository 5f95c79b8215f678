/* mlp_train on a GPU: opening and closing a case, and handing out its output. */
#include "workloads/mlp_train/cuda.h"

#include "base/clock.h"
#include "base/memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/sessions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the case needs -------------------------------------------------------------------- */

static allocator_kind_t kind_of(const case_t *spec) {
    const char *name = case_technique(spec, "allocator");
    allocator_kind_t kind = ALLOCATOR_CACHING;
    while (ALLOCATOR_NAMES[kind] != NULL && strcmp(ALLOCATOR_NAMES[kind], name) != 0)
        kind++;
    return kind;
}

/* Replayed steps use the addresses of the capture: an allocator must not give them away. */
static status_t check_graph(const mlpt_cuda_t *s, error_t *err) {
    if (!s->program.plan.graph || s->kind == ALLOCATOR_CACHING || s->kind == ALLOCATOR_ARENA)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "the addresses in its graph are for good, and allocator %s gives memory back "
                     "to the driver: it is for caching and arena",
                     ALLOCATOR_NAMES[s->kind]);
}

static status_t check_room(session_t *session, error_t *err) {
    mlpt_cuda_t *s = session->state;
    const double device_bytes = mlpt_cuda_bytes(&s->shape);
    const double gradient_bytes = 3 * sizeof(float) * mlpt_parameters(&s->shape); /* of the check */
    session->skipped = true;
    TRY(check_graph(s, err));
    TRY(gpu_room(s->gpu, device_bytes + gradient_bytes, err));
    TRY(mlpt_data_room(&session->spec, gradient_bytes, err));
    session->skipped = false;
    session->resources.peak_device_bytes = (int64_t)device_bytes;
    return STATUS_OK;
}

/* ---- the training whose results are kept ---------------------------------------------------- */

static status_t keep_losses(mlpt_cuda_t *s, error_t *err) {
    double *losses = mem_alloc(s->shape.steps * sizeof *losses);
    for (size_t i = 0; i < s->shape.steps; i++)
        losses[i] = s->host_losses[i];
    status_t status = mnist_fit_add(&s->fit, losses, s->shape.steps, err);
    free(losses);
    return status;
}

static status_t train_epoch(mlpt_cuda_t *s, uint32_t number, error_t *err) {
    mlpt_cuda_shuffle(s, number);
    TRY(mlpt_cuda_upload_order(s, err));
    TRY(mlpt_cuda_epoch(s, s->shape.steps, err));
    TRY(mlpt_cuda_validate(s, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(keep_losses(s, err));
    const mnist_epoch_t epoch = {.validation_loss = (double)s->host_sums[0] / MNIST_TEST_IMAGES,
                                 .accuracy = (double)s->host_sums[1] / MNIST_TEST_IMAGES,
                                 .has_memory = true,
                                 .memory = allocator_stats(s->allocator)};
    return mnist_fit_add_epoch(&s->fit, &epoch, err);
}

/* What came before the first epoch, a capture's allocations, is the first epoch's. */
static status_t first_training(session_t *session, error_t *err) {
    mlpt_cuda_t *s = session->state;
    s->fit = mnist_fit_of_epochs(s->shape.steps * s->shape.epochs, s->shape.epochs);
    TRY(mlpt_cuda_restore(s, err));
    TRY(gpu_sync(s->gpu, err));
    int64_t start_ns = clock_ns();
    for (uint32_t epoch = 0; epoch < s->shape.epochs; epoch++) {
        if (epoch > 0)
            allocator_epoch(s->allocator);
        TRY(train_epoch(s, epoch, err));
    }
    session_add_once(session, "training", (double)(clock_ns() - start_ns));
    session->results_json =
        mnist_fit_json(&s->fit, s->data->images, "allocator", ALLOCATOR_NAMES[s->kind]);
    return STATUS_OK;
}

/* ---- opening and closing -------------------------------------------------------------------- */

/* Whatever is loaded or allocated on first use, a capture would refuse. The last step's blocks are
 * smaller where its batch is, and may be of segments that whole batches have no need of. */
static status_t capture(session_t *session, error_t *err) {
    mlpt_cuda_t *s = session->state;
    if (!s->program.plan.graph)
        return STATUS_OK;
    int64_t start_ns = clock_ns();
    mlpt_cuda_shuffle(s, 0);
    TRY(mlpt_cuda_restore(s, err));
    TRY(mlpt_cuda_upload_order(s, err));
    TRY(mlpt_cuda_first_step(s, err));
    TRY(mlpt_cuda_last_step(s, err));
    TRY(mlpt_cuda_validate(s, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(mlpt_cuda_capture(s, err));
    session_add_once(session, "graph", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    mlpt_cuda_t *s = session->state;
    TRY(gpu_program_load(s->gpu, request->cubin, &s->program, err));
    session_add_once(session, "module_load", s->program.load_ns);
    s->shape = mlpt_shape(request->spec);
    s->kind = kind_of(request->spec);
    TRY(mlpt_cuda_connect(s, err));
    TRY(check_room(session, err));
    int64_t start_ns = clock_ns();
    TRY(mlpt_data_take(request->spec, &s->data, err));
    TRY(mlpt_cuda_place(s, err));
    session_add_once(session, "data", (double)(clock_ns() - start_ns));
    const allocator_options_t options = {.device = s->gpu->device};
    session->skipped = true; /* only `async` can fail: the driver may have no pools */
    TRY(allocator_open(s->kind, &s->gpu->api, &options, &s->allocator, err));
    session->skipped = false;
    TRY(capture(session, err));
    mlpt_cuda_add_probes(session);
    return first_training(session, err);
}

static void close_case(session_t *session) {
    mlpt_cuda_t *s = session->state;
    mlpt_cuda_drop_graphs(s);
    allocator_close(s->allocator);
    gpu_memory_free(&s->memory, s->gpu);
    gpu_program_unload(s->gpu, &s->program);
    if (s->data != NULL)
        mnist_data_release(s->data);
    mnist_fit_free(&s->fit);
    free(s);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(mlpt_cuda_t), prepare, err);
}

/* ---- output --------------------------------------------------------------------------------- */

static status_t poisoned(mlpt_cuda_t *s, gpu_memory_t *memory, size_t elements, cu_pointer_t *at,
                         error_t *err) {
    TRY(gpu_memory_device(memory, s->gpu, elements * sizeof(float), at, err));
    return gpu_fill(s->gpu, *at, 0xFF, elements * sizeof(float), err);
}

/* From where a step left it, side by side as it is written. */
static status_t copy_gradient(mlpt_cuda_t *s, size_t l, float *array, error_t *err) {
    const size_t n_in = s->shape.sizes[l], n_out = s->shape.sizes[l + 1];
    float *packed = mem_alloc((n_in + 1) * n_out * sizeof *packed);
    float *bias = packed + n_in * n_out;
    const cuda_api_t *api = &s->gpu->api;
    status_t status =
        cuda_check(api, api->copy_out(packed, s->loop.gradient_w[l], n_in * n_out * sizeof *packed),
                   "copy_out", err);
    if (status == STATUS_OK)
        status = cuda_check(api, api->copy_out(bias, s->loop.gradient_b[l], n_out * sizeof *bias),
                            "copy_out", err);
    for (size_t o = 0; o < n_out && status == STATUS_OK; o++) {
        memcpy(array + o * (n_in + 1), packed + o * n_in, n_in * sizeof *array);
        array[o * (n_in + 1) + n_in] = bias[o];
    }
    free(packed);
    return status;
}

/* One step that leaves its gradients. */
static status_t run_gradients(mlpt_cuda_t *s, gpu_memory_t *memory, float **arrays, error_t *err) {
    for (size_t l = 0; l < s->shape.layers; l++) {
        const size_t n_in = s->shape.sizes[l], n_out = s->shape.sizes[l + 1];
        TRY(poisoned(s, memory, n_in * n_out, &s->loop.gradient_w[l], err));
        TRY(poisoned(s, memory, n_out, &s->loop.gradient_b[l], err));
        arrays[l] = mem_alloc((n_in + 1) * n_out * sizeof(float));
    }
    mlpt_cuda_shuffle(s, 0);
    TRY(mlpt_cuda_restore(s, err));
    TRY(mlpt_cuda_upload_order(s, err));
    TRY(mlpt_cuda_first_step(s, err));
    TRY(gpu_sync(s->gpu, err));
    for (size_t l = 0; l < s->shape.layers; l++)
        TRY(copy_gradient(s, l, arrays[l], err));
    return STATUS_OK;
}

static status_t write_gradients(mlpt_cuda_t *s, const char *folder, text_list_t *arrays,
                                error_t *err) {
    gpu_memory_t memory = {0};
    float *gradients[MLPT_MAX_LAYERS] = {NULL};
    status_t status = run_gradients(s, &memory, gradients, err);
    memset(s->loop.gradient_w, 0, sizeof s->loop.gradient_w);
    memset(s->loop.gradient_b, 0, sizeof s->loop.gradient_b);
    if (status == STATUS_OK)
        status = mnist_write_gradients(s->data, gradients, folder, arrays, err);
    gpu_memory_free(&memory, s->gpu);
    for (size_t l = 0; l < s->shape.layers; l++)
        free(gradients[l]);
    return status;
}

/* The first losses, as a sample is run; where an epoch has few steps, of several. */
static status_t first_losses(mlpt_cuda_t *s, double *values, size_t n, error_t *err) {
    TRY(mlpt_cuda_restore(s, err));
    for (size_t done = 0, epoch = 0; done < n; epoch++) {
        const size_t steps = n - done < s->shape.steps ? n - done : s->shape.steps;
        memset(s->host_losses, 0xFF, s->shape.steps * sizeof *s->host_losses);
        TRY(gpu_fill(s->gpu, s->losses, 0xFF, s->shape.steps * sizeof *s->host_losses, err));
        mlpt_cuda_shuffle(s, (uint32_t)epoch);
        TRY(mlpt_cuda_upload_order(s, err));
        TRY(mlpt_cuda_epoch(s, steps, err));
        TRY(gpu_sync(s->gpu, err));
        for (size_t i = 0; i < steps; i++)
            values[done++] = s->host_losses[i];
    }
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    mlpt_cuda_t *s = session->state;
    TRY(write_gradients(s, folder, arrays, err));
    const size_t checked = mlpt_checked_steps(&s->shape);
    double *values = mem_zeroed(checked, sizeof *values);
    status_t status = first_losses(s, values, checked, err);
    if (status == STATUS_OK)
        status = mnist_write_losses(values, checked, folder, arrays, err);
    free(values);
    return status;
}

const session_ops_t mlp_train_cuda = {.workload = "mlp_train",
                                      .open = open_case,
                                      .output = output,
                                      .finish = mlpt_cuda_split,
                                      .close = close_case};

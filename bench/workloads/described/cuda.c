/* A described workload on a GPU: opens and closes a case, and writes its outputs. */
#include "base/clock.h"
#include "base/memory.h"
#include "engine/launch.h"
#include "io/fs.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/described/data.h"
#include "workloads/described/described.h"
#include "workloads/described/host_code.h"
#include "workloads/described/launches.h"
#include "workloads/described/side_streams.h"
#include "workloads/described/signature.h"
#include "workloads/described/temporaries.h"
#include "workloads/described/tensor_maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== a program =============================================================================== */

enum {
    MOST_ARGUMENTS = DESCRIBED_ARRAYS + 1 + DESCRIBED_ARRAYS + DESCRIBED_PARAMS + 2 +
                     MOST_TEMPORARIES + MOST_TENSOR_MAPS
};

typedef struct described_cuda {
    gpu_sample_t sample;                      /* first, as gpu_sample.h asks */
    gpu_array_t arrays[DESCRIBED_SHAPES + 2]; /* the description's, workspace, temporaries */
    const description_t *description;
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n_shapes, order[DESCRIBED_SHAPES];
    described_data_t *data;
    gpu_kernel_t refill; /* kernels/common/refill.cu */
    host_code_t code;    /* in place of the module's launches */
    cu_module_t module;
    launches_t launches;
    cu_function_t functions[MOST_LAUNCHES];
    launch_size_t sizes[MOST_LAUNCHES];
    size_t part[MOST_LAUNCHES]; /* of the call, to which each belongs */
    temporaries_held_t temporaries;
    size_t temporary_bytes; /* of all, as far as they share no memory */
    struct {
        size_t first;
        launch_size_t sizes[MOST_LAUNCHES];
    } parts[OVERLAP_CHUNKS_MOST]; /* copy=overlapped */
    size_t size;                  /* number of the size param, which then is that of a part */
    tensor_maps_t maps;
    tensor_map_size_t map_sizes[MOST_TENSOR_MAPS];
    cu_tensor_map_t encoded[MOST_TENSOR_MAPS];
    cu_pointer_t encoded_for[MOST_TENSOR_MAPS]; /* addresses of their arrays; 0: not yet */
    bool takes_values;                          /* of weights: kernels/common/by_value.cuh */
    _Alignas(16) char by_value[BY_VALUE_MOST_BYTES];
    cu_pointer_t listed[DESCRIBED_SHAPES]; /* where arrays in lists are; as the arguments */
    signature_constants_t constants;
    void *arguments[MOST_ARGUMENTS]; /* point into the arrays, constants, `place` and maps */
    size_t n_arguments;              /* that all launches have */
    size_t steps;                    /* of a call */
    launch_place_t place;            /* in it */
    side_streams_t side;
} described_cuda_t;

#define CUDA(call) TRY(cuda_check(&s->sample.gpu->api, s->sample.gpu->api.call, #call, err))

/* ---- tensor maps ----------------------------------------------------------------------------- */

static const int MAP_TYPES[ELEMENT_KINDS] = {
    [ELEMENT_F32] = CU_TENSOR_MAP_FLOAT32,   [ELEMENT_F16] = CU_TENSOR_MAP_FLOAT16,
    [ELEMENT_BF16] = CU_TENSOR_MAP_BFLOAT16, [ELEMENT_F64] = CU_TENSOR_MAP_FLOAT64,
    [ELEMENT_I32] = CU_TENSOR_MAP_INT32,     [ELEMENT_I64] = CU_TENSOR_MAP_INT64,
    [ELEMENT_U8] = CU_TENSOR_MAP_UINT8,      [ELEMENT_BOOL] = CU_TENSOR_MAP_UINT8,
    [ELEMENT_I8] = CU_TENSOR_MAP_UINT8,      [ELEMENT_E4M3] = CU_TENSOR_MAP_UINT8,
    [ELEMENT_E5M2] = CU_TENSOR_MAP_UINT8};

static status_t encode_map(described_cuda_t *s, size_t i, cu_pointer_t at, error_t *err) {
    const tensor_map_size_t *of = &s->map_sizes[i];
    _Alignas(CU_TENSOR_MAP_ALIGNMENT) cu_tensor_map_t map;
    if (at % TENSOR_MAP_ALIGNMENT != 0)
        return error_set(err, STATUS_FAILED,
                         "address: found 0x%llx, expected a multiple of %d bytes",
                         (unsigned long long)at, TENSOR_MAP_ALIGNMENT);
    CUDA(tensor_map_encode(&map, MAP_TYPES[of->element], of->rank, at, of->sizes, of->strides,
                           of->box, of->steps, CU_TENSOR_MAP_NOT_INTERLEAVED, (int)of->swizzle,
                           (int)of->l2, CU_TENSOR_MAP_FILL_ZEROS));
    s->encoded[i] = map;
    s->encoded_for[i] = at;
    return STATUS_OK;
}

/* A launch takes a copy of its maps. */
static status_t encode_maps(described_cuda_t *s, error_t *err) {
    for (size_t i = 0; i < s->maps.n; i++) {
        const cu_pointer_t at = s->arrays[s->map_sizes[i].array].current;
        if (at != s->encoded_for[i] && encode_map(s, i, at, err) != STATUS_OK)
            return tensor_maps_within(&s->maps, i, err);
    }
    return STATUS_OK;
}

/* ---- launch ---------------------------------------------------------------------------------- */

static unsigned product(const unsigned sizes[3]) {
    return sizes[0] * sizes[1] * sizes[2];
}

enum { MOST_ATTRIBUTES = 3 };

/* Of a launch with attributes, which go to `attributes`; without one, it needs no configuration. No run overlaps the one
 * before. */
static cu_launch_config_t configuration(const described_cuda_t *s, size_t i, bool is_first,
                                        cu_launch_attribute_t attributes[MOST_ATTRIBUTES]) {
    const launch_size_t *size = &s->sizes[i];
    const unsigned *grid = size->grid, *threads = size->threads, *cluster = size->cluster;
    unsigned n = 0;
    if (s->launches.items[i].cooperative)
        attributes[n++] = (cu_launch_attribute_t){.id = CU_LAUNCH_COOPERATIVE, .value.flag = 1};
    if (s->launches.items[i].overlaps && s->sample.gpu->arch >= 90 && !is_first &&
        s->sample.parts.spans == NULL)
        attributes[n++] = (cu_launch_attribute_t){.id = CU_LAUNCH_OVERLAPPED, .value.flag = 1};
    if (product(cluster) > 1)
        attributes[n++] = (cu_launch_attribute_t){
            .id = CU_LAUNCH_CLUSTER, .value.cluster = {cluster[0], cluster[1], cluster[2]}};
    return (cu_launch_config_t){.grid = {grid[0], grid[1], grid[2]},
                                .block = {threads[0], threads[1], threads[2]},
                                .dynamic_shared = size->shared,
                                .stream = s->sample.gpu->stream,
                                .attributes = attributes,
                                .n_attributes = n};
}

/* Those that follow; a kernel without maps, or an index, takes the first ones alone. */
static void list_last_arguments(described_cuda_t *s, bool has_index) {
    size_t n = s->n_arguments;
    if (has_index)
        s->arguments[n++] = &s->place.index;
    for (size_t i = 0; i < s->maps.n; i++)
        s->arguments[n++] = &s->encoded[i];
}

static status_t launch_one(described_cuda_t *s, size_t i, error_t *err) {
    cu_launch_attribute_t attributes[MOST_ATTRIBUTES];
    list_last_arguments(s, s->sizes[i].repeat > 0);
    cu_launch_config_t config =
        configuration(s, i, i == 0 && s->place.step == 0 && s->place.index == 0, attributes);
    const unsigned *grid = config.grid, *block = config.block;
    const bool aside = s->launches.items[i].side_by_side && s->sample.parts.spans == NULL;
    gpu_t *gpu = s->sample.gpu;
    if (aside)
        TRY(side_streams_fork(&s->side, gpu, (unsigned)s->place.index, &config.stream, err));
    if (config.n_attributes > 0)
        CUDA(launch_ex(&config, s->functions[i], s->arguments, NULL));
    else
        CUDA(launch(s->functions[i], grid[0], grid[1], grid[2], block[0], block[1], block[2],
                    config.dynamic_shared, config.stream, s->arguments, NULL));
    return aside
               ? side_streams_join(&s->side, gpu, (unsigned)s->place.index, s->sizes[i].repeat, err)
               : STATUS_OK;
}

static status_t launch_alone(described_cuda_t *s, size_t i, error_t *err) {
    device_span_t *span = &s->sample.parts.spans[s->part[i]];
    TRY(device_span_begin(span, s->sample.gpu, err));
    TRY(launch_one(s, i, err));
    return device_span_end(span, s->sample.gpu, err);
}

/* Samples have arrays at other addresses than launches of a batch. */
static void list_addresses(described_cuda_t *s) {
    for (size_t o = 0; o < s->n_shapes; o++)
        if (s->shapes[s->order[o]].array->repeat != NULL)
            s->listed[o] = s->arrays[s->order[o]].current;
}

static status_t described_launch(gpu_sample_t *sample, error_t *err) {
    described_cuda_t *s = (described_cuda_t *)sample;
    status_t (*const launch)(described_cuda_t *, size_t, error_t *) =
        sample->parts.spans != NULL ? launch_alone : launch_one;
    list_addresses(s);
    TRY(encode_maps(s, err));
    s->place = LAUNCH_FIRST;
    while (launches_next(s->sizes, s->launches.n, s->steps, &s->place)) {
        TRY(temporaries_change(&s->temporaries, sample, s->place.position, err));
        if (launch(s, s->place.launch, err) != STATUS_OK)
            return error_within(err, "kernel \"%s\"", s->launches.items[s->place.launch].entry);
    }
    return temporaries_end(&s->temporaries, sample, err);
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* In the order of KERNEL_ARGUMENTS (kernels/common/workload.cuh). */
static void described_list_arguments(described_cuda_t *s, const case_t *spec) {
    static cu_pointer_t none;
    gpu_array_t *workspace = &s->arrays[s->n_shapes];
    const description_t *d = s->description;
    size_t n = 0;
    for (size_t o = 0; o < s->n_shapes; o++) {
        gpu_array_t *array = &s->arrays[s->order[o]];
        const described_shape_t *shape = &s->shapes[s->order[o]];
        if (described_starts(shape))
            s->arguments[n++] = array->role == ARRAY_BY_VALUE  ? array->data
                                : shape->array->repeat != NULL ? (void *)&s->listed[o]
                                                               : (void *)&array->current;
    }
    s->arguments[n++] = workspace->role == ARRAY_WORKSPACE ? &workspace->current : &none;
    n += signature_constants(d, spec, &s->constants, &s->arguments[n]);
    if (d->steps != NULL)
        s->arguments[n++] = &s->place.step;
    for (size_t i = 0; i < s->temporaries.n; i++)
        if (s->temporaries.sizes[i].starts)
            s->arguments[n++] = &s->temporaries.at[i];
    s->n_arguments = n;
}

/* ---- room on the device ---------------------------------------------------------------------- */

/* The static and the dynamic shared memory of a block together. */
static status_t check_shared(const described_cuda_t *s, const cubin_t *cubin, size_t i,
                             error_t *err) {
    const unsigned arch = (unsigned)s->sample.gpu->arch, most = launch_shared_limit(arch);
    const uint64_t fixed = cubin_shared_bytes(cubin, s->launches.items[i].entry);
    return fixed + s->sizes[i].shared <= most
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "%llu bytes of static and %u of dynamic shared memory per block; sm_%u "
                           "allows %u",
                           (unsigned long long)fixed, s->sizes[i].shared, arch, most);
}

/* Blocks that wait for each other must all be resident; `each` fit on a multiprocessor. */
static status_t check_cooperative(const described_cuda_t *s, size_t i, int each, error_t *err) {
    const unsigned *grid = s->sizes[i].grid;
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    const int n = s->sample.gpu->multiprocessors;
    return blocks <= (uint64_t)each * (uint64_t)n
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "a cooperative launch of %llu blocks, of which %d are resident on each "
                           "of %d multiprocessors",
                           (unsigned long long)blocks, each, n);
}

static status_t check_driver(const described_cuda_t *s, error_t *err) {
    return s->sample.gpu->api.launch_ex != NULL
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "this driver has no cuLaunchKernelEx (CUDA 11.8), which clusters and "
                           "cooperative and overlapping launches need");
}

/* So many clusters are resident. Those of a cooperative launch wait for each other. */
static status_t check_clusters(const described_cuda_t *s, size_t i, int resident, error_t *err) {
    const unsigned *cluster = s->sizes[i].cluster, blocks = product(s->sizes[i].grid);
    if (resident == 0)
        return error_set(err, STATUS_FAILED,
                         "a cluster of %u x %u x %u such blocks does not fit on this GPU",
                         cluster[0], cluster[1], cluster[2]);
    if (!s->launches.items[i].cooperative || blocks <= (unsigned)resident * product(cluster))
        return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "a cooperative launch of %u blocks in clusters of %u, of which %u blocks are "
                     "resident",
                     blocks, product(cluster), (unsigned)resident * product(cluster));
}

/* Of a kernel that is loaded. A driver's error is no skip. */
static status_t check_attributes(session_t *session, const described_cuda_t *s, size_t i,
                                 error_t *err) {
    const cuda_api_t *api = &s->sample.gpu->api;
    const launch_size_t *size = &s->sizes[i];
    cu_launch_attribute_t attributes[MOST_ATTRIBUTES];
    const cu_launch_config_t config = configuration(s, i, false, attributes);
    int n = 1;
    if (config.n_attributes == 0)
        return STATUS_OK;
    TRY(session_skip(session, check_driver(s, err)));
    const bool in_clusters = product(size->cluster) > 1 && api->max_clusters != NULL;
    if (s->launches.items[i].cooperative && !in_clusters) {
        CUDA(occupancy(&n, s->functions[i], (int)product(size->threads), size->shared));
        TRY(session_skip(session, check_cooperative(s, i, n, err)));
    }
    if (in_clusters) {
        CUDA(max_clusters(&n, s->functions[i], &config));
        TRY(session_skip(session, check_clusters(s, i, n, err)));
    }
    return STATUS_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

static status_t load_function(session_t *session, described_cuda_t *s, const cubin_t *cubin,
                              size_t i, error_t *err) {
    gpu_t *gpu = s->sample.gpu;
    cu_function_t *function = &s->functions[i];
    const launch_size_t *size = &s->sizes[i];
    double occupancy_frac;
    TRY(session_skip(session, check_shared(s, cubin, i, err)));
    CUDA(module_function(function, s->module, s->launches.items[i].entry));
    TRY(gpu_prepare_function(gpu, *function, product(size->threads), size->shared, &occupancy_frac,
                             err));
    if (i == 0 || occupancy_frac < session->resources.occupancy_frac)
        session->resources.occupancy_frac = occupancy_frac;
    if (s->launches.items[i].side_by_side)
        TRY(side_streams_open(&s->side, gpu, size->repeat, err));
    if (product(size->cluster) > 8)
        CUDA(function_set(*function, CU_FUNCTION_NON_PORTABLE_CLUSTER, 1));
    return check_attributes(session, s, i, err);
}

static status_t load_functions(session_t *session, described_cuda_t *s, const cubin_t *cubin,
                               const char *image, error_t *err) {
    CUDA(module_load(&s->module, image));
    for (size_t i = 0; i < s->launches.n; i++)
        if (load_function(session, s, cubin, i, err) != STATUS_OK)
            return error_within(err, "kernel \"%s\"", s->launches.items[i].entry);
    return STATUS_OK;
}

static void name_parts(described_cuda_t *s) {
    gpu_parts_t *parts = &s->sample.parts;
    parts->n = launches_kernels(&s->launches, s->part);
    for (size_t i = 0; i < s->launches.n; i++)
        snprintf(parts->phases[s->part[i]], GPU_PART_NAME, PART_PHASE "%s",
                 s->launches.items[i].entry);
}

static status_t evaluate(session_t *session, described_cuda_t *s, const cubin_t *cubin,
                         size_t *workspace_bytes, error_t *err) {
    const case_t *spec = &session->spec;
    described_values_t values;
    temporaries_t temporaries;
    TRY(temporaries_read(cubin, &temporaries, err));
    s->temporaries.n = temporaries_count(&temporaries);
    description_values(s->description, spec, s->sample.gpu->multiprocessors, &values);
    for (size_t i = 0; i < s->launches.n; i++)
        TRY(session_skip(session, launches_size(&s->launches.items[i], &values,
                                                (unsigned)s->sample.gpu->arch, &s->sizes[i], err)));
    s->place = LAUNCH_FIRST;
    while (launches_next(s->sizes, s->launches.n, s->steps, &s->place))
        s->sample.kernels++;
    name_parts(s);
    TRY(session_skip(session, tensor_maps_offered(&s->maps, s->sample.gpu, err)));
    TRY(session_skip(session, tensor_maps_size(&s->maps, s->description, spec,
                                               s->sample.gpu->multiprocessors, s->map_sizes, err)));
    if (s->takes_values)
        TRY(tensor_maps_of_memory(&s->maps, s->map_sizes, s->shapes, err));
    TRY(session_skip(session, temporaries_size(&temporaries, &s->launches, s->sizes, &values,
                                               s->temporaries.sizes, &s->temporary_bytes, err)));
    return session_skip(session, launches_workspace(&s->launches, &values, workspace_bytes, err));
}

/* Read and load a rung's program for this case, with session->state->description set: tables, sizes, kernels. Marks the case
 * as skipped if its sizes are not possible. */
static status_t described_program_load(session_t *session, const char *path,
                                       size_t *workspace_bytes, error_t *err) {
    described_cuda_t *s = session->state;
    AUTO_FREE char *image = NULL;
    size_t bytes;
    cubin_t cubin;
    TRY(fs_read(path, &image, &bytes, err));
    const int64_t start_ns = clock_ns();
    TRY(cubin_open(image, bytes, &cubin, err));
    TRY(launches_read(&cubin, &s->launches, err));
    TRY(tensor_maps_read(&cubin, &s->maps, err));
    s->takes_values = cubin_object_size(&cubin, "weights_by_value") > 0;
    TRY(evaluate(session, s, &cubin, workspace_bytes, err));
    TRY(load_functions(session, s, &cubin, image, err));
    session_add_once(session, "module_load", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

/* Host code, which launches what it likes. */
static status_t described_code_load(session_t *session, const char *path, size_t *workspace_bytes,
                                    error_t *err) {
    described_cuda_t *s = session->state;
    described_values_t values;
    const int64_t start_ns = clock_ns();
    TRY(host_code_open(path, &s->code, err));
    session_add_once(session, "module_load", (double)(clock_ns() - start_ns));
    if (!table_text_ends(s->code.workspace, WORKSPACE_TEXT))
        return error_set(err, STATUS_FAILED, "WORKSPACE: expected a text of at most %d bytes",
                         WORKSPACE_TEXT - 1);
    snprintf(s->launches.workspace, WORKSPACE_TEXT, "%s", s->code.workspace);
    description_values(s->description, &session->spec, s->sample.gpu->multiprocessors, &values);
    return session_skip(session, launches_workspace(&s->launches, &values, workspace_bytes, err));
}

/* Once its launches cannot be captured, nothing else shows that all of its work is on the stream. */
static status_t described_code_run(gpu_sample_t *sample, error_t *err) {
    described_cuda_t *s = (described_cuda_t *)sample;
    list_addresses(s);
    const char *complaint = s->code.run(s->arguments, sample->gpu->stream);
    if (complaint != NULL)
        return error_set(err, STATUS_FAILED, "run: %s", complaint);
    if (sample->waits)
        CUDA(context_sync());
    return STATUS_OK;
}

static void described_program_unload(described_cuda_t *s) {
    host_code_close(&s->code);
    if (s->module != NULL)
        s->sample.gpu->api.module_unload(s->module);
    s->module = NULL;
}

/* ==== the case ================================================================================ */

static void add_scratch(described_cuda_t *s, array_role_t role, size_t bytes) {
    if (bytes > 0)
        s->arrays[s->sample.n_arrays++] =
            (gpu_array_t){.role = role, .bytes = bytes, .random = RANDOM_BYTES};
}

/* Without a workspace, it is NULL in the kernel. */
static void list_roles(described_cuda_t *s, size_t workspace_bytes) {
    for (size_t i = 0; i < s->n_shapes; i++) {
        const described_array_t *array = s->shapes[i].array;
        s->arrays[i].name = s->shapes[i].name;
        s->arrays[i].role = !array->is_input     ? ARRAY_OUTPUT
                            : array->is_output   ? ARRAY_IN_PLACE
                            : array->is_resident ? ARRAY_RESIDENT
                            : !array->is_weight  ? ARRAY_INPUT
                            : s->takes_values    ? ARRAY_BY_VALUE
                                                 : ARRAY_WEIGHT;
        s->arrays[i].is_cut = array->is_cut;
        s->arrays[i].element_bytes = s->shapes[i].n > 0 ? s->shapes[i].bytes / s->shapes[i].n : 0;
    }
    s->sample.arrays = s->arrays;
    s->sample.n_arrays = s->n_shapes;
    add_scratch(s, ARRAY_WORKSPACE, workspace_bytes);
    add_scratch(s, ARRAY_TEMPORARY, s->temporary_bytes);
    s->temporaries.fixed = &s->arrays[s->sample.n_arrays - 1];
}

static status_t take_data(described_cuda_t *s, error_t *err) {
    const bool shifted = getenv("BENCH_SHIFT_ARRAYS") != NULL; /* docs/testing.md */
    char *by_value = s->by_value;
    for (size_t i = 0; i < s->n_shapes; i++) {
        const described_shape_t *shape = &s->data->shapes[i];
        gpu_array_t *array = &s->arrays[i];
        array->bytes = shape->bytes;
        array->shift = shifted ? element_bytes(shape->element) : 0;
        array->data = s->data->values[i];
        array->random = described_random_kind(shape->element);
        if (array->role != ARRAY_BY_VALUE)
            continue;
        const size_t room = (size_t)(s->by_value + BY_VALUE_MOST_BYTES - by_value);
        if (shape->bytes > room)
            return error_set(err, STATUS_FAILED,
                             "weights by value: %s: found %zu bytes, expected at most %zu",
                             shape->name, shape->bytes, room);
        array->data = memcpy(by_value, s->data->values[i], shape->bytes);
        by_value += shape->bytes;
    }
    return STATUS_OK;
}

static void refill_array(gpu_sample_t *sample, size_t i, void *values, uint64_t seed) {
    described_data_fill(((described_cuda_t *)sample)->data, i, values, seed);
}

_Static_assert(sizeof(fill_t) == 56, "as in kernels/common/refill.cu");

/* Without permutations, which are sorted, and constants, which stay. */
static status_t refill_there(gpu_sample_t *sample, const gpu_fill_t *asked, bool *possible,
                             error_t *err) {
    described_cuda_t *s = (described_cuda_t *)sample;
    const described_shape_t *shape = &s->data->shapes[asked->array];
    const fill_t *fill = &shape->fill;
    cu_pointer_t values = asked->values, differs = asked->differs;
    uint64_t n = shape->n, key = fill_key(s->data->seed, asked->seed);
    uint32_t number = (uint32_t)asked->array, element = shape->element;
    void *arguments[] = {&values, &n, &key, &number, &element, (void *)fill, &differs};
    *possible =
        fill->kind == FILL_UNIFORM || fill->kind == FILL_NORMAL || fill->kind == FILL_INTEGERS;
    if (!*possible || n == 0 || values == 0)
        return STATUS_OK;
    return gpu_kernel_launch(sample->gpu, &s->refill, n, arguments, err);
}

static void refill_data(gpu_sample_t *sample, uint64_t seed) {
    described_data_refill(((described_cuda_t *)sample)->data, seed);
}

static status_t prepare_refill(described_cuda_t *s, const char *cubin, error_t *err) {
    s->sample.refill = refill_array;
    s->sample.refill_data = refill_data;
    if (cubin == NULL)
        return STATUS_OK;
    TRY(gpu_kernel_load(s->sample.gpu, cubin, "refill", &s->refill, err));
    s->sample.refill_there = refill_there;
    s->sample.data_seeds = s->data->refilled;
    return STATUS_OK;
}

static status_t check_room(session_t *session, const case_t *spec, size_t workspace_bytes,
                           error_t *err) {
    const described_cuda_t *s = session->state;
    const double device_bytes = described_cost(spec).device_bytes;
    const double host_bytes = described_host_bytes(s->shapes, s->n_shapes);
    TRY(host_room((s->sample.copy == COPY_PAGEABLE ? 1 : 2) * host_bytes, err));
    return gpu_sample_applies(
        &s->sample, device_bytes + (double)workspace_bytes + (double)s->temporary_bytes, err);
}

/* ---- copy=overlapped -------------------------------------------------------------------------- */

/* Chunks of so many rows keep arrays of any width aligned. */
enum { UNIT_ROWS = 1024 };

/* The launches for a part of the size: as for all of it, on arrays that begin where the part does. */
static status_t launch_part(gpu_sample_t *sample, size_t first, size_t count, error_t *err) {
    described_cuda_t *s = (described_cuda_t *)sample;
    const size_t rows = sample->overlap.rows;
    launch_size_t whole[MOST_LAUNCHES];
    unsigned c = 0;
    while (s->parts[c].first != first)
        c++;
    memcpy(whole, s->sizes, sizeof whole);
    memcpy(s->sizes, s->parts[c].sizes, sizeof whole);
    s->constants.params[s->size] = (int64_t)count;
    for (size_t i = 0; i < s->n_shapes; i++)
        if (s->arrays[i].is_cut)
            s->arrays[i].current += first * (s->arrays[i].bytes / rows);
    const status_t status = sample->launch(sample, err);
    for (size_t i = 0; i < s->n_shapes; i++)
        if (s->arrays[i].is_cut)
            s->arrays[i].current -= first * (s->arrays[i].bytes / rows);
    s->constants.params[s->size] = (int64_t)rows;
    memcpy(s->sizes, whole, sizeof whole);
    return status;
}

/* STATUS_FAILED: a part cannot be launched alone. */
static status_t size_part(described_cuda_t *s, const case_t *spec, size_t count,
                          launch_size_t sizes[MOST_LAUNCHES], error_t *err) {
    const description_t *d = s->description;
    described_values_t values;
    int64_t allowed = 1;
    description_values(d, spec, s->sample.gpu->multiprocessors, &values);
    values.params[s->size] = (int64_t)count;
    if (d->where != NULL)
        TRY(expression_value(d->where, &values.scope, &allowed, err));
    if (allowed == 0)
        return error_set(err, STATUS_FAILED, "where: \"%s\" is false", expression_text(d->where));
    for (size_t i = 0; i < s->launches.n; i++)
        TRY(launches_size(&s->launches.items[i], &values, (unsigned)s->sample.gpu->arch, &sizes[i],
                          err));
    return STATUS_OK;
}

static status_t size_parts(described_cuda_t *s, const case_t *spec, error_t *err) {
    size_t ends[OVERLAP_CHUNKS_MOST], first = 0;
    const unsigned n = gpu_overlap_divide(&s->sample, ends);
    if (s->maps.n > 0)
        return error_set(err, STATUS_FAILED,
                         "copy=overlapped launches kernels for parts of %s, and TENSOR_MAPS are of "
                         "whole arrays",
                         s->description->workload.size_param);
    for (unsigned c = 0; c < n; c++) {
        const size_t count = ends[c] - first;
        s->parts[c].first = first;
        if (size_part(s, spec, count, s->parts[c].sizes, err) != STATUS_OK)
            return error_within(err, "copy=overlapped, %s = %zu",
                                s->description->workload.size_param, count);
        first = ends[c];
    }
    return STATUS_OK;
}

static status_t prepare_overlap(session_t *session, const case_t *spec, error_t *err) {
    described_cuda_t *s = session->state;
    const description_t *d = s->description;
    gpu_overlap_t *overlap = &s->sample.overlap;
    if (s->sample.copy != COPY_OVERLAPPED)
        return STATUS_OK;
    while (strcmp(d->params.items[s->size], d->workload.size_param) != 0)
        s->size++;
    overlap->rows = (size_t)s->constants.params[s->size];
    overlap->unit_rows = UNIT_ROWS;
    overlap->launch = launch_part;
    TRY(session_skip(session, size_parts(s, spec, err)));
    return gpu_overlap_prepare(&s->sample, err);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    described_cuda_t *s = session->state;
    gpu_sample_t *sample = &s->sample;
    const case_t *spec = request->spec;
    size_t workspace_bytes;
    s->description = described_find(spec->workload);
    s->steps = description_steps_of(s->description, spec);
    TRY(description_arrays(s->description, spec, s->shapes, &s->n_shapes, err));
    described_order(s->shapes, s->n_shapes, s->order);
    gpu_sample_techniques(sample, spec);
    sample->is_foreign = request->object != NULL;
    sample->launch = sample->is_foreign ? described_code_run : described_launch;
    if (sample->is_foreign)
        TRY(described_code_load(session, request->object, &workspace_bytes, err));
    else
        TRY(described_program_load(session, request->cubin, &workspace_bytes, err));
    gpu_sample_launch(sample, spec, s->launches.as_graph || s->code.as_graph);
    sample->steps = described_is_by_step(s->description) ? s->steps : 0;
    list_roles(s, workspace_bytes);
    /* Before making gigabytes of data. */
    TRY(session_skip(session, check_room(session, spec, workspace_bytes, err)));
    s->data = described_data_take(s->description, spec, request->seed, request->inputs);
    TRY(described_data_check(s->data, err));
    TRY(take_data(s, err));
    TRY(prepare_refill(s, request->refill, err));
    described_list_arguments(s, spec);
    for (size_t i = 0; i < sample->n_arrays; i++)
        if (s->arrays[i].role != ARRAY_BY_VALUE)
            session->resources.peak_device_bytes +=
                (int64_t)s->arrays[i].bytes *
                (gpu_sample_allocates(sample) && (array_each_sample(sample, &s->arrays[i]) ||
                                                  s->arrays[i].role == ARRAY_TEMPORARY)
                     ? 2
                     : 1);
    TRY(prepare_overlap(session, spec, err));
    TRY(gpu_sample_prepare(session, err));
    if (s->launches.algorithmic)
        session->results_json = mem_text("{\"algorithmic\":true}");
    return gpu_sample_add_probes(session, err);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return (request->object != NULL ? session_open : session_open_program)(
        session, request, sizeof(described_cuda_t), prepare, err);
}

static void close_case(session_t *session) {
    described_cuda_t *s = session->state;
    temporaries_end(&s->temporaries, &s->sample, NULL); /* of a call that failed */
    gpu_sample_free(&s->sample);
    gpu_overlap_release(&s->sample);
    side_streams_close(&s->side, s->sample.gpu);
    described_program_unload(s);
    gpu_kernel_unload(s->sample.gpu, &s->refill);
    if (s->data != NULL)
        described_data_release(s->data);
    free(s);
}

/* ---- outputs --------------------------------------------------------------------------------- */

typedef enum left { LEFT_BY_RUN, LEFT_BY_SAMPLE, LEFT_IN_THE_MIDDLE } left_t;

static status_t write_arrays(const session_t *session, left_t left, const char *folder,
                             text_list_t *names, error_t *err) {
    const described_cuda_t *s = session->state;
    for (size_t i = 0; i < s->n_shapes; i++) {
        if (!described_writes(session, s->shapes[i].array))
            continue;
        const gpu_array_t *array = &s->arrays[i];
        const void *const values[] = {array->to, array->last, array->middle};
        TRY(described_data_write(s->data, i, values[left], folder, err));
        text_list_add(names, s->shapes[i].name);
    }
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *names, error_t *err) {
    TRY(gpu_sample_output(session, err));
    return write_arrays(session, LEFT_BY_RUN, folder, names, err);
}

/* And what a call in the middle of a graph has left, in the folder "middle". */
static status_t last(session_t *session, const char *folder, text_list_t *names, error_t *err) {
    AUTO_FREE char *middle = mem_format("%s/middle", folder);
    AUTO(text_list_free) text_list_t same_names = {0};
    TRY(write_arrays(session, LEFT_BY_SAMPLE, folder, names, err));
    if (!session->has_middle)
        return STATUS_OK;
    TRY(fs_make_folders(middle, err));
    return write_arrays(session, LEFT_IN_THE_MIDDLE, middle, &same_names, err);
}

/* The supervisor times the request after it, of host code's runs, which is not to copy inputs first. */
static status_t refill_and_check(session_t *session, uint64_t seed, error_t *err) {
    described_cuda_t *s = session->state;
    TRY(gpu_sample_refill(session, seed, err));
    if (s->sample.is_foreign)
        TRY(gpu_sample_host_inputs(&s->sample, err));
    return described_data_check(s->data, err);
}

const session_ops_t described_cuda = {.workload = SESSION_DESCRIBED,
                                      .open = open_case,
                                      .refill = refill_and_check,
                                      .fill = gpu_sample_fill,
                                      .output = output,
                                      .last = last,
                                      .finish = gpu_sample_split,
                                      .close = close_case,
                                      .repeat = gpu_sample_repeat};

/* mlp_train on a GPU: opens and closes a case, and writes its output. */
#include "workloads/mlp_train/cuda.h"

#include "base/clock.h"
#include "base/memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== probes ================================================================================== */

/* The probe of an epoch on a GPU. The start weights are restored before the clock starts, and the
 * allocator keeps its cache: only the first epoch of a training starts without. */

enum { TRAIN_DEVICE, VALIDATE_DEVICE, TRAIN, VALIDATE, DRIVER, TOTAL, RESIDUAL, STEP };

enum { TRAIN_BEGINS, TRAIN_ENDS, VALIDATION_BEGINS, VALIDATION_ENDS }; /* events */

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    mlpt_cuda_t *s = session->state;
    gpu_t *gpu = s->gpu;
    double train_device_ns, validate_device_ns;
    mlpt_cuda_shuffle(s, 0);
    TRY(mlpt_cuda_restore(s, err));
    TRY(gpu_sync(gpu, err));
    allocator_epoch(s->allocator);
    const int64_t start_ns = clock_ns();
    TRY(gpu_record(gpu, TRAIN_BEGINS, err));
    TRY(mlpt_cuda_upload_order(s, err));
    TRY(mlpt_cuda_epoch(s, s->shape.steps, err));
    TRY(gpu_record(gpu, TRAIN_ENDS, err));
    TRY(gpu_sync(gpu, err));
    const int64_t trained_ns = clock_ns();
    const double driver_ns = (double)allocator_stats(s->allocator).driver_ns;
    TRY(gpu_record(gpu, VALIDATION_BEGINS, err));
    TRY(mlpt_cuda_validate(s, err));
    TRY(gpu_record(gpu, VALIDATION_ENDS, err));
    TRY(gpu_sync(gpu, err));
    const int64_t end_ns = clock_ns();
    TRY(gpu_elapsed(gpu, TRAIN_BEGINS, TRAIN_ENDS, &train_device_ns, err));
    TRY(gpu_elapsed(gpu, VALIDATION_BEGINS, VALIDATION_ENDS, &validate_device_ns, err));
    const double train_ns = (double)(trained_ns - start_ns);
    const double validate_ns = (double)(end_ns - trained_ns);
    const double total_ns = (double)(end_ns - start_ns);
    recorder_add_between(recorder, TRAIN_DEVICE, train_device_ns, start_ns, trained_ns);
    recorder_add_between(recorder, VALIDATE_DEVICE, validate_device_ns, trained_ns, end_ns);
    recorder_add_between(recorder, TRAIN, train_ns, start_ns, trained_ns);
    recorder_add_between(recorder, VALIDATE, validate_ns, trained_ns, end_ns);
    recorder_add(recorder, DRIVER, driver_ns);
    recorder_add_between(recorder, TOTAL, total_ns, start_ns, end_ns);
    recorder_add(recorder, RESIDUAL, total_ns - train_ns - validate_ns);
    recorder_add(recorder, STEP, train_ns / (double)s->shape.steps);
    return STATUS_OK;
}

static void mlpt_cuda_add_probes(session_t *session) {
    session_add_phases(session, CLOCK_DEVICE, NAMES("train_device", "validate_device"));
    session_add_phases(session, CLOCK_HOST,
                       NAMES("train", "validate", "driver", "total", "residual", "step"));
    session_add_probe(session, "epoch", probe);
}

/* ==== the case ================================================================================ */

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

enum { ALIGNMENT = 256, SUMS = 2 };

/* ---- device memory allocated while the case is open ------------------------------------------ */

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t parameter_bytes(const mlpt_shape_t *shape) {
    size_t bytes = 0;
    for (size_t l = 0; l < shape->layers; l++)
        bytes += aligned(shape->sizes[l] * shape->sizes[l + 1] * sizeof(float)) +
                 aligned(shape->sizes[l + 1] * sizeof(float));
    return bytes;
}

static double bytes_of(const mlpt_shape_t *shape) {
    const double orders = 2.0 * MNIST_IMAGES * sizeof(uint32_t);
    const double passes =
        fmax(mlpt_step_bytes(shape, mlpt_rows(shape, 0)), mlpt_validation_bytes(shape));
    return mnist_gpu_images_bytes() + orders + 2 * (double)parameter_bytes(shape) + passes;
}

/* The start weights, and where the loop finds each of their copies. Waits, because open cases share
 * the host's. */
static status_t copy_start(mlpt_cuda_t *s, error_t *err) {
    const mlpt_shape_t *shape = &s->shape;
    size_t at = 0;
    for (size_t l = 0; l < shape->layers; l++) {
        const size_t w_bytes = shape->sizes[l] * shape->sizes[l + 1] * sizeof(float);
        const size_t b_bytes = shape->sizes[l + 1] * sizeof(float);
        s->loop.w[l] = s->parameters + at;
        CUDA(copy_in_async(s->start + at, s->data->w[l], w_bytes, s->gpu->stream));
        at += aligned(w_bytes);
        s->loop.b[l] = s->parameters + at;
        CUDA(copy_in_async(s->start + at, s->data->b[l], b_bytes, s->gpu->stream));
        at += aligned(b_bytes);
    }
    return gpu_sync(s->gpu, err);
}

static status_t place_parameters(mlpt_cuda_t *s, error_t *err) {
    s->parameter_bytes = parameter_bytes(&s->shape);
    TRY(gpu_memory_device(&s->memory, s->gpu, s->parameter_bytes, &s->parameters, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->parameter_bytes, &s->start, err));
    return copy_start(s, err);
}

/* Everything but operator results: images, parameters, order, losses. */
static status_t place(mlpt_cuda_t *s, error_t *err) {
    gpu_memory_t *memory = &s->memory;
    gpu_t *gpu = s->gpu;
    const size_t order_bytes = MNIST_IMAGES * sizeof *s->host_order;
    const size_t loss_bytes = s->shape.steps * sizeof *s->host_losses;
    const size_t sum_bytes = SUMS * sizeof *s->host_sums;
    TRY(mnist_gpu_images_place(memory, gpu, s->data, false, &s->loop.train, err));
    TRY(mnist_gpu_images_place(memory, gpu, s->data, true, &s->loop.test, err));
    TRY(place_parameters(s, err));
    TRY(gpu_memory_pinned(memory, gpu, order_bytes, &s->host_order, err));
    TRY(gpu_memory_pinned(memory, gpu, loss_bytes, &s->host_losses, err));
    TRY(gpu_memory_pinned(memory, gpu, sum_bytes, &s->host_sums, err));
    TRY(gpu_memory_device(memory, gpu, order_bytes, &s->order, err));
    TRY(gpu_memory_device(memory, gpu, loss_bytes, &s->losses, err));
    TRY(gpu_memory_device(memory, gpu, sum_bytes, &s->sums, err));
    if (!s->program.plan.graph)
        return STATUS_OK;
    TRY(gpu_memory_device(memory, gpu, order_bytes, &s->window_order, err));
    return gpu_memory_device(memory, gpu, MLPT_GRAPH_STEPS * sizeof(float), &s->window_losses, err);
}

/* ---- requirements of the case ---------------------------------------------------------------- */

static allocator_kind_t kind_of(const case_t *spec) {
    const char *name = case_technique(spec, "allocator");
    allocator_kind_t kind = ALLOCATOR_CACHING;
    while (ALLOCATOR_NAMES[kind] != NULL && strcmp(ALLOCATOR_NAMES[kind], name) != 0)
        kind++;
    return kind;
}

/* Replayed steps use the addresses of the capture, so the allocator must keep that memory. */
static status_t check_graph(const mlpt_cuda_t *s, error_t *err) {
    if (!s->program.plan.graph || s->kind == ALLOCATOR_CACHING || s->kind == ALLOCATOR_ARENA)
        return STATUS_OK;
    return error_set(
        err, STATUS_FAILED,
        "its graph has fixed addresses, but allocator %s returns memory to the driver: "
        "needs caching or arena",
        ALLOCATOR_NAMES[s->kind]);
}

/* A launch of all steps needs all its blocks at the same time. */
static status_t check_resident(session_t *session, error_t *err) {
    mlpt_cuda_t *s = session->state;
    const gpu_stage_t *stage = s->stages[MLPT_TRAIN_STEPS];
    if (stage == NULL)
        return STATUS_OK;
    const unsigned blocks = (unsigned)mlpt_blocks(&stage->spec, 1, s->shape.sizes[1]);
    return session_skip(session, gpu_stage_resident(s->gpu, stage, blocks, err));
}

static status_t check_room(session_t *session, error_t *err) {
    mlpt_cuda_t *s = session->state;
    const double device_bytes = bytes_of(&s->shape);
    const double gradient_bytes = 3 * sizeof(float) * mlpt_parameters(&s->shape); /* for output() */
    TRY(session_skip(session, check_graph(s, err)));
    TRY(check_resident(session, err));
    TRY(session_skip(session, gpu_room(s->gpu, device_bytes + gradient_bytes, err)));
    TRY(session_skip(session, mlpt_data_room(&session->spec, gradient_bytes, err)));
    session->resources.peak_device_bytes = (int64_t)device_bytes;
    return STATUS_OK;
}

/* ---- the complete training, whose results are kept ------------------------------------------- */

static status_t train_epoch(mlpt_cuda_t *s, uint32_t number, error_t *err) {
    mlpt_cuda_shuffle(s, number);
    TRY(mlpt_cuda_upload_order(s, err));
    TRY(mlpt_cuda_epoch(s, s->shape.steps, err));
    TRY(mlpt_cuda_validate(s, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(mnist_fit_add_floats(&s->fit, s->host_losses, s->shape.steps, err));
    const mnist_epoch_t epoch = {.validation_loss = (double)s->host_sums[0] / MNIST_TEST_IMAGES,
                                 .accuracy = (double)s->host_sums[1] / MNIST_TEST_IMAGES,
                                 .has_memory = true,
                                 .memory = allocator_stats(s->allocator)};
    return mnist_fit_add_epoch(&s->fit, &epoch, err);
}

/* Allocations before the first epoch, as for a capture, count as part of it. */
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

/* ---- opening and closing --------------------------------------------------------------------- */

/* Runs every kind of pass first: a capture fails if anything is loaded or allocated on first use.
 * The last step has smaller blocks if its batch is smaller, which may need other segments. */
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
    TRY(place(s, err));
    session_add_once(session, "data", (double)(clock_ns() - start_ns));
    const allocator_options_t options = {.device = s->gpu->device};
    /* Only `async` can fail, on a driver without pools. */
    TRY(session_skip(session, allocator_open(s->kind, &s->gpu->api, &options, &s->allocator, err)));
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

/* ---- output ---------------------------------------------------------------------------------- */

static status_t filled(mlpt_cuda_t *s, gpu_memory_t *memory, size_t elements, cu_pointer_t *at,
                       error_t *err) {
    TRY(gpu_memory_device(memory, s->gpu, elements * sizeof(float), at, err));
    return gpu_random_fill(s->gpu, *at, elements * sizeof(float), RANDOM_F32, err);
}

/* Copy the gradients of a layer into one array, with the bias in the last column. */
static status_t copy_gradient(mlpt_cuda_t *s, size_t l, float *array, error_t *err) {
    const size_t n_in = s->shape.sizes[l], n_out = s->shape.sizes[l + 1];
    AUTO_FREE float *packed = mem_alloc((n_in + 1) * n_out * sizeof *packed);
    float *bias = packed + n_in * n_out;
    status_t status =
        gpu_copy_out(s->gpu, packed, s->loop.gradient_w[l], n_in * n_out * sizeof *packed, err);
    if (status == STATUS_OK)
        status = gpu_copy_out(s->gpu, bias, s->loop.gradient_b[l], n_out * sizeof *bias, err);
    for (size_t o = 0; o < n_out && status == STATUS_OK; o++) {
        memcpy(array + o * (n_in + 1), packed + o * n_in, n_in * sizeof *array);
        array[o * (n_in + 1) + n_in] = bias[o];
    }
    return status;
}

/* Run one step that writes its gradients. */
static status_t run_gradients(mlpt_cuda_t *s, gpu_memory_t *memory, float **arrays, error_t *err) {
    for (size_t l = 0; l < s->shape.layers; l++) {
        const size_t n_in = s->shape.sizes[l], n_out = s->shape.sizes[l + 1];
        TRY(filled(s, memory, n_in * n_out, &s->loop.gradient_w[l], err));
        TRY(filled(s, memory, n_out, &s->loop.gradient_b[l], err));
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

static status_t fill_results(mlpt_cuda_t *s, error_t *err) {
    const size_t loss_bytes = s->shape.steps * sizeof *s->host_losses;
    const size_t sum_bytes = SUMS * sizeof *s->host_sums;
    random_fill(s->host_losses, loss_bytes, RANDOM_F32);
    random_fill(s->host_sums, sum_bytes, RANDOM_F32);
    TRY(gpu_random_fill(s->gpu, s->losses, loss_bytes, RANDOM_F32, err));
    if (s->window_losses != 0)
        TRY(gpu_random_fill(s->gpu, s->window_losses, MLPT_GRAPH_STEPS * sizeof(float), RANDOM_F32,
                            err));
    return gpu_random_fill(s->gpu, s->sums, sum_bytes, RANDOM_F32, err);
}

/* The first losses, run like a sample, over as many epochs as needed. */
static status_t first_losses(mlpt_cuda_t *s, double *values, size_t n, error_t *err) {
    TRY(mlpt_cuda_restore(s, err));
    for (size_t done = 0, epoch = 0; done < n; epoch++) {
        const size_t steps = n - done < s->shape.steps ? n - done : s->shape.steps;
        TRY(fill_results(s, err));
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
    double values[MLPT_MAX_CHECKED_STEPS];
    const size_t checked = mlpt_checked_steps(&s->shape);
    TRY(first_losses(s, values, checked, err));
    return mnist_write_losses(values, checked, folder, arrays, err);
}

static status_t refill(session_t *session, uint64_t seed, error_t *err) {
    mlpt_cuda_t *s = session->state;
    if (seed == s->seed)
        return STATUS_OK;
    mnist_data_refill(s->data, seed);
    TRY(copy_start(s, err));
    s->seed = seed;
    return STATUS_OK;
}

static status_t fill(session_t *session, error_t *err) {
    mlpt_cuda_t *s = session->state;
    TRY(fill_results(s, err));
    return gpu_sync(s->gpu, err);
}

static status_t write_weights(const mlpt_cuda_t *s, const char *folder, text_list_t *arrays,
                              error_t *err) {
    float *weights = mem_alloc(s->data->n_weights * sizeof *weights);
    status_t status = STATUS_OK;
    for (size_t l = 0; l < s->shape.layers && status == STATUS_OK; l++) {
        const size_t n_in = s->shape.sizes[l], n_out = s->shape.sizes[l + 1];
        float *w = weights + (s->data->w[l] - s->data->weights);
        status = gpu_copy_out(s->gpu, w, s->loop.w[l], n_in * n_out * sizeof *w, err);
        if (status == STATUS_OK)
            status = gpu_copy_out(s->gpu, w + n_in * n_out, s->loop.b[l], n_out * sizeof *w, err);
    }
    if (status == STATUS_OK)
        status = mnist_write_weights(weights, s->data->n_weights, folder, arrays, err);
    free(weights);
    return status;
}

/* Fewer steps than are checked, if an epoch has fewer. */
static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const mlpt_cuda_t *s = session->state;
    const size_t checked = mlpt_checked_steps(&s->shape);
    const size_t n = checked < s->shape.steps ? checked : s->shape.steps;
    double values[MLPT_MAX_CHECKED_STEPS];
    for (size_t i = 0; i < n; i++)
        values[i] = s->host_losses[i];
    TRY(mnist_write_losses(values, n, folder, arrays, err));
    return write_weights(s, folder, arrays, err);
}

const session_ops_t mlp_train_cuda = {.workload = "mlp_train",
                                      .open = open_case,
                                      .refill = refill,
                                      .fill = fill,
                                      .output = output,
                                      .last = last,
                                      .finish = mlpt_cuda_split,
                                      .close = close_case};

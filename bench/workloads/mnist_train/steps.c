/* The steps of one training on the GPU. */
#include "workloads/mnist_train/cuda.h"

#include <string.h>

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

/* More than any grid: each stage of this workload limits its own grid. */
static const size_t MAX_BLOCKS = INT32_MAX;

status_t mnist_cuda_allocate(void *mnist_cuda, error_t *err) {
    mnist_cuda_t *s = mnist_cuda;
    CUDA(alloc(&s->own, s->sample.bytes));
    mnist_place(&s->sample, s->own, &s->problem);
    return STATUS_OK;
}

status_t mnist_cuda_release(void *mnist_cuda, error_t *err) {
    mnist_cuda_t *s = mnist_cuda;
    if (s->own != 0)
        CUDA(release(s->own));
    s->own = 0;
    return STATUS_OK;
}

void mnist_cuda_use_fixed(mnist_cuda_t *s) {
    mnist_place(&s->whole, s->block, &s->problem);
}

/* ---- the units of a step --------------------------------------------------------------------- */

static void add_unit(mnist_cuda_t *s, const char *name, const gpu_stage_t *stage,
                     mnist_part_t part) {
    s->units[s->n_units++] = (mnist_unit_t){.name = name, .stage = stage, .part = part};
}

static const gpu_stage_t *find_stage(const mnist_cuda_t *s, const char *entry) {
    for (size_t i = 0; i < s->program.n_stages; i++)
        if (strcmp(s->program.stages[i].spec.entry, entry) == 0)
            return &s->program.stages[i];
    return NULL;
}

/* The library's products come before and after the stage `loss`. */
status_t mnist_cuda_find_units(mnist_cuda_t *s, error_t *err) {
    const bool library = s->program.plan.library != 0;
    const gpu_stage_t *loss = find_stage(s, "loss");
    s->relu_gradient = find_stage(s, "relu_gradient");
    s->bias_gradient = find_stage(s, "bias_gradient");
    if (library && (loss == NULL || s->relu_gradient == NULL || s->bias_gradient == NULL))
        return error_set(err, STATUS_FAILED,
                         "its PLAN says library: STAGES needs loss, relu_gradient, bias_gradient");
    for (size_t i = 0; i < s->program.n_stages; i++) {
        const gpu_stage_t *stage = &s->program.stages[i];
        if (stage->spec.when != STAGE_EPOCH && stage->spec.when != STAGE_TRAINING)
            continue;
        if (library && stage == loss)
            add_unit(s, "forward", NULL, MNIST_FORWARD);
        add_unit(s, stage->spec.entry, stage, MNIST_PARTS);
        if (library && stage == loss) {
            add_unit(s, "backward_data", NULL, MNIST_BACKWARD_DATA);
            add_unit(s, "backward_weights", NULL, MNIST_BACKWARD_WEIGHTS);
        }
    }
    if (s->n_units == 0)
        return error_set(err, STATUS_FAILED, "none of its STAGES trains");
    return STATUS_OK;
}

/* Some kernels take `layer` as their second argument. */
static status_t launch(mnist_cuda_t *s, const gpu_stage_t *stage, mnist_problem_t *problem,
                       size_t layer, error_t *err) {
    uint32_t argument = (uint32_t)layer;
    void *arguments[] = {problem, &argument};
    return gpu_stage_launch(s->gpu, stage, MAX_BLOCKS, s->gpu->stream, arguments, err);
}

static status_t multiply(mnist_cuda_t *s, mnist_part_t part, size_t layer, error_t *err) {
    TRY(mnist_library_multiply(&s->library, part, layer, &s->problem, s->gpu->stream, err));
    if (!mnist_library_lacks(&s->library, part, layer))
        return STATUS_OK;
    return launch(s, part == MNIST_BACKWARD_DATA ? s->relu_gradient : s->bias_gradient, &s->problem,
                  layer, err);
}

status_t mnist_cuda_run_unit(mnist_cuda_t *s, const mnist_unit_t *unit, error_t *err) {
    if (unit->stage != NULL)
        return launch(s, unit->stage, &s->problem, 0, err);
    if (unit->part == MNIST_BACKWARD_DATA) {
        for (size_t layer = MNIST_LAYERS - 1; layer > 0; layer--)
            TRY(multiply(s, unit->part, layer, err));
        return STATUS_OK;
    }
    for (size_t layer = 0; layer < MNIST_LAYERS; layer++)
        TRY(multiply(s, unit->part, layer, err));
    return STATUS_OK;
}

/* ---- a training ------------------------------------------------------------------------------ */

status_t mnist_cuda_upload(mnist_cuda_t *s, uint32_t steps, error_t *err) {
    const uint32_t *order = steps <= s->sample_steps ? s->order : s->data->order;
    const cu_stream_t stream = s->gpu->stream;
    CUDA(copy_in_async(s->problem.w[0], s->start, s->sample.parameter_bytes, stream));
    CUDA(copy_in_async(s->problem.order, order, steps * s->data->batch * sizeof *order, stream));
    CUDA(fill_async(s->problem.counters, 0, MNIST_COUNTERS * sizeof(uint32_t), stream));
    return STATUS_OK;
}

/* Run the units of one step, or (`all_steps`) those that train all steps in one launch. */
static status_t run_units(mnist_cuda_t *s, bool all_steps, size_t *n_run, error_t *err) {
    *n_run = 0;
    for (size_t i = 0; i < s->n_units; i++) {
        const gpu_stage_t *stage = s->units[i].stage;
        if ((stage != NULL && stage->spec.when == STAGE_TRAINING) != all_steps)
            continue;
        TRY(mnist_cuda_run_unit(s, &s->units[i], err));
        ++*n_run;
    }
    return STATUS_OK;
}

/* A graph contains its arguments, so a training that writes its gradients runs without. */
status_t mnist_cuda_train(mnist_cuda_t *s, uint32_t steps, error_t *err) {
    uint32_t done = 0;
    size_t n_run;
    s->problem.steps = steps;
    TRY(run_units(s, true, &n_run, err));
    if (s->graph != NULL && s->problem.gradients[0] == 0)
        for (; steps - done >= s->graph_steps; done += s->graph_steps)
            CUDA(graph_launch(s->graph, s->gpu->stream));
    for (; done < steps; done++) {
        TRY(run_units(s, false, &n_run, err));
        if (n_run == 0)
            break;
    }
    return STATUS_OK;
}

/* With the test images in place of the training images. */
status_t mnist_cuda_evaluate(mnist_cuda_t *s, error_t *err) {
    mnist_problem_t problem = s->problem;
    problem.images = s->test.images;
    problem.labels = s->test.labels;
    problem.images_n = MNIST_TEST_IMAGES;
    for (size_t i = 0; i < s->program.n_stages; i++)
        if (s->program.stages[i].spec.when == STAGE_AFTER)
            TRY(launch(s, &s->program.stages[i], &problem, 0, err));
    return STATUS_OK;
}

/* Losses follow weights and biases. */
status_t mnist_cuda_copy_out(void *mnist_cuda, error_t *err) {
    mnist_cuda_t *s = mnist_cuda;
    CUDA(copy_out_async(s->results, s->problem.w[0],
                        s->sample.losses + s->sample_steps * sizeof(float), s->gpu->stream));
    return STATUS_OK;
}

void mnist_cuda_losses(const mnist_cuda_t *s, double *losses, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float loss;
        memcpy(&loss, s->results + s->sample.losses + i * sizeof loss, sizeof loss);
        losses[i] = loss;
    }
}

/* Equal replays leave few remaining steps. */
status_t mnist_cuda_capture(mnist_cuda_t *s, error_t *err) {
    size_t n_run;
    if (!s->program.plan.graph)
        return STATUS_OK;
    const uint32_t replays = (s->sample_steps + MNIST_GRAPH_STEPS - 1) / MNIST_GRAPH_STEPS;
    s->graph_steps = s->sample_steps / replays;
    TRY(gpu_capture_begin(s->gpu, err));
    for (uint32_t step = 0; step < s->graph_steps; step++)
        TRY(run_units(s, false, &n_run, err));
    return gpu_capture_end(s->gpu, &s->graph, err);
}

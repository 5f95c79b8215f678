/* The steps of one training on the GPU. */
#include "workloads/linreg_train/cuda.h"

#include <math.h>

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

status_t linreg_cuda_allocate(linreg_cuda_t *s, linreg_buffers_t *buffers, error_t *err) {
    CUDA(alloc(&buffers->state, sizeof *s->start));
    CUDA(alloc(&buffers->results, s->n_results * sizeof *s->results));
    if (s->prediction_bytes > 0)
        CUDA(alloc(&buffers->prediction, s->prediction_bytes));
    return STATUS_OK;
}

static status_t drop(linreg_cuda_t *s, cu_pointer_t *pointer, error_t *err) {
    if (*pointer != 0)
        CUDA(release(*pointer));
    *pointer = 0;
    return STATUS_OK;
}

status_t linreg_cuda_release(linreg_cuda_t *s, linreg_buffers_t *buffers, error_t *err) {
    TRY(drop(s, &buffers->state, err));
    TRY(drop(s, &buffers->results, err));
    return drop(s, &buffers->prediction, err);
}

void linreg_cuda_use(linreg_cuda_t *s, const linreg_buffers_t *buffers) {
    s->problem.state = buffers->state;
    s->problem.results = buffers->results;
    s->problem.prediction = buffers->prediction;
}

static status_t launch(linreg_cuda_t *s, const gpu_stage_t *stage, size_t items, uint32_t part,
                       cu_stream_t stream, error_t *err) {
    void *arguments[] = {&s->problem, &part};
    return gpu_stage_launch(s->gpu, stage, items, stream, arguments, err);
}

/* Each part on its own stream, after earlier and before later work of the main stream. */
static status_t launch_split(linreg_cuda_t *s, const gpu_stage_t *stage, error_t *err) {
    const uint32_t parts = s->program.plan.streams;
    CUDA(event_record(s->forked, s->gpu->stream));
    for (uint32_t part = 0; part < parts; part++) {
        CUDA(stream_wait(s->streams[part], s->forked, 0));
        TRY(launch(s, stage, (s->problem.n + parts - 1) / parts, part, s->streams[part], err));
        CUDA(event_record(s->joined[part], s->streams[part]));
        CUDA(stream_wait(s->gpu->stream, s->joined[part], 0));
    }
    return STATUS_OK;
}

static status_t run_stages(linreg_cuda_t *s, enum stage_when when, size_t items, error_t *err) {
    for (size_t i = 0; i < s->program.n_stages; i++)
        if (s->program.stages[i].spec.when == when)
            TRY(launch(s, &s->program.stages[i], items, 0, s->gpu->stream, err));
    return STATUS_OK;
}

status_t linreg_cuda_run_stage(linreg_cuda_t *s, const gpu_stage_t *stage, error_t *err) {
    if ((stage->spec.flags & STAGE_SPLIT) != 0 && s->program.plan.streams > 1)
        return launch_split(s, stage, err);
    return launch(s, stage, s->problem.n, 0, s->gpu->stream, err);
}

static status_t run_epoch(linreg_cuda_t *s, size_t epoch, error_t *err) {
    for (size_t i = 0; i < s->program.n_stages; i++) {
        const gpu_stage_t *stage = &s->program.stages[i];
        if (stage->spec.when == STAGE_EPOCH ||
            (stage->spec.when == STAGE_LOSS && epoch % LINREG_LOSS_EVERY == 0))
            TRY(linreg_cuda_run_stage(s, stage, err));
    }
    return STATUS_OK;
}

status_t linreg_cuda_make_data(linreg_cuda_t *s, error_t *err) {
    return run_stages(s, STAGE_ONCE, s->problem.points, err);
}

status_t linreg_cuda_upload(void *linreg_cuda, error_t *err) {
    linreg_cuda_t *s = linreg_cuda;
    CUDA(copy_in_async(s->problem.state, s->start, sizeof *s->start, s->gpu->stream));
    return STATUS_OK;
}

status_t linreg_cuda_train(void *linreg_cuda, error_t *err) {
    linreg_cuda_t *s = linreg_cuda;
    if (s->graph != NULL) {
        for (unsigned i = 0; i < s->graph_replays; i++)
            CUDA(graph_launch(s->graph, s->gpu->stream));
        return STATUS_OK;
    }
    TRY(run_stages(s, STAGE_TRAINING, s->problem.n, err));
    for (size_t epoch = 0; epoch < s->problem.epochs; epoch++)
        TRY(run_epoch(s, epoch, err));
    return STATUS_OK;
}

status_t linreg_cuda_copy_out(void *linreg_cuda, error_t *err) {
    linreg_cuda_t *s = linreg_cuda;
    CUDA(copy_out_async(s->results, s->problem.results, s->n_results * sizeof *s->results,
                        s->gpu->stream));
    return STATUS_OK;
}

status_t linreg_cuda_keep(linreg_cuda_t *s, error_t *err) {
    linreg_fit_t *fit = &s->fit;
    fit->w = s->results[RESULT_W];
    fit->b = s->results[RESULT_B];
    for (size_t i = 0; i + 1 < fit->n_losses; i++)
        fit->losses[i] = s->results[RESULT_LOSSES + i];
    TRY(run_stages(s, STAGE_AFTER, s->problem.n, err));
    TRY(linreg_cuda_copy_out(s, err));
    TRY(gpu_sync(s->gpu, err));
    fit->losses[fit->n_losses - 1] = s->results[RESULT_LAST_LOSS];
    fit->test_loss = s->problem.n_test > 0 ? s->results[RESULT_TEST_LOSS] : NAN;
    return STATUS_OK;
}

/* Equal replays waste few launches: those after the last epoch end at once. */
status_t linreg_cuda_capture(linreg_cuda_t *s, error_t *err) {
    if (!s->program.plan.graph)
        return STATUS_OK;
    const unsigned epochs = s->problem.epochs;
    s->graph_replays = (epochs + LINREG_GRAPH_EPOCHS - 1) / LINREG_GRAPH_EPOCHS;
    const unsigned in_graph = (epochs + s->graph_replays - 1) / s->graph_replays;
    TRY(gpu_capture_begin(s->gpu, err));
    for (unsigned epoch = 0; epoch < in_graph; epoch++)
        TRY(run_epoch(s, epoch, err));
    return gpu_capture_end(s->gpu, &s->graph, err);
}

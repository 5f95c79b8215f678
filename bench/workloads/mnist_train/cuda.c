/* mnist_train on a GPU: opens and closes a case, and writes its output. */
#include "base/clock.h"
#include "base/half.h"
#include "base/memory.h"
#include "engine/gpu.h"
#include "engine/session.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/mnist/data.h"
#include "workloads/mnist/oracle.h"
#include "workloads/mnist_train/cublaslt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== steps of a sample ======================================================================= */

enum {
    MNIST_GRAPH_STEPS = 50, /* maximum per graph: longer trainings replay it */
    MNIST_MAX_UNITS = LAUNCH_MOST_STAGES + MNIST_PARTS,
};

/* A part of a step: a kernel or, if `stage` is NULL, products by the library. */
typedef struct mnist_unit {
    const char *name;
    const gpu_stage_t *stage;
    mnist_part_t part;
} mnist_unit_t;

typedef struct mnist_cuda {
    gpu_t *gpu;
    gpu_program_t program;
    mnist_unit_t units[MNIST_MAX_UNITS]; /* of a step, in order */
    size_t n_units;
    /* Kernels of a library rung, for epilogues that the library lacks. */
    const gpu_stage_t *relu_gradient, *bias_gradient;
    mnist_library_t library;
    const mnist_data_t *data;
    mnist_problem_t problem; /* with the buffers for the next launches */
    mnist_gpu_images_t train, test;
    gpu_memory_t memory;          /* allocated while the case is open */
    mnist_layout_t whole, sample; /* of a block for all steps, and for those of a sample */
    cu_pointer_t block;           /* for all steps, allocated once: graphs, output, evaluation */
    cu_pointer_t own;             /* of a sample that allocates */
    train_phases_t phases;
    uint32_t sample_steps;
    unsigned char *start;            /* pinned, for the upload: weights, biases … */
    uint64_t seed;                   /* of the signs of `start` */
    uint32_t *order;                 /* … and the order of a sample */
    unsigned char *results;          /* pinned, for the download: weights, biases, losses */
    double last[MNIST_SAMPLE_STEPS]; /* losses of the last fresh sample */
    unsigned char *last_weights;     /* its weights and biases, as in `results` */
    mnist_fit_t fit;
    cu_graph_exec_t graph; /* plan.graph: graph_steps steps */
    uint32_t graph_steps;
    unsigned first_stage; /* phase; steps = 1 */
} mnist_cuda_t;

/* The steps of one training on the GPU. */

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

/* More than any grid: each stage of this workload limits its own grid. */
static const size_t MAX_BLOCKS = INT32_MAX;

/* Allocate and release the block of a sample; launches use it until mnist_cuda_use_fixed() selects
 * the block of the case. */
static status_t mnist_cuda_allocate(void *mnist_cuda, error_t *err) {
    mnist_cuda_t *s = mnist_cuda;
    CUDA(alloc(&s->own, s->sample.bytes));
    mnist_place(&s->sample, s->own, &s->problem);
    return STATUS_OK;
}

static status_t mnist_cuda_release(void *mnist_cuda, error_t *err) {
    mnist_cuda_t *s = mnist_cuda;
    if (s->own != 0)
        CUDA(release(s->own));
    s->own = 0;
    return STATUS_OK;
}

static void mnist_cuda_use_fixed(mnist_cuda_t *s) {
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

/* Fill in `units`. */
/* The library's products come before and after the stage `loss`. */
static status_t mnist_cuda_find_units(mnist_cuda_t *s, error_t *err) {
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

static status_t mnist_cuda_run_unit(mnist_cuda_t *s, const mnist_unit_t *unit, error_t *err) {
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

/* These submit work without waiting. */
static status_t mnist_cuda_upload(mnist_cuda_t *s, uint32_t steps, error_t *err) {
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
static status_t mnist_cuda_train(mnist_cuda_t *s, uint32_t steps, error_t *err) {
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
static status_t mnist_cuda_evaluate(mnist_cuda_t *s, error_t *err) {
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
static status_t mnist_cuda_copy_out(void *mnist_cuda, error_t *err) {
    mnist_cuda_t *s = mnist_cuda;
    CUDA(copy_out_async(s->results, s->problem.w[0],
                        s->sample.losses + s->sample_steps * sizeof(float), s->gpu->stream));
    return STATUS_OK;
}

/* The first `n` losses of the copied results. */
static void mnist_cuda_losses(const mnist_cuda_t *s, double *losses, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float loss;
        memcpy(&loss, s->results + s->sample.losses + i * sizeof loss, sizeof loss);
        losses[i] = loss;
    }
}

/* Capture steps, with the block of the case, if the rung's plan asks for a graph. */
/* Equal replays leave few remaining steps. */
static status_t mnist_cuda_capture(mnist_cuda_t *s, error_t *err) {
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

/* ==== probes ================================================================================== */

/* The probes of mnist_train on a GPU: with a synchronisation after each phase; and each stage of
 * one step separately, on an idle device: event, launches, event. */

static status_t upload(void *state, error_t *err) {
    mnist_cuda_t *s = state;
    return mnist_cuda_upload(s, s->sample_steps, err);
}

static status_t train(void *state, error_t *err) {
    mnist_cuda_t *s = state;
    return mnist_cuda_train(s, s->sample_steps, err);
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    mnist_cuda_t *s = session->state;
    status_t status = train_phases_sample(&s->phases, s, recorder, err);
    mnist_cuda_use_fixed(s);
    if (session->fresh) {
        mnist_cuda_losses(s, s->last, s->sample_steps);
        memcpy(s->last_weights, s->results, s->sample.parameter_bytes);
    }
    return status;
}

/* ---- stages of one step ---------------------------------------------------------------------- */

/* A kernel for all steps is a single phase. The stages of a graph are launched one by one here. */
static const char WHOLE_STEP[] = "fused";

static const char *phase_of(const mnist_cuda_t *s, const mnist_unit_t *unit) {
    const bool whole = unit->stage != NULL && unit->stage->spec.when == STAGE_TRAINING;
    return whole && s->n_units == 1 ? WHOLE_STEP : unit->name;
}

static status_t probe_stages(session_t *session, recorder_t *recorder, error_t *err) {
    mnist_cuda_t *s = session->state;
    TRY(mnist_cuda_upload(s, 1, err));
    s->problem.steps = 1;
    for (size_t i = 0; i < s->n_units; i++) {
        device_span_t span = {0};
        TRY(device_span_begin(&span, s->gpu, err));
        TRY(mnist_cuda_run_unit(s, &s->units[i], err));
        TRY(device_span_end(&span, s->gpu, err));
        recorder_add_between(recorder, s->first_stage + (unsigned)i, span.ns, span.from_ns,
                             span.to_ns);
    }
    return STATUS_OK;
}

static status_t check_name(const char *name, error_t *err) {
    if (!train_phases_has(name))
        return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "its stage \"%s\" has the name of a sample phase; expected another name",
                     name);
}

static status_t add_stages(session_t *session, error_t *err) {
    mnist_cuda_t *s = session->state;
    s->first_stage = (unsigned)session->recorder.n_phases;
    for (size_t i = 0; i < s->n_units; i++) {
        TRY(check_name(phase_of(s, &s->units[i]), err));
        recorder_phase(&session->recorder, phase_of(s, &s->units[i]), CLOCK_DEVICE);
    }
    session_add_probe(session, "stages", probe_stages);
    return STATUS_OK;
}

static status_t mnist_cuda_add_probes(session_t *session, error_t *err) {
    mnist_cuda_t *s = session->state;
    const bool allocates = s->graph == NULL;
    s->phases = (train_phases_t){.gpu = s->gpu,
                                 .allocate = allocates ? mnist_cuda_allocate : NULL,
                                 .release = allocates ? mnist_cuda_release : NULL,
                                 .upload = upload,
                                 .train = train,
                                 .copy_out = mnist_cuda_copy_out,
                                 .steps = s->sample_steps};
    train_phases_declare(&s->phases, &session->recorder);
    session_add_probe(session, "phases", probe_phases);
    return s->data->steps == 1 ? add_stages(session, err) : STATUS_OK;
}

/* ==== the case ================================================================================ */

static bool uses_library(const mnist_cuda_t *s) {
    return s->program.plan.library != 0;
}

static size_t results_bytes(const mnist_cuda_t *s) {
    return s->sample.losses + s->sample_steps * sizeof(float);
}

static void describe_problem(mnist_cuda_t *s, const case_t *spec) {
    const size_t hidden = (size_t)case_param_int(spec, "hidden", 1);
    const size_t batch = (size_t)case_param_int(spec, "batch", 1);
    const size_t steps = (size_t)case_param_int(spec, "steps", 1);
    const mnist_extras_t extras = {.scratch = s->program.plan.scratch_per_item != 0,
                                   .low_halves = strcmp(spec->dtype, "mixed") == 0};
    s->sample_steps = (uint32_t)mnist_sample_steps(steps);
    s->whole = mnist_layout(hidden, batch, steps, extras);
    s->sample = mnist_layout(hidden, batch, s->sample_steps, extras);
    s->problem.seed = (uint64_t)case_param_int(spec, "seed", 1);
    s->problem.rate = (float)case_param(spec, "rate")->real;
    s->library.hidden = hidden;
    s->library.batch = batch;
    s->library.half_sums = strcmp(case_technique(spec, "accumulate"), "f16") == 0;
}

/* ---- requirements of the case ---------------------------------------------------------------- */

static double gradients_bytes(const mnist_cuda_t *s) {
    size_t sizes[MNIST_LAYERS + 1];
    mnist_sizes(MNIST_LAYERS, s->library.hidden, sizes);
    return mnist_parameters(MNIST_LAYERS, sizes) * sizeof(float);
}

static status_t check_room(session_t *session, const case_t *spec, error_t *err) {
    mnist_cuda_t *s = session->state;
    double device_bytes = mnist_gpu_images_bytes(true) + (double)s->whole.bytes;
    /* Either the block of a sample or the gradients of output(). */
    device_bytes += fmax((double)s->sample.bytes, gradients_bytes(s));
    if (uses_library(s))
        device_bytes += CUBLASLT_WORKSPACE_BYTES +
                        (double)mnist_masks_bytes(s->library.hidden, s->library.batch);
    const double host_bytes = 3 * (double)results_bytes(s) + mnist_gpu_images_bytes(true);
    TRY(session_skip(session, gpu_room(s->gpu, device_bytes, err)));
    TRY(session_skip(session, mnist_data_room(spec, host_bytes, err)));
    session->resources.peak_device_bytes = (int64_t)device_bytes;
    return STATUS_OK;
}

/* From an array of parameters to that of their lower halves; 0: there is none. */
static size_t low_halves(const mnist_cuda_t *s) {
    const bool has = s->sample.low_halves < s->sample.parameter_bytes;
    return has ? s->sample.low_halves : 0;
}

/* To, and from, the parameters at byte `at` of a block. */
static void narrow(const float *values, size_t n, unsigned char *block, size_t at, size_t to_low) {
    uint16_t *halves = (uint16_t *)(block + at), *low = (uint16_t *)(block + at + to_low);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        halves[i] = half_from_float(values[i]);
        if (to_low > 0)
            low[i] = split_low_half(values[i]);
    }
}

static void widen(const unsigned char *block, size_t at, size_t to_low, float *values, size_t n) {
    const uint16_t *halves = (const uint16_t *)(block + at);
    const uint16_t *low = (const uint16_t *)(block + at + to_low);
    for (size_t i = 0; i < n; i++)
        values[i] = to_low > 0 ? split_joined(halves[i], low[i]) : half_to_float(halves[i]);
}

static status_t make_host_side(mnist_cuda_t *s, error_t *err) {
    const size_t order_bytes = s->sample_steps * s->data->batch * sizeof *s->order;
    TRY(gpu_memory_pinned(&s->memory, s->gpu, s->sample.parameter_bytes, &s->start, err));
    TRY(gpu_memory_pinned(&s->memory, s->gpu, order_bytes, &s->order, err));
    TRY(gpu_memory_pinned(&s->memory, s->gpu, results_bytes(s), &s->results, err));
    s->last_weights = mem_alloc(s->sample.parameter_bytes);
    memcpy(s->order, s->data->order, order_bytes);
    memset(s->start, 0, s->sample.parameter_bytes);
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t n_in = s->data->sizes[l], n_out = s->data->sizes[l + 1];
        narrow(s->data->w[l], n_in * n_out, s->start, s->sample.w[l], low_halves(s));
        narrow(s->data->b[l], n_out, s->start, s->sample.b[l], low_halves(s));
    }
    return STATUS_OK;
}

static status_t place_images(mnist_cuda_t *s, error_t *err) {
    TRY(mnist_gpu_images_place(&s->memory, s->gpu, s->data, false, &s->train, err));
    TRY(mnist_gpu_images_place(&s->memory, s->gpu, s->data, true, &s->test, err));
    s->problem.images = s->train.images;
    s->problem.labels = s->train.labels;
    s->problem.images_n = MNIST_IMAGES;
    return STATUS_OK;
}

static status_t prepare_library(session_t *session, error_t *err) {
    mnist_cuda_t *s = session->state;
    if (!uses_library(s))
        return STATUS_OK;
    int64_t start_ns = clock_ns();
    TRY(session_open_cublaslt(session, &s->library.lt.api, err));
    const size_t masks_bytes = mnist_masks_bytes(s->library.hidden, s->library.batch);
    TRY(gpu_memory_device(&s->memory, s->gpu, CUBLASLT_WORKSPACE_BYTES, &s->library.lt.workspace,
                          err));
    TRY(gpu_memory_device(&s->memory, s->gpu, masks_bytes, &s->library.masks, err));
    TRY(mnist_library_prepare(&s->library, &s->problem, err));
    session_add_once(session, "library", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

/* ---- the complete training, whose results are kept ------------------------------------------- */

/* All steps and the resulting accuracy, into s->fit. */
static status_t train_all(mnist_cuda_t *s, float *losses, error_t *err) {
    const uint32_t steps = (uint32_t)s->data->steps;
    const size_t bytes = steps * sizeof *losses;
    uint32_t counters[MNIST_COUNTERS];
    TRY(gpu_fill(s->gpu, s->problem.losses, 0xFF, bytes, err));
    TRY(mnist_cuda_upload(s, steps, err));
    TRY(mnist_cuda_train(s, steps, err));
    TRY(mnist_cuda_evaluate(s, err));
    CUDA(copy_out_async(losses, s->problem.losses, bytes, s->gpu->stream));
    CUDA(copy_out_async(counters, s->problem.counters, sizeof counters, s->gpu->stream));
    TRY(gpu_sync(s->gpu, err));
    s->fit.accuracy = (double)counters[MNIST_COUNTER_CORRECT] / MNIST_TEST_IMAGES;
    return mnist_fit_add_floats(&s->fit, losses, steps, err);
}

static status_t first_training(session_t *session, const char *accumulate, error_t *err) {
    mnist_cuda_t *s = session->state;
    float *losses = mem_alloc(s->data->steps * sizeof *losses);
    int64_t start_ns = clock_ns();
    s->fit = mnist_fit_of_epochs(s->data->steps, 0);
    status_t status = train_all(s, losses, err);
    free(losses);
    TRY(status);
    session_add_once(session, "training", (double)(clock_ns() - start_ns));
    session->results_json = mnist_fit_json(&s->fit, s->data->images, "accumulate", accumulate);
    return STATUS_OK;
}

/* Occupancy of the only kernel; NaN with several. */
static double occupancy_frac(const mnist_cuda_t *s) {
    return s->n_units == 1 && s->units[0].stage != NULL ? s->units[0].stage->occupancy_frac : NAN;
}

/* One step without a graph: a capture fails if libraries load anything on first use. */
static status_t warm_up(mnist_cuda_t *s, error_t *err) {
    TRY(mnist_cuda_upload(s, 1, err));
    TRY(mnist_cuda_train(s, 1, err));
    return gpu_sync(s->gpu, err);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    mnist_cuda_t *s = session->state;
    TRY(gpu_program_load(s->gpu, request->cubin, &s->program, err));
    session_add_once(session, "module_load", s->program.load_ns);
    describe_problem(s, request->spec);
    TRY(mnist_cuda_find_units(s, err));
    TRY(session_skip(session, gpu_program_resident(s->gpu, &s->program, err)));
    TRY(check_room(session, request->spec, err));
    int64_t start_ns = clock_ns();
    TRY(mnist_data_take(request->spec, &s->data, err));
    TRY(make_host_side(s, err));
    TRY(place_images(s, err));
    session_add_once(session, "data", (double)(clock_ns() - start_ns));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->whole.bytes, &s->block, err));
    mnist_cuda_use_fixed(s);
    TRY(prepare_library(session, err));
    TRY(warm_up(s, err));
    TRY(mnist_cuda_capture(s, err));
    TRY(mnist_cuda_add_probes(session, err));
    session->resources.occupancy_frac = occupancy_frac(s);
    return request->without_results
               ? STATUS_OK
               : first_training(session, case_technique(request->spec, "accumulate"), err);
}

static void close_case(session_t *session) {
    mnist_cuda_t *s = session->state;
    gpu_graph_free(s->gpu, &s->graph);
    if (s->library.lt.handle != NULL)
        mnist_library_close(&s->library);
    gpu_memory_free(&s->memory, s->gpu);
    gpu_program_unload(s->gpu, &s->program);
    if (s->data != NULL)
        mnist_data_release(s->data);
    mnist_fit_free(&s->fit);
    free(s->last_weights);
    free(s);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(mnist_cuda_t), prepare, err);
}

/* ---- output ---------------------------------------------------------------------------------- */

static size_t gradient_bytes(const mnist_cuda_t *s, size_t layer) {
    return s->data->sizes[layer + 1] * (s->data->sizes[layer] + 1) * sizeof(float);
}

/* Run one step that writes its gradients. */
static status_t run_gradients(mnist_cuda_t *s, gpu_memory_t *memory, float **gradients,
                              error_t *err) {
    cu_pointer_t *on_device = s->problem.gradients;
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        TRY(gpu_memory_device(memory, s->gpu, gradient_bytes(s, l), &on_device[l], err));
        TRY(gpu_random_fill(s->gpu, on_device[l], gradient_bytes(s, l), RANDOM_F32, err));
        gradients[l] = mem_alloc(gradient_bytes(s, l));
    }
    TRY(mnist_cuda_upload(s, 1, err));
    TRY(mnist_cuda_train(s, 1, err));
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        CUDA(copy_out_async(gradients[l], on_device[l], gradient_bytes(s, l), s->gpu->stream));
    return gpu_sync(s->gpu, err);
}

static status_t write_gradients(mnist_cuda_t *s, const char *folder, text_list_t *arrays,
                                error_t *err) {
    gpu_memory_t memory = {0};
    float *gradients[MNIST_LAYERS] = {NULL};
    status_t status = run_gradients(s, &memory, gradients, err);
    memset(s->problem.gradients, 0, sizeof s->problem.gradients);
    if (status == STATUS_OK)
        status = mnist_write_gradients(s->data, gradients, folder, arrays, err);
    gpu_memory_free(&memory, s->gpu);
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        free(gradients[l]);
    return status;
}

static status_t fill_results(mnist_cuda_t *s, error_t *err) {
    const size_t loss_bytes = s->sample_steps * sizeof(float);
    random_fill(s->results, s->sample.losses, RANDOM_F16);
    random_fill(s->results + s->sample.losses, loss_bytes, RANDOM_F32);
    return gpu_random_fill(s->gpu, s->problem.losses, loss_bytes, RANDOM_F32, err);
}

/* The first `n` losses of a training that runs like a sample. */
static status_t run_losses(mnist_cuda_t *s, double *losses, size_t n, error_t *err) {
    TRY(fill_results(s, err));
    TRY(mnist_cuda_upload(s, s->sample_steps, err));
    TRY(mnist_cuda_train(s, s->sample_steps, err));
    TRY(mnist_cuda_copy_out(s, err));
    TRY(gpu_sync(s->gpu, err));
    mnist_cuda_losses(s, losses, n);
    return STATUS_OK;
}

static status_t write_losses(mnist_cuda_t *s, const char *folder, text_list_t *arrays,
                             error_t *err) {
    double losses[MNIST_SAMPLE_STEPS];
    const size_t steps = mnist_checked_steps(s->data->hidden, s->data->steps);
    TRY(run_losses(s, losses, steps, err));
    return mnist_write_losses(losses, steps, folder, arrays, err);
}

/* A sample with another rate, whose first steps all have the first batch. It needs its own graph,
 * which contains the rate. */
static status_t write_descent(mnist_cuda_t *s, const mnist_descent_t *descent, const char *folder,
                              text_list_t *arrays, error_t *err) {
    const size_t batch = s->data->batch;
    const cu_graph_exec_t graph = s->graph;
    const float rate = s->problem.rate;
    const size_t steps = mnist_descent_steps(s->data->hidden, s->data->steps);
    double losses[MNIST_DESCENT_STEPS];
    for (size_t step = 1; step < steps; step++)
        memcpy(s->order + step * batch, s->order, batch * sizeof *s->order);
    s->graph = NULL;
    s->problem.rate = (float)descent->rate;
    status_t status = mnist_cuda_capture(s, err);
    if (status == STATUS_OK)
        status = run_losses(s, losses, steps, err);
    gpu_graph_free(s->gpu, &s->graph);
    s->graph = graph;
    s->problem.rate = rate;
    memcpy(s->order, s->data->order, steps * batch * sizeof *s->order);
    return status == STATUS_OK
               ? mnist_write_descent(descent->name, losses, steps, folder, arrays, err)
               : status;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    mnist_cuda_t *s = session->state;
    size_t n;
    const mnist_descent_t *descents = mnist_descents(s->data, &n);
    TRY(write_gradients(s, folder, arrays, err));
    TRY(write_losses(s, folder, arrays, err));
    for (size_t i = 0; i < n; i++)
        TRY(write_descent(s, &descents[i], folder, arrays, err));
    return STATUS_OK;
}

/* Each upload copies the start weights. A lower half has no sign. */
static status_t refill(session_t *session, uint64_t seed, error_t *err) {
    mnist_cuda_t *s = session->state;
    (void)err;
    if (seed == s->seed)
        return STATUS_OK;
    signs_t flips;
    signs_between(s->seed, seed, &flips);
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t n_in = s->data->sizes[l], n_out = s->data->sizes[l + 1];
        signs_flip_halves((uint16_t *)(s->start + s->sample.w[l]), n_in * n_out, &flips);
        signs_flip_halves((uint16_t *)(s->start + s->sample.b[l]), n_out, &flips);
    }
    s->seed = seed;
    return STATUS_OK;
}

static status_t fill(session_t *session, error_t *err) {
    mnist_cuda_t *s = session->state;
    TRY(fill_results(s, err));
    return gpu_sync(s->gpu, err);
}

static status_t write_weights(const mnist_cuda_t *s, const char *folder, text_list_t *arrays,
                              error_t *err) {
    const mnist_data_t *data = s->data;
    float *weights = mem_alloc(data->n_weights * sizeof *weights);
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        float *w = weights + (data->w[l] - data->weights);
        const size_t n_out = data->sizes[l + 1], elements = data->sizes[l] * n_out;
        widen(s->last_weights, s->sample.w[l], low_halves(s), w, elements);
        widen(s->last_weights, s->sample.b[l], low_halves(s), w + elements, n_out);
    }
    const status_t status = mnist_write_weights(weights, data->n_weights, folder, arrays, err);
    free(weights);
    return status;
}

static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const mnist_cuda_t *s = session->state;
    const size_t steps = mnist_checked_steps(s->data->hidden, s->data->steps);
    TRY(mnist_write_losses(s->last, steps, folder, arrays, err));
    return write_weights(s, folder, arrays, err);
}

const session_ops_t mnist_train_cuda = {.workload = "mnist_train",
                                        .open = open_case,
                                        .refill = refill,
                                        .fill = fill,
                                        .output = output,
                                        .last = last,
                                        .close = close_case};

/* linreg_train on a GPU. Opening a case generates the points on the device, where they stay; a
 * sample is allocate → upload the start values → train → copy out → release. The cubin of a rung
 * lists its launches (stages and plan in kernels/common/launch.cuh). */
#ifndef BENCH_WORKLOADS_LINREG_TRAIN_CUDA_H
#define BENCH_WORKLOADS_LINREG_TRAIN_CUDA_H

#include "engine/gpu.h"
#include "engine/session.h"
#include "workloads/common/gpu_memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/linreg_train/fit.h"

#include <stdbool.h>

enum {
    LINREG_STATE_SLOTS = 1536,
    LINREG_MAX_STREAMS = 8,
    LINREG_GRAPH_EPOCHS = 1024, /* maximum per graph: longer trainings replay it */
};

/* As in kernels/linreg_train/linreg_train.cuh, which asserts the same sizes. */
typedef struct linreg_state {
    double w, b;
    double e, ex, ee;
    uint32_t epoch, ticket;
    double reserved[2];
    double slot[LINREG_STATE_SLOTS];
} linreg_state_t;

enum linreg_result { RESULT_W, RESULT_B, RESULT_LAST_LOSS, RESULT_TEST_LOSS, RESULT_LOSSES };

typedef struct linreg_problem {
    cu_pointer_t x, y;
    cu_pointer_t x_test, y_test;
    cu_pointer_t prediction;
    cu_pointer_t state;
    cu_pointer_t results;
    uint64_t seed;
    double gain;
    double inverse_n;
    float x_step;
    uint32_t points, n, n_test, epochs;
} linreg_problem_t;

_Static_assert(sizeof(linreg_state_t) == 64 + 8 * LINREG_STATE_SLOTS, "the device's layout");
_Static_assert(sizeof(linreg_problem_t) == 104, "the device's layout");

/* The buffers of one training. */
typedef struct linreg_buffers {
    cu_pointer_t state, results, prediction;
} linreg_buffers_t;

typedef struct linreg_cuda {
    gpu_t *gpu;
    gpu_program_t program;
    linreg_problem_t problem; /* with the buffers for the next launches */
    linreg_buffers_t fixed;   /* allocated once: host_to_host, graphs and output */
    linreg_buffers_t own;     /* of a sample that allocates */
    gpu_memory_t memory;
    train_phases_t phases;
    unsigned host_to_host; /* phase */
    linreg_fit_t fit;
    linreg_state_t *start; /* pinned: for the upload … */
    double *results;       /* … and the download */
    size_t n_results, prediction_bytes;
    uint64_t seed; /* of the signs of problem.x */
    float *staged; /* pinned: part of x, while its signs change */
    cu_stream_t streams[LINREG_MAX_STREAMS];
    cu_event_t forked, joined[LINREG_MAX_STREAMS];
    cu_graph_exec_t graph; /* plan.graph: some epochs */
    unsigned graph_replays;
    unsigned first_operation; /* phase; epochs = 1 */
} linreg_cuda_t;

status_t linreg_cuda_allocate(linreg_cuda_t *s, linreg_buffers_t *buffers, error_t *err);
status_t linreg_cuda_release(linreg_cuda_t *s, linreg_buffers_t *buffers, error_t *err);
void linreg_cuda_use(linreg_cuda_t *s, const linreg_buffers_t *buffers);

/* These submit work without waiting. Those that take a `void *` are phases of a sample. */
status_t linreg_cuda_make_data(linreg_cuda_t *s, error_t *err);
status_t linreg_cuda_upload(void *linreg_cuda, error_t *err);
status_t linreg_cuda_train(void *linreg_cuda, error_t *err);
status_t linreg_cuda_run_stage(linreg_cuda_t *s, const gpu_stage_t *stage, error_t *err);
status_t linreg_cuda_copy_out(void *linreg_cuda, error_t *err);

/* Keep the copied results of a training in s->fit. Then evaluate it on the device and add the two
 * losses of the evaluation. Waits. */
status_t linreg_cuda_keep(linreg_cuda_t *s, error_t *err);

/* Capture the epochs, with the buffers of `fixed`, if the rung's plan asks for a graph. */
status_t linreg_cuda_capture(linreg_cuda_t *s, error_t *err);

void linreg_cuda_add_probes(session_t *session); /* probes.c */

/* If epochs = 1, declare the phases and the probe of single operations; and run one epoch like this
 * probe, which waits for each operation (operations.c). */
void linreg_cuda_add_operations(session_t *session);
status_t linreg_cuda_train_by_operation(void *linreg_cuda, error_t *err);

#endif

/* mnist_train on a GPU. Opening a case copies the images to the device, where they stay; a sample
 * is allocate → upload start weights and order → train → copy out → release. The cubin of a rung
 * lists the launches of a step (stages and plan in kernels/common/launch.cuh). */
#ifndef BENCH_WORKLOADS_MNIST_TRAIN_CUDA_H
#define BENCH_WORKLOADS_MNIST_TRAIN_CUDA_H

#include "engine/gpu.h"
#include "engine/session.h"
#include "workloads/common/session_parts.h"
#include "workloads/mnist/fit.h"
#include "workloads/mnist/gpu_images.h"
#include "workloads/mnist_train/cublaslt.h"

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

/* Allocate and release the block of a sample; launches use it until mnist_cuda_use_fixed() selects
 * the block of the case. */
status_t mnist_cuda_allocate(void *mnist_cuda, error_t *err);
status_t mnist_cuda_release(void *mnist_cuda, error_t *err);
void mnist_cuda_use_fixed(mnist_cuda_t *s);

/* Fill in `units`. */
status_t mnist_cuda_find_units(mnist_cuda_t *s, error_t *err);

/* These submit work without waiting. */
status_t mnist_cuda_upload(mnist_cuda_t *s, uint32_t steps, error_t *err);
status_t mnist_cuda_train(mnist_cuda_t *s, uint32_t steps, error_t *err);
status_t mnist_cuda_run_unit(mnist_cuda_t *s, const mnist_unit_t *unit, error_t *err);
status_t mnist_cuda_evaluate(mnist_cuda_t *s, error_t *err);
status_t mnist_cuda_copy_out(void *mnist_cuda, error_t *err); /* a sample's results */

/* The first `n` losses of the copied results. */
void mnist_cuda_losses(const mnist_cuda_t *s, double *losses, size_t n);

/* Capture steps, with the block of the case, if the rung's plan asks for a graph. */
status_t mnist_cuda_capture(mnist_cuda_t *s, error_t *err);

status_t mnist_cuda_add_probes(session_t *session, error_t *err); /* probes.c */

#endif

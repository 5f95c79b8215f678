/* The pieces of mnist_train on a GPU. The images lie on the device as the case is opened and stay
 * there; a sample is allocate → upload start weights and order → train → copy out → release. What a
 * step launches, a rung says in its cubin (stages and plan in kernels/common/launch.cuh). */
#ifndef BENCH_WORKLOADS_MNIST_TRAIN_CUDA_H
#define BENCH_WORKLOADS_MNIST_TRAIN_CUDA_H

#include "engine/gpu_module.h"
#include "engine/session.h"
#include "workloads/common/train_phases.h"
#include "workloads/mnist/fit.h"
#include "workloads/mnist/gpu_images.h"
#include "workloads/mnist_train/cublaslt.h"

enum {
    MNIST_GRAPH_STEPS = 50, /* at most, in one graph: a longer training replays it */
    MNIST_MAX_UNITS = GPU_MAX_STAGES + MNIST_PARTS,
};

/* What a step is made of, in order: a kernel, or, without one, the library's products. */
typedef struct mnist_unit {
    const char *name;
    const gpu_stage_t *stage;
    mnist_part_t part;
} mnist_unit_t;

typedef struct mnist_cuda {
    gpu_t *gpu;
    gpu_program_t program;
    mnist_unit_t units[MNIST_MAX_UNITS];
    size_t n_units;
    /* Of a library rung: its kernels for what the library lacks. */
    const gpu_stage_t *relu_gradient, *bias_gradient;
    mnist_library_t library;
    const mnist_data_t *data;
    mnist_problem_t problem; /* with the buffers that the next launches use */
    mnist_gpu_images_t train, test;
    gpu_memory_t memory;          /* of what is there for the whole case */
    mnist_layout_t whole, sample; /* of a block for all steps; for a sample's */
    cu_pointer_t block;           /* for all steps, allocated once: graphs, output, evaluation */
    cu_pointer_t own;             /* of a sample that allocates */
    train_phases_t phases;
    uint32_t sample_steps;
    unsigned char *start;   /* pinned: weights, biases … */
    uint32_t *order;        /* … and the sample's order, which are uploaded */
    unsigned char *results; /* pinned: weights, biases, losses, which come back */
    mnist_fit_t fit;
    cu_graph_exec_t graph; /* plan.graph: graph_steps steps */
    uint32_t graph_steps;
    unsigned first_stage; /* phase; steps = 1 */
} mnist_cuda_t;

/* A sample's own block, its first and last phase; it is used until the block of the case is
 * (mnist_cuda_use_fixed). */
status_t mnist_cuda_allocate(void *mnist_cuda, error_t *err);
status_t mnist_cuda_release(void *mnist_cuda, error_t *err);
void mnist_cuda_use_fixed(mnist_cuda_t *s);

/* Find out what a step is made of. */
status_t mnist_cuda_find_units(mnist_cuda_t *s, error_t *err);

/* These submit work and do not wait for it. */
status_t mnist_cuda_upload(mnist_cuda_t *s, uint32_t steps, error_t *err);
status_t mnist_cuda_train(mnist_cuda_t *s, uint32_t steps, error_t *err);
status_t mnist_cuda_run_unit(mnist_cuda_t *s, const mnist_unit_t *unit, error_t *err);
status_t mnist_cuda_evaluate(mnist_cuda_t *s, error_t *err);
status_t mnist_cuda_copy_out(void *mnist_cuda, error_t *err); /* a sample's results */

/* Capture steps where the rung's plan asks for it; they use the case's block from then on. */
status_t mnist_cuda_capture(mnist_cuda_t *s, error_t *err);

/* Declare phases and probes in the session (probes.c). */
status_t mnist_cuda_add_probes(session_t *session, error_t *err);

#endif

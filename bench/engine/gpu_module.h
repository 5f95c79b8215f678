/* A program of several kernels (`stages` and `plan` in kernels/common/launch.cuh), loaded together
 * and launched stage by stage. */
#ifndef BENCH_ENGINE_GPU_MODULE_H
#define BENCH_ENGINE_GPU_MODULE_H

#include "engine/gpu.h"

typedef struct gpu_stage {
    stage_t spec;
    cu_function_t function;
    double occupancy_frac;
} gpu_stage_t;

typedef struct gpu_program {
    cu_module_t module;
    plan_t plan;
    gpu_stage_t stages[LAUNCH_MOST_STAGES]; /* in launch order */
    size_t n_stages;
    double load_ns; /* reading the cubin and loading the module */
} gpu_program_t;

/* Load all stages that a cubin lists. On failure there is nothing to unload. */
status_t gpu_program_load(gpu_t *gpu, const char *cubin, gpu_program_t *program, error_t *err);
void gpu_program_unload(gpu_t *gpu, gpu_program_t *program);

/* Do so many blocks of a stage, which wait for each other, fit on the device at the same time? Else it
 * fails; the message says how many do. */
status_t gpu_stage_resident(gpu_t *gpu, const gpu_stage_t *stage, unsigned blocks, error_t *err);
/* The same of all stages of a program that are STAGE_COOPERATIVE, with the grids of their geometry. */
status_t gpu_program_resident(gpu_t *gpu, const gpu_program_t *program, error_t *err);

/* Launch one stage over `items` on `stream`; the stage's geometry sets the grid. */
status_t gpu_stage_launch(gpu_t *gpu, const gpu_stage_t *stage, size_t items, cu_stream_t stream,
                          void **arguments, error_t *err);

#endif

/* A parsed sweep before its expansion into cases: axes, and the part of their product that each
 * contender runs. Internal to sweep/. */
#ifndef BENCH_SWEEP_PLAN_H
#define BENCH_SWEEP_PLAN_H

#include "sweep/sweep.h"

enum { SWEEP_CASE_LIMIT = 100000 };

/* The message for an unknown workload; the caller frees it. */
char *sweep_unknown_workload(const char *name);

typedef struct axis {
    const char *name; /* of the workload's table */
    value_t *values;
    size_t n, capacity;
} axis_t;
bool axis_has(const axis_t *axis, const value_t *value);

typedef struct contender {
    const char *engine;   /* the sweep's JSON owns it */
    bool external;        /* reference_<engine>/worker.py, not of workload_engines() */
    text_list_t devices;  /* "cuda", "cpu" */
    text_list_t variants; /* with "*" expanded */
    text_list_t named;    /* those that the sweep names */
    text_list_t for_gpu;  /* those that "*" leaves out on the CPU, besides PyTorch's */
    axis_t *axes;         /* the plan's, or subsets of them */
    size_t n_axes;
    axis_t *techniques; /* for cuda all of the workload, else none */
    size_t n_techniques;
} contender_t;

typedef struct sweep_plan {
    const workload_t *workload;
    axis_t *axes; /* the workload's parameters in order, then dtype */
    size_t n_axes;
    contender_t *contenders;
    size_t n_contenders;
} sweep_plan_t;

/* Read "axes" and "contenders" of a sweep. Free the plan even after a failure. */
status_t sweep_plan_read(const node_t *top, const workload_t *workload, const char *root,
                         sweep_plan_t *plan, error_t *err);
void sweep_plan_free(sweep_plan_t *plan);

#endif

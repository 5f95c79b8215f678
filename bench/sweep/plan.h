/* A sweep between its JSON and its cases: axes that multiply, and contenders that say which part of
 * the product each of them runs. Inside the sweep step only. */
#ifndef BENCH_SWEEP_PLAN_H
#define BENCH_SWEEP_PLAN_H

#include "sweep/json_node.h"
#include "sweep/sweep.h"

enum { SWEEP_CASE_LIMIT = 100000 };

/* What is wrong with a workload's name that workload_find() does not know; the caller frees it. */
char *sweep_unknown_workload(const char *name);

typedef struct axis {
    const char *name; /* of the workload's table */
    value_t *values;
    size_t n, capacity;
} axis_t;

typedef struct contender {
    const char *engine;   /* belongs to the sweep's JSON */
    bool own;             /* not of the table: reference_<engine>/worker.py */
    text_list_t devices;  /* "cuda", "cpu" */
    text_list_t variants; /* "*" replaced by what it stands for */
    text_list_t named;    /* those that the sweep names one by one */
    axis_t *axes;         /* as the plan's, narrowed where the sweep says so */
    size_t n_axes;
    axis_t *techniques; /* every technique of the workload for cuda, none for other engines */
    size_t n_techniques;
} contender_t;

typedef struct sweep_plan {
    const workload_t *workload;
    axis_t *axes; /* every parameter of the workload in its order, then dtype */
    size_t n_axes;
    contender_t *contenders;
    size_t n_contenders;
} sweep_plan_t;

/* Read "axes" and "contenders" of a sweep's top-level object. Free the plan after a failure too. */
status_t sweep_plan_read(const node_t *top, const workload_t *workload, const char *root,
                         sweep_plan_t *plan, error_t *err);
void sweep_plan_free(sweep_plan_t *plan);

/* Append the plan's cases to the sweep: point by point through the axes (the first one slowest), at
 * each point contender by contender. A case that two contenders ask for is there once. */
status_t sweep_expand(const sweep_plan_t *plan, const node_t *top, sweep_t *sweep, error_t *err);

#endif

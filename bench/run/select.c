/* Select cases: those of the sweeps, minus what options and shards exclude. */
#include "run/state.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK_TIME_LIMIT_S = 2 };
static const double QUICK_PRECISION_FRAC = 0.01;

void run_keep_cases(sweep_t *sweep, case_filter_t *keep, const void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < sweep->n_cases; i++) {
        if (keep(sweep, &sweep->cases[i], context))
            sweep->cases[kept++] = sweep->cases[i];
        else
            case_free(&sweep->cases[i]);
    }
    sweep->n_cases = kept;
}

static bool is_not_pytorch(const sweep_t *sweep, const case_t *spec, const void *context) {
    (void)sweep;
    (void)context;
    return strcmp(spec->engine, "pytorch") != 0;
}

group_t run_next_group(const sweep_t *sweep, size_t *at) {
    group_t group = {
        .workload = sweep->workload, .cases = &sweep->cases[*at], .measure = &sweep->measure};
    char *first = workload_group(sweep->workload, &sweep->cases[*at]);
    bool same = true;
    while (same) {
        group.n++;
        if (++*at == sweep->n_cases)
            break;
        char *next = workload_group(sweep->workload, &sweep->cases[*at]);
        same = strcmp(first, next) == 0;
        free(next);
    }
    free(first);
    return group;
}

/* Every n-th group: contenders that are compared with each other stay in one shard. */
static void keep_shard(const run_options_t *options, sweep_t *sweep) {
    size_t kept = 0, number = 0;
    for (size_t first = 0, end = 0; end < sweep->n_cases; first = end, number++) {
        run_next_group(sweep, &end);
        bool selected = number % options->n_shards == options->shard - 1;
        for (size_t i = first; i < end; i++) {
            if (selected)
                sweep->cases[kept++] = sweep->cases[i];
            else
                case_free(&sweep->cases[i]);
        }
    }
    sweep->n_cases = kept;
}

static void apply_options(const run_options_t *options, sweep_t *sweep) {
    if (options->quick) {
        sweep->measure.time_limit_s = fmin(sweep->measure.time_limit_s, QUICK_TIME_LIMIT_S);
        sweep->measure.precision_frac = fmax(sweep->measure.precision_frac, QUICK_PRECISION_FRAC);
    }
    if (options->time_limit_s > 0)
        sweep->measure.time_limit_s = options->time_limit_s;
    if (options->no_pytorch)
        run_keep_cases(sweep, is_not_pytorch, NULL);
    if (options->n_shards > 0)
        keep_shard(options, sweep);
}

status_t run_load_sweeps(run_t *run, error_t *err) {
    const run_options_t *options = run->options;
    bool single = options->single.workload != NULL;
    if (single == (options->n_sweeps > 0))
        return error_set(err, STATUS_USAGE,
                         single ? "give sweep files or --workload, not both"
                                : "nothing to run: give sweep files, or --workload W");
    size_t n = single ? 1 : options->n_sweeps;
    run->sweeps = mem_zeroed(n, sizeof *run->sweeps);
    for (size_t i = 0; i < n; i++, run->n_sweeps++) {
        if (single)
            TRY(sweep_from_options(&options->single, options->root, &run->sweeps[i], err));
        else
            TRY(sweep_load(options->sweeps[i], options->root, &run->sweeps[i], err));
        apply_options(options, &run->sweeps[i]);
    }
    return STATUS_OK;
}

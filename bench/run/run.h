/* `bench run`: sweeps → cases → compiled programs → { verify → sample in rounds → summarise } →
 * results/<run>/. */
#ifndef BENCH_RUN_RUN_H
#define BENCH_RUN_RUN_H

#include "compile/toolchain.h"
#include "sweep/sweep.h"

#include <stdio.h>

typedef struct run_options {
    const char *root; /* the project's folder */
    const char *const *sweeps;
    size_t n_sweeps;
    sweep_options_t single; /* instead of sweep files: --workload and friends */
    const char *out;        /* the run's folder; NULL: results/<sweep>-<time> */
    text_list_t arch;       /* overrides the sweeps' own; empty: not */
    compiler_t compiler;
    int device;
    unsigned shard, n_shards; /* shard i of n, counted from 1; n_shards 0: all */
    uint64_t seed;
    double timeout_s;     /* longest wait for one answer of a worker */
    double time_limit_s;  /* a contender; 0: what the sweep says */
    unsigned lock_mhz;    /* the GPU's SM clock; 0: it is left as it is */
    const char *against;  /* another build, measured in turns with this one (other_build.h); NULL */
    const char *floor;    /* a run whose floor.json tells the noise floors of that; NULL: none */
    unsigned n_processes; /* of each build that its rounds are spread over */
    double threshold_frac;  /* of that comparison */
    double recheck_limit_s; /* longest time for measuring again what it leaves undecided */
    bool strict;            /* STATUS_NOISY where it leaves something undecided all the same */
    bool resume, quick, no_pytorch, cold, profile, trace, sanitize, quiet, json;
    const char *const *argv; /* for the record */
    size_t n_argv;
    FILE *print; /* where the answer goes */
} run_options_t;

/* Measure, or trace. STATUS_FAILED when a case was wrong or failed, or the run was interrupted;
 * whatever was finished is in the folder by then. With `against`, what compare_runs() says. */
status_t run(const run_options_t *options, error_t *err);

/* `bench plan`: what run() would do, and why a case would be skipped. Needs no GPU. */
status_t plan(const run_options_t *options, error_t *err);

#endif

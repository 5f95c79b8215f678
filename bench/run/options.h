/* The options of `bench run`. */
#ifndef BENCH_RUN_OPTIONS_H
#define BENCH_RUN_OPTIONS_H

#include "compile/toolchain.h"
#include "sweep/sweep.h"

#include <stdio.h>

/* AUTO: forked, where they may be. */
typedef enum processes { PROCESSES_AUTO, PROCESSES_FORKED, PROCESSES_FRESH } processes_t;

/* Of --passes: exactly 6, or 5 to 12, as many as each case needs; most 0: as in the sweep. */
typedef struct passes_asked {
    unsigned least, most;
} passes_asked_t;

typedef struct run_options {
    const char *root; /* the project folder */
    const char *const *sweeps;
    size_t n_sweeps;
    sweep_options_t single; /* --workload and its options, instead of sweep files */
    const char *out;        /* the run's folder; NULL: results/<sweep>-<time> */
    compiler_t compiler;
    int device;
    const char *devices;   /* "0,1": used at once, each by a child; NULL: --device alone */
    bool is_one_device;    /* with `devices`: this is the child that uses `device` */
    text_list_t passed_on; /* with `devices`: options of the children */
    const char *cpus;      /* cores for workers and supervisor, "0-7,12"; NULL: all */
    shard_t shard;         /* n 0: all cases */
    uint64_t seed;
    double timeout_s;    /* for one answer of a worker */
    double time_limit_s; /* per contender; 0: as in the sweep */
    double budget_s;     /* no pass is begun that would end later; 0: none */
    passes_asked_t passes;
    unsigned draws;      /* of a compiler that tunes; 0: as in the sweep */
    unsigned lock_mhz;   /* SM clock to lock; 0: do not lock */
    const char *against; /* another build to measure in turns with this one (other_build.h); NULL */
    const char *floor;   /* a run whose floor.json has noise floors for --against; NULL: none */
    double threshold_frac;  /* of the --against comparison */
    double recheck_limit_s; /* time limit for re-measuring undecided cases; 0: off */
    bool strict;            /* STATUS_NOISY if cases stay undecided */
    processes_t processes;  /* of workers */
    bool isolate;           /* a worker process for each case of a group */
    bool resume, retry, quick, no_pytorch, no_jax, profile, trace, sanitize, quiet, json;
    const char *const *argv; /* for the record */
    size_t n_argv;
    FILE *print; /* result output */
} run_options_t;

#endif

/* `bench cluster`: a sweep as a Slurm job array of shards, and a job that merges and reports them. */
#ifndef BENCH_CLUSTER_CLUSTER_H
#define BENCH_CLUSTER_CLUSTER_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct cluster_options {
    const char *root;       /* the project's folder */
    const char *out;        /* of everything; tasks and the submitting host share it */
    text_list_t run;        /* the words after `bench run`: sweeps and options */
    text_list_t for_all;    /* options of sbatch, a word each, for every job */
    text_list_t for_shards; /* for the tasks of arrays */
    const char *container;  /* image for pyxis; NULL: none */
    unsigned n_shards;
    bool dry_run; /* print the scripts; write and submit nothing */
    FILE *print;
} cluster_options_t;

/* Write OUT/shard.sh and OUT/merge.sh, and submit them. */
status_t cluster_submit(const cluster_options_t *options, error_t *err);

#endif

/* The scripts of `bench cluster`. */
#ifndef BENCH_CLUSTER_SCRIPTS_H
#define BENCH_CLUSTER_SCRIPTS_H

#include "cluster/cluster.h"

/* Where jobs run, as words for the shell. */
typedef struct cluster_paths {
    char *here;    /* the folder of the command */
    char *root;    /* the project's folder */
    char *program; /* this one */
    char *out;     /* absolute */
    char *name;    /* OUT's last part */
} cluster_paths_t;

typedef struct cluster_kind {
    char *name;          /* "" if there is only one */
    text_list_t options; /* of sbatch */
} cluster_kind_t;

/* A job array: task I measures shard I, and goes on with it if it was begun. The caller frees it. */
char *script_of_shards(const cluster_options_t *options, const cluster_paths_t *paths,
                       const cluster_kind_t *kind);
/* The job after all arrays. Exits with 1 if anything is missing, after a report of what there is. */
char *script_of_merge(const cluster_options_t *options, const cluster_paths_t *paths,
                      const cluster_kind_t *kinds, size_t n_kinds);

#endif

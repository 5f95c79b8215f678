#include "sweep/shard.h"

#include "base/memory.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Which shard measures which groups. Every shard finds the same answer from the same sweeps. */

/* What a case takes in a pass, besides half of the time limit, at most MOST_MEASURED_S. On an H100 a script
 * of the two smallest workloads took 0.2 to 2 s where built-in engines took 0.1 to 0.2, and for the largest
 * sizes, of 320 MB, 3 to 5 s where they took 0.7 to 0.8; 37 to 47 cases of operators together, with a limit
 * of 0.8 s, took 43 to 84 s on an H200. Draws are not counted: only a running worker tells what it tunes. */
static const struct takes {
    double opening_s, bytes_per_s;
} BUILT_IN = {0.15, 270e6}, SCRIPT = {1, 90e6};
static const double MOST_MEASURED_S = 1; /* most cases are precise before a longer limit */

typedef struct sharded_group {
    char *name;
    size_t number; /* in the order of the sweeps */
    double weight; /* what it takes in a pass, in s */
    unsigned shard;
} sharded_group_t;

typedef struct assignment {
    void *by_name; /* tsearch() tree of the groups */
    sharded_group_t **groups;
    size_t n_groups;
    unsigned shard; /* to keep */
} assignment_t;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const sharded_group_t *)a)->name, ((const sharded_group_t *)b)->name);
}

/* The heaviest first, equal ones in the order of the sweeps. */
static int compare_weights(const void *a, const void *b) {
    const sharded_group_t *x = *(sharded_group_t *const *)a, *y = *(sharded_group_t *const *)b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static sharded_group_t *find_group(assignment_t *assignment, const workload_t *workload,
                                   const case_t *spec) {
    sharded_group_t key = {.name = workload_group(workload, spec)};
    sharded_group_t **found = tfind(&key, &assignment->by_name, compare_names);
    if (found != NULL) {
        free(key.name);
        return *found;
    }
    sharded_group_t *group = mem_alloc(sizeof *group);
    *group = (sharded_group_t){.name = key.name, .number = assignment->n_groups};
    if (tsearch(group, &assignment->by_name, compare_names) == NULL)
        abort(); /* out of memory, as everywhere in mem_*() */
    assignment->groups =
        mem_resize(assignment->groups, assignment->n_groups + 1, sizeof *assignment->groups);
    assignment->groups[assignment->n_groups++] = group;
    return group;
}

static void weigh(assignment_t *assignment, const sweep_t *sweep) {
    const workload_t *workload = sweep->workload;
    const double measured_s = fmin(sweep->measure.time_limit_s / 2, MOST_MEASURED_S);
    for (size_t i = 0; i < sweep->n_cases; i++) {
        const case_t *spec = &sweep->cases[i];
        const struct takes *takes = case_engine_is_built_in(spec->engine) ? &BUILT_IN : &SCRIPT;
        /* Not what is only allocated: no time is spent on that. */
        const double bytes = workload->cost(spec).working_set_bytes;
        find_group(assignment, workload, spec)->weight +=
            takes->opening_s + measured_s + bytes / takes->bytes_per_s;
    }
}

/* Graham's rule of the longest processing time ("Bounds on multiprocessing timing anomalies", SIAM J.
 * Appl. Math. 17, 1969): the heaviest group that is left goes to the shard that has least. Equal
 * shards take turns to and fro, as sizes ascend in sweeps. */
static void assign(assignment_t *assignment, unsigned n_shards) {
    AUTO_FREE double *loads = mem_zeroed(n_shards, sizeof *loads);
    if (assignment->n_groups > 0)
        qsort(assignment->groups, assignment->n_groups, sizeof *assignment->groups,
              compare_weights);
    for (size_t g = 0; g < assignment->n_groups; g++) {
        const bool fro = g / n_shards % 2 != 0;
        unsigned least = fro ? n_shards - 1 : 0;
        for (unsigned k = 1; k < n_shards; k++) {
            const unsigned shard = fro ? n_shards - 1 - k : k;
            least = loads[shard] < loads[least] ? shard : least;
        }
        assignment->groups[g]->shard = least + 1;
        loads[least] += assignment->groups[g]->weight;
    }
}

static bool is_in_shard(const sweep_t *sweep, const case_t *spec, const void *context) {
    assignment_t *assignment = *(assignment_t *const *)context;
    return find_group(assignment, sweep->workload, spec)->shard == assignment->shard;
}

static void free_group(void *group) {
    free(((sharded_group_t *)group)->name);
    free(group);
}

size_t sweeps_keep_shard(sweep_t *sweeps, size_t n, const shard_t *shard) {
    assignment_t assignment = {.shard = shard->number}, *context = &assignment;
    for (size_t s = 0; s < n; s++)
        weigh(&assignment, &sweeps[s]);
    assign(&assignment, shard->n);
    for (size_t s = 0; s < n; s++)
        sweep_keep_cases(&sweeps[s], is_in_shard, &context);
    tdestroy(assignment.by_name, free_group);
    free(assignment.groups);
    return assignment.n_groups;
}

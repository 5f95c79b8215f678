#include "sweep/shard.h"

#include "base/memory.h"
#include "base/text.h"

#include <limits.h>
#include <math.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY "SLURM_ARRAY_TASK_"

/* Counted from 0. The innermost launcher first: torchrun may run under mpirun, and mpirun under srun. */
static const struct source {
    const char *number, *count; /* count NULL: the environment does not tell it */
} SOURCES[] = {
    {"JOB_COMPLETION_INDEX", NULL},
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};

enum { N_SOURCES = sizeof SOURCES / sizeof *SOURCES };

/* An "auto" or "auto/N" that is being read. */
typedef struct reading {
    const char *text;
    shard_lookup_t *get;
    const void *context;
    unsigned n; /* of auto/N; 0: auto */
} reading_t;

static bool parse_whole(const char *text, unsigned *value) {
    errno = 0;
    const unsigned long number = strtoul(text, NULL, 10);
    const bool ok = *text != '\0' && strspn(text, "0123456789") == strlen(text) && errno == 0 &&
                    number <= INT_MAX;
    if (ok)
        *value = (unsigned)number;
    return ok;
}

/* The value of a variable that is set; `*value` is kept if it is not. */
static status_t read_number(const reading_t *reading, const char *name, unsigned *value,
                            error_t *err) {
    const char *text = reading->get(name, reading->context);
    if (text == NULL || parse_whole(text, value))
        return STATUS_OK;
    return error_set(err, STATUS_USAGE, "--shard %s: %s: found \"%s\", expected a whole number",
                     reading->text, name, text);
}

static status_t check_count(const reading_t *reading, const char *name, unsigned count,
                            error_t *err) {
    if (reading->n == 0 || count == reading->n)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE, "--shard %s: %s is %u, expected %u", reading->text, name,
                     count, reading->n);
}

/* Only all tasks of an array measure all cases: of tasks 1,5,7 none would be shard 2. */
static status_t read_array(const reading_t *reading, shard_t *shard, error_t *err) {
    static const char *const NEEDED[] = {ARRAY "MIN", ARRAY "COUNT"};
    unsigned id = 0, min = 0, count = 0, step = 1;
    for (size_t i = 0; i < sizeof NEEDED / sizeof *NEEDED; i++)
        if (reading->get(NEEDED[i], reading->context) == NULL)
            return error_set(err, STATUS_USAGE,
                             "--shard %s: " ARRAY "ID is set, but %s is not: give --shard I/N",
                             reading->text, NEEDED[i]);
    TRY(read_number(reading, ARRAY "ID", &id, err));
    TRY(read_number(reading, ARRAY "MIN", &min, err));
    TRY(read_number(reading, ARRAY "COUNT", &count, err));
    TRY(read_number(reading, ARRAY "STEP", &step, err));
    if (count == 0 || step == 0)
        return error_set(err, STATUS_USAGE, "--shard %s: " ARRAY "%s is 0, expected 1 or more",
                         reading->text, count == 0 ? "COUNT" : "STEP");
    TRY(check_count(reading, ARRAY "COUNT", count, err));
    unsigned max = min + step * (count - 1);
    TRY(read_number(reading, ARRAY "MAX", &max, err));
    if (max < min || (max - min) / step + 1 != count)
        return error_set(err, STATUS_USAGE,
                         "--shard %s: the job array has %u task%s from %u to %u with step %u: "
                         "submit all tasks of a range (--array=1-N), or give --shard I/N",
                         reading->text, count, count == 1 ? "" : "s", min, max, step);
    if (id < min || id > max || (id - min) % step != 0)
        return error_set(err, STATUS_USAGE,
                         "--shard %s: " ARRAY "ID is %u, expected one of %u to %u with step %u",
                         reading->text, id, min, max, step);
    *shard = (shard_t){(id - min) / step + 1, count, ARRAY "ID"};
    return STATUS_OK;
}

static status_t read_source(const reading_t *reading, const struct source *source, shard_t *shard,
                            error_t *err) {
    unsigned index = 0, count = 0;
    TRY(read_number(reading, source->number, &index, err));
    const bool has_count =
        source->count != NULL && reading->get(source->count, reading->context) != NULL;
    if (has_count) {
        TRY(read_number(reading, source->count, &count, err));
        TRY(check_count(reading, source->count, count, err));
    } else if (reading->n == 0) {
        return error_set(err, STATUS_USAGE,
                         "--shard auto: %s is set, but nothing tells the number of shards: give "
                         "--shard auto/N",
                         source->number);
    } else {
        count = reading->n;
    }
    if (index >= count)
        return error_set(err, STATUS_USAGE, "--shard %s: %s is %u, expected less than %u%s%s",
                         reading->text, source->number, index, count, has_count ? ", " : "",
                         has_count ? source->count : "");
    *shard = (shard_t){index + 1, count, source->number};
    return STATUS_OK;
}

static status_t read_environment(const reading_t *reading, shard_t *shard, error_t *err) {
    if (reading->get(ARRAY "ID", reading->context) != NULL)
        return read_array(reading, shard, err);
    text_list_t names = {0};
    text_list_add(&names, ARRAY "ID");
    for (size_t i = 0; i < N_SOURCES; i++) {
        if (reading->get(SOURCES[i].number, reading->context) != NULL) {
            text_list_free(&names);
            return read_source(reading, &SOURCES[i], shard, err);
        }
        text_list_add(&names, SOURCES[i].number);
    }
    char *list = text_list_join(&names, ", ");
    error_set(err, STATUS_USAGE, "--shard %s: expected one of %s in the environment: give I/N",
              reading->text, list);
    free(list);
    text_list_free(&names);
    return STATUS_USAGE;
}

status_t shard_read(const char *text, shard_lookup_t *get, const void *context, shard_t *shard,
                    error_t *err) {
    reading_t reading = {text, get, context, 0};
    char rest;
    *shard = (shard_t){0};
    if (strcmp(text, "auto") == 0 ||
        (text_starts(text, "auto/") && parse_whole(text + strlen("auto/"), &reading.n) &&
         reading.n >= 1))
        return read_environment(&reading, shard, err);
    if (sscanf(text, "%u/%u%c", &shard->number, &shard->n, &rest) == 2 && shard->number >= 1 &&
        shard->number <= shard->n)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "--shard %s: expected I/N with 1 <= I <= N, auto, or auto/N", text);
}

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
    double *loads = mem_zeroed(n_shards, sizeof *loads);
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
    free(loads);
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

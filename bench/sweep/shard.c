#include "sweep/shard.h"

#include "base/memory.h"
#include "base/text.h"

#include <limits.h>
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

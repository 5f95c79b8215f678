/* Inputs that a function of reference.py makes (the fill "function"): the oracle's process calls it once for each seed and
 * writes files, which all contenders of the case read, whatever their language. */
#ifndef BENCH_MEASURE_MADE_INPUTS_H
#define BENCH_MEASURE_MADE_INPUTS_H

#include "base/error.h"
#include "model/case.h"
#include "worker/client.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct made_files {
    uint64_t refill;
    unsigned readers;
} made_files_t;

/* Of one case, for all its contenders. */
typedef struct made_inputs {
    worker_link_t *worker; /* the oracle's */
    case_t spec;           /* … case */
    uint64_t seed;         /* … which it is opened with */
    double timeout_s;      /* for one answer */
    char *folder; /* the files of refill seed S are <folder>/S/NAME; NULL: a function makes none */
    made_files_t *files; /* those of refills; of seed 0 they stay */
    size_t n_files, capacity;
} made_inputs_t;

/* A worker may go back to the inputs that it had before the last ones. */
enum { MADE_SEEDS = 2 };

/* What one contender has, or who else needs files to stay. Start with zeros. */
typedef struct made_reader {
    uint64_t refills[MADE_SEEDS]; /* the last one first */
    char *copy;                   /* folder in place of the oracle's, behind walls; or NULL */
} made_reader_t;

/* Does a function make inputs of this workload? */
bool made_inputs_exist(const char *workload);
/* Makes a folder if so. The caller frees it. */
status_t made_inputs_open(const case_t *oracle, worker_link_t *worker, uint64_t seed,
                          double timeout_s, made_inputs_t *made, error_t *err);
void made_inputs_free(made_inputs_t *made);
/* Have the files of a refill seed where this worker sees them. */
status_t made_inputs_have(made_inputs_t *made, uint64_t refill, const worker_link_t *worker,
                          made_reader_t *reader, error_t *err);
/* The reader needs none any more; `made` may be NULL. */
void made_inputs_leave(made_inputs_t *made, made_reader_t *reader);

#endif

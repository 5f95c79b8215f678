/* Inputs of a case as files: made once for each seed, and read by all its contenders that are not of this program. C makes
 * them (workloads/described/fill.h), or the oracle's process, if a function of reference.py does (the fill "function"). */
#ifndef BENCH_MEASURE_MADE_INPUTS_H
#define BENCH_MEASURE_MADE_INPUTS_H

#include "base/error.h"
#include "model/case.h"
#include "worker/client.h"
#include "workloads/described/description.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct made_files {
    uint64_t refill;
    unsigned readers;
} made_files_t;

/* Which inputs a worker reads from files: C makes the others itself, and of a refill the device may (kernels/common/refill.cu).
 * Those in place it has where a training continues. */
typedef enum made_part {
    MADE_BY_FUNCTION,
    MADE_NOT_DRAWN,
    MADE_NOT_IN_PLACE,
    MADE_ALL
} made_part_t;

/* A file as it was written: any process of this user could change it. */
typedef struct made_stamp {
    ino_t number; /* 0: not written */
    struct timespec changed;
} made_stamp_t;

/* Of one case, for all its contenders. */
typedef struct made_inputs {
    worker_link_t *worker; /* the oracle's */
    case_t spec;           /* … case */
    uint64_t seed;         /* … which it is opened with */
    double timeout_s;      /* for one answer */
    char *folder; /* the files of refill seed S are <folder>/S/NAME; NULL: the case has none */
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n_shapes;
    made_stamp_t stamps[DESCRIBED_SHAPES]; /* of refill seed 0 */
    made_files_t *files;                   /* those of refills; of seed 0 they stay */
    size_t n_files, capacity;
} made_inputs_t;

/* A worker may go back to the inputs that it had before the last ones. */
enum { MADE_SEEDS = 2 };

/* What one contender has, or who else needs files to stay. Start with zeros. */
typedef struct made_reader {
    uint64_t refills[MADE_SEEDS]; /* the last one first */
    char *copy;                   /* folder in place of the oracle's, behind walls; or NULL */
} made_reader_t;

/* Does a case of this workload have inputs, and does its worker read any from files? */
bool made_inputs_exist(const char *workload, made_part_t part);
/* Makes a folder if so: in memory where it has room. The caller frees it. */
status_t made_inputs_open(const case_t *oracle, worker_link_t *worker, uint64_t seed,
                          double timeout_s, made_inputs_t *made, error_t *err);
void made_inputs_free(made_inputs_t *made);
/* Is there host memory for those who read these inputs? STATUS_FAILED: how much is needed, and is free. */
status_t made_inputs_fit(const made_inputs_t *made, made_part_t part, error_t *err);
/* Have the files of a refill seed where this worker sees them. */
status_t made_inputs_have(made_inputs_t *made, made_part_t part, uint64_t refill,
                          const worker_link_t *worker, made_reader_t *reader, error_t *err);
/* A request with this refill seed is done: what was drawn for it goes, and nobody can find it later. */
void made_inputs_drop(const made_inputs_t *made, uint64_t refill, const made_reader_t *reader);
/* The reader needs none any more; `made` may be NULL. */
void made_inputs_leave(made_inputs_t *made, made_reader_t *reader);

#endif

/* Device memory that a workload's rung has during some of its launches: the table TEMPORARIES, read from the cubin and
 * evaluated for a case. Host copy of the struct in kernels/common/workload.cuh (a test compares the two). */
#ifndef BENCH_WORKLOADS_DESCRIBED_TEMPORARIES_H
#define BENCH_WORKLOADS_DESCRIBED_TEMPORARIES_H

#include "workloads/common/gpu_sample.h"
#include "workloads/described/launches.h"

enum {
    MOST_TEMPORARIES = 32,
    MOST_HELD = 128, /* with each of a list */
};

typedef struct described_temporary {
    char name[64];
    char bytes[64];
    char first[64];
    char last[64];
    uint32_t count;
} described_temporary_t;

typedef struct temporaries {
    described_temporary_t items[MOST_TEMPORARIES];
    size_t n;
} temporaries_t;

/* None is no failure. STATUS_FAILED: what the table lacks. */
status_t temporaries_read(const cubin_t *cubin, temporaries_t *temporaries, error_t *err);
/* The same from the table's bytes. */
status_t temporaries_take(const void *table, size_t bytes, temporaries_t *temporaries,
                          error_t *err);
/* Is the table one that some size makes possible? Expressions, and launches that the program has. */
status_t temporaries_check(const description_t *description, const cubin_t *cubin, error_t *err);

/* One of a case. */
typedef struct temporary_size {
    size_t bytes; /* 0: it is always NULL */
    /* Places in a step (launch_place_t) during which it is held; also those that may start before its last one ends. */
    size_t first, last;
    size_t
        offset; /* in memory for all of them, where those that are never held together share some */
    bool starts; /* an argument: it is no further one of a list */
} temporary_size_t;

/* Returns how many there are with each of a list. */
size_t temporaries_count(const temporaries_t *temporaries);
/* `*all_bytes`: of that memory. STATUS_FAILED with number, name, key, what was found and expected: the case is then skipped. */
status_t temporaries_size(const temporaries_t *temporaries, const launches_t *launches,
                          const launch_size_t *launch_sizes, described_values_t *values,
                          temporary_size_t sizes[MOST_HELD], size_t *all_bytes, error_t *err);

bool temporary_is_held(const temporary_size_t *size, size_t position);

/* Those of a call that is being submitted. */
typedef struct temporaries_held {
    temporary_size_t sizes[MOST_HELD];
    size_t n;
    const gpu_array_t
        *fixed; /* memory for all; where it has no address: each from the case's allocator */
    cu_pointer_t at[MOST_HELD]; /* 0: not held */
} temporaries_held_t;

/* Give back those that this place does not hold, then take those that it does. */
status_t temporaries_change(temporaries_held_t *held, gpu_sample_t *sample, size_t position,
                            error_t *err);
/* Give all back. */
status_t temporaries_end(temporaries_held_t *held, gpu_sample_t *sample, error_t *err);

#endif

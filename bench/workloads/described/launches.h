/* How a workload's rung is launched: its tables LAUNCHES and WORKSPACE, read from the cubin and evaluated for a case.
 * Host copy of the struct in kernels/common/workload.cuh (a test compares the two). */
#ifndef BENCH_WORKLOADS_DESCRIBED_LAUNCHES_H
#define BENCH_WORKLOADS_DESCRIBED_LAUNCHES_H

#include "cuda/cubin.h"
#include "workloads/described/description.h"

#include <stdbool.h>
#include <stdint.h>

/* Sizes in the tables of a rung (LAUNCHES, TENSOR_MAPS, WORKSPACE): texts with an expression over params and sm_count. */

/* Does it end within so many bytes? */
bool table_text_ends(const char *text, size_t size);
/* `otherwise` stands for "". STATUS_FAILED with the text. */
status_t table_text_value(const char *text, const scope_t *scope, int64_t otherwise, int64_t *value,
                          error_t *err);
/* The names that texts may have, without values; `names`, where that of a number in a list follows them, has to live as long. */
scope_t table_text_scope(const description_t *description, const char *names[DESCRIBED_VALUES]);
/* Is it an expression over these names, or ""? */
status_t table_text_check(const char *text, const scope_t *scope, error_t *err);
/* Is it the same in every case? "" is not. */
bool table_text_is_constant(const char *text);

enum { MOST_LAUNCHES = 32, WORKSPACE_TEXT = 64 };

typedef struct described_launch {
    char entry[64];
    char grid[3][64];
    char threads[3][32];
    char shared[64];
    char cluster[3][16];
    uint32_t cooperative;
    uint32_t overlaps;
    char every[32];
    char index[32];
    uint32_t side_by_side;
    uint32_t in_turn;
} described_launch_t;

typedef struct launches {
    described_launch_t items[MOST_LAUNCHES];
    size_t n;
    char workspace[WORKSPACE_TEXT]; /* "": none */
    /* Only read from a cubin; the last: no launch that overlaps writes a temporary before it has waited. */
    bool as_graph, algorithmic, temporaries_after_wait;
} launches_t;

/* STATUS_FAILED: what the tables lack. */
status_t launches_read(const cubin_t *cubin, launches_t *launches, error_t *err);
/* The same from the table's bytes and the text of WORKSPACE, WORKSPACE_TEXT bytes. */
status_t launches_take(const void *table, size_t bytes, const char *workspace, launches_t *launches,
                       error_t *err);
/* Number the kernels in the order of their first launches: which is that of each launch? Returns how many there are. */
size_t launches_kernels(const launches_t *launches, size_t number[MOST_LAUNCHES]);
/* Can this program be launched? Checks its tables, their expressions, and that it has the kernels they name. */
status_t launches_check(const description_t *description, const cubin_t *cubin, error_t *err);

/* The sizes of one launch. */
typedef struct launch_size {
    unsigned grid[3], threads[3], shared, cluster[3];
    unsigned every; /* only in steps divisible by it; 0: in the last */
    unsigned
        repeat; /* times in a step, each with its index; 0: once, and the kernel has no index */
    unsigned in_turn; /* with the launch before it, which has the same indices */
} launch_size_t;

/* Where a call is: launch number `launch` in a step, with an index. */
typedef struct launch_place {
    int32_t step, index;
    size_t launch;
    size_t position; /* in its step, if that has all launches */
} launch_place_t;

/* The next place of a call, of whose first `place` is LAUNCH_FIRST. False: there is none. */
#define LAUNCH_FIRST ((launch_place_t){.index = -1})
bool launches_next(const launch_size_t *sizes, size_t n_launches, size_t steps,
                   launch_place_t *place);

/* Evaluate a launch, and check it against the limits of a GPU of this architecture, such as 90. STATUS_FAILED with kernel,
 * size and expression: the case is then skipped. */
status_t launches_size(const described_launch_t *launch, const described_values_t *values,
                       unsigned arch, launch_size_t *size, error_t *err);
status_t launches_workspace(const launches_t *launches, const described_values_t *values,
                            size_t *bytes, error_t *err);

#endif

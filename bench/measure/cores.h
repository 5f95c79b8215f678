/* Which core a worker runs on. The cores of a virtual machine have two speeds: a core is often one
 * hyperthread of a physical core, and slower while another guest is busy on the other one
 * (docs/measuring.md has the experiment). So before each round a short loop is timed on the cores,
 * and the worker's main thread moves to the fastest; after the round it is timed there again. All
 * contenders that use a GPU are placed like this; those on the CPU use all cores. */
#ifndef BENCH_MEASURE_CORES_H
#define BENCH_MEASURE_CORES_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { MOST_CORES = 1024 };

typedef struct cores {
    int allowed[MOST_CORES]; /* ascending */
    size_t n;                /* under 2: workers are not moved */
    int current;             /* the worker's; -1: it may run on any of them */
    double fastest_ns;       /* of the loop, on any core so far; NaN: none */
    double entered_ns;       /* of the loop, on the current core before the round */
    bool used[MOST_CORES];   /* since cores_take_used() */
} cores_t;

/* Those of `list` ("0-7,12"; NULL: all) that this process may use. A list binds this process, and so
 * the workers that it starts. */
status_t cores_init(cores_t *cores, const char *list, error_t *err);
/* Keep those of `near` (64 cores a word, as NVML gives them), unless that leaves none. */
void cores_keep_near(cores_t *cores, const unsigned long *near, size_t n_words);

/* Move the main thread of process `pid` to the fastest core, and this thread off it. */
void cores_enter(cores_t *cores, pid_t pid);
/* Let it run on any allowed core again. False if its core has become slow since cores_enter(). */
bool cores_leave(cores_t *cores, pid_t pid);

/* "0-3,7"; the caller frees it. */
char *cores_text(const int *list, size_t n);
/* The cores that rounds ran on since the last call. */
char *cores_take_used(cores_t *cores);

#endif

/* What the time of a run is spent on: at each moment on one thing. */
#ifndef BENCH_STATS_SPENT_H
#define BENCH_STATS_SPENT_H

#include <stdint.h>

typedef enum spent_on {
    SPENT_OTHER,     /* files, the order of rounds, closing cases */
    SPENT_START,     /* new processes and their imports */
    SPENT_STOP,      /* the end of those before */
    SPENT_CONTEXT,   /* contexts on devices */
    SPENT_COMPILE,   /* NVRTC, nvcc, torch.compile, Triton, JAX */
    SPENT_OPEN,      /* the rest of opening a case: inputs, buffers, captures, first runs */
    SPENT_REFERENCE, /* in float64 */
    SPENT_CHECK,     /* outputs against it */
    SPENT_WARM_UP,   /* before the rounds */
    SPENT_SAMPLES,   /* in rounds, with their own warm-up */
    SPENT_FRESH,     /* samples on new inputs, and filling these */
    SPENT_AUDIT,     /* scripts' claims against our clock */
    SPENT_KINDS,
} spent_on_t;

typedef struct spent {
    double ns[SPENT_KINDS];
    spent_on_t on; /* since then: */
    int64_t since_ns;
} spent_t;

/* "samples", "fresh": as in run.json. */
const char *spent_name(spent_on_t on);

/* From now on something else; returns what it was, to return to. NULL: nobody counts. */
spent_on_t spent_switch(spent_t *spent, spent_on_t on);
/* So much of what was counted as one thing was another. */
void spent_move(spent_t *spent, spent_on_t from, spent_on_t to, double ns);
/* Of all: the part in rounds and the warm-up before them, what everything else is for; NaN if nothing was counted. */
double spent_measured_frac(const spent_t *spent);
double spent_total_ns(const spent_t *spent);
/* "61 s, of these 12 % in samples and warm-up; compile 34 s, start 8 s, check 5 s": what took a twentieth and more, the
 * most first. The caller frees it. */
char *spent_text(const spent_t *spent);

#endif

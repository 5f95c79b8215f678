/* How long a run still takes, from how long its steps took so far. Every time is an argument, in seconds from any
 * start: this file reads no clock. */
#ifndef BENCH_STATS_ESTIMATE_H
#define BENCH_STATS_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the time of a run is spent on: at each moment on one thing. */

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

typedef enum step {
    STEP_OTHER,     /* what no estimate counts */
    STEP_START,     /* processes of workers, once in a pass */
    STEP_CALIBRATE, /* one case of the calibration */
    STEP_DRAW,      /* one draw of one case */
    STEP_REFERENCE, /* of one group in one pass */
    STEP_OPEN,      /* one case of an engine in the first pass, when it is compiled */
    STEP_REOPEN,  /* the same in a later pass; until one is known, it takes as long as the first */
    STEP_MEASURE, /* one case in one pass: checks, warm-up, rounds */
} step_t;

typedef struct step_kind {
    step_t step;
    char engine[32]; /* "pytorch-cpu"; "": any */
    size_t left, done;
    double spent_s; /* in those that are done */
} step_kind_t;

typedef struct estimate {
    step_kind_t *kinds;
    size_t n_kinds;
    size_t now, n_now; /* index of the kind that is under way, and how many of it; n_now 0: none */
    double began_s;    /* when they began, without the time in which workers started since */
    double start_s;    /* when a worker began to start; NaN: none is starting */
    double least_s, most_s; /* that they still take, if they know it themselves; else NaN */
    bool is_open;           /* more steps may come than are expected so far */
} estimate_t;

typedef struct time_left {
    double s;
    bool is_more; /* something is left, or may come, of which nothing is known: longer than `s` */
} time_left_t;

estimate_t estimate_make(void);
void estimate_free(estimate_t *estimate);

/* `n` more such steps are to come. */
void estimate_expect(estimate_t *estimate, step_t step, const char *engine, size_t n);
/* `n` of them do not come after all, or took no time. */
void estimate_skip(estimate_t *estimate, step_t step, const char *engine, size_t n);
/* `n` of them begin, to end together. What was under way has ended. */
void estimate_begin(estimate_t *estimate, step_t step, const char *engine, size_t n, double now_s);
void estimate_end(estimate_t *estimate, double now_s);
/* A worker starts, or has started: this is not time of the step under way. */
void estimate_starts(estimate_t *estimate, bool starts, double now_s);
/* What is under way takes at least and at most so much longer. */
void estimate_know(estimate_t *estimate, double least_s, double most_s);

time_left_t estimate_left(const estimate_t *estimate, double now_s);

#endif

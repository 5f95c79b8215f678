/* Where a round's samples are collected: one growing array of ns per phase. */
#ifndef BENCH_RECORDER_H
#define BENCH_RECORDER_H

#include "nouns/result.h"

enum { RECORDER_MAX_PHASES = 24 };

typedef struct recorder {
    struct {
        const char *name; /* static or owned by the session */
        clock_domain_t clock;
        double *ns;
        size_t n, capacity;
    } phases[RECORDER_MAX_PHASES];
    size_t n_phases;
} recorder_t;

/* Declare a phase; returns its index for recorder_add(). */
unsigned recorder_phase(recorder_t *recorder, const char *name, clock_domain_t clock);
void recorder_add(recorder_t *recorder, unsigned phase, double ns);
void recorder_clear(recorder_t *recorder); /* forget the samples, keep the phases */
void recorder_free(recorder_t *recorder);

#endif

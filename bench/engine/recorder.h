/* Where a round's samples are collected: one growing array of ns per phase. */
#ifndef BENCH_ENGINE_RECORDER_H
#define BENCH_ENGINE_RECORDER_H

#include "model/result.h"

enum { RECORDER_MAX_PHASES = 24 };

/* Told where on the host's clock a time lies: for a trace. A device's time lies somewhere between
 * `from_ns` and `to_ns`, the host's fills them. */
typedef struct recorder_watch {
    void (*tell)(void *context, const char *name, clock_domain_t clock, double ns, int64_t from_ns,
                 int64_t to_ns);
    void *context;
} recorder_watch_t;

typedef struct recorder {
    struct {
        const char *name; /* static or owned by the session */
        clock_domain_t clock;
        double *ns;
        size_t n, capacity;
    } phases[RECORDER_MAX_PHASES];
    size_t n_phases;
    const recorder_watch_t *watch; /* NULL: nobody watches */
} recorder_t;

/* Declare a phase; returns its index for recorder_add(). */
unsigned recorder_phase(recorder_t *recorder, const char *name, clock_domain_t clock);
void recorder_add(recorder_t *recorder, unsigned phase, double ns);
/* The same, and the two readings of the host's clock that the time was taken between. */
void recorder_add_between(recorder_t *recorder, unsigned phase, double ns, int64_t from_ns,
                          int64_t to_ns);
void recorder_clear(recorder_t *recorder); /* forget the samples, keep the phases */
void recorder_free(recorder_t *recorder);

#endif

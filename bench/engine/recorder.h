/* Collects the samples of a round: one array of ns per phase. */
#ifndef BENCH_ENGINE_RECORDER_H
#define BENCH_ENGINE_RECORDER_H

#include "model/result.h"

enum { RECORDER_MAX_PHASES = 24 };

/* Receives each sample with its place on the host clock, for a trace. A host time spans `from_ns`
 * to `to_ns`; a device time lies somewhere between them. */
typedef struct recorder_watch {
    void (*on_sample)(void *context, const char *name, clock_domain_t clock, double ns,
                      int64_t from_ns, int64_t to_ns);
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
    const recorder_watch_t *watch; /* or NULL */
} recorder_t;

/* Declare a phase; returns its index for recorder_add(). */
unsigned recorder_phase(recorder_t *recorder, const char *name, clock_domain_t clock);
void recorder_add(recorder_t *recorder, unsigned phase, double ns);
/* The same, with the host clock before and after. */
void recorder_add_between(recorder_t *recorder, unsigned phase, double ns, int64_t from_ns,
                          int64_t to_ns);
void recorder_clear(recorder_t *recorder); /* remove the samples, keep the phases */
void recorder_free(recorder_t *recorder);

#endif

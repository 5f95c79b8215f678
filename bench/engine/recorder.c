#include "engine/recorder.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

unsigned recorder_phase(recorder_t *recorder, const char *name, clock_domain_t clock) {
    assert(recorder->n_phases < RECORDER_MAX_PHASES);
    recorder->phases[recorder->n_phases].name = name;
    recorder->phases[recorder->n_phases].clock = clock;
    return (unsigned)recorder->n_phases++;
}

void recorder_add(recorder_t *recorder, unsigned phase, double ns) {
    assert(phase < recorder->n_phases);
    mem_grow(&recorder->phases[phase].ns, recorder->phases[phase].n,
             &recorder->phases[phase].capacity, sizeof(double));
    /* Averages of batches have more digits than any clock: round to 0.1 ns. */
    recorder->phases[phase].ns[recorder->phases[phase].n++] = round(ns * 10) / 10;
}

void recorder_add_between(recorder_t *recorder, unsigned phase, double ns, int64_t from_ns,
                          int64_t to_ns) {
    const recorder_watch_t *watch = recorder->watch;
    recorder_add(recorder, phase, ns);
    if (watch != NULL)
        watch->on_sample(watch->context, recorder->phases[phase].name,
                         recorder->phases[phase].clock, ns, from_ns, to_ns);
}

void recorder_clear(recorder_t *recorder) {
    for (size_t i = 0; i < recorder->n_phases; i++)
        recorder->phases[i].n = 0;
}

void recorder_free(recorder_t *recorder) {
    for (size_t i = 0; i < recorder->n_phases; i++)
        free(recorder->phases[i].ns);
    *recorder = (recorder_t){0};
}

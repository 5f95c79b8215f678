/* More rounds of a case that was measured before: see result.h. */
#include "model/result.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void widen(double range[2], const double by[2]) {
    range[0] = fmin(range[0], by[0]); /* of a number and NaN, fmin() takes the number */
    range[1] = fmax(range[1], by[1]);
}

static void extend_phase(phase_t *phase, const phase_t *more) {
    for (size_t r = 0; r < more->n_rounds; r++)
        phase_add_round(phase, more->samples + more->round_starts[r],
                        more->round_starts[r + 1] - more->round_starts[r]);
    phase->n_throttled += more->n_throttled;
    phase_summarise(phase);
}

void result_join_rounds(case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++) {
        phase_t *phase = &result->phases[i];
        if (phase->n_rounds < 2)
            continue;
        phase->round_starts[1] = phase->n_samples;
        phase->n_rounds = 1;
    }
    if (result->rounds > 1)
        result->rounds = 1;
}

void result_extend(case_result_t *whole, const case_result_t *more) {
    if (more->status != CASE_OK) {
        whole->status = more->status;
        free(whole->reason);
        whole->reason = mem_text(more->reason);
        if (more->before.done)
            whole->after = more->before;
    }
    if (more->after.done)
        whole->after = more->after;
    for (size_t i = 0; i < whole->n_phases && more->status == CASE_OK; i++) {
        const phase_t *phase = result_phase(more, whole->phases[i].name);
        if (phase != NULL)
            extend_phase(&whole->phases[i], phase);
    }
    flag_list_merge(&whole->flags, &more->flags);
    for (size_t i = 0; i < more->device.throttle.n; i++)
        text_list_add_new(&whole->device.throttle, more->device.throttle.items[i]);
    widen(whole->device.sm_mhz, more->device.sm_mhz);
    widen(whole->device.power_w, more->device.power_w);
    widen(whole->device.temperature_c, more->device.temperature_c);
    whole->rounds += more->rounds;
    whole->warmup_ns += more->warmup_ns;
    whole->stop = STOP_FIXED_COUNT;
}

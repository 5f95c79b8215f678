/* Adding rounds to a result: see result.h. */
#include "model/result.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void widen(double range[2], const double by[2]) {
    range[0] = fmin(range[0], by[0]); /* fmin() ignores NaN */
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
        if (phase->n_rounds > 1) {
            phase->round_starts[1] = phase->n_samples;
            phase->n_rounds = 1;
        }
    }
    if (result->rounds > 1)
        result->rounds = 1;
}

void result_extend(case_result_t *result, const case_result_t *more) {
    if (more->status != CASE_OK) {
        result->status = more->status;
        free(result->reason);
        result->reason = mem_text(more->reason);
        if (more->before.done)
            result->after = more->before;
    }
    if (more->after.done)
        result->after = more->after;
    for (size_t i = 0; i < result->n_phases && more->status == CASE_OK; i++) {
        const phase_t *phase = result_phase(more, result->phases[i].name);
        if (phase != NULL)
            extend_phase(&result->phases[i], phase);
    }
    flag_list_merge(&result->flags, &more->flags);
    for (size_t i = 0; i < more->device.throttle.n; i++)
        text_list_add_new(&result->device.throttle, more->device.throttle.items[i]);
    widen(result->device.sm_mhz, more->device.sm_mhz);
    widen(result->device.power_w, more->device.power_w);
    widen(result->device.temperature_c, more->device.temperature_c);
    result->rounds += more->rounds;
    result->warmup_ns += more->warmup_ns;
    result->stop = STOP_FIXED_COUNT;
}

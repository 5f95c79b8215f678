#include "results/clock_record.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#define ASKED "measure.lock_clocks.asked_mhz"
#define LOCKED "measure.lock_clocks.locked_mhz"
#define REASON "measure.lock_clocks.reason"

void lock_clocks_record(environment_t *env, unsigned asked_mhz, unsigned locked_mhz,
                        const char *reason) {
    environment_set_number(env, ASKED, asked_mhz > 0 ? asked_mhz : NAN);
    environment_set_number(env, LOCKED, locked_mhz > 0 ? locked_mhz : NAN);
    /* Null in run.json, even if a resumed run had a reason. */
    environment_set_number(env, REASON, NAN);
    environment_set(env, REASON, reason);
}

static double number(const environment_t *env, const char *key) {
    const char *text = environment_get(env, key);
    return text != NULL ? strtod(text, NULL) : NAN;
}

double lock_clocks_recorded_mhz(const environment_t *env) {
    return number(env, LOCKED);
}

char *lock_clocks_sentence(const environment_t *env) {
    double asked_mhz = number(env, ASKED), locked_mhz = number(env, LOCKED);
    const char *reason = environment_get(env, REASON);
    if (isnan(asked_mhz))
        return NULL;
    if (isnan(locked_mhz))
        return mem_format("the SM clock was not locked to the %g MHz asked for: %s", asked_mhz,
                          reason != NULL ? reason : "no reason recorded");
    if (locked_mhz == asked_mhz)
        return mem_format("the SM clock was locked to %g MHz", locked_mhz);
    return mem_format(
        "the SM clock was locked to %g MHz, the nearest available to the %g asked for", locked_mhz,
        asked_mhz);
}

#include "worker/cpu_share.h"

#include "base/error.h"
#include "io/fs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* From being woken to running on an idle core, with its sleep states. Behind another program it is milliseconds. */
static const double WAKE_UP_NS = 2e5;

/* "TAKEN_FRAC LOADAVG": how busy the machine is said to be, in tests (docs/testing.md). */
static const char GIVEN[] = "BENCH_BUSY";

void cpu_share_add(cpu_share_t *share, const cpu_use_t *use, double took_ns, size_t n_cores) {
    const double waited_ns = use->waited_ns - WAKE_UP_NS * use->times;
    const double others_ns = took_ns * (double)n_cores - use->ran_ns;
    share->ran_ns += use->ran_ns;
    share->taken_ns += fmax(0, fmin(waited_ns, others_ns));
}

double cpu_share_taken_frac(const cpu_share_t *share) {
    const double had_ns = share->ran_ns + share->taken_ns;
    return had_ns > 0 ? share->taken_ns / had_ns : NAN;
}

void cpu_share_settle(const cpu_share_t *share, case_result_t *result) {
    const char *given = getenv(GIVEN);
    result->cpu_taken_frac = cpu_share_taken_frac(share);
    if (given != NULL && result->rounds > 0)
        result->cpu_taken_frac = strtod(given, NULL);
    if (result->cpu_taken_frac > BUSY_FRAC)
        flag_list_add(&result->flags, FLAG_BUSY, NULL, result->cpu_taken_frac, NAN);
}

/* ---- before a run ---------------------------------------------------------------------------- */

/* "6.90 5.11 3.02 5/312 4711" */
load_t load_parse(const char *loadavg) {
    load_t load = {.average = NAN};
    long running;
    if (sscanf(loadavg, "%lf %*f %*f %ld/", &load.average, &running) == 2)
        load.running = running > 1 ? running - 1 : 0;
    return load;
}

load_t load_read(void) {
    const char *given = getenv(GIVEN);
    char *text = NULL, *rest = NULL;
    size_t size;
    error_t ignored = ERROR_INIT;
    if (given != NULL) {
        strtod(given, &rest);
        return load_parse(rest);
    }
    const bool read = fs_read("/proc/loadavg", &text, &size, &ignored) == STATUS_OK;
    const load_t load = load_parse(read ? text : "");
    free(text);
    return load;
}

bool load_is_high(const load_t *load, size_t n_cores) {
    return load->running > 0 && load->average >= 0.5 * (double)n_cores; /* false for NaN */
}

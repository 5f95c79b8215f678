/* `--lock-clocks`: lock the GPU's SM clock before the first case and unlock it after the last. If
 * it cannot be locked, the run continues and reports it. */
#include "run/state.h"

#include "base/memory.h"
#include "results/clock_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const case_t *run_find_gpu_case(const run_t *run) {
    const case_t *found = NULL;
    for (size_t s = 0; s < run->n_sweeps; s++)
        for (size_t i = 0; i < run->sweeps[s].n_cases; i++) {
            const case_t *spec = &run->sweeps[s].cases[i];
            if (strcmp(spec->engine, "cuda") == 0)
                return spec;
            if (found == NULL && strcmp(spec->device, "cuda") == 0)
                found = spec;
        }
    return found;
}

/* Ask the worker which GPU it uses. It keeps running, because its cases come next. */
static status_t find_gpu(run_t *run, const char **uuid, error_t *err) {
    const case_t *spec = run_find_gpu_case(run);
    worker_link_t *link;
    if (spec == NULL)
        return error_set(err, STATUS_FAILED, "no case of this run uses a GPU");
    TRY(workers_find(&run->workers, spec, workers_asked_role(&run->workers), &link, err));
    TRY(worker_link_start(link, run->options->timeout_s, err));
    *uuid = json_string_value(json_object_get(json_object_get(link->hello, "device"), "uuid"));
    return *uuid != NULL ? STATUS_OK
                         : error_set(err, STATUS_FAILED, "worker %s does not say which GPU it uses",
                                     link->label);
}

static const char *lock_text(char text[48], double mhz) {
    if (isnan(mhz))
        return "free";
    snprintf(text, 48, "locked to %g MHz", mhz);
    return text;
}

/* Times measured at different clocks must not share a table. */
static status_t compare_with_before(const run_t *run, double before_mhz, const char *reason,
                                    error_t *err) {
    char before[48], now[48];
    double now_mhz = run->clock_lock.mhz > 0 ? run->clock_lock.mhz : NAN;
    if (run->record.n_cases == 0 || before_mhz == now_mhz || (isnan(before_mhz) && isnan(now_mhz)))
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s was measured with the SM clock %s, and now it is %s%s%s%s: resume it "
                     "with the same clock, or choose another --out",
                     run->folder, lock_text(before, before_mhz), lock_text(now, now_mhz),
                     reason != NULL ? " (" : "", reason != NULL ? reason : "",
                     reason != NULL ? ")" : "");
}

/* The rates of a GPU come from `here`. */
static void note_lock(run_t *run, unsigned asked_mhz, unsigned locked_mhz, const char *reason) {
    lock_clocks_record(&run->here, asked_mhz, locked_mhz, reason);
    lock_clocks_record(&run->record.environment, asked_mhz, locked_mhz, reason);
}

status_t run_lock_clocks(run_t *run, error_t *err) {
    const unsigned asked_mhz = run->options->lock_mhz;
    environment_t *env = &run->record.environment;
    const double before_mhz = lock_clocks_recorded_mhz(env);
    if (asked_mhz == 0) {
        TRY(compare_with_before(run, before_mhz, NULL, err));
        if (isfinite(before_mhz)) /* no case was finished at that clock */
            note_lock(run, 0, 0, NULL);
        return STATUS_OK;
    }
    const char *uuid;
    error_t why = ERROR_INIT;
    status_t status = STATUS_FAILED;
    if (find_gpu(run, &uuid, &why) == STATUS_OK)
        status = lock_clocks(uuid, asked_mhz, &run->clock_lock, &why);
    if (status == STATUS_USAGE)
        return error_set(err, status, "%s", why.text);
    const char *reason = status == STATUS_OK ? NULL : why.text;
    TRY(compare_with_before(run, before_mhz, reason, err));
    note_lock(run, asked_mhz, run->clock_lock.mhz, reason);
    char *sentence = lock_clocks_sentence(env);
    progress_note(&run->progress, "%s%s", sentence,
                  reason != NULL ? "; continuing with the clock unlocked" : "");
    free(sentence);
    return STATUS_OK;
}

status_t run_share_clocks(const run_t *run, run_t *other, error_t *err) {
    environment_t *env = &other->record.environment;
    const double before_mhz = lock_clocks_recorded_mhz(env);
    const bool refused = run->options->lock_mhz > 0 && run->clock_lock.mhz == 0;
    const char *reason =
        refused ? environment_get(&run->record.environment, "measure.lock_clocks.reason") : NULL;
    other->clock_lock.mhz = run->clock_lock.mhz;
    TRY(compare_with_before(other, before_mhz, reason, err));
    if (run->options->lock_mhz > 0 || isfinite(before_mhz))
        note_lock(other, run->options->lock_mhz, run->clock_lock.mhz, reason);
    return STATUS_OK;
}

void run_free_clocks(run_t *run) {
    error_t why = ERROR_INIT;
    if (lock_clocks_release(&run->clock_lock, &why) != STATUS_OK)
        fprintf(stderr,
                "bench: the SM clock may still be locked: %s; unlock it as root with "
                "`nvidia-smi --reset-gpu-clocks`\n",
                why.text);
}

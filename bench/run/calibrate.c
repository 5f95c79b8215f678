/* Cases that measure the device itself, before all others. */
#include "run/state.h"

#include "base/memory.h"
#include "workloads/device/descriptor.h"

#include <stdlib.h>
#include <string.h>

enum {
    IN_DRAM_BYTES = 1 << 30,  /* far larger than any L2 */
    OVER_BUS_BYTES = 1 << 26, /* a millisecond: the start of a copy is 1 % of it */
    MATRIX_BYTES = DEVICE_MATMUL_ROWS * DEVICE_MATMUL_ROWS * sizeof(float),
};

typedef struct calibration {
    const char *workload, *variant, *param;
    int64_t value;
    bool compiled;
} calibration_t;

/* As run_make_states() does for the cases of the sweeps. */
static void note_before(run_t *run, const case_t *spec, case_state_t *state) {
    for (unsigned pass = 1; pass <= run->settings.pass; pass++) {
        const case_result_t key = {.spec = *spec, .pass = pass};
        const case_result_t *before = record_find_same(&run->record, &key);
        if (before == NULL || run_is_retried(run, before))
            continue;
        case_note_pass(state, before);
        if (pass == run->settings.pass)
            device_rates_calibrate(before, &run->rates);
    }
}

static status_t calibrate_with(run_t *run, size_t index, const calibration_t *what, error_t *err) {
    measure_options_t measure = MEASURE_DEFAULTS;
    measure.passes = run_passes(run);
    measure.least_passes = run_least_passes(run);
    measure.time_limit_s = 2;
    const workload_t *workload = workload_find(what->workload);
    case_t spec = run_calibration_case(what->workload, what->variant);
    case_add_param(&spec, what->param, &(value_t){.kind = VALUE_INT, .integer = what->value});
    workload_complete(workload, &spec);
    const group_t group = {.workload = workload,
                           .cases = &spec,
                           .states = &run->calibrations[index],
                           .n = 1,
                           .measure = &measure};
    run->progress.total++;
    char *name = mem_format("calibration %zu of %d: %s", index + 1, N_CALIBRATIONS, spec.id);
    progress_step(&run->progress, STEP_CALIBRATE, "", 1, name);
    free(name);
    note_before(run, &spec, &run->calibrations[index]);
    status_t status = run_measure(run, &group, err);
    case_free(&spec);
    return status;
}

status_t run_calibrate(run_t *run, error_t *err) {
    if (!run_calibrates(run))
        return STATUS_OK;
    const calibration_t ALL[N_CALIBRATIONS] = {
        {"device", "copy", "bytes", IN_DRAM_BYTES, false},
        {"device", "bus", "bytes", OVER_BUS_BYTES, false},
        {"device", "matmul", "bytes", MATRIX_BYTES, false},
        {"device", "01_read", "bytes", (int64_t)(run->rates.l2_bytes / 4), true},
        {"device", "02_barrier", "bytes", 1, true},
        {"null", "01_empty", "work_ns", 0, true}};
    for (size_t i = 0; i < N_CALIBRATIONS; i++) {
        const bool possible = !ALL[i].compiled || run->no_compiler == NULL;
        const bool has_size = ALL[i].value > 0 || strcmp(ALL[i].param, "bytes") != 0;
        if (possible && has_size)
            TRY(calibrate_with(run, i, &ALL[i], err));
        else
            estimate_skip(&run->progress.estimate, STEP_CALIBRATE, "", 1);
    }
    return STATUS_OK;
}

/* Cases that measure the device itself, before all others. */
#include "run/state.h"

#include "base/memory.h"

enum { IN_DRAM_BYTES = 1 << 30 }; /* far larger than any L2 */

static status_t calibrate_with(run_t *run, const char *workload_name, const char *variant,
                               const char *param, int64_t value, error_t *err) {
    measure_options_t measure = MEASURE_DEFAULTS;
    measure.time_limit_s = 2;
    const workload_t *workload = workload_find(workload_name);
    case_t spec = run_calibration_case(workload_name, variant);
    case_add_param(&spec, param, &(value_t){.kind = VALUE_INT, .integer = value});
    workload_complete(workload, &spec);
    const group_t group = {.workload = workload, .cases = &spec, .n = 1, .measure = &measure};
    run->progress.total++;
    const case_result_t *before = record_find(&run->record, spec.id);
    if (before != NULL)
        device_rates_calibrate(before, &run->rates);
    status_t status = run_measure(run, &group, err);
    case_free(&spec);
    return status;
}

status_t run_calibrate(run_t *run, error_t *err) {
    if (run->arch == NULL || run->options->profile || run->options->cold)
        return STATUS_OK; /* nothing uses the rates */
    int64_t in_l2 = (int64_t)(run->rates.l2_bytes / 4);
    TRY(calibrate_with(run, "device", "copy", "bytes", IN_DRAM_BYTES, err));
    if (run->no_compiler != NULL)
        return STATUS_OK;
    if (in_l2 > 0)
        TRY(calibrate_with(run, "device", "01_read", "bytes", in_l2, err));
    TRY(calibrate_with(run, "device", "02_barrier", "bytes", 1, err));
    return calibrate_with(run, "null", "01_empty", "work_ns", 0, err);
}

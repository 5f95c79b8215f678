#include "limits/limits.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const device_rates_t DEVICE_RATES_UNKNOWN = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* Two medians of one kernel by two methods may differ by this much without a contradiction. */
static const double SLACK = 1.05;
const double PLAUSIBILITY_MOST_OF_LIMIT = 1.05;

static const char TOO_FAST[] = "implausible: faster than the";

void device_rates_calibrate(const case_result_t *result, device_rates_t *rates) {
    if (result->status != CASE_OK || strcmp(result->spec.engine, "cuda") != 0)
        return;
    if (strcmp(result->spec.workload, "device") == 0) {
        if (result_phase(result, "barrier") != NULL) {
            rates->barrier_ns = result_median(result, "barrier");
            return;
        }
        double bytes = (double)case_param_int(&result->spec, "bytes", 0);
        double bytes_per_s = bytes * 1e9 / result_median(result, "kernel");
        bool copies = strcmp(result->spec.variant, "copy") == 0;
        bool in_l2 = bytes<rates->l2_bytes, in_dram = bytes> 4 * rates->l2_bytes;
        if (copies && in_dram)
            rates->dram_bytes_per_s = 2 * bytes_per_s;
        else if (!copies && in_l2)
            rates->l2_bytes_per_s = bytes_per_s;
    } else if (strcmp(result->spec.workload, "null") == 0) {
        rates->launch_ns = result_median(result, "kernel_graph");
        rates->event_ns = result_median(result, "event_pair");
    }
}

/* The phase that shows the computation alone, the least disturbed one first. */
static const phase_t *bare_compute(const case_result_t *result) {
    static const char *const NAMES[] = {"kernel_graph", "kernel", "train_device", "forward_device",
                                        "forward"};
    const bool trains = result_phase(result, "train") != NULL; /* `forward` is a part of that */
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const phase_t *phase = result_phase(result, NAMES[i]);
        if (phase != NULL && phase->summary.n > 0 && !(trains && strcmp(NAMES[i], "forward") == 0))
            return phase;
    }
    return NULL;
}

static void set_bound(limit_t *limit, const char *bound, double ns) {
    if (!isfinite(ns) || (isfinite(limit->limit_ns) && ns <= limit->limit_ns))
        return;
    free(limit->bound);
    limit->bound = mem_text(bound);
    limit->limit_ns = ns;
}

/* What does not fit on the chip comes from DRAM again in every further pass. */
static double least_bytes(const workload_cost_t *cost, const device_rates_t *rates) {
    double kept = fmin(cost->working_set_bytes, rates->on_chip_bytes); /* all, where unknown */
    return cost->bytes + cost->further_passes * (cost->working_set_bytes - kept);
}

void limit_set(case_result_t *result, const workload_t *workload, const device_rates_t *rates) {
    workload_cost_t cost = workload->cost(&result->spec);
    limit_t *limit = &result->limit;
    limit->bytes = cost.bytes;
    limit->flops = cost.flops;
    const phase_t *phase = bare_compute(result);
    if (strcmp(result->spec.device, "cuda") != 0 || phase == NULL || cost.bytes <= 0 ||
        !result_has_times(result) || result_is_algorithmic(result))
        return;
    limit->bytes = least_bytes(&cost, rates);
    /* Runs repeat on the same buffers: what fits into the L2 stays there. */
    bool fits = cost.working_set_bytes < rates->l2_bytes;
    set_bound(limit, fits ? "l2" : "dram",
              limit->bytes / (fits ? rates->l2_bytes_per_s : rates->dram_bytes_per_s) * 1e9);
    /* Another precision has other units, whose rate is not known. */
    if (cost.flops > 0 && strcmp(result->spec.dtype, "f32") == 0)
        set_bound(limit, "fp32", cost.flops / rates->fp32_flops_per_s * 1e9);
    set_bound(limit, "launch", rates->launch_ns);
    free(limit->phase);
    limit->phase = mem_text(phase->name);
    limit->frac = limit->limit_ns / phase->summary.median;
}

static void flag_limit(case_result_t *result) {
    char text[UNITS_TEXT];
    if (result->limit.frac > PLAUSIBILITY_MOST_OF_LIMIT)
        text_list_add_format(&result->flags, "%s %s limit (%s of it)", TOO_FAST,
                             result->limit.bound, units_percent(text, result->limit.frac));
}

void limit_set_again(case_result_t *result, const workload_t *workload,
                     const device_rates_t *rates) {
    text_list_t kept = {0};
    free(result->limit.bound);
    result->limit.bound = NULL;
    result->limit.limit_ns = result->limit.frac = NAN;
    limit_set(result, workload, rates);
    for (size_t i = 0; i < result->flags.n; i++)
        if (!text_starts(result->flags.items[i], TOO_FAST))
            text_list_add(&kept, result->flags.items[i]);
    text_list_free(&result->flags);
    result->flags = kept;
    if (result_has_times(result))
        flag_limit(result);
}

static void flag_order(case_result_t *result, const char *slow, const char *fast,
                       const char *meaning) {
    double slow_ns = result_median(result, slow), fast_ns = result_median(result, fast);
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (fast_ns > SLACK * slow_ns)
        text_list_add_format(&result->flags, "implausible: %s (%s %s, %s %s)", meaning, fast,
                             units_time(a, fast_ns), slow, units_time(b, slow_ns));
}

void plausibility_check(case_result_t *result, const device_rates_t *rates) {
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (!result_has_times(result))
        return;
    flag_limit(result);
    flag_order(result, "kernel_stream", "kernel_graph", "slower in a graph than back to back");
    flag_order(result, "kernel", "kernel_stream", "slower back to back than alone");
    /* Not against `kernel`: that one is launched on an idle device, which costs it a microsecond
     * more. */
    flag_order(result, "kernel_cold", "kernel_graph", "slower with a warm L2 than with a cold one");
    double kernel_ns = result_median(result, "kernel");
    if (strcmp(result->spec.engine, "cuda") == 0 && kernel_ns < rates->event_ns)
        text_list_add_format(&result->flags, "implausible: kernel %s, under the event floor of %s",
                             units_time(a, kernel_ns), units_time(b, rates->event_ns));
    if (result_median(result, "residual") < 0)
        text_list_add(&result->flags, "implausible: the total is less than the sum of its phases");
}

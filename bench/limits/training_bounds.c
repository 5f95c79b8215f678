#include "limits/training_bounds.h"

#include "base/memory.h"
#include "base/units.h"
#include "workloads/linreg_train/data.h"
#include "workloads/mnist/data.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BYTES_A_POINT = 8, /* x and y, in float32 */
    /* Registers of eight multiprocessors, from sm_75 on. One block or cluster can keep that much
     * and needs no grid barrier. */
    ONE_CLUSTER_BYTES = 8 * 256 * 1024,
};

double training_passes(const case_t *any_case) {
    const workload_cost_t cost = workload_find(any_case->workload)->cost(any_case);
    const size_t steps = mnist_sample_steps((size_t)case_param_int(any_case, "steps", 1));
    return cost.bytes / cost.working_set_bytes / (double)steps;
}

const char *training_bound_name(training_bound_t bound, const case_t *any_case) {
    static const char *const NAMES[] = {
        [BOUND_DRAM] = "every epoch from DRAM",       [BOUND_L2] = "every epoch from the L2",
        [BOUND_BARRIER] = "a grid barrier per epoch", [BOUND_ONCE] = "read once from DRAM",
        [BOUND_WEIGHTS] = "3·W per step, in DRAM",    [BOUND_KEPT] = "3·W, less what the L2 keeps"};
    static const char *const MIXED[] = {[BOUND_WEIGHTS] = "2.5·W per step, in DRAM",
                                        [BOUND_KEPT] = "2.5·W, less what the L2 keeps"};
    const bool mixed = bound >= BOUND_WEIGHTS && strcmp(any_case->dtype, "mixed") == 0;
    return mixed ? MIXED[bound] : NAMES[bound];
}

static int64_t points_of(const case_t *spec) {
    return (int64_t)linreg_n_train((size_t)case_param_int(spec, "points", 1));
}

static int64_t epochs_of(const case_t *spec) {
    return case_param_int(spec, "epochs", 1);
}

static double bytes_of(const case_t *spec) {
    return BYTES_A_POINT * (double)points_of(spec);
}

typedef struct traffic {
    double weights_bytes, bytes; /* all weights; moved per step */
    double kept_bytes;           /* of the weights, in the L2 */
} traffic_t;

static traffic_t traffic_of(const case_t *spec, const device_rates_t *rates) {
    const workload_cost_t cost = workload_find(spec->workload)->cost(spec);
    const size_t steps = mnist_sample_steps((size_t)case_param_int(spec, "steps", 1));
    return (traffic_t){.weights_bytes = cost.working_set_bytes,
                       .bytes = cost.bytes / (double)steps,
                       .kept_bytes = fmin(cost.working_set_bytes, rates->l2_bytes)};
}

/* A step's three passes hit what the previous pass left in the L2 and miss the rest. Hits are
 * limited by the L2's rate. */
static double weights_bound_ns(training_bound_t bound, const case_t *spec,
                               const device_rates_t *rates) {
    const traffic_t traffic = traffic_of(spec, rates);
    const double dram_ns = traffic.bytes / rates->dram_bytes_per_s * 1e9;
    const double l2_ns = traffic.bytes / rates->l2_bytes_per_s * 1e9;
    if (bound == BOUND_WEIGHTS)
        return dram_ns;
    if (!isfinite(dram_ns) || !isfinite(l2_ns) || !isfinite(rates->l2_bytes))
        return NAN;
    return fmax(dram_ns * (1 - traffic.kept_bytes / traffic.weights_bytes), l2_ns);
}

double training_bound_ns(training_bound_t bound, const case_t *any_case,
                         const device_rates_t *rates) {
    bool of_weights = bound == BOUND_WEIGHTS || bound == BOUND_KEPT;
    if (strcmp(any_case->workload, of_weights ? "mnist_train" : "linreg_train") != 0)
        return NAN;
    double bytes = bytes_of(any_case), epochs = (double)epochs_of(any_case);
    switch (bound) {
    case BOUND_DRAM:
        return epochs * bytes / rates->dram_bytes_per_s * 1e9;
    case BOUND_L2:
        return bytes < rates->l2_bytes ? epochs * bytes / rates->l2_bytes_per_s * 1e9 : NAN;
    case BOUND_BARRIER:
        return bytes > ONE_CLUSTER_BYTES ? epochs * rates->barrier_ns : NAN;
    case BOUND_ONCE:
        return bytes / rates->dram_bytes_per_s * 1e9;
    case BOUND_WEIGHTS:
    case BOUND_KEPT:
        return weights_bound_ns(bound, any_case, rates);
    case N_TRAINING_BOUNDS:
        break;
    }
    return NAN;
}

/* "4,000,000" */
static char *grouped(int64_t number) {
    char digits[32], text[48];
    size_t n = (size_t)snprintf(digits, sizeof digits, "%" PRId64, number), at = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    return mem_text_n(text, at);
}

/* "3 × 281 MB / 4.24 TB/s = 199 µs"; BOUND_KEPT: the rest from DRAM or all from the L2. */
static char *weights_arithmetic(training_bound_t bound, const case_t *spec,
                                const device_rates_t *rates) {
    char time[UNITS_TEXT], weights[UNITS_TEXT], kept[UNITS_TEXT], rate[UNITS_TEXT];
    const traffic_t traffic = traffic_of(spec, rates);
    const double ns = weights_bound_ns(bound, spec, rates);
    const bool through_l2 =
        bound == BOUND_KEPT && ns <= traffic.bytes / rates->l2_bytes_per_s * 1e9;
    const double passes = training_passes(spec);
    units_time(time, ns);
    units_bytes(weights, traffic.weights_bytes);
    units_bytes(kept, traffic.kept_bytes);
    units_rate(rate, through_l2 ? rates->l2_bytes_per_s : rates->dram_bytes_per_s);
    if (bound == BOUND_WEIGHTS || through_l2)
        return mem_format("%g × %s / %s = %s", passes, weights, rate, time);
    return mem_format("%g × (%s − %s) / %s = %s", passes, weights, kept, rate, time);
}

char *training_bound_arithmetic(training_bound_t bound, const case_t *any_case,
                                const device_rates_t *rates) {
    char time[UNITS_TEXT], bytes[UNITS_TEXT], rate[UNITS_TEXT];
    double ns = training_bound_ns(bound, any_case, rates);
    double rate_bytes_per_s = bound == BOUND_L2 ? rates->l2_bytes_per_s : rates->dram_bytes_per_s;
    if (!isfinite(ns))
        return NULL;
    if (bound == BOUND_WEIGHTS || bound == BOUND_KEPT)
        return weights_arithmetic(bound, any_case, rates);
    units_time(time, ns);
    if (bound == BOUND_BARRIER)
        return mem_format("%" PRId64 " epochs × %s = %s", epochs_of(any_case),
                          units_time(rate, rates->barrier_ns), time);
    char *points = grouped(points_of(any_case));
    char *epochs = bound == BOUND_ONCE ? mem_text("")
                                       : mem_format(" × %" PRId64 " epochs", epochs_of(any_case));
    double passes = bound == BOUND_ONCE ? 1 : (double)epochs_of(any_case);
    char *text = mem_format("%d B × %s%s = %s, / %s = %s", BYTES_A_POINT, points, epochs,
                            units_bytes(bytes, passes * bytes_of(any_case)),
                            units_rate(rate, rate_bytes_per_s), time);
    free(points);
    free(epochs);
    return text;
}

streaming_floor_t streaming_floor(const record_t *run, const case_t *spec) {
    const workload_t *workload = workload_find(spec->workload);
    const double bytes = workload != NULL ? workload->cost(spec).working_set_bytes : NAN;
    const device_rates_t rates = device_rates_of_record(run);
    return (streaming_floor_t){.bytes = bytes,
                               .dram_ns = bytes / rates.dram_bytes_per_s * 1e9,
                               .l2_ns = bytes / rates.l2_bytes_per_s * 1e9,
                               .dram_rate = rates.dram_bytes_per_s,
                               .l2_rate = rates.l2_bytes_per_s,
                               .l2_bytes = rates.l2_bytes,
                               .fits = bytes < rates.l2_bytes && isfinite(rates.l2_bytes_per_s)};
}

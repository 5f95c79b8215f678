#include "limits/limits.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tolerated ratio between two ways to time one kernel, and between a time and what is possible. */
static const double SLACK = 1.05;

/* What a kernel may read from DRAM over what a copy moves: a copy turns the bus around between reads
 * and writes. An H200's pins carry 4.8 TB/s, 1.13 times what a copy reaches. */
static const double DRAM_PEAK_OVER_COPY = 1.15;

static void set_bound(limit_t *limit, const char *bound, double ns) {
    if (!isfinite(ns) || (isfinite(limit->limit_ns) && ns <= limit->limit_ns))
        return;
    free(limit->bound);
    limit->bound = mem_text(bound);
    limit->limit_ns = ns;
}

/* Data that does not fit on the chip is read from DRAM again in every further pass. */
static double least_bytes(const workload_cost_t *cost, const device_rates_t *rates) {
    double kept = fmin(cost->working_set_bytes, rates->on_chip_bytes); /* all if unknown */
    return cost->bytes + cost->further_passes * (cost->working_set_bytes - kept);
}

/* The FP32 lanes' peak counts where the rate of matrix products was not measured, and for other work. */
static void set_arithmetic(limit_t *limit, const workload_t *workload, const case_t *spec,
                           const device_rates_t *rates) {
    const double measured = matmul_flops_per_s(rates, matmul_type_of(spec));
    const char *name = workload->arithmetic != NULL ? workload->arithmetic(spec) : NULL;
    if (limit->flops <= 0 || name == NULL)
        return;
    if (isfinite(measured))
        set_bound(limit, "matmul", limit->flops / measured * 1e9);
    else if (strcmp(name, "fp32") == 0 || strcmp(name, "f32") == 0)
        set_bound(limit, "fp32", limit->flops / rates->fp32_flops_per_s * 1e9);
}

/* Limits are made of what it measures. */
static bool is_of_the_device(const case_result_t *result) {
    return strcmp(result->spec.workload, "device") == 0;
}

/* Its kernel moves the data over the bus; PyTorch's mode of that name does the same. A script of a user
 * may have any name. */
static bool is_of_mapped_memory(const case_result_t *result) {
    const case_t *spec = &result->spec;
    const char *copy = case_technique(spec, "copy");
    return (copy != NULL && strcmp(copy, "mapped") == 0) ||
           (strcmp(spec->engine, "pytorch") == 0 && strcmp(spec->variant, "mapped") == 0);
}

/* Work that the device's memory does not bound has a phase, by which it is judged, but no limit. */
void limit_set(case_result_t *result, const workload_t *workload, const device_rates_t *rates) {
    workload_cost_t cost = workload->cost(&result->spec);
    limit_t *limit = &result->limit;
    limit->bytes = cost.bytes;
    limit->flops = cost.flops;
    const phase_t *phase = result_phase(result, COMPUTATION);
    if (strcmp(result->spec.device, "cuda") != 0 || phase == NULL || cost.bytes <= 0 ||
        !result_has_times(result) || result_is_algorithmic(result) || is_of_the_device(result))
        return;
    limit->bytes = least_bytes(&cost, rates);
    free(limit->phase);
    limit->phase = mem_text(phase->name);
    if (is_of_mapped_memory(result))
        return;
    /* Samples reuse the same buffers: data that fits into the L2 stays there. */
    bool fits = cost.working_set_bytes < rates->l2_bytes;
    set_bound(limit, fits ? "l2" : "dram",
              limit->bytes / (fits ? rates->l2_bytes_per_s : rates->dram_bytes_per_s) * 1e9);
    set_arithmetic(limit, workload, &result->spec, rates);
    set_bound(limit, "launch", rates->launch_ns);
    limit->frac = limit->limit_ns / phase->summary.median;
}

double bus_limit_ns(const workload_cost_t *cost, const device_rates_t *rates) {
    const double in_ns = cost->bus_in_bytes / rates->bus_in_bytes_per_s * 1e9;
    const double out_ns = cost->bus_out_bytes / rates->bus_out_bytes_per_s * 1e9;
    return in_ns > 0 && out_ns > 0 ? fmax(in_ns, out_ns) : NAN;
}

static bool is_by_graph(const case_result_t *result) {
    const char *phase = result->limit.phase;
    return phase != NULL && result_phase(result, CALL_IN_GRAPH) == result_phase(result, phase);
}

/* NULL: none. The phase that times by the host's clock what limit.phase, "train_device", does by the
 * device's. */
static const phase_t *computation_by_host(const case_result_t *result, const char *phase) {
    static const char OF_DEVICE[] = "_device";
    if (phase == NULL || !text_ends(phase, OF_DEVICE))
        return NULL;
    char *name = mem_text_n(phase, strlen(phase) - strlen(OF_DEVICE));
    const phase_t *found = result_phase(result, name);
    free(name);
    return found;
}

/* What is nearer to the limit leaves no gap to be gained: a share of it would be one of the noise. */
static const double NO_GAP = 1.1;

double limit_share_closed(double our_ns, double their_ns, double limit_ns) {
    const double least_ns = our_ns < their_ns ? NO_GAP * limit_ns : limit_ns;
    return their_ns > least_ns ? (their_ns - our_ns) / (their_ns - limit_ns) : NAN;
}

/* A call in a graph of many is not held against a single one, which waits for its launch, and a time by
 * the device's clock not against one by the host's. */
double limit_gap_closed_frac(const case_result_t *ours, const case_result_t *theirs) {
    const double limit_ns = ours->limit.limit_ns;
    double our_ns = limit_ns / ours->limit.frac;
    double their_ns = theirs->limit.limit_ns / theirs->limit.frac;
    if (isnan(theirs->limit.frac)) {
        const phase_t *our = computation_by_host(ours, ours->limit.phase),
                      *their = computation_by_host(theirs, ours->limit.phase);
        our_ns = our != NULL ? our->summary.median : NAN;
        their_ns = their != NULL ? their->summary.median : NAN;
    } else if (is_by_graph(ours) != is_by_graph(theirs)) {
        our_ns = result_median(ours, ONE_CALL);
        their_ns = result_median(theirs, ONE_CALL);
    }
    return limit_share_closed(our_ns, their_ns, limit_ns);
}

/* ---- plausibility ---------------------------------------------------------------------------- */

/* A launch starts with empty registers and shared memory, so that its first pass over the data finds
 * only what the L2 has kept; further passes find what the chip can keep. */
static double least_dram_bytes(const workload_cost_t *cost, const device_rates_t *rates) {
    const double data = cost->working_set_bytes;
    const double passes = cost->bytes / data + cost->further_passes;
    return fmax(0, data - rates->l2_bytes) + (passes - 1) * fmax(0, data - rates->on_chip_bytes);
}

/* TF32 runs at half the rate of float16. One product of it is the least that a float32 product takes
 * on tensor cores; where there is no TF32, it is two in float16. */
static double peak_flops_per_s(const char *dtype, const device_rates_t *rates) {
    if (strcmp(dtype, "f16") == 0 || strcmp(dtype, "bf16") == 0 || strcmp(dtype, "mixed") == 0)
        return rates->f16_peak_flops_per_s;
    if (strcmp(dtype, "f32") == 0 || strcmp(dtype, "tf32") == 0)
        return rates->f16_peak_flops_per_s / 2;
    return NAN;
}

/* The longest of several times that no honest kernel can undercut; NaN: none is known. */
typedef struct least {
    const char *bound;
    double ns;
} least_t;

static void raise_least(least_t *least, const char *bound, double ns) {
    if (isfinite(ns) && !(ns <= least->ns))
        *least = (least_t){bound, ns};
}

/* A read of the L2 over what our kernel reaches there. */
static const double L2_PEAK_OVER_READ = 1.25;

/* A barrier of the grid over the least that takes a sum from one multiprocessor to another that is not of its
 * cluster: half of the quarter that a word takes by the probes of docs/on-chip.md. */
static const double BARRIER_OVER_TRIP = 8;

/* Of what tensor cores multiply, dot products of vectors use at most an eighth: the columns of one factor
 * that belong to the rows of the other, two sums of each. */
static const double DOT_SHARE_OF_TENSOR_CORES = 1.0 / 8;

/* Passes of which each needs a sum over the one before cannot be left out: the arithmetic of all of them;
 * what the multiprocessors cannot keep comes from the L2 or from DRAM each time; and the sum crosses the chip
 * if the data do not fit in one cluster. Another algorithm can do without them, and must declare it. */
static void raise_for_passes(least_t *least, const workload_cost_t *cost,
                             const device_rates_t *rates) {
    const double data = cost->working_set_bytes, kept = rates->on_chip_bytes - rates->l2_bytes;
    const double flops_per_s =
        rates->lanes_peak_flops_per_s + DOT_SHARE_OF_TENSOR_CORES * peak_flops_per_s("tf32", rates);
    const double bytes_per_s =
        L2_PEAK_OVER_READ * rates->l2_bytes_per_s + DRAM_PEAK_OVER_COPY * rates->dram_bytes_per_s;
    raise_least(least, "arithmetic", cost->flops / flops_per_s * 1e9);
    if (data > kept)
        raise_least(least, "l2", cost->further_passes * (data - kept) / bytes_per_s * 1e9);
    if (data > rates->cluster_bytes)
        raise_least(least, "exchange",
                    cost->further_passes * rates->barrier_ns / BARRIER_OVER_TRIP);
}

static least_t least_on_gpu(const case_result_t *result, const workload_cost_t *cost,
                            const device_rates_t *rates) {
    least_t least = {NULL, NAN};
    const bool chip_known = isfinite(rates->f16_peak_flops_per_s);
    raise_least(&least, "launch", rates->launch_ns);
    raise_least(&least, "arithmetic",
                cost->flops / peak_flops_per_s(result->spec.dtype, rates) * 1e9);
    if (chip_known)
        raise_least(&least, "dram",
                    least_dram_bytes(cost, rates) /
                        (DRAM_PEAK_OVER_COPY * rates->dram_bytes_per_s) * 1e9);
    if (chip_known && cost->further_passes > 0)
        raise_for_passes(&least, cost, rates);
    return least;
}

/* What a CPU's caches deliver is not measured, and what its units for matrices do, not known. */
static least_t least_on_cpu(const workload_cost_t *cost, const device_rates_t *rates) {
    least_t least = {NULL, NAN};
    if (cost->further_passes > 0)
        raise_least(&least, "arithmetic", cost->flops / rates->cpu_peak_flops_per_s * 1e9);
    return least;
}

/* The shortest time of the whole computation that the case claims: by the phase that limit_set() has chosen,
 * and of a training, which may have none by the device's clock, by the host's. NaN: none. */
static double claimed_ns(const case_result_t *result) {
    static const char *const BY_HOST[] = {"train", "host_to_host", "total"};
    const char *phase = result->limit.phase;
    double ns = phase != NULL ? result_median(result, phase) : NAN;
    for (size_t i = 0; i < sizeof BY_HOST / sizeof *BY_HOST; i++)
        if (result_phase(result, "train") != NULL)
            ns = fmin(ns, result_median(result, BY_HOST[i]));
    return ns;
}

static void flag_limit(case_result_t *result, const device_rates_t *rates) {
    const workload_t *workload = workload_find(result->spec.workload);
    if (workload == NULL || result_is_algorithmic(result))
        return;
    const workload_cost_t cost = workload->cost(&result->spec);
    const bool on_gpu = strcmp(result->spec.device, "cuda") == 0;
    const least_t least = on_gpu ? least_on_gpu(result, &cost, rates) : least_on_cpu(&cost, rates);
    const double frac = least.ns / claimed_ns(result);
    if (frac > SLACK)
        flag_list_add(&result->flags, FLAG_OVER_LIMIT, least.bound, frac, NAN);
}

void limit_set_again(case_result_t *result, const workload_t *workload,
                     const device_rates_t *rates) {
    free(result->limit.bound);
    free(result->limit.phase);
    result->limit.bound = result->limit.phase = NULL;
    result->limit.limit_ns = result->limit.frac = NAN;
    limit_set(result, workload, rates);
    flag_list_remove(&result->flags, FLAG_OVER_LIMIT);
    if (result_has_times(result))
        flag_limit(result, rates);
}

static bool are_complete(const device_rates_t *rates) {
    return isfinite(rates->dram_bytes_per_s) && isfinite(rates->l2_bytes_per_s) &&
           isfinite(rates->on_chip_bytes) && isfinite(rates->fp32_flops_per_s) &&
           isfinite(rates->launch_ns);
}

void device_rates_set_limits_again(record_t *run) {
    const device_rates_t rates = device_rates_of_record(run);
    for (size_t i = 0; i < run->n_cases && are_complete(&rates); i++) {
        const workload_t *workload = workload_find(run->cases[i].spec.workload);
        if (workload != NULL && run->cases[i].limit.bound != NULL)
            limit_set_again(&run->cases[i], workload, &rates);
    }
}

/* Of each pair, the first disturbs the kernel less and should not take longer. `kernel` is not
 * compared with `kernel_cold`: launching on an idle device adds a microsecond to it. */
static void flag_order(case_result_t *result) {
    static const struct {
        flag_kind_t kind;
        const char *fast, *slow;
    } ORDERS[] = {{FLAG_GRAPH_SLOWER, "kernel_graph", "kernel_stream"},
                  {FLAG_STREAM_SLOWER, "kernel_stream", "kernel"},
                  {FLAG_WARM_SLOWER, "kernel_graph", "kernel_cold"}};
    for (size_t i = 0; i < sizeof ORDERS / sizeof *ORDERS; i++) {
        double fast_ns = result_median(result, ORDERS[i].fast);
        double slow_ns = result_median(result, ORDERS[i].slow);
        if (fast_ns > SLACK * slow_ns)
            flag_list_add(&result->flags, ORDERS[i].kind, NULL, fast_ns, slow_ns);
    }
}

/* Is its kernel one launch, between two events? Of the device's own cases it is the mean of many passes in one. */
static bool has_event_floor(const case_t *spec) {
    return strcmp(spec->engine, "cuda") == 0 && strcmp(spec->workload, "device") != 0;
}

void plausibility_check(case_result_t *result, const device_rates_t *rates) {
    if (!result_has_times(result))
        return;
    flag_limit(result, rates);
    flag_order(result);
    double kernel_ns = result_median(result, "kernel");
    if (has_event_floor(&result->spec) && kernel_ns < rates->event_ns)
        flag_list_add(&result->flags, FLAG_UNDER_EVENT_FLOOR, NULL, kernel_ns, rates->event_ns);
    if (result_median(result, "residual") < 0)
        flag_list_add(&result->flags, FLAG_NEGATIVE_RESIDUAL, NULL, NAN, NAN);
}

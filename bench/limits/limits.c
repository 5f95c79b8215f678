#include "limits/limits.h"

#include "base/memory.h"
#include "results/conditions.h"
#include "workloads/device/descriptor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== the device's rates ====================================================================== */

const device_rates_t DEVICE_RATES_UNKNOWN = {
    NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, {NAN, NAN, NAN}, NAN, NAN, NAN, NAN, NAN, NAN};

/* What NVIDIA documents of an architecture. FP32 lanes: CUDA C++ Programming Guide, throughput of
 * arithmetic instructions. Multiply-adds of float16 matrices without zeros to skip, per clock and
 * multiprocessor: the whitepapers of V100, TU102, A100, GA102, AD102, H100 and GB202; sm_100 from the
 * data sheet of HGX B200: 2.25 PFLOP/s, with 148 multiprocessors at 1.85 GHz. */
typedef struct chip {
    const char *arch;
    int fp32_lanes, f16_multiply_adds;
    int tensor_memory_kib; /* of a multiprocessor */
} chip_t;

static const chip_t CHIPS[] = {{"sm_70", 64, 512, 0},      {"sm_75", 64, 512, 0},
                               {"sm_80", 64, 1024, 0},     {"sm_86", 128, 512, 0},
                               {"sm_89", 128, 512, 0},     {"sm_90", 128, 2048, 0},
                               {"sm_100", 128, 4096, 256}, {"sm_120", 128, 512, 0}};

/* sm_90: 64 Ki registers of 4 bytes, 228 KiB of shared memory (CUDA C++ Programming Guide,
 * technical specifications per compute capability); no other architecture has more. */
enum { KEPT_BY_MULTIPROCESSOR_KIB = 256 + 228 };

/* Blocks of a cluster of a size that is not portable, a multiprocessor each. */
enum { LARGEST_CLUSTER = 16 };

/* No core does more: two units for 512 bits, multiply-adds, and a clock over that of any CPU on sale. */
static const double CPU_CORE_FLOPS_PER_S = 2 * 16 * 2 * 7e9;

static double fact(const environment_t *env, const char *name) {
    const char *text = environment_get(env, name);
    const double number = text != NULL ? strtod(text, NULL) : NAN;
    return number > 0 ? number : NAN;
}

static const chip_t *chip_of(const environment_t *env) {
    const char *arch = environment_get(env, "gpu.arch");
    for (size_t i = 0; arch != NULL && i < sizeof CHIPS / sizeof *CHIPS; i++)
        if (strcmp(CHIPS[i].arch, arch) == 0)
            return &CHIPS[i];
    return NULL;
}

void device_rates_from_facts(const environment_t *env, device_rates_t *rates) {
    const chip_t *chip = chip_of(env);
    const double multiprocessors = fact(env, "gpu.multiprocessors");
    const double locked_mhz = lock_clocks_recorded_mhz(env);
    const double top_mhz = fmax(fact(env, "gpu.clock_mhz"), fact(env, "gpu.clock_max_mhz"));
    const double clock_mhz = isfinite(locked_mhz) ? locked_mhz : top_mhz;
    const int kept_kib = KEPT_BY_MULTIPROCESSOR_KIB + (chip != NULL ? chip->tensor_memory_kib : 0);
    rates->l2_bytes = fact(env, "gpu.l2_bytes");
    rates->on_chip_bytes = rates->l2_bytes + multiprocessors * kept_kib * 1024.0;
    /* A multiply-add counts as two operations. */
    const int lanes = chip != NULL ? chip->fp32_lanes : 128;
    rates->fp32_flops_per_s = multiprocessors * lanes * 2 * clock_mhz * 1e6;
    rates->lanes_peak_flops_per_s = multiprocessors * lanes * 2 * top_mhz * 1e6;
    rates->cluster_bytes = LARGEST_CLUSTER * kept_kib * 1024.0;
    rates->cpu_peak_flops_per_s = fact(env, "host.cores") * CPU_CORE_FLOPS_PER_S;
    rates->f16_peak_flops_per_s =
        chip != NULL ? multiprocessors * chip->f16_multiply_adds * 2 * top_mhz * 1e6 : NAN;
}

/* ---- rates of matrix products ---------------------------------------------------------------- */

const char *matmul_type_name(matmul_type_t type) {
    static const char *const NAMES[] = {
        [MATMUL_F32] = "f32", [MATMUL_TF32] = "tf32", [MATMUL_F16] = "f16"};
    return NAMES[type];
}

matmul_type_t matmul_type_of(const case_t *spec) {
    const workload_t *workload = workload_find(spec->workload);
    const char *name =
        workload != NULL && workload->arithmetic != NULL ? workload->arithmetic(spec) : NULL;
    matmul_type_t type = 0;
    if (name != NULL && strcmp(name, "bf16") == 0) /* tensor cores take both at one rate */
        name = "f16";
    while (type < MATMUL_TYPES && (name == NULL || strcmp(matmul_type_name(type), name) != 0))
        type++;
    return type;
}

double matmul_flops_per_s(const device_rates_t *rates, matmul_type_t type) {
    return type < MATMUL_TYPES && rates->library_flops_per_s[type] > 0
               ? rates->library_flops_per_s[type]
               : NAN;
}

static void note_library(const case_result_t *result, device_rates_t *rates) {
    const double n = (double)device_matmul_rows(&result->spec);
    for (matmul_type_t type = 0; type < MATMUL_TYPES; type++) {
        const double ns = result_median(result, matmul_type_name(type));
        if (n >= DEVICE_MATMUL_ROWS && ns > 0)
            rates->library_flops_per_s[type] = 2 * n * n * n / ns * 1e9;
    }
}

/* ---- calibration ----------------------------------------------------------------------------- */

static void note_device(const case_result_t *result, device_rates_t *rates) {
    const char *variant = result->spec.variant;
    if (strcmp(variant, DEVICE_MATMUL_VARIANT) == 0) {
        note_library(result, rates);
        return;
    }
    if (result_phase(result, "barrier") != NULL) {
        rates->barrier_ns = result_median(result, "barrier");
        return;
    }
    double bytes = (double)case_param_int(&result->spec, "bytes", 0);
    if (strcmp(variant, DEVICE_BUS_VARIANT) == 0) {
        rates->bus_in_bytes_per_s = bytes * 1e9 / result_median(result, "h2d");
        rates->bus_out_bytes_per_s = bytes * 1e9 / result_median(result, "d2h");
        rates->bus_both_bytes_per_s = bytes * 1e9 / result_median(result, "both");
        return;
    }
    double bytes_per_s = bytes * 1e9 / result_median(result, "kernel");
    bool copies = strcmp(variant, "copy") == 0;
    bool in_l2 = bytes<rates->l2_bytes, in_dram = bytes> 4 * rates->l2_bytes;
    if (copies && in_dram)
        rates->dram_bytes_per_s = 2 * bytes_per_s;
    else if (!copies && in_l2)
        rates->l2_bytes_per_s = bytes_per_s;
}

void device_rates_calibrate(const case_result_t *result, device_rates_t *rates) {
    if (result->status != CASE_OK || strcmp(result->spec.engine, "cuda") != 0)
        return;
    if (strcmp(result->spec.workload, "device") == 0) {
        note_device(result, rates);
    } else if (strcmp(result->spec.workload, "null") == 0) {
        rates->launch_ns = result_median(result, "kernel_graph");
        rates->event_ns = result_median(result, "event_pair");
    }
}

/* What a run records of them, besides its cases. */
static const struct {
    const char *key;
    size_t rate; /* its place in device_rates_t */
} MEASURED[] = {
    {"measured.copy_bytes_per_s", offsetof(device_rates_t, dram_bytes_per_s)},
    {"measured.l2_read_bytes_per_s", offsetof(device_rates_t, l2_bytes_per_s)},
    {"measured.bus_in_bytes_per_s", offsetof(device_rates_t, bus_in_bytes_per_s)},
    {"measured.bus_out_bytes_per_s", offsetof(device_rates_t, bus_out_bytes_per_s)},
    {"measured.bus_both_bytes_per_s", offsetof(device_rates_t, bus_both_bytes_per_s)},
    {"measured.matmul_f32_flops_per_s", offsetof(device_rates_t, library_flops_per_s[MATMUL_F32])},
    {"measured.matmul_tf32_flops_per_s",
     offsetof(device_rates_t, library_flops_per_s[MATMUL_TF32])},
    {"measured.matmul_f16_flops_per_s", offsetof(device_rates_t, library_flops_per_s[MATMUL_F16])},
    {"measured.empty_graph_node_ns", offsetof(device_rates_t, launch_ns)},
    {"measured.event_pair_ns", offsetof(device_rates_t, event_ns)},
    {"measured.grid_barrier_ns", offsetof(device_rates_t, barrier_ns)},
};

static double *measured(device_rates_t *rates, size_t i) {
    void *rate = (char *)rates + MEASURED[i].rate;
    return rate;
}

void device_rates_record(device_rates_t *rates, environment_t *env) {
    for (size_t i = 0; i < sizeof MEASURED / sizeof *MEASURED; i++)
        if (isfinite(*measured(rates, i)))
            environment_set_number(env, MEASURED[i].key, *measured(rates, i));
}

device_rates_t device_rates_of_record(const record_t *run) {
    const environment_t *env = &run->environment;
    device_rates_t rates = DEVICE_RATES_UNKNOWN;
    device_rates_from_facts(env, &rates);
    for (size_t i = 0; i < run->n_cases; i++)
        device_rates_calibrate(&run->cases[i], &rates);
    for (size_t i = 0; i < sizeof MEASURED / sizeof *MEASURED; i++)
        if (!isfinite(*measured(&rates, i)))
            *measured(&rates, i) = fact(env, MEASURED[i].key);
    return rates;
}

/* ==== bounds of trainings ===================================================================== */

enum {
    /* Registers of eight multiprocessors, from sm_75 on. One block or cluster can keep that much
     * without a barrier of the grid. */
    ONE_CLUSTER_BYTES = 8 * 256 * 1024,
};

static lower_bound_t moved(double times, double bytes, double bytes_per_s) {
    return (lower_bound_t){times * bytes / bytes_per_s * 1e9, times, bytes, bytes_per_s};
}

static lower_bound_t passes_bound(training_bound_t bound, const workload_cost_t *cost,
                                  const device_rates_t *rates) {
    const double bytes = cost->working_set_bytes, passes = cost->further_passes + 1;
    if (bound == BOUND_BARRIER && bytes > ONE_CLUSTER_BYTES)
        return (lower_bound_t){.ns = passes * rates->barrier_ns, .times = passes};
    if (bound == BOUND_L2 && bytes < rates->l2_bytes)
        return moved(passes, bytes, rates->l2_bytes_per_s);
    return bound == BOUND_DRAM   ? moved(passes, bytes, rates->dram_bytes_per_s)
           : bound == BOUND_ONCE ? moved(1, bytes, rates->dram_bytes_per_s)
                                 : (lower_bound_t){.ns = NAN};
}

/* A step's passes hit what the previous pass left in the L2 and miss the rest. Hits are limited by the L2's
 * rate. */
static lower_bound_t step_bound(training_bound_t bound, const workload_cost_t *cost, size_t steps,
                                const device_rates_t *rates) {
    const double bytes = cost->working_set_bytes, passes = cost->bytes / bytes / (double)steps;
    if (bound == BOUND_WEIGHTS)
        return moved(passes, bytes, rates->dram_bytes_per_s);
    if (bound != BOUND_KEPT)
        return (lower_bound_t){.ns = NAN};
    const double kept = isnan(rates->l2_bytes) ? NAN : fmin(bytes, rates->l2_bytes);
    const lower_bound_t hits = moved(passes, bytes, rates->l2_bytes_per_s),
                        misses = moved(passes, bytes - kept, rates->dram_bytes_per_s);
    return misses.ns <= hits.ns ? hits : misses; /* NaN: not known */
}

lower_bound_t training_bound(training_bound_t bound, const case_t *any_case,
                             const device_rates_t *rates) {
    const workload_t *workload = workload_find(any_case->workload);
    const bounded_by_t by = workload != NULL ? workload->bounded_by : BOUNDED_BY_NOTHING;
    if (by == BOUNDED_BY_NOTHING)
        return (lower_bound_t){.ns = NAN};
    const workload_cost_t cost = workload->cost(any_case);
    return by == BOUNDED_BY_PASSES
               ? passes_bound(bound, &cost, rates)
               : step_bound(bound, &cost, workload->sample_steps(any_case), rates);
}

/* ==== limits of a case ======================================================================== */

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

/* Work that the device's memory does not bound has a phase, by which it is compared, but no limit. */
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

double bus_limit_ns(const case_t *spec, const device_rates_t *rates) {
    const workload_cost_t cost = workload_find(spec->workload)->cost(spec);
    const double in_ns = cost.bus_in_bytes / rates->bus_in_bytes_per_s * 1e9;
    const double out_ns = cost.bus_out_bytes / rates->bus_out_bytes_per_s * 1e9;
    return in_ns > 0 && out_ns > 0 ? fmax(in_ns, out_ns) : NAN;
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
static double peak_flops_per_s(const char *factors, const device_rates_t *rates) {
    if (factors == NULL)
        return NAN;
    if (strcmp(factors, "f16") == 0 || strcmp(factors, "bf16") == 0 ||
        strcmp(factors, "mixed") == 0)
        return rates->f16_peak_flops_per_s;
    if (strcmp(factors, "f32") == 0 || strcmp(factors, "tf32") == 0)
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
    const workload_t *workload = workload_find(result->spec.workload);
    const char *factors =
        workload->factors != NULL ? workload->factors(&result->spec) : result->spec.dtype;
    const bool chip_known = isfinite(rates->f16_peak_flops_per_s);
    raise_least(&least, "launch", rates->launch_ns);
    raise_least(&least, "arithmetic", cost->flops / peak_flops_per_s(factors, rates) * 1e9);
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
static double claimed_ns(const case_result_t *result, const workload_cost_t *cost) {
    const bool trains = cost->further_passes > 0 || result_phase(result, "train") != NULL;
    const char *phase = result->limit.phase;
    const phase_t *computation = result_compute_phase(result);
    double ns = phase != NULL ? result_median(result, phase) : NAN;
    if (trains && computation != NULL)
        ns = fmin(ns, computation->summary.median);
    if (trains)
        ns = fmin(ns, fmin(result_median(result, "host_to_host"), result_median(result, "total")));
    return ns;
}

static void flag_limit(case_result_t *result, const device_rates_t *rates) {
    const workload_t *workload = workload_find(result->spec.workload);
    if (workload == NULL || result_is_algorithmic(result))
        return;
    const workload_cost_t cost = workload->cost(&result->spec);
    const bool on_gpu = strcmp(result->spec.device, "cuda") == 0;
    const least_t least = on_gpu ? least_on_gpu(result, &cost, rates) : least_on_cpu(&cost, rates);
    const double frac = least.ns / claimed_ns(result, &cost);
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

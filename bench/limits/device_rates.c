#include "limits/device_rates.h"

#include "results/conditions.h"
#include "workloads/common/workload.h"
#include "workloads/device/descriptor.h"
#include "workloads/operator/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const device_rates_t DEVICE_RATES_UNKNOWN = {
    NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, {NAN, NAN, NAN}, {NAN, NAN, NAN},
    NAN, NAN, NAN, NAN, NAN, NAN};

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

double recorded_number(const record_t *run, const char *key) {
    return fact(&run->environment, key);
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
               ? fmax(rates->library_flops_per_s[type], rates->own_flops_per_s[type])
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

static void note_own(const case_result_t *result, device_rates_t *rates) {
    const workload_t *workload = workload_find(result->spec.workload);
    const matmul_type_t type = matmul_type_of(&result->spec);
    /* The operations of an own operator are what its description says: too many would lower the
     * limit of every other case. */
    const bool is_claim = operators_find(result->spec.workload) != NULL;
    if (is_claim || type == MATMUL_TYPES || result->limit.phase == NULL ||
        result_is_algorithmic(result))
        return;
    const double ns = result_median(result, result->limit.phase);
    if (ns > 0)
        rates->own_flops_per_s[type] =
            fmax(rates->own_flops_per_s[type], workload->cost(&result->spec).flops / ns * 1e9);
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
    } else {
        note_own(result, rates);
    }
}

static void set_if_unknown(double *rate, double value) {
    if (!isfinite(*rate))
        *rate = value;
}

device_rates_t device_rates_of_record(const record_t *run) {
    const environment_t *env = &run->environment;
    device_rates_t rates = DEVICE_RATES_UNKNOWN;
    device_rates_from_facts(env, &rates);
    for (size_t i = 0; i < run->n_cases; i++)
        device_rates_calibrate(&run->cases[i], &rates);
    set_if_unknown(&rates.dram_bytes_per_s, fact(env, "measured.copy_bytes_per_s"));
    set_if_unknown(&rates.l2_bytes_per_s, fact(env, "measured.l2_read_bytes_per_s"));
    set_if_unknown(&rates.bus_in_bytes_per_s, fact(env, "measured.bus_in_bytes_per_s"));
    set_if_unknown(&rates.bus_out_bytes_per_s, fact(env, "measured.bus_out_bytes_per_s"));
    set_if_unknown(&rates.bus_both_bytes_per_s, fact(env, "measured.bus_both_bytes_per_s"));
    for (matmul_type_t type = 0; type < MATMUL_TYPES; type++) {
        char key[sizeof "measured.matmul_tf32_flops_per_s"];
        snprintf(key, sizeof key, "measured.matmul_%s_flops_per_s", matmul_type_name(type));
        set_if_unknown(&rates.library_flops_per_s[type], fact(env, key));
    }
    set_if_unknown(&rates.launch_ns, fact(env, "measured.empty_graph_node_ns"));
    set_if_unknown(&rates.event_ns, fact(env, "measured.event_pair_ns"));
    set_if_unknown(&rates.barrier_ns, fact(env, "measured.grid_barrier_ns"));
    return rates;
}

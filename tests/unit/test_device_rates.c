/* The device's rates: from calibration cases, and what follows from its architecture. */
#include "checks.h"
#include "limits/limits.h"
#include "made_case.h"
#include "timed_result.h"
#include "workloads/described/described.h"

/* A finished case of the workload that measures the device. */
static case_result_t device_result(const char *engine, const char *variant, int64_t bytes,
                                   double kernel_ns) {
    case_result_t result =
        make_result("device", engine, bytes, (timed_t[]){{"kernel", kernel_ns}, {NULL, 0}});
    set_text(&result.spec.variant, variant);
    return result;
}

/* A copy moves each byte twice, reading it moves it once. */
static void test_calibration(void **state) {
    device_rates_t rates = DEVICE_RATES_UNKNOWN;
    rates.l2_bytes = 50e6;
    AUTO(result_free) case_result_t copy = device_result("cuda", "copy", 1 << 30, 500000);
    device_rates_calibrate(&copy, &rates);
    assert_true(fabs(rates.dram_bytes_per_s / (2.0 * (1 << 30) / 500e-6) - 1) < 1e-12);
    assert_true(isnan(rates.l2_bytes_per_s));
    AUTO(result_free) case_result_t read = device_result("cuda", "01_read", 12500000, 1250);
    device_rates_calibrate(&read, &rates);
    assert_true(fabs(rates.l2_bytes_per_s / 1e13 - 1) < 1e-12);
    case_result_t barrier =
        make_result("device", "cuda", 1, (timed_t[]){{"barrier", 980}, {NULL, 0}});
    device_rates_calibrate(&barrier, &rates);
    assert_true(rates.barrier_ns == 980);
    assert_true(fabs(rates.l2_bytes_per_s / 1e13 - 1) < 1e-12);
    result_free(&barrier);
    case_result_t bus =
        make_result("device", "cuda", 55000000,
                    (timed_t[]){{"h2d", 1000000}, {"d2h", 1100000}, {"both", 1250000}, {NULL, 0}});
    set_text(&bus.spec.variant, "bus");
    device_rates_calibrate(&bus, &rates);
    assert_true(fabs(rates.bus_in_bytes_per_s / 55e9 - 1) < 1e-12);
    assert_true(fabs(rates.bus_out_bytes_per_s / 50e9 - 1) < 1e-12);
    assert_true(fabs(rates.bus_both_bytes_per_s / 44e9 - 1) < 1e-12);
    assert_true(fabs(rates.l2_bytes_per_s / 1e13 - 1) < 1e-12);
    result_free(&bus);
    AUTO(result_free)
    case_result_t empty = make_result(
        "null", "cuda", 0, (timed_t[]){{"kernel_graph", 700}, {"event_pair", 1300}, {NULL, 0}});
    device_rates_calibrate(&empty, &rates);
    assert_true(rates.launch_ns == 700 && rates.event_ns == 1300);
}

static void test_what_does_not_calibrate(void **state) {
    device_rates_t rates = DEVICE_RATES_UNKNOWN;
    rates.l2_bytes = 50e6;
    const timed_t times[] = {{"kernel", 500000}, {"kernel_graph", 1}, {"event_pair", 1}, {NULL, 0}};
    case_result_t results[] = {
        make_result("null", "null", 0, times),
        make_result("mlp_infer", "cuda", 64, times),
        device_result("cpu", "copy", 1 << 30, 500000),
        device_result("cuda", "copy", 30000000, 500000),      /* part of it would stay in the L2 */
        device_result("cuda", "01_read", 100000000, 500000),  /* not in the L2 */
        device_result("cuda", "01_read", 1000000000, 170000), /* older runs have it */
        device_result("cuda", "copy", 1 << 30, 500000),
    };
    results[6].status = CASE_FAILED;
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        device_rates_calibrate(&results[i], &rates);
        result_free(&results[i]);
    }
    assert_true(isnan(rates.dram_bytes_per_s) && isnan(rates.l2_bytes_per_s) &&
                isnan(rates.launch_ns) && isnan(rates.event_ns) && isnan(rates.barrier_ns));
}

static void assert_rate(double flops_per_s, double expected) {
    assert_true(fabs(flops_per_s / expected - 1) < 1e-12);
}

/* A product of n x n takes 2 n³ operations. */
static void test_library_rates(void **state) {
    device_rates_t rates = DEVICE_RATES_UNKNOWN;
    const int64_t bytes = 8192LL * 8192 * 4;
    const double flops = 2.0 * 8192 * 8192 * 8192;
    const timed_t times[] = {{"f32", 20e6}, {"f16", 1.6e6}, {NULL, 0}};
    AUTO(result_free) case_result_t result = make_result("device", "cuda", bytes, times);
    set_text(&result.spec.variant, "matmul");
    device_rates_calibrate(&result, &rates);
    assert_rate(matmul_flops_per_s(&rates, MATMUL_F32), flops / 20e-3);
    assert_rate(matmul_flops_per_s(&rates, MATMUL_F16), flops / 1.6e-3);
    assert_true(isnan(matmul_flops_per_s(&rates, MATMUL_TF32))); /* the library has none */
    assert_true(isnan(matmul_flops_per_s(&rates, MATMUL_TYPES)));
    assert_true(isnan(rates.dram_bytes_per_s) && isnan(rates.l2_bytes_per_s));
    rates = DEVICE_RATES_UNKNOWN;
    result.spec.params[0].value.integer = bytes / 4;
    device_rates_calibrate(&result, &rates);
    assert_true(isnan(matmul_flops_per_s(&rates, MATMUL_F32))); /* too small a product */
}

/* A run's head tells them where its cases do not. */
static void test_library_rates_of_a_record(void **state) {
    AUTO(record_free) record_t run = {0};
    environment_set_number(&run.environment, "measured.matmul_f32_flops_per_s", 50e12);
    environment_set_number(&run.environment, "measured.matmul_tf32_flops_per_s", 400e12);
    environment_set_number(&run.environment, "measured.matmul_f16_flops_per_s", 700e12);
    const device_rates_t rates = device_rates_of_record(&run);
    assert_true(matmul_flops_per_s(&rates, MATMUL_F32) == 50e12);
    assert_true(matmul_flops_per_s(&rates, MATMUL_TF32) == 400e12);
    assert_true(matmul_flops_per_s(&rates, MATMUL_F16) == 700e12);
}

/* What an H200 says of itself, and others: whitepapers have 989 TFLOP/s at 1.83 GHz for the same
 * chip. */
static void test_peaks_of_chips(void **state) {
    static const struct {
        const char *arch;
        double f16_flops_a_clock, fp32_flops_a_clock, kept_kib;
    } CHIPS[] = {{"sm_70", 1024, 128, 484},  {"sm_75", 1024, 128, 484},  {"sm_80", 2048, 128, 484},
                 {"sm_86", 1024, 256, 484},  {"sm_89", 1024, 256, 484},  {"sm_90", 4096, 256, 484},
                 {"sm_100", 8192, 256, 740}, {"sm_120", 1024, 256, 484}, {"sm_999", NAN, 256, 484}};
    for (size_t i = 0; i < COUNT_OF(CHIPS); i++) {
        AUTO(environment_free) environment_t env = {0};
        environment_set(&env, "gpu.arch", CHIPS[i].arch);
        environment_set_number(&env, "gpu.multiprocessors", 132);
        environment_set_number(&env, "gpu.clock_max_mhz", 1980);
        environment_set_number(&env, "gpu.l2_bytes", 50e6);
        environment_set_number(&env, "host.cores", 16);
        device_rates_t rates = DEVICE_RATES_UNKNOWN;
        device_rates_from_facts(&env, &rates);
        const double clocks_per_s = 132 * 1980e6;
        if (isnan(CHIPS[i].f16_flops_a_clock))
            assert_true(isnan(rates.f16_peak_flops_per_s));
        else
            assert_true(rates.f16_peak_flops_per_s == clocks_per_s * CHIPS[i].f16_flops_a_clock);
        assert_true(rates.fp32_flops_per_s == clocks_per_s * CHIPS[i].fp32_flops_a_clock);
        assert_true(rates.lanes_peak_flops_per_s == rates.fp32_flops_per_s);
        assert_true(rates.on_chip_bytes == 50e6 + 132 * 1024 * CHIPS[i].kept_kib);
        assert_true(rates.cluster_bytes == 16 * 1024 * CHIPS[i].kept_kib);
        assert_true(rates.cpu_peak_flops_per_s == 16 * 64 * 7e9);
    }
}

#include "run_tests.h"

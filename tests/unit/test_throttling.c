/* Readings of a GPU's clocks, and what becomes of rounds that were taken under low ones. */
#include "checks.h"
#include "measure/machine.h"

/* nvmlClocksEventReason… */
enum { CLOCK_SETTING = 0x2, SW_POWER_CAP = 0x4, HW_SLOWDOWN = 0x8 };
enum { MOST_MHZ = 2000, LOCKED_MHZ = 900 };

static case_result_t make_result(const char *device) {
    case_result_t result;
    AUTO(case_free) case_t spec = {.device = mem_text(device)};
    result_init(&result, &spec);
    return result;
}

/* A phase of rounds of ten samples each. */
static void add_rounds(case_result_t *result, const char *name, size_t n_rounds, double ns) {
    phase_t *phase = result_add_phase(result, name, CLOCK_HOST);
    double samples[10];
    for (size_t i = 0; i < 10; i++)
        samples[i] = ns;
    for (size_t r = 0; r < n_rounds; r++)
        phase_add_round(phase, samples, 10);
}

static void test_ranges_hold_every_reading(void **state) {
    AUTO(result_free) case_result_t result = make_result("cuda");
    const nvml_reading_t readings[] = {
        {1700, 300, NAN, 0}, {1980, NAN, NAN, 0}, {NAN, 250, NAN, 0}, {1800, 310, NAN, 0}};
    for (size_t i = 0; i < COUNT_OF(readings); i++)
        clocks_note(&readings[i], &result.device);
    const device_state_t *device = &result.device;
    assert_true(device->sm_mhz[0] == 1700 && device->sm_mhz[1] == 1980);
    assert_true(device->power_w[0] == 250 && device->power_w[1] == 310);
    assert_true(isnan(device->temperature_c[0]) && isnan(device->temperature_c[1]));
    assert_int_equal(device->throttle.n, 0);
}

static void test_reasons_are_named_once_and_forgotten(void **state) {
    AUTO(result_free) case_result_t result = make_result("cuda");
    const nvml_reading_t reading = {1500, 700, 60, SW_POWER_CAP};
    clocks_note(&reading, &result.device);
    clocks_note(&reading, &result.device);
    assert_int_equal(result.device.throttle.n, 1);
    clocks_forget(&result.device);
    assert_int_equal(result.device.throttle.n, 0);
    assert_true(isnan(result.device.sm_mhz[0]) && isnan(result.device.power_w[1]) &&
                isnan(result.device.temperature_c[0]));
}

static void test_nothing_is_read_without_nvml(void **state) {
    AUTO(result_free) case_result_t result = make_result("cuda");
    nvml_reading_t reading = clocks_read(NULL, &result);
    assert_true(isnan(reading.sm_mhz) && reading.throttle == 0);
    assert_false(clocks_are_low(&reading, MOST_MHZ, false));
    assert_true(isnan(result.device.sm_mhz[0]));
}

static void test_what_is_low(void **state) {
    const struct {
        nvml_reading_t reading;
        double full_mhz;
        bool locked, low;
    } CASES[] = {
        {{.sm_mhz = 2000}, MOST_MHZ, false, false},
        {{.sm_mhz = 1500}, MOST_MHZ, false, false},
        {{.sm_mhz = 1499}, MOST_MHZ, false, true},
        {{.sm_mhz = 1600, .throttle = SW_POWER_CAP}, MOST_MHZ, false, false},
        {{.sm_mhz = 1400, .throttle = SW_POWER_CAP}, MOST_MHZ, false, true},
        {{.sm_mhz = 2000, .throttle = HW_SLOWDOWN}, MOST_MHZ, false, true},
        {{.sm_mhz = 2000, .throttle = HW_SLOWDOWN | SW_POWER_CAP}, MOST_MHZ, false, true},
        {{.sm_mhz = 100}, NAN, false, false},
        {{.sm_mhz = NAN}, MOST_MHZ, false, false},
        {{.sm_mhz = 2000, .throttle = CLOCK_SETTING}, MOST_MHZ, false, true},
        {{.sm_mhz = 900, .throttle = CLOCK_SETTING}, LOCKED_MHZ, true, false},
        {{.sm_mhz = 675}, LOCKED_MHZ, true, false},
        {{.sm_mhz = 674}, LOCKED_MHZ, true, true},
        {{.sm_mhz = 900, .throttle = CLOCK_SETTING | HW_SLOWDOWN}, LOCKED_MHZ, true, true},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        assert_int_equal(clocks_are_low(&CASES[i].reading, CASES[i].full_mhz, CASES[i].locked),
                         CASES[i].low);
}

static void test_low_rounds_stay_out_of_the_numbers(void **state) {
    AUTO(result_free)
    case_result_t result = make_result("cuda"), throttled_rounds = make_result("cuda");
    add_rounds(&result, "total", 3, 1000);
    add_rounds(&throttled_rounds, "total", 2, 1500);
    clocks_settle(&result, &throttled_rounds, 30);
    assert_int_equal(result.status, CASE_OK);
    assert_int_equal(result.phases[0].n_samples, 30);
    assert_int_equal(result.phases[0].n_throttled, 20);
}

static void test_the_power_limit_is_flagged(void **state) {
    AUTO(result_free)
    case_result_t result = make_result("cuda"), throttled_rounds = make_result("cuda");
    add_rounds(&result, "total", 3, 1000);
    add_rounds(&throttled_rounds, "total", 0, 0);
    clocks_note(&(nvml_reading_t){1755, 700, 60, SW_POWER_CAP}, &result.device);
    clocks_note(&(nvml_reading_t){1980, 650, 60, 0}, &result.device);
    clocks_settle(&result, &throttled_rounds, 30);
    assert_int_equal(result.status, CASE_OK);
    assert_int_equal(result.flags.n, 1);
    assert_text(flag_text(&result.flags.items[0]),
                "clock: at the board's power limit (SM 1755 to 1980 MHz)");
}

/* Of two phases the one with fewer samples decides. */
static void test_too_few_samples_at_full_clocks(void **state) {
    const struct {
        unsigned long long throttle;
        const char *reason;
    } CASES[] = {{0, "only 20 samples at full clocks (SM clock under 75 % of its full rate)"},
                 {SW_POWER_CAP, "only 20 samples at full clocks (sw_power_cap)"}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free)
        case_result_t result = make_result("cuda"), throttled_rounds = make_result("cuda");
        clocks_note(&(nvml_reading_t){1400, 700, 60, CASES[i].throttle}, &result.device);
        add_rounds(&result, "kernel", 4, 100);
        add_rounds(&result, "total", 2, 1000);
        add_rounds(&throttled_rounds, "kernel", 1, 150);
        add_rounds(&throttled_rounds, "total", 5, 1500);
        clocks_settle(&result, &throttled_rounds, 30);
        assert_int_equal(result.status, CASE_THROTTLED);
        assert_string_equal(result.reason, CASES[i].reason);
        assert_int_equal(result.phases[0].n_samples, 50);
        assert_int_equal(result.phases[1].n_samples, 70);
        assert_int_equal(result.phases[1].n_rounds, 7);
        assert_true(result.phases[1].samples[20] == 1500);
    }
}

static void test_rounds_on_slow_cores(void **state) {
    AUTO(result_free) case_result_t result = make_result("cuda"), slow_rounds = make_result("cuda");
    add_rounds(&result, "kernel", 4, 100);
    add_rounds(&result, "total", 3, 1000);
    add_rounds(&slow_rounds, "kernel", 2, 150);
    add_rounds(&slow_rounds, "total", 2, 1500);
    const size_t n = slow_rounds.phases[0].n_samples;
    slow_rounds_settle(&result, &slow_rounds, 4);
    assert_int_equal(result.phases[0].n_rounds, 4);
    assert_int_equal(result.phases[0].n_slow_core, n);
    assert_int_equal(result.phases[1].n_rounds, 5); /* three alone are too few */
    assert_int_equal(result.phases[1].n_slow_core, 0);
}

#include "run_tests.h"

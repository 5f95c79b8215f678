/* base/units: tables of what is printed and parsed. */
#include "base/units.h"
#include "checks.h"

enum printer { TIME, BYTES, RATE, FLOPS, PERCENT, DURATION };

static void one_number(void **state) {
    static const char *(*const printers[])(char *, double) = {
        [TIME] = units_time,   [BYTES] = units_bytes,     [RATE] = units_rate,
        [FLOPS] = units_flops, [PERCENT] = units_percent, [DURATION] = units_duration,
    };
    static const struct {
        enum printer printer;
        double value;
        const char *expected;
    } rows[] = {
        {TIME, 0, "0 ns"},
        {TIME, 0.25, "0.250 ns"},
        {TIME, 1, "1.00 ns"},
        {TIME, 9.994, "9.99 ns"},
        {TIME, 9.996, "10.0 ns"},
        {TIME, 99.96, "100 ns"},
        {TIME, 999.4, "999 ns"},
        {TIME, 999.6, "1.00 µs"},
        {TIME, 12600, "12.6 µs"},
        {TIME, -12600, "-12.6 µs"},
        {TIME, 345e6, "345 ms"},
        {TIME, 1.04e9, "1.04 s"},
        {TIME, 7.2e12, "7200 s"},
        {TIME, NAN, "–"},
        {BYTES, 0, "0 B"},
        {BYTES, 64, "64 B"},
        {BYTES, 1500, "1.50 kB"},
        {BYTES, 84e6, "84.0 MB"},
        {BYTES, 150.75e9, "151 GB"},
        {BYTES, 2e18, "2000 PB"},
        {BYTES, NAN, "–"},
        {RATE, 4.3e12, "4.30 TB/s"},
        {RATE, 0.5, "0.500 B/s"},
        {RATE, NAN, "–"},
        {FLOPS, 51.23e12, "51.2 TFLOP/s"},
        {FLOPS, 999.6e12, "1.00 PFLOP/s"},
        {PERCENT, 0, "0 %"},
        {PERCENT, 0.93, "93 %"},
        {PERCENT, 0.004, "0.4 %"},
        {PERCENT, 0.05, "5 %"},
        {PERCENT, 0.053, "5.3 %"},
        {PERCENT, 0.0997, "10 %"},
        {PERCENT, 0.1234, "12 %"},
        {PERCENT, 0.0001, "< 0.1 %"},
        {PERCENT, -0.0001, "> -0.1 %"},
        {PERCENT, -0.031, "-3.1 %"},
        {PERCENT, 1, "100 %"},
        {PERCENT, NAN, "–"},
        {DURATION, 0.35, "350 ms"},
        {DURATION, 4.2, "4.2 s"},
        {DURATION, 9.97, "10 s"},
        {DURATION, 59.4, "59 s"},
        {DURATION, 59.7, "1 min 00 s"},
        {DURATION, 200, "3 min 20 s"},
        {DURATION, 185, "3 min 05 s"},
        {DURATION, 3599.7, "1 h 00 min"},
        {DURATION, 3720, "1 h 02 min"},
        {DURATION, 90000, "25 h 00 min"},
        {DURATION, NAN, "–"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[UNITS_TEXT];
        assert_string_equal(printers[rows[i].printer](text, rows[i].value), rows[i].expected);
    }
}

static void counts(void **state) {
    static const struct {
        int64_t count;
        const char *expected;
    } rows[] = {{0, "0"},
                {512, "512"},
                {1000, "1000"},
                {1024, "2^10"},
                {1025, "1025"},
                {1 << 22, "2^22"},
                {(int64_t)1 << 62, "2^62"},
                {-1024, "-1024"},
                {INT64_MIN, "-9223372036854775808"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[UNITS_TEXT];
        assert_string_equal(units_count(text, rows[i].count), rows[i].expected);
    }
}

static void intervals(void **state) {
    static const struct {
        const char *(*print)(char *, double, double, double);
        double value, low, high;
        const char *expected;
    } rows[] = {
        {units_median, 12600, 12500, 12700, "12.6 µs"},
        {units_median, 12600, 12599, 12601, "12.6 µs"}, /* at most three */
        {units_median, 12600, 11400, 13700, "13 µs"},
        {units_median, 132e3, 110e3, 150e3, "130 µs"},
        {units_median, 3000, 1000, 40000, "3.0 µs"}, /* at least two */
        {units_median, 12600, NAN, NAN, "12.6 µs"},
        {units_median, NAN, 1, 2, "–"},
        {units_median, 996, 960, 1040, "1.00 µs"},
        {units_interval, 12600, 12500, 12700, "12.5–12.7 µs"},
        {units_interval, 12600, 12587, 12612, "12.59–12.61 µs"},
        {units_interval, 12600, 11400, 13700, "11–14 µs"},
        {units_interval, 132e3, 108e3, 152e3, "110–150 µs"},
        {units_interval, 999.7, 990, 1010, "0.99–1.01 µs"},
        {units_interval, 12600, 912, 536080e3, "912 ns–536 ms"},
        {units_interval, 12600, 40, 900e3, "40.0 ns–900 µs"},
        {units_interval, 12600, NAN, NAN, "–"},
        {units_ratio, 3.4, 3.3, 3.6, "3.4× (3.3–3.6)"},
        {units_ratio, 3.42, 3.40, 3.45, "3.42× (3.40–3.45)"},
        {units_ratio, 0.95, 0.94, 0.96, "0.95× (0.94–0.96)"},
        {units_ratio, 1.04, 1.01, 1.06, "1.04× (1.01–1.06)"},
        {units_ratio, 1.2, 1.02, 1.4, "1.20× (1.02–1.40)"}, /* excludes 1, and says so */
        {units_ratio, 1.01, 1.002, 1.02, "1.010× (1.002–1.020)"},
        {units_ratio, 0.8, 0.5, 0.98, "0.80× (0.50–0.98)"},
        {units_ratio, 1.2, 0.98, 1.4, "1.2× (1.0–1.4)"}, /* does not exclude 1 */
        {units_ratio, 1, 0.998, 1.003, "1.000× (0.998–1.003)"},
        {units_ratio, 1, 1, 1, "1.00× (1.00–1.00)"},
        {units_ratio, 12.3, 11.1, 13.9, "12× (11–14)"},
        {units_ratio, 99.94, 99, 103, "100× (99–103)"},
        {units_ratio, 134.6, 99, 160, "130× (100–160)"},
        {units_ratio, 12.3, 12.1, 12.4, "12.3× (12.1–12.4)"},
        {units_ratio, 74, 9.1, 1607, "≥ 9× (9–1607)"}, /* nobody knows better */
        {units_ratio, 0.02, 0.001, 0.11, "≤ 0.110× (0.001–0.110)"},
        {units_ratio, 1.3, 0.4, 5, "1.3× (0.4–5.0)"},
        {units_ratio, 4.4, 2.2, 8.7, "4.4× (2.2–8.7)"},
        {units_ratio, 250, NAN, NAN, "≈ 250×"},
        {units_ratio, 3.44, NAN, NAN, "≈ 3.4×"},
        {units_ratio, 254, NAN, NAN, "≈ 250×"},
        {units_ratio, 0.9961, NAN, 1, "≈ 1.0×"},
        {units_ratio, NAN, 1, 1, "–"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[UNITS_TEXT];
        assert_string_equal(rows[i].print(text, rows[i].value, rows[i].low, rows[i].high),
                            rows[i].expected);
    }
}

/* NAN: refused, with `message` in the error. */
typedef struct parse_row {
    const char *text;
    double expected;
    const char *message;
} parse_row_t;

static void check_parser(status_t (*parse)(const char *, double *, error_t *),
                         const parse_row_t *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        error_t err = ERROR_INIT;
        double value = -1;
        status_t status = parse(rows[i].text, &value, &err);
        if (isnan(rows[i].expected)) {
            if (status != STATUS_USAGE || strstr(err.text, rows[i].message) == NULL)
                fail_msg("\"%s\": status %d, \"%s\"", rows[i].text, (int)status, err.text);
            assert_has(err.text, rows[i].text); /* it quotes what it was given */
        } else if (status != STATUS_OK ||
                   fabs(value - rows[i].expected) > 1e-12 * rows[i].expected) {
            fail_msg("\"%s\": %g, expected %g (%s)", rows[i].text, value, rows[i].expected,
                     err.text);
        }
    }
}

static void parsed_durations(void **state) {
    static const parse_row_t rows[] = {
        {"15", 15, ""},
        {"15s", 15, ""},
        {"1.5 s", 1.5, ""},
        {"200ms", 0.2, ""},
        {"2min", 120, ""},
        {"1h", 3600, ""},
        {"250us", 250e-6, ""},
        {"250µs", 250e-6, ""},
        {"30ns", 30e-9, ""},
        {"0", 0, ""},
        {".5s", 0.5, ""},
        {"", NAN, "expected a duration"},
        {"s", NAN, "expected a duration"},
        {"-1s", NAN, "expected a duration"},
        {"+1s", NAN, "expected a duration"},
        {"nan", NAN, "expected a duration"},
        {"inf", NAN, "expected a duration"},
        {"1e3", NAN, "expected a duration"},
        {"0x10", NAN, "expected a duration"},
        {"1.2.3s", NAN, "expected a duration"},
        {" 1s", NAN, "expected a duration"},
        {"15x", NAN, "unknown unit \"x\""},
        {"15ss", NAN, "unknown unit \"ss\""},
        {"15 s ", NAN, "unknown unit"},
        {"2 days", NAN, "unknown unit \"days\""},
    };
    check_parser(units_parse_duration, rows, COUNT_OF(rows));
}

static void parsed_percentages(void **state) {
    static const parse_row_t rows[] = {
        {"5%", 0.05, ""},
        {"5 %", 0.05, ""},
        {"0.05", 0.05, ""},
        {"0.5%", 0.005, ""},
        {"250%", 2.5, ""},
        {"0", 0, ""},
        {"1", 1, ""},
        {"5", NAN, "write 5% for percent"},
        {"", NAN, "expected a share"},
        {"%", NAN, "expected a share"},
        {"-5%", NAN, "expected a share"},
        {"5%%", NAN, "expected a share"},
        {"5% x", NAN, "expected a share"},
        {"nan", NAN, "expected a share"},
    };
    check_parser(units_parse_percent, rows, COUNT_OF(rows));
}

#include "run_tests.h"

#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
    const char *name;
    double size; /* in the base unit */
} unit_t;

static const unit_t TIMES[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
static const unit_t SIZES[] = {{"B", 1},    {"kB", 1e3},  {"MB", 1e6},
                               {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}};
static const unit_t FLOPS[] = {{"FLOP", 1},    {"kFLOP", 1e3},  {"MFLOP", 1e6},
                               {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15}};
enum {
    N_TIMES = sizeof TIMES / sizeof *TIMES,
    N_SIZES = sizeof SIZES / sizeof *SIZES,
    N_FLOPS = sizeof FLOPS / sizeof *FLOPS
};

static const char *dash(char *text) {
    snprintf(text, UNITS_TEXT, "–");
    return text;
}

/* The largest unit in which `value` prints as at least 1: 999.6 ns is "1.00 µs". */
static const unit_t *fitting_unit(const unit_t *units, size_t n, double value) {
    size_t i = 0;
    while (i + 1 < n && fabs(value) / units[i].size >= 999.5)
        i++;
    return &units[i];
}

/* Decimals that give `digits` significant digits after rounding; negative: tens, hundreds, … */
static int decimals_of_digits(double value, int digits) {
    if (value == 0)
        return 0;
    const int decimals = digits - 1 - (int)floor(log10(fabs(value)));
    return round(fabs(value) * pow(10, decimals)) >= pow(10, digits) ? decimals - 1 : decimals;
}

static int decimals_of_three_digits(double value) {
    return (int)fmin(fmax(decimals_of_digits(value, 3), 0), 3);
}

/* A number has no digit beyond the first one of half its interval's width, but at least two. With an
 * interval of no width it has three. */
static int decimals_of_interval(double value, double low, double high) {
    const double half = (high - low) / 2;
    if (!(half > 1e-9 * fabs(value)))
        return decimals_of_digits(value, 3);
    return (int)fmax(decimals_of_digits(value, 2), -floor(log10(half) + 1e-9));
}

static double rounded(double value, int decimals) {
    const double step = pow(10, -decimals);
    return decimals < 0 ? round(value / step) * step : value;
}

static const char *print_number(char *text, const unit_t *units, size_t n, double number,
                                const char *per) {
    if (isnan(number))
        return dash(text);
    const unit_t *unit = fitting_unit(units, n, number);
    double value = number / unit->size;
    /* Single bytes are counted, not measured: "64 B", not "64.0 B". */
    bool counted = unit == SIZES && value == floor(value);
    snprintf(text, UNITS_TEXT, "%.*f %s%s", counted ? 0 : decimals_of_three_digits(value), value,
             unit->name, per);
    return text;
}

const char *units_time(char *text, double ns) {
    return print_number(text, TIMES, N_TIMES, ns, "");
}

/* The unit of a median, and the decimals that its interval carries, at most `*decimals` more than
 * three digits. */
static const unit_t *time_unit(double median_ns, double low_ns, double high_ns, int *decimals) {
    const unit_t *unit = fitting_unit(TIMES, N_TIMES, median_ns);
    const double median = median_ns / unit->size;
    const int carried = decimals_of_interval(median, low_ns / unit->size, high_ns / unit->size);
    const int most = decimals_of_three_digits(median) + *decimals;
    *decimals = carried < most ? carried : most;
    if (rounded(median, *decimals) < 1000 || unit == &TIMES[N_TIMES - 1])
        return unit;
    *decimals += 3;
    return unit + 1;
}

const char *units_median(char *text, double median_ns, double low_ns, double high_ns) {
    if (isnan(median_ns) || isnan(low_ns) || isnan(high_ns))
        return units_time(text, median_ns);
    int decimals = 0;
    const unit_t *unit = time_unit(median_ns, low_ns, high_ns, &decimals);
    snprintf(text, UNITS_TEXT, "%.*f %s", decimals > 0 ? decimals : 0,
             rounded(median_ns / unit->size, decimals), unit->name);
    return text;
}

/* From here on a larger unit reads better, whatever that of the median. */
static const double FEW_DIGITS = 10e3;

const char *units_interval(char *text, double median_ns, double low_ns, double high_ns) {
    if (isnan(median_ns) || isnan(low_ns) || isnan(high_ns))
        return dash(text);
    int decimals = 1; /* ends of a narrow interval differ in the fourth digit */
    const unit_t *unit = time_unit(median_ns, low_ns, high_ns, &decimals);
    const int shown = decimals > 0 ? decimals : 0;
    const bool vanishes = low_ns > 0 && low_ns / unit->size < pow(10, -decimals) / 2;
    if (vanishes || high_ns / unit->size >= FEW_DIGITS) { /* not "0–536080 µs" */
        char low[UNITS_TEXT], high[UNITS_TEXT];
        snprintf(text, UNITS_TEXT, "%s–%s", units_time(low, low_ns), units_time(high, high_ns));
        return text;
    }
    snprintf(text, UNITS_TEXT, "%.*f–%.*f %s", shown, rounded(low_ns / unit->size, decimals), shown,
             rounded(high_ns / unit->size, decimals), unit->name);
    return text;
}

const char *units_bytes(char *text, double bytes) {
    return print_number(text, SIZES, N_SIZES, bytes, "");
}

const char *units_rate(char *text, double bytes_per_s) {
    return print_number(text, SIZES, N_SIZES, bytes_per_s, "/s");
}

const char *units_flops(char *text, double flops_per_s) {
    return print_number(text, FLOPS, N_FLOPS, flops_per_s, "/s");
}

const char *units_count(char *text, int64_t count) {
    if (count >= 1024 && (count & (count - 1)) == 0)
        snprintf(text, UNITS_TEXT, "2^%d", __builtin_ctzll((unsigned long long)count));
    else
        snprintf(text, UNITS_TEXT, "%lld", (long long)count);
    return text;
}

const char *units_percent(char *text, double frac) {
    if (isnan(frac))
        return dash(text);
    double percent = frac * 100, tenths = round(percent * 10);
    if (tenths == 0 && percent != 0)
        snprintf(text, UNITS_TEXT, percent > 0 ? "< 0.1 %%" : "> -0.1 %%");
    else if (fabs(tenths) >= 100 || fmod(tenths, 10) == 0)
        snprintf(text, UNITS_TEXT, "%.0f %%", percent);
    else
        snprintf(text, UNITS_TEXT, "%.1f %%", percent);
    return text;
}

const char *units_two_digits(char *text, double value) {
    if (isnan(value))
        return dash(text);
    const int decimals = decimals_of_digits(value, 2);
    snprintf(text, UNITS_TEXT, "%.*f", decimals > 0 ? decimals : 0, rounded(value, decimals));
    return text;
}

/* As many as the interval carries, and more until its ends, if they exclude `even`, do so as they
 * are printed. */
static int decimals_around(double even, double value, double low, double high) {
    int decimals = decimals_of_interval(value, low, high);
    for (; decimals < 4; decimals++) {
        const double scale = pow(10, decimals), printed_even = round(even * scale);
        if (!(low > even && round(low * scale) == printed_even) &&
            !(high < even && round(high * scale) == printed_even))
            break;
    }
    return decimals < 4 ? decimals : 4;
}

/* The centre of an interval whose ends are further apart says nothing: the end that is nearer to 1
 * is shown. */
static const double MOST_APART = 4;

const char *units_ratio(char *text, double ratio, double low, double high) {
    char number[UNITS_TEXT];
    if (isnan(ratio))
        return dash(text);
    if (isnan(low) || isnan(high)) {
        snprintf(text, UNITS_TEXT, "≈ %.20s×", units_two_digits(number, ratio));
        return text;
    }
    const int decimals = decimals_around(1, ratio, low, high), shown = decimals > 0 ? decimals : 0;
    const char *bound = "";
    if (high > MOST_APART * low && (low > 1 || high < 1)) {
        bound = low > 1 ? "≥ " : "≤ ";
        ratio = low > 1 ? low : high;
    }
    snprintf(text, UNITS_TEXT, "%s%.*f× (%.*f–%.*f)", bound, shown, rounded(ratio, decimals), shown,
             rounded(low, decimals), shown, rounded(high, decimals));
    return text;
}

const char *units_range(char *text, double least, double most) {
    if (isnan(least) || isnan(most))
        return dash(text);
    const int decimals = decimals_of_interval(least, least, most),
              shown = decimals > 0 ? decimals : 0;
    snprintf(text, UNITS_TEXT, "%.*f–%.*f×", shown, rounded(least, decimals), shown,
             rounded(most, decimals));
    return text;
}

const char *units_duration(char *text, double seconds) {
    if (isnan(seconds))
        return dash(text);
    if (seconds < 0.95)
        return units_time(text, seconds * 1e9);
    double whole = round(seconds); /* first, so that 59.7 s is "1 min 00 s" and never "60 s" */
    double minutes = floor(whole / 60);
    if (seconds < 9.95)
        snprintf(text, UNITS_TEXT, "%.1f s", seconds);
    else if (whole < 60)
        snprintf(text, UNITS_TEXT, "%.0f s", whole);
    else if (whole < 3600)
        snprintf(text, UNITS_TEXT, "%.0f min %02.0f s", minutes, whole - minutes * 60);
    else
        snprintf(text, UNITS_TEXT, "%.0f h %02.0f min", floor(minutes / 60), fmod(minutes, 60));
    return text;
}

/* A plain decimal number at the start of `text`, without sign, exponent, "inf", "nan" or hex, which
 * strtod accepts. NULL if there is none, else the first character after it and any spaces. */
static const char *parse_number(const char *text, double *value) {
    size_t length = strspn(text, "0123456789.");
    char *end;
    *value = strtod(text, &end);
    if (length == 0 || end != text + length || !isfinite(*value))
        return NULL;
    return end + strspn(end, " ");
}

status_t units_parse_duration(const char *text, double *seconds, error_t *err) {
    static const unit_t units[] = {{"", 1},      {"s", 1},     {"ms", 1e-3}, {"us", 1e-6},
                                   {"µs", 1e-6}, {"ns", 1e-9}, {"min", 60},  {"h", 3600}};
    double value;
    const char *name = parse_number(text, &value);
    if (name == NULL)
        return error_set(err, STATUS_USAGE,
                         "\"%s\": expected a duration such as 15s, 200ms or 2min", text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(name, units[i].name) == 0) {
            *seconds = value * units[i].size;
            return STATUS_OK;
        }
    return error_set(err, STATUS_USAGE,
                     "\"%s\": unknown unit \"%s\", expected ns, us, ms, s, min or h (none: s)",
                     text, name);
}

status_t units_parse_percent(const char *text, double *frac, error_t *err) {
    double value;
    const char *rest = parse_number(text, &value);
    if (rest == NULL || (*rest != '\0' && strcmp(rest, "%") != 0))
        return error_set(err, STATUS_USAGE, "\"%s\": expected a share such as 5%% or 0.05", text);
    if (*rest == '\0' && value > 1)
        return error_set(err, STATUS_USAGE, "\"%s\": more than 1; write %s%% for percent", text,
                         text);
    *frac = *rest == '%' ? value / 100 : value;
    return STATUS_OK;
}

/* The only place where units are parsed and printed. Internally times are double nanoseconds, sizes
 * are bytes, shares are fractions of 1. */
#ifndef BENCH_BASE_UNITS_H
#define BENCH_BASE_UNITS_H

#include "base/error.h"

#include <stdint.h>

enum { UNITS_TEXT = 64 }; /* a buffer that holds any text made here */

/* Each writes into `text[UNITS_TEXT]` and returns it. Three significant digits unless stated; NaN
 * is "–". */

/* "12.6 µs", "1.04 s" */
const char *units_time(char *text, double ns);
/* A median and its 95 % interval, with no digit beyond the first of half the interval's width:
 * "12.6 µs" or "13 µs"; without an interval (an end is NaN) as units_time() */
const char *units_median(char *text, double median_ns, double low_ns, double high_ns);
/* "12.5–12.7 µs", "912 ns–536 ms" if it is that wide, "–" without an interval */
const char *units_interval(char *text, double median_ns, double low_ns, double high_ns);
/* "84.0 MB", powers of 1000 */
const char *units_bytes(char *text, double bytes);
/* "4.30 TB/s" */
const char *units_rate(char *text, double bytes_per_s);
/* "51.2 TFLOP/s" */
const char *units_flops(char *text, double flops_per_s);
/* "1000"; "2^22" for powers of two from 2^10 on */
const char *units_count(char *text, int64_t count);
/* "93 %", "0.4 %", "< 0.1 %" */
const char *units_percent(char *text, double frac);
/* "3.4× (3.3–3.6)", "12× (11–14)", "1.230× (1.228–1.231)", with as many digits as the interval
 * carries; "≈ 3.4×" without an interval, "≥ 9× (9–1607)" with one that says little more */
const char *units_ratio(char *text, double ratio, double low, double high);
const char *units_range(char *text, double least, double most); /* of ratios: "3.3–3.6×" */
const char *units_two_digits(char *text, double value);         /* "3.4", "0.95", "120" */
/* "1 h 02 min", "3 min 20 s", "4.2 s", "350 ms" */
const char *units_duration(char *text, double seconds);

/* "15" (seconds), "15s", "200ms", "2min"; units ns, us, ms, s, min, h */
status_t units_parse_duration(const char *text, double *seconds, error_t *err);
/* "5%" or "0.05"; a number above 1 without "%" is rejected as a likely mistake */
status_t units_parse_percent(const char *text, double *frac, error_t *err);

#endif

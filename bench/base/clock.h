/* The host clock of every measurement: CLOCK_MONOTONIC_RAW, which NTP does not slew. Tests can
 * replace it. */
#ifndef BENCH_BASE_CLOCK_H
#define BENCH_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ns(void); /* nanoseconds from an arbitrary start */
void clock_sleep_ns(int64_t duration_ns);
/* Local time as "2026-11-20T23:54:46+00:00" in `text[32]`; returns it. */
const char *clock_timestamp(char text[32]);
double clock_timestamp_s(const char *text); /* the reverse: seconds since 1970; NaN if it is none */

/* For tests: clock_ns() returns `now(context)` and the time that clock_sleep_ns() was to sleep, which then returns at
 * once. NULL restores both. */
void clock_inject(int64_t (*now)(void *context), void *context);

#endif

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

static int64_t (*injected_now)(void *context);
static void *injected_context;
static int64_t injected_sleep_ns; /* so long the injected clock has slept */

void clock_inject(int64_t (*now)(void *context), void *context) {
    injected_now = now;
    injected_context = context;
    injected_sleep_ns = 0;
}

int64_t clock_ns(void) {
    if (injected_now != NULL)
        return injected_now(injected_context) + injected_sleep_ns;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void clock_sleep_ns(int64_t duration_ns) {
    if (duration_ns <= 0)
        return;
    if (injected_now != NULL) {
        injected_sleep_ns += duration_ns;
        return;
    }
    struct timespec left = {.tv_sec = duration_ns / NS_PER_S, .tv_nsec = duration_ns % NS_PER_S};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

double clock_timestamp_s(const char *text) {
    struct tm local = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S%z", &local);
    const double offset_s = (double)local.tm_gmtoff;
    return end != NULL && *end == '\0' ? (double)timegm(&local) - offset_s : (double)NAN;
}

const char *clock_timestamp(char text[32]) {
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%S%z", &local);
    /* strftime prints +0000; ISO 8601's extended format is +00:00. */
    size_t length = strlen(text);
    memmove(text + length - 1, text + length - 2, 3);
    text[length - 2] = ':';
    return text;
}

#include "progress.h"

#include "ground/clock.h"
#include "ground/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 100, LINE_BYTES = 512 };

void progress_start(progress_t *p, bool quiet, size_t total) {
    *p = (progress_t){.quiet = quiet,
                      .terminal = !quiet && isatty(STDERR_FILENO),
                      .total = total,
                      .start_ns = clock_ns()};
}

static int columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col
                                                                            : USUAL_COLUMNS;
}

static void erase(const progress_t *p) {
    if (p->terminal)
        fputs("\r\033[K", stderr);
}

void progress_now(progress_t *p, const char *what) {
    if (!p->terminal)
        return;
    char eta[UNITS_TEXT] = "", left[UNITS_TEXT], line[LINE_BYTES];
    if (p->done > 0) {
        double elapsed_s = (double)(clock_ns() - p->start_ns) / 1e9;
        double left_s = elapsed_s / (double)p->done * (double)(p->total - p->done);
        snprintf(eta, sizeof eta, "  %s left", units_duration(left, left_s));
    }
    snprintf(line, sizeof line, "[%zu/%zu] %s%s", p->done, p->total, what, eta);
    fprintf(stderr, "\r\033[K%.*s", columns() - 1, line);
    fflush(stderr);
}

void progress_case(progress_t *p, const case_result_t *result) {
    p->done++;
    if (p->quiet)
        return;
    bool fine = result->status == CASE_OK;
    if (p->terminal && (fine || result->status == CASE_SKIPPED))
        return progress_now(p, result->spec.id);
    erase(p);
    char time[UNITS_TEXT] = "";
    double ns = result_median(result, "host_to_host");
    if (isnan(ns))
        ns = result_median(result, "total");
    if (isnan(ns))
        ns = result_median(result, "cold_first_answer");
    if (result_has_times(result) && !isnan(ns))
        units_time(time, ns);
    fprintf(stderr, "[%zu/%zu] %-9s %s  %s%s%s\n", p->done, p->total,
            case_status_name(result->status), result->spec.id, time,
            result->reason != NULL ? ": " : "", result->reason != NULL ? result->reason : "");
}

void progress_note(progress_t *p, const char *format, ...) {
    if (p->quiet)
        return;
    erase(p);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void progress_end(progress_t *p) {
    erase(p);
}

#include "measure/progress.h"

#include "analysis/contenders.h"
#include "analysis/labels.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DEFAULT_COLUMNS = 100, LINE_BYTES = 512 };

void progress_start(progress_t *p, bool quiet, size_t total) {
    *p = (progress_t){.quiet = quiet,
                      .terminal = !quiet && isatty(STDERR_FILENO),
                      .total = total,
                      .start_ns = clock_ns()};
}

static int columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col
                                                                            : DEFAULT_COLUMNS;
}

void progress_clear(const progress_t *p) {
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

static void count_skipped(progress_t *p, const char *reason) {
    size_t at = 0;
    while (at < p->reasons.n && strcmp(p->reasons.items[at], reason) != 0)
        at++;
    if (at == p->reasons.n) {
        text_list_add(&p->reasons, reason);
        p->n_skipped = mem_resize(p->n_skipped, p->reasons.n, sizeof *p->n_skipped);
        p->n_skipped[at] = 0;
    }
    p->n_skipped[at]++;
}

/* The median of the phase that the case is compared by: "4.56 µs step, self-reported". */
static void print_compared(const case_result_t *result) {
    const phase_t *phase = compared_phase(result);
    char time[UNITS_TEXT];
    if (phase != NULL)
        fprintf(stderr, "  %s %s%s", units_time(time, phase->summary.median), phase->name,
                is_self_reported(result) ? ", self-reported" : "");
}

void progress_case(progress_t *p, const case_result_t *result) {
    /* Its worker died, but not in the second try. */
    const flag_t *retried = flag_list_find(&result->flags, FLAG_RETRIED);
    p->done++;
    if (result->status == CASE_SKIPPED)
        count_skipped(p, result->reason != NULL ? result->reason : "no reason given");
    if (p->quiet)
        return;
    if (result->status == CASE_SKIPPED ||
        (p->terminal && result->status == CASE_OK && retried == NULL))
        return progress_now(p, result->spec.id);
    progress_clear(p);
    fprintf(stderr, "[%zu/%zu] %-9s %s", p->done, p->total, case_status_name(result->status),
            result->spec.id);
    if (result_has_times(result))
        print_compared(result);
    if (result->reason != NULL)
        output_print(stderr, ": %s", result->reason);
    char *text = retried != NULL ? flag_text(retried) : NULL;
    fprintf(stderr, "%s%s\n", text != NULL ? "; " : "", text != NULL ? text : "");
    free(text);
}

void progress_note(progress_t *p, const char *format, ...) {
    if (p->quiet)
        return;
    va_list args;
    va_start(args, format);
    char *text = mem_format_args(format, args);
    va_end(args);
    progress_clear(p);
    output_print(stderr, "%s\n", text);
    free(text);
}

void progress_end(progress_t *p) {
    progress_clear(p);
    for (size_t i = 0; i < p->reasons.n && !p->quiet; i++)
        output_print(stderr, "skipped %zu of %zu cases: %s\n", p->n_skipped[i], p->total,
                     p->reasons.items[i]);
    text_list_free(&p->reasons);
    free(p->n_skipped);
    p->n_skipped = NULL;
}

#include "measure/progress.h"

#include "analysis/contenders.h"
#include "analysis/speedup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/output.h"
#include "io/subprocess.h"
#include "worker/client.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    DEFAULT_COLUMNS = 100,
    MOST_COLUMNS = 400, /* of a line in a log */
    SECOND_NS = 1000000000,
    STEP_NS = SECOND_NS / 10, /* steps may be faster than a terminal */
};

void progress_start(progress_t *p, bool quiet, size_t total) {
    *p = (progress_t){.quiet = quiet,
                      .terminal = !quiet && isatty(STDERR_FILENO),
                      .total = total,
                      .since_ns = clock_ns()};
    p->printed_ns = p->since_ns - (int64_t)SECOND_NS * 3600;
    if (!quiet)
        subprocess_watch(progress_tick, p);
}

void progress_free(progress_t *p) {
    if (!p->quiet)
        subprocess_watch(NULL, NULL);
    text_list_free(&p->reasons);
    free(p->n_skipped);
    p->n_skipped = NULL;
}

/* ---- the line -------------------------------------------------------------------------------- */

static int columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col
                                                                            : DEFAULT_COLUMNS;
}

static double seconds(int64_t ns) {
    return (double)ns / 1e9;
}

static double pass_s(const progress_t *p, int64_t now_ns) {
    return p->pass_ns > 0 ? seconds(now_ns - p->pass_ns) : 0;
}

/* Of a case in this pass, or in the one before. */
static double case_s(const progress_t *p, int64_t now_ns) {
    return p->done_in_pass > 0 ? pass_s(p, now_ns) / (double)p->done_in_pass : p->case_s;
}

void progress_pass(progress_t *p) {
    const int64_t now_ns = clock_ns();
    p->case_s = case_s(p, now_ns);
    p->pass_ns = now_ns;
    p->done_in_pass = 0;
}

/* " · 12 s · about 20 s left" */
static char *times_text(const progress_t *p, int64_t now_ns) {
    char so_far[UNITS_TEXT], rest[UNITS_TEXT];
    const double so_far_s = seconds(now_ns - p->since_ns);
    const double left_s = case_s(p, now_ns) * (double)(p->total - p->done);
    AUTO(text_list_free) text_list_t parts = {0};
    text_list_add(&parts, "");
    if (so_far_s >= 1)
        text_list_add(&parts, units_duration(so_far, so_far_s));
    if (p->done < p->total && left_s >= 1)
        text_list_add_format(&parts, "%s %s left", p->is_open ? "over" : "about",
                             units_duration(rest, left_s));
    return text_list_join(&parts, " · ");
}

/* Cut what is wider, at the end of a character. */
static void cut(char *text, size_t width) {
    size_t n_characters = 0;
    char *at = text;
    for (; *at != '\0'; at++)
        if (((unsigned char)*at & 0xc0) != 0x80 && n_characters++ == width)
            break;
    *at = '\0';
}

char *progress_text(const progress_t *p, const char *starting, int64_t now_ns, int columns) {
    AUTO_FREE char *times = times_text(p, now_ns);
    AUTO_FREE char *count =
        p->total > 0 ? mem_format("[%zu/%zu] ", p->done, p->total) : mem_text("");
    AUTO_FREE char *what =
        starting != NULL ? mem_format("starting %s, %s", starting, p->what) : mem_text(p->what);
    const size_t taken = text_width(count) + text_width(times);
    cut(what, taken < (size_t)columns ? (size_t)columns - taken : 0);
    char *line = mem_format("%s%s%s", count, what, times);
    cut(line, (size_t)columns);
    return line;
}

/* In a log: does a step that has taken `so_far_s` get a line, `since_line_s` after the last one? So that a long one has
 * few. */
static bool progress_is_due(double so_far_s, double since_line_s) {
    return so_far_s >= 5 && since_line_s >= fmax(10, so_far_s / 2);
}

void progress_clear(const progress_t *p) {
    if (p->terminal)
        fputs("\r\033[K", stderr);
}

static void show(progress_t *p, int64_t now_ns) {
    if (p->describe != NULL)
        p->describe(p, p->context);
    AUTO_FREE char *line = progress_text(p, worker_link_starting(), now_ns,
                                         p->terminal ? columns() - 1 : MOST_COLUMNS);
    fprintf(stderr, p->terminal ? "\r\033[K%s" : "%s\n", line);
    fflush(stderr);
    p->printed_ns = now_ns;
}

static void say(progress_t *p, const char *format, va_list args) {
    const int64_t now_ns = clock_ns();
    vsnprintf(p->what, sizeof p->what, format, args);
    p->since_ns = now_ns;
    if (p->terminal && now_ns - p->printed_ns >= STEP_NS)
        show(p, now_ns);
}

static void tick(progress_t *p) {
    const int64_t now_ns = clock_ns();
    const bool is_new = p->since_ns > p->printed_ns;
    const int64_t since_ns = now_ns - p->printed_ns;
    if (p->what[0] == '\0' || p->quiet)
        return;
    if (p->terminal ? since_ns >= (is_new ? STEP_NS : SECOND_NS)
                    : progress_is_due(seconds(now_ns - p->since_ns), seconds(since_ns)))
        show(p, now_ns);
}

/* Programs are compiled by several threads, each of which may wait for a child process. */

void progress_step(progress_t *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
#pragma omp critical(progress)
    {
        p->describe = NULL;
        say(p, format, args);
    }
    va_end(args);
}

void progress_now(progress_t *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
#pragma omp critical(progress)
    say(p, format, args);
    va_end(args);
}

void progress_tick(void *progress) {
#pragma omp critical(progress)
    tick(progress);
}

void progress_compiled(void *progress, size_t done, size_t total) {
#pragma omp critical(progress)
    {
        progress_t *p = progress;
        snprintf(p->what, sizeof p->what, "compile %zu of %zu programs", done, total);
        tick(p);
    }
}

/* ---- lines that stay ------------------------------------------------------------------------- */

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
    p->done_in_pass += !is_calibration(&result->spec);
    if (result->status == CASE_SKIPPED)
        count_skipped(p, result->reason != NULL ? result->reason : "no reason given");
    if (p->quiet)
        return;
    if (result->status == CASE_SKIPPED ||
        (p->terminal && result->status == CASE_OK && retried == NULL))
        return progress_now(p, "%s", result->spec.id);
    progress_clear(p);
    p->printed_ns = clock_ns();
    fprintf(stderr, "[%zu/%zu] %-9s %s", p->done, p->total, case_status_name(result->status),
            result->spec.id);
    if (result_has_times(result))
        print_compared(result);
    if (result->reason != NULL)
        output_print(stderr, ": %s", result->reason);
    AUTO_FREE char *text = retried != NULL ? flag_text(retried) : NULL;
    fprintf(stderr, "%s%s\n", text != NULL ? "; " : "", text != NULL ? text : "");
}

void progress_say(progress_t *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_FREE char *what = mem_format_args(format, args);
    va_end(args);
    text_make_plain(what); /* a file's name may hold anything */
    if (!p->terminal)
        progress_note(p, "%s", what);
    progress_step(p, "%s", what);
}

void progress_note(progress_t *p, const char *format, ...) {
    if (p->quiet)
        return;
    p->printed_ns = clock_ns();
    va_list args;
    va_start(args, format);
    AUTO_FREE char *text = mem_format_args(format, args);
    va_end(args);
    progress_clear(p);
    output_print(stderr, "%s\n", text);
}

void progress_end(progress_t *p) {
    progress_clear(p);
    for (size_t i = 0; i < p->reasons.n && !p->quiet; i++)
        output_print(stderr, "skipped %zu of %zu cases: %s\n", p->n_skipped[i], p->total,
                     p->reasons.items[i]);
    p->what[0] = '\0';
    p->describe = NULL;
}

#include "stats/estimate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== time spent ============================================================================== */

static const char *const NAMES[SPENT_KINDS] = {
    [SPENT_OTHER] = "other",         [SPENT_START] = "start",     [SPENT_STOP] = "stop",
    [SPENT_CONTEXT] = "context",     [SPENT_COMPILE] = "compile", [SPENT_OPEN] = "open",
    [SPENT_REFERENCE] = "reference", [SPENT_CHECK] = "check",     [SPENT_WARM_UP] = "warm_up",
    [SPENT_SAMPLES] = "samples",     [SPENT_FRESH] = "fresh",     [SPENT_AUDIT] = "audit",
};

/* What is less is not worth a word. */
static const double LEAST_FRAC = 0.05;

const char *spent_name(spent_on_t on) {
    return NAMES[on];
}

spent_on_t spent_switch(spent_t *spent, spent_on_t on) {
    if (spent == NULL)
        return SPENT_OTHER;
    const int64_t now_ns = clock_ns();
    const spent_on_t before = spent->on;
    if (spent->since_ns != 0)
        spent->ns[before] += (double)(now_ns - spent->since_ns);
    spent->since_ns = now_ns;
    spent->on = on;
    return before;
}

void spent_move(spent_t *spent, spent_on_t from, spent_on_t to, double ns) {
    if (spent == NULL || !(ns > 0))
        return;
    ns = fmin(ns, fmax(spent->ns[from], 0));
    spent->ns[from] -= ns;
    spent->ns[to] += ns;
}

double spent_total_ns(const spent_t *spent) {
    double total = 0;
    for (size_t i = 0; i < SPENT_KINDS; i++)
        total += spent->ns[i];
    return total;
}

double spent_measured_frac(const spent_t *spent) {
    const double total = spent_total_ns(spent);
    return total > 0 ? (spent->ns[SPENT_SAMPLES] + spent->ns[SPENT_WARM_UP]) / total : NAN;
}

static double left_of(const spent_t *spent, const bool *shown, size_t i) {
    const bool is_measured = i == SPENT_SAMPLES || i == SPENT_WARM_UP;
    return shown[i] || is_measured ? 0 : spent->ns[i];
}

char *spent_text(const spent_t *spent) {
    const double total = spent_total_ns(spent);
    bool shown[SPENT_KINDS] = {false};
    char text[UNITS_TEXT], percent[UNITS_TEXT];
    text_list_t parts = {0};
    for (;;) {
        size_t most = 0;
        for (size_t i = 1; i < SPENT_KINDS; i++)
            most = left_of(spent, shown, i) > left_of(spent, shown, most) ? i : most;
        if (!(left_of(spent, shown, most) > LEAST_FRAC * total))
            break;
        shown[most] = true;
        text_list_add_format(&parts, "%s %s", NAMES[most], units_time(text, spent->ns[most]));
    }
    char *list = text_list_join(&parts, ", ");
    char *found = mem_format("%s, of these %s in samples and warm-up%s%s", units_time(text, total),
                             units_percent(percent, spent_measured_frac(spent)),
                             parts.n > 0 ? "; " : "", list);
    free(list);
    text_list_free(&parts);
    return found;
}

/* ==== time left =============================================================================== */

estimate_t estimate_make(void) {
    return (estimate_t){.start_s = NAN, .least_s = NAN, .most_s = NAN};
}

void estimate_free(estimate_t *e) {
    free(e->kinds);
    *e = estimate_make();
}

static size_t find(const estimate_t *e, step_t step, const char *engine) {
    size_t i = 0;
    while (i < e->n_kinds && (e->kinds[i].step != step || strcmp(e->kinds[i].engine, engine) != 0))
        i++;
    return i;
}

static step_kind_t *find_or_add(estimate_t *e, step_t step, const char *engine) {
    const size_t at = find(e, step, engine);
    if (at == e->n_kinds) {
        e->kinds = mem_resize(e->kinds, at + 1, sizeof *e->kinds);
        e->kinds[e->n_kinds++] = (step_kind_t){.step = step};
        snprintf(e->kinds[at].engine, sizeof e->kinds[at].engine, "%s", engine);
    }
    return &e->kinds[at];
}

void estimate_expect(estimate_t *e, step_t step, const char *engine, size_t n) {
    find_or_add(e, step, engine)->left += n;
}

void estimate_skip(estimate_t *e, step_t step, const char *engine, size_t n) {
    size_t *left = &find_or_add(e, step, engine)->left;
    *left -= n < *left ? n : *left;
}

void estimate_begin(estimate_t *e, step_t step, const char *engine, size_t n, double now_s) {
    estimate_end(e, now_s);
    estimate_skip(e, step, engine, n);
    e->now = find(e, step, engine);
    e->n_now = n;
    e->began_s = now_s;
}

void estimate_end(estimate_t *e, double now_s) {
    if (e->n_now > 0) {
        step_kind_t *kind = &e->kinds[e->now];
        kind->done += e->n_now;
        kind->spent_s += now_s - e->began_s;
    }
    e->n_now = 0;
    e->least_s = e->most_s = NAN;
}

/* A draw includes its processes. */
static bool includes_starts(const estimate_t *e) {
    const step_t step = e->n_now > 0 ? e->kinds[e->now].step : STEP_OTHER;
    return step == STEP_START || step == STEP_DRAW;
}

void estimate_starts(estimate_t *e, bool starts, double now_s) {
    if (starts && isnan(e->start_s)) {
        e->start_s = now_s;
    } else if (!starts && !isnan(e->start_s)) {
        const double took_s = now_s - e->start_s;
        e->start_s = NAN;
        if (includes_starts(e))
            return;
        e->began_s += took_s;
        find_or_add(e, STEP_START, "")->spent_s += took_s;
    }
}

void estimate_know(estimate_t *e, double least_s, double most_s) {
    e->least_s = least_s;
    e->most_s = most_s;
}

/* Of one such step; NaN: none is done, nor one that it resembles. */
static double mean_s(const estimate_t *e, const step_kind_t *kind) {
    if (kind->done > 0 && kind->step != STEP_OTHER)
        return kind->spent_s / (double)kind->done;
    const size_t first = find(e, STEP_OPEN, kind->engine);
    return kind->step == STEP_REOPEN && first < e->n_kinds ? mean_s(e, &e->kinds[first])
                                                           : (double)NAN;
}

/* What is under way, and then each further one of its kind. NaN: not known. */
typedef struct under_way {
    double least_s, likely_s, next_s;
} under_way_t;

static under_way_t find_under_way(const estimate_t *e, double now_s) {
    const double n = (double)e->n_now, mean = mean_s(e, &e->kinds[e->now]);
    const bool is_aside = !isnan(e->start_s) && !includes_starts(e);
    const double spent_s = (is_aside ? e->start_s : now_s) - e->began_s;
    under_way_t found = {.least_s = 0, .likely_s = n * mean - spent_s, .next_s = mean};
    if (isnan(mean) || found.likely_s < 0) { /* or it takes longer than those before */
        found.likely_s = e->most_s;
        const step_kind_t *kind = &e->kinds[e->now];
        const double done_s = kind->step != STEP_OTHER ? kind->spent_s : 0;
        const double n_done = kind->step != STEP_OTHER ? (double)kind->done : 0;
        found.next_s = (done_s + spent_s + (isnan(e->most_s) ? 0 : e->most_s)) / (n_done + n);
    }
    if (!isnan(e->least_s))
        found.least_s = e->least_s;
    else if (!isnan(found.likely_s))
        found.least_s = found.likely_s;
    if (found.likely_s < found.least_s)
        found.likely_s = found.least_s;
    return found;
}

time_left_t estimate_left(const estimate_t *e, double now_s) {
    under_way_t now = {0};
    if (e->n_now > 0)
        now = find_under_way(e, now_s);
    double least_s = now.least_s, likely_s = now.likely_s;
    for (size_t i = 0; i < e->n_kinds; i++) {
        const step_kind_t *kind = &e->kinds[i];
        const double mean = mean_s(e, kind), left = (double)kind->left;
        if (kind->left == 0)
            continue;
        likely_s += left * (e->n_now > 0 && i == e->now ? now.next_s : mean);
        least_s += isnan(mean) ? 0 : left * mean;
    }
    const bool is_unknown = isnan(likely_s);
    return (time_left_t){.s = is_unknown ? least_s : likely_s, .is_more = is_unknown || e->is_open};
}

#include "stats/spent.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>

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
    AUTO(text_list_free) text_list_t parts = {0};
    for (;;) {
        size_t most = 0;
        for (size_t i = 1; i < SPENT_KINDS; i++)
            most = left_of(spent, shown, i) > left_of(spent, shown, most) ? i : most;
        if (!(left_of(spent, shown, most) > LEAST_FRAC * total))
            break;
        shown[most] = true;
        text_list_add_format(&parts, "%s %s", NAMES[most], units_time(text, spent->ns[most]));
    }
    AUTO_FREE char *list = text_list_join(&parts, ", ");
    return mem_format("%s, of these %s in samples and warm-up%s%s", units_time(text, total),
                      units_percent(percent, spent_measured_frac(spent)), parts.n > 0 ? "; " : "",
                      list);
}

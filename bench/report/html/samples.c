/* A case's samples in the order taken: they show a drift, passes that differ and a second value, which
 * no median does. `bench plot --case` draws them larger. */
#include "report/html/html.h"

#include "base/units.h"

#include <math.h>

enum { WIDTH = 600, HEIGHT = 120, MOST_POINTS = 400 };

typedef struct axis {
    double low_ns, high_ns; /* later samples are drawn at the edge */
} axis_t;

/* A few late samples must not squeeze all others into a line. */
static axis_t axis_of(const summary_t *s) {
    const double bulk_ns = s->q75 + 5 * (s->q75 - s->q25);
    axis_t axis = {s->min, s->q75 > s->q25 ? fmin(s->max, bulk_ns) : s->max};
    if (isfinite(s->ci95[0])) {
        axis.low_ns = fmin(axis.low_ns, s->ci95[0]);
        axis.high_ns = fmax(axis.high_ns, s->ci95[1]);
    }
    return axis;
}

static double height_of(const axis_t *axis, double ns) {
    const double span = axis->high_ns - axis->low_ns;
    const double share = span > 0 ? (fmin(ns, axis->high_ns) - axis->low_ns) / span : 0.5;
    return HEIGHT - 4 - share * (HEIGHT - 8);
}

static double place_of(const phase_t *phase, size_t index) {
    return (WIDTH - 8) * ((double)index + 0.5) / (double)phase->n_samples + 4;
}

static void print_interval(const html_t *html, const summary_t *s, const axis_t *axis) {
    if (isfinite(s->ci95[0])) {
        const double top = height_of(axis, s->ci95[1]);
        fprintf(html->out, "<rect class=\"interval\" width=\"%d\" y=\"%.1f\" height=\"%.1f\"/>",
                WIDTH, top, fmax(height_of(axis, s->ci95[0]) - top, 0.5));
    }
    fprintf(html->out, "<path class=\"median\" d=\"M0 %.1fH%d\"/>", height_of(axis, s->median),
            WIDTH);
}

static void print_passes_of(const html_t *html, const phase_t *phase) {
    fputs("<path class=\"pass\" d=\"", html->out);
    for (size_t p = 1; p < phase->n_passes; p++)
        if (phase->pass_starts[p] < phase->n_rounds)
            fprintf(html->out, "M%.1f 0V%d",
                    place_of(phase, phase->round_starts[phase->pass_starts[p]]), HEIGHT);
    fputs("\"/>", html->out);
}

static void print_caption(const html_t *html, const phase_t *phase, size_t step,
                          const axis_t *axis) {
    char low[UNITS_TEXT], high[UNITS_TEXT], most[UNITS_TEXT];
    const summary_t *s = &phase->summary;
    fputs("<figcaption>", html->out);
    html_text(html, phase->name);
    if (step > 1)
        fprintf(html->out, ": 1 of every %zu of its %zu samples", step, phase->n_samples);
    else
        fprintf(html->out, ": its %zu samples", phase->n_samples);
    fprintf(html->out, " in the order taken, from %s to %s; line: median%s%s",
            units_time(low, axis->low_ns), units_time(high, axis->high_ns),
            isfinite(s->ci95[0]) ? ", band: its interval" : "",
            phase->n_passes > 1 ? ", upright lines: passes" : "");
    if (s->max > axis->high_ns)
        fprintf(html->out, "; longer ones, up to %s, are at the upper edge",
                units_time(most, s->max));
    fputs("</figcaption>", html->out);
}

void html_samples(const html_t *html, const phase_t *phase) {
    if (phase->n_samples == 0)
        return;
    const axis_t axis = axis_of(&phase->summary);
    const size_t step = (phase->n_samples + MOST_POINTS - 1) / MOST_POINTS;
    fputs("<figure>", html->out);
    print_caption(html, phase, step, &axis);
    fprintf(html->out, "<svg class=\"samples\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\">", WIDTH,
            HEIGHT);
    print_interval(html, &phase->summary, &axis);
    print_passes_of(html, phase);
    fputs("<path class=\"dots\" d=\"", html->out);
    for (size_t i = 0; i < phase->n_samples; i += step)
        fprintf(html->out, "M%.0f %.1fh0", place_of(phase, i), height_of(&axis, phase->samples[i]));
    fputs("\"/></svg></figure>", html->out);
}

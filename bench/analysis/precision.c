#include "analysis/precision.h"

#include "analysis/labels.h"
#include "base/memory.h"
#include "base/units.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>

/* What all cases with an interval have. */
typedef struct precision {
    double *widths; /* half of each interval, as a part of the median */
    size_t n, n_reached, n_asked;
    double asked, widest;
    const char *widest_id;
} precision_t;

static double asked_of(const record_t *run) {
    double asked = NAN;
    for (size_t i = 0; i < run->n_sweeps; i++)
        if (run->sweeps[i].least_passes < run->sweeps[i].passes)
            asked = fmin(asked, run->sweeps[i].interval_frac); /* ignores NaN */
    return asked;
}

static void add_case(precision_t *all, const case_result_t *result, double asked) {
    const phase_t *phase = result_has_times(result) ? compared_phase(result) : NULL;
    if (phase == NULL || is_calibration(&result->spec) || !isfinite(phase->summary.ci95[0]))
        return;
    const summary_t *summary = &phase->summary;
    const double width = (summary->ci95[1] - summary->ci95[0]) / 2 / summary->median;
    all->widths = mem_resize(all->widths, all->n + 1, sizeof *all->widths);
    all->widths[all->n++] = width;
    all->n_asked += isfinite(asked);
    all->n_reached += width <= asked; /* false: nothing was asked */
    if (all->widest_id == NULL || width > all->widest) {
        all->widest = width;
        all->widest_id = result->spec.id;
    }
}

char *precision_text(const record_t *const *runs, size_t n) {
    precision_t all = {.asked = NAN};
    char median[UNITS_TEXT], widest[UNITS_TEXT], asked[UNITS_TEXT];
    for (size_t r = 0; r < n; r++) {
        const double of_run = asked_of(runs[r]);
        all.asked = fmin(all.asked, of_run);
        for (const case_result_t *result = NULL; (result = record_next(runs[r], result)) != NULL;)
            add_case(&all, result, of_run);
    }
    if (all.n == 0)
        return NULL;
    char *text = mem_format("median interval ±%s, widest ±%s (%s)",
                            units_percent(median, stats_median(all.widths, all.n)),
                            units_percent(widest, all.widest), all.widest_id);
    if (all.n_asked > 0) {
        char *whole = mem_format("%s; asked: ±%s, reached in %zu of %zu cases", text,
                                 units_percent(asked, all.asked), all.n_reached, all.n_asked);
        free(text);
        text = whole;
    }
    free(all.widths);
    return text;
}

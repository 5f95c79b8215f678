/* samples: one case's samples as a histogram, as a cumulative distribution (ECDF) and in the order
 * taken, passes and rounds marked. They show a drift, passes that differ, a second value or a heavy
 * tail, which no median does. */
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"
#include "stats/passes.h"

#include <math.h>
#include <string.h>

/* The requested phase; by default the phase that the case is compared by, else its computation. */
static const phase_t *phase_to_show(const case_result_t *result, const char *name) {
    const char *name_of_workload = result->spec.workload;
    const workload_t *workload = name_of_workload != NULL ? workload_find(name_of_workload) : NULL;
    const char *compared_by = workload != NULL ? workload->compared_by : NULL;
    if (name == NULL && compared_by != NULL && result_phase(result, compared_by) != NULL)
        name = compared_by;
    const phase_t *phase = result_phase(result, name != NULL ? name : "host_to_host");
    if (phase == NULL && name == NULL)
        phase = result_compute_phase(result);
    if (phase == NULL && name == NULL)
        phase = result_phase(result, "total");
    return phase != NULL && phase->n_samples > 0 ? phase : NULL;
}

/* End of the time axis: a few late samples must not squeeze all others into one bin. Five
 * interquartile ranges above the upper quartile lie outside the bulk of any unimodal distribution;
 * later samples are counted in the note and drawn at the edge. */
static double shown_up_to(const summary_t *s) {
    double bulk_ns = fmax(s->q75 + 5 * (s->q75 - s->q25), s->ci95[1]);
    return s->q75 > s->q25 ? fmin(s->max, bulk_ns) : s->max;
}

static void write_samples(const phase_t *phase, chart_t *chart) {
    chart_row(chart, "# samples in the order taken, µs\nindex time round");
    for (size_t r = 0; r < phase->n_rounds; r++)
        for (size_t i = phase->round_starts[r]; i < phase->round_starts[r + 1]; i++)
            chart_row(chart, "%zu %s %zu", i, chart_us(chart, phase->samples[i]), r);
}

/* Bin width after Freedman & Diaconis (1981): 2 · IQR · n^(-1/3), but at least 2 √n bins: two peaks
 * have a wide IQR, which would leave one bin for each. */
static size_t number_of_bins(const summary_t *s, double span, size_t n_samples) {
    enum { FEWEST_BINS = 10, MOST_BINS = 80 };
    double width = 2 * (s->q75 - s->q25) / cbrt((double)n_samples);
    double bins = fmax(width > 0 ? ceil(span / width) : 0, 2 * sqrt((double)n_samples));
    return (size_t)fmin(fmax(bins, FEWEST_BINS), MOST_BINS);
}

static void write_histogram(const phase_t *phase, double high_ns, chart_t *chart) {
    const summary_t *s = &phase->summary;
    double span = high_ns - s->min, width;
    size_t n = number_of_bins(s, span, phase->n_samples);
    if (!(span > 0))
        n = 1;
    width = span > 0 ? span / (double)n : fmax(s->median / 100, 1);
    double low = span > 0 ? s->min : s->median - width / 2;
    AUTO_FREE size_t *counts = mem_zeroed(n, sizeof *counts);
    for (size_t i = 0; i < phase->n_samples; i++) {
        size_t bin = (size_t)fmax((phase->samples[i] - low) / width, 0);
        if (phase->samples[i] <= high_ns)
            counts[bin < n ? bin : n - 1]++;
    }
    chart_row(chart, "\n\n# histogram: bin from, to in µs, samples\nlow high samples");
    for (size_t i = 0; i < n; i++)
        chart_row(chart, " %s %s %zu", chart_us(chart, low + (double)i * width),
                  chart_us(chart, low + (double)(i + 1) * width), counts[i]);
}

static void write_rounds(const phase_t *phase, chart_t *chart) {
    chart_row(chart, "\n\n# first sample of each round but the first; 1: a new pass\nindex pass");
    for (size_t r = 1, p = 1; r < phase->n_rounds; r++) {
        while (p < phase->n_passes && phase->pass_starts[p] < r)
            p++;
        chart_row(chart, "%zu %d", phase->round_starts[r],
                  p < phase->n_passes && phase->pass_starts[p] == r);
    }
}

/* Both values with their shares of the rounds, or an empty block. */
static void write_values(const bimodal_t *two, chart_t *chart) {
    char text[UNITS_TEXT], share[UNITS_TEXT];
    const double values[] = {two->low, two->high},
                 shares[] = {1 - two->share_high, two->share_high};
    chart_row(chart, "\n\n# two values in µs\nvalue text");
    for (size_t i = 0; i < 2 && two->found; i++)
        chart_row(chart, "%s %s", chart_us(chart, values[i]),
                  chart_quote(chart, chart_format(chart, "%s in %s of the rounds",
                                                  units_time(text, values[i]),
                                                  units_percent(share, shares[i]))));
}

/* Returns the number of samples beyond the axis. */
static size_t write_shares(const phase_t *phase, double high_ns, chart_t *chart) {
    size_t n = phase->n_samples, beyond = 0;
    AUTO_FREE double *sorted = stats_sorted(phase->samples, n);
    chart_row(chart, "\n\n# ECDF: share of the samples up to a time\ntime share");
    for (size_t i = 0; i < n; i++) {
        chart_row(chart, " %s %.6f", chart_us(chart, sorted[i]), (double)(i + 1) / (double)n);
        beyond += sorted[i] > high_ns;
    }
    return beyond;
}

static const char *note_of(const case_result_t *result, const phase_t *phase, size_t beyond,
                           chart_t *chart) {
    const summary_t *s = &phase->summary;
    char median[UNITS_TEXT], interval[UNITS_TEXT], most[UNITS_TEXT];
    units_median(median, s->median, s->ci95[0], s->ci95[1]);
    if (isfinite(s->ci95[0]))
        snprintf(median + strlen(median), sizeof median - strlen(median), " (%.40s)",
                 units_interval(interval, s->median, s->ci95[0], s->ci95[1]));
    const char *late = beyond > 0 ? chart_format(chart, "  ·  %zu beyond the axis, up to %s",
                                                 beyond, units_time(most, s->max))
                                  : "";
    return chart_format(
        chart,
        "phase %s, %s clock  ·  %zu samples in %zu rounds, %zu pass%s  ·  median %s  ·  stop: "
        "%s%s%s",
        phase->name, clock_domain_name(phase->clock), phase->n_samples, phase->n_rounds,
        phase->n_passes, phase->n_passes == 1 ? "" : "es", median, stop_reason_name(result->stop),
        late, result->status == CASE_THROTTLED ? "  ·  throttled" : "");
}

char *chart_samples(const case_result_t *result, const char *phase_name, chart_t *chart) {
    const char *case_id = result->spec.id;
    const phase_t *phase = phase_to_show(result, phase_name);
    if (!result_has_times(result) || phase == NULL)
        return mem_format("%s is %s: it has no times", case_id, case_status_name(result->status));
    const summary_t *s = &phase->summary;
    double high_ns = shown_up_to(s);
    if (s->min == 0 && s->max == 0)
        return mem_format("every sample of %s in %s is 0", phase->name, case_id);
    chart_init(chart, "samples");
    chart->title = chart_format(chart, "Samples of %s", case_id);
    const bool has_interval = isfinite(s->ci95[0]); /* else a band of no width */
    chart_numbers(chart, "median=%.10g ci_low=%.10g ci_high=%.10g low=%.10g high=%.10g",
                  s->median / 1000, (has_interval ? s->ci95[0] : s->median) / 1000,
                  (has_interval ? s->ci95[1] : s->median) / 1000, s->min / 1000, high_ns / 1000);
    chart_numbers(chart, "n_samples=%zu n_rounds=%zu n_passes=%zu bimodal=%d", phase->n_samples,
                  phase->n_rounds, phase->n_passes, phase->bimodal.found);
    chart_size(chart, 0, CHART_HEIGHT + 80);
    write_samples(phase, chart);
    write_histogram(phase, high_ns, chart);
    write_rounds(phase, chart);
    chart->note = note_of(result, phase, write_shares(phase, high_ns, chart), chart);
    write_values(&phase->bimodal, chart);
    return NULL;
}

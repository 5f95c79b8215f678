/* samples: one case's samples in the order taken, rounds marked, and their distribution beside
 * them. A drift, a second clock state or a heavy tail shows here, and in no median. */
#include "plot_charts.h"

#include "ground/memory.h"
#include "ground/stats.h"
#include "ground/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the case is compared by, else what it computes. */
static const phase_t *phase_to_show(const case_result_t *result) {
    const phase_t *phase = result_phase(result, "host_to_host");
    if (phase == NULL)
        phase = result_compute_phase(result);
    if (phase == NULL)
        phase = result_phase(result, "total");
    return phase != NULL && phase->n_samples > 0 ? phase : NULL;
}

static void write_samples(const phase_t *phase, drawing_t *drawing) {
    fputs("# samples in the order taken, µs\nindex time round\n", drawing->table);
    for (size_t r = 0; r < phase->n_rounds; r++)
        for (size_t i = phase->round_starts[r]; i < phase->round_starts[r + 1]; i++) {
            fprintf(drawing->table, "%zu", i);
            drawing_us(drawing, phase->samples[i]);
            fprintf(drawing->table, " %zu\n", r);
        }
}

/* Bin width after Freedman & Diaconis (1981): 2 · IQR · n^(-1/3), between 10 and 80 bins. */
static void write_histogram(const phase_t *phase, drawing_t *drawing) {
    enum { FEWEST_BINS = 10, MOST_BINS = 80 };
    const summary_t *s = &phase->summary;
    double span = s->max - s->min, width = 2 * (s->q75 - s->q25) / cbrt((double)phase->n_samples);
    double bins = width > 0 ? ceil(span / width) : FEWEST_BINS;
    size_t n = (size_t)fmin(fmax(bins, FEWEST_BINS), MOST_BINS);
    if (!(span > 0))
        n = 1;
    width = span > 0 ? span / (double)n : fmax(s->median / 100, 1);
    double low = span > 0 ? s->min : s->median - width / 2;
    size_t *counts = mem_zeroed(n, sizeof *counts);
    for (size_t i = 0; i < phase->n_samples; i++) {
        size_t bin = (size_t)fmax((phase->samples[i] - low) / width, 0);
        counts[bin < n ? bin : n - 1]++;
    }
    fputs("\n\n# histogram: bin from, to in µs, samples\nlow high samples\n", drawing->table);
    for (size_t i = 0; i < n; i++) {
        drawing_us(drawing, low + (double)i * width);
        drawing_us(drawing, low + (double)(i + 1) * width);
        fprintf(drawing->table, " %zu\n", counts[i]);
    }
    free(counts);
}

static void write_rounds(const phase_t *phase, drawing_t *drawing) {
    fputs("\n\n# first sample of each round but the first\nindex\n", drawing->table);
    for (size_t r = 1; r < phase->n_rounds; r++)
        fprintf(drawing->table, "%zu\n", phase->round_starts[r]);
}

char *chart_samples(const case_result_t *result, drawing_t *drawing) {
    const char *case_id = result->spec.id;
    const phase_t *phase = phase_to_show(result);
    if (!result_has_times(result) || phase == NULL)
        return mem_format("%s is %s: it has no times", case_id, case_status_name(result->status));
    drawing_init(drawing, "samples");
    char median[UNITS_TEXT];
    units_time_ci(median, phase->summary.median, phase->summary.ci95[0], phase->summary.ci95[1]);
    drawing->title = mem_format("Samples of %s", case_id);
    drawing->note =
        mem_format("phase %s, %s clock  ·  %zu samples in %zu rounds  ·  median %s%s", phase->name,
                   clock_domain_name(phase->clock), phase->n_samples, phase->n_rounds, median,
                   result->status == CASE_THROTTLED ? "  ·  throttled" : "");
    drawing_number(drawing, "median", phase->summary.median / 1000);
    drawing_number(drawing, "n_samples", (double)phase->n_samples);
    drawing_number(drawing, "n_rounds", (double)phase->n_rounds);
    drawing_number(drawing, "low", phase->summary.min / 1000);
    drawing_number(drawing, "high", phase->summary.max / 1000);
    chart_size(drawing, 0, CHART_HEIGHT);
    write_samples(phase, drawing);
    write_histogram(phase, drawing);
    write_rounds(phase, drawing);
    return NULL;
}

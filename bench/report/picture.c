#include "report/picture.h"

#include "base/memory.h"
#include "io/fs.h"
#include "plot/axes.h"
#include "plot/gnuplot.h"
#include "report/columns.h"
#include "report/shown.h"
#include "workloads/common/workload.h"

#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double ratio_of(const headline_row_t *row) {
    return row->row->headline.verdict == VERDICT_NONE ? NAN : row->row->headline.ratio.centre;
}

/* The highest speed-up first; those without one last. */
static int by_ratio(const void *a, const void *b) {
    const double left = ratio_of(a), right = ratio_of(b);
    if (isnan(left) || isnan(right))
        return isnan(left) - isnan(right);
    return (left < right) - (left > right);
}

static int colour_of(verdict_t verdict) {
    return verdict == VERDICT_OURS ? 1 : verdict == VERDICT_THEIRS ? 2 : 3;
}

static void add_row(const report_t *report, const headline_row_t *row, size_t number,
                    chart_t *chart) {
    const case_result_t *ours = standing_shown(&row->row->ours);
    const case_result_t *rival = standing_shown(&row->row->theirs);
    const speedup_t *speedup = &row->row->headline;
    const char *phase = row->set->phase;
    const char *who = report_text(report, "%s %s, %s %s", ours != NULL ? ours->spec.variant : "–",
                                  time_cell(report, ours, phase), headline_contender(report, rival),
                                  time_cell(report, rival, phase));
    const char *label =
        report_text(report, "%s %s, %s", row->set->workload, headline_setting(report, row),
                    size_name(report, row->set, row->row->size));
    chart_row(chart, "%zu %s %s %s %d %s %s %s", number, chart_real(chart, ratio_of(row), 6),
              chart_real(chart, speedup->ratio.low, 6), chart_real(chart, speedup->ratio.high, 6),
              colour_of(speedup->verdict), chart_quote(chart, label),
              chart_quote(chart, headline_faster(report, row)), chart_quote(chart, who));
}

/* The axis has both sides of 1, and ends beyond every interval. */
static void write_axis(const headline_t *headline, chart_t *chart) {
    double low = 0.5, high = 2;
    for (size_t i = 0; i < headline->n; i++) {
        const stats_interval_t *ratio = &headline->rows[i].row->headline.ratio;
        low = fmin(low, fmin(ratio_of(&headline->rows[i]), ratio->low) / 1.1);
        high = fmax(high, fmax(ratio_of(&headline->rows[i]), ratio->high) * 1.1);
    }
    chart_numbers(chart, "n_rows=%zu x_low=%.6g x_high=%.6g", headline->n, low, high);
}

/* The machines and the dates of the runs. */
static const char *footer_of(const report_t *report, const headline_t *headline) {
    text_list_t parts = {0};
    for (size_t i = 0; i < headline->n; i++) {
        const char *machine = shown_machine(report, headline->rows[i].part->run);
        if (!text_list_has(&parts, machine))
            text_list_add(&parts, machine);
    }
    const char *when[2] = {NULL, NULL};
    for (size_t i = 0; i < headline->n; i++) {
        const char *date = shown_date(report, headline->rows[i].part->run);
        when[0] = when[0] == NULL || strcmp(date, when[0]) < 0 ? date : when[0];
        when[1] = when[1] == NULL || strcmp(date, when[1]) > 0 ? date : when[1];
    }
    const bool one = strcmp(when[0], when[1]) == 0;
    text_list_add_format(&parts, "%s%s%s", when[0], one ? "" : " to ", one ? "" : when[1]);
    return report_join(report, &parts, "  ·  ");
}

/* Without intervals nobody is called faster. */
static const char *note_of(const headline_t *headline) {
    passes_t passes = {0};
    for (size_t i = 0; i < headline->n; i++)
        passes = passes_join(passes, passes_of(headline->rows[i].part->run));
    return passes_have_intervals(passes) ? "bar: speed-up, with its 95 % interval  ·  blue: ours "
                                           "is faster, orange: the rival, "
                                           "grey: no difference found"
                                         : "bar: ratio of medians, without an interval: too few "
                                           "passes to call anybody faster";
}

static void fill(const report_t *report, const headline_t *headline, chart_t *chart) {
    enum { FRAME = 132, A_ROW = 34 };
    headline_row_t *rows = mem_alloc(headline->n * sizeof *rows);
    memcpy(rows, headline->rows, headline->n * sizeof *rows);
    qsort(rows, headline->n, sizeof *rows, by_ratio);
    chart->title = "How many times as fast as the strongest rival";
    chart->note = note_of(headline);
    chart_size(chart, 0, (int)(FRAME + A_ROW * headline->n));
    write_axis(headline, chart);
    chart_row(chart, "# theirs over ours: the ratio of medians and its 95 %% interval\n"
                     "row ratio low high colour label verdict who");
    for (size_t i = 0; i < headline->n; i++)
        add_row(report, &rows[i], i + 1, chart);
    free(rows);
}

status_t picture_draw(const report_t *report, const headline_t *headline, const char *root,
                      const char *file, error_t *err) {
    char *copy = mem_text(file), *name = fs_stem(file), *gnuplot = NULL,
         *scripts = fs_join(root, "plots");
    const char *format = text_ends(file, ".svg") ? "svg" : text_ends(file, ".png") ? "png" : NULL;
    text_list_t formats = {0};
    chart_t chart;
    chart_init(&chart, "speedups");
    status_t status = STATUS_OK;
    if (headline->n == 0)
        status = error_set(err, STATUS_USAGE, "%s: the runs have no speed-up to draw", file);
    if (format == NULL)
        status =
            error_set(err, STATUS_USAGE, "%s: expected a name that ends in .svg or .png", file);
    if (status == STATUS_OK)
        status = chart_formats(format, &formats, err);
    if (status == STATUS_OK)
        status = chart_find_gnuplot(&gnuplot, err);
    if (status == STATUS_OK) {
        const chart_target_t target = {.folder = dirname(copy),
                                       .name = name,
                                       .scripts = scripts,
                                       .gnuplot = gnuplot,
                                       .footer = footer_of(report, headline),
                                       .size_label = ""};
        fill(report, headline, &chart);
        status = fs_make_folders(target.folder, err);
        if (status == STATUS_OK)
            status = chart_write(&chart, &target, &formats, err);
    }
    chart_free(&chart);
    text_list_free(&formats);
    free(gnuplot);
    free(scripts);
    free(name);
    free(copy);
    return status;
}

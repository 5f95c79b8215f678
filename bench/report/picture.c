
#include "base/memory.h"
#include "base/units.h"
#include "report/shown.h"
#include "report/words.h"

#include <math.h>
#include <stdlib.h>

/* Narrow, so that a telephone need not shrink its letters much. */
enum { WIDTH = 640, TOP = 62, A_ROW = 36, BOTTOM = 46, MARGIN = 14, BAR_AT = 20, BAR = 9 };

typedef struct bar {
    const headline_row_t *row;
    const char *href; /* NULL: none */
    const speedup_t *speedup;
} bar_t;

typedef struct picture {
    const report_t *report;
    FILE *out;
    bar_t *bars;
    size_t n;
    double low, high; /* of the axis: ratios */
} picture_t;

/* The highest speed-up first. */
static int by_ratio(const void *a, const void *b) {
    const double left = ((const bar_t *)a)->speedup->ratio.centre,
                 right = ((const bar_t *)b)->speedup->ratio.centre;
    return (left < right) - (left > right);
}

static const char *safe(const picture_t *picture, const char *text) {
    return report_keep(picture->report, xml_text(text));
}

static void print_label(const picture_t *picture, double x, double y, const char *attributes,
                        const char *text) {
    fprintf(picture->out, "<text x=\"%.0f\" y=\"%.0f\"%s>%s</text>\n", x, y, attributes,
            safe(picture, text));
}

/* ---- the axis: logarithmic, with both sides of 1 ---------------------------------------------- */

static double end_or(double end, double centre) {
    return isfinite(end) && end > 0 ? end : centre;
}

static void find_axis(picture_t *picture) {
    picture->low = 0.8;
    picture->high = 2;
    for (size_t i = 0; i < picture->n; i++) {
        const stats_interval_t *ratio = &picture->bars[i].speedup->ratio;
        picture->low = fmin(picture->low, end_or(ratio->low, ratio->centre) / 1.1);
        picture->high = fmax(picture->high, end_or(ratio->high, ratio->centre) * 1.1);
    }
}

static double place_of(const picture_t *picture, double ratio) {
    return MARGIN +
           (WIDTH - 2 * MARGIN) * log(ratio / picture->low) / log(picture->high / picture->low);
}

/* No more than eight numbers: every power of 2, of 4, of 16 … */
static void print_axis(const picture_t *picture) {
    const double bottom = TOP + A_ROW * (double)picture->n;
    const int first = (int)ceil(log2(picture->low)), last = (int)floor(log2(picture->high));
    const int step = (last - first) / 8 + 1;
    char text[UNITS_TEXT];
    for (int e = -(-first / step * step); e <= last; e += step) {
        const double x = place_of(picture, exp2(e));
        /* Beside the bars only, not through the labels above them. */
        fprintf(picture->out,
                "<path d=\"M%.1f %dV%.0f\" stroke-dasharray=\"16 20\" stroke=\"%s\"/>\n", x,
                TOP + BAR_AT - 4, bottom, e == 0 ? "#777777\" stroke-width=\"2" : "#99999955");
        snprintf(text, sizeof text, "%.3g%s", exp2(e), e == 0 ? "" : "×");
        print_label(picture, x, bottom + 14, " font-size=\"12\" text-anchor=\"middle\"", text);
    }
}

/* ---- the bars -------------------------------------------------------------------------------- */

static const char *colour_of(verdict_t verdict) {
    return verdict == VERDICT_OURS ? "#0072B2" : verdict == VERDICT_THEIRS ? "#D55E00" : "#999999";
}

static void print_bar(const picture_t *picture, size_t number) {
    const report_t *report = picture->report;
    const bar_t *bar = &picture->bars[number];
    const headline_row_t *row = bar->row;
    const stats_interval_t *ratio = &bar->speedup->ratio;
    const double y = TOP + A_ROW * (double)number, one = place_of(picture, 1),
                 end = place_of(picture, ratio->centre), middle = y + BAR_AT + BAR / 2.0;
    char number_text[UNITS_TEXT];
    const char *label =
        report_text(report, "%s %s, %s", row->set->workload, headline_setting(report, row),
                    size_name(report, row->set, row->row->size));
    const char *rival = contender_text(report, standing_shown(&row->row->theirs));
    if (bar->href != NULL)
        fprintf(picture->out, "<a href=\"%s\">", bar->href);
    fprintf(picture->out,
            "<text x=\"%d\" y=\"%.0f\">%s<tspan font-size=\"12\" opacity=\"0.75\"> vs "
            "%s</tspan></text>\n",
            MARGIN, y + 14, safe(picture, label), safe(picture, rival));
    /* Two parts of a text that ends here would not be placed alike by all programs. */
    print_label(picture, WIDTH - MARGIN, y + 14, " text-anchor=\"end\" font-weight=\"bold\"",
                units_ratio(number_text, ratio->centre, ratio->low, ratio->high));
    fprintf(picture->out,
            "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
            fmin(one, end), y + BAR_AT, fmax(fabs(end - one), 2), BAR,
            colour_of(bar->speedup->verdict));
    if (isfinite(ratio->low) && isfinite(ratio->high))
        fprintf(picture->out,
                "<path d=\"M%.1f %.1fH%.1f\" stroke=\"currentColor\" stroke-width=\"2\"/>\n",
                place_of(picture, ratio->low), middle, place_of(picture, ratio->high));
    fputs(bar->href != NULL ? "</a>\n" : "", picture->out);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The machines and the dates of the runs. */
static const char *measured_text(const picture_t *picture) {
    text_list_t parts = {0}, dates = {0};
    for (size_t i = 0; i < picture->n; i++) {
        const record_t *run = picture->bars[i].row->part->run;
        text_list_add_new(&parts, shown_machine(picture->report, run));
        text_list_add_new(&dates, shown_date(picture->report, run));
    }
    text_list_add(&parts, report_dates(picture->report, &dates));
    return report_join(picture->report, &parts, " ");
}

/* Without intervals nobody is called faster. */
static const char *note_of(const picture_t *picture) {
    for (size_t i = 0; i < picture->n; i++)
        if (picture->bars[i].speedup->verdict != VERDICT_UNDECIDED)
            return "blue: ours is faster; orange: the rival; grey: no difference; line: 95 % "
                   "interval";
    return "ratios of medians: too few passes for intervals, or to call anybody faster";
}

static void print_picture(const picture_t *picture, bool inside) {
    const int height = TOP + A_ROW * (int)picture->n + BOTTOM;
    fprintf(picture->out,
            PICTURE_BEGIN " xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\"%s "
                          "font-family=\"system-ui, DejaVu Sans, sans-serif\" font-size=\"14\" "
                          "fill=\"%s\" color=\"%s\" role=\"img\" aria-label=\"Speed-ups\">\n",
            WIDTH, height,
            inside ? ""
                   : report_text(picture->report, " width=\"%d\" height=\"%d\"", WIDTH, height),
            inside ? "currentColor" : "#222222", inside ? "currentColor" : "#222222");
    if (!inside)
        fprintf(picture->out, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", WIDTH,
                height);
    print_label(picture, MARGIN, 22, " font-size=\"17\" font-weight=\"bold\"",
                "Speed-up over the strongest rival");
    print_label(picture, MARGIN, 41, " font-size=\"12\" opacity=\"0.75\"", note_of(picture));
    print_axis(picture);
    for (size_t i = 0; i < picture->n; i++)
        print_bar(picture, i);
    print_label(picture, MARGIN, height - 10, " font-size=\"12\" opacity=\"0.75\"",
                measured_text(picture));
    fputs("</svg>\n", picture->out);
}

char *picture_svg(const report_t *report, const headline_t *headline, const char *const *hrefs) {
    AUTO_FREE bar_t *bars = mem_zeroed(headline->n + 1, sizeof *bars);
    picture_t picture = {.report = report, .bars = bars};
    char *text;
    size_t size;
    for (size_t i = 0; i < headline->n; i++)
        if (has_headline(headline->rows[i].row))
            picture.bars[picture.n++] = (bar_t){&headline->rows[i], hrefs != NULL ? hrefs[i] : NULL,
                                                &headline->rows[i].row->headline};
    if (picture.n == 0)
        return NULL;
    qsort(picture.bars, picture.n, sizeof *picture.bars, by_ratio);
    find_axis(&picture);
    picture.out = open_memstream(&text, &size);
    print_picture(&picture, hrefs != NULL);
    fclose(picture.out);
    return text;
}

#include "plot_charts.h"

#include "ground/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *chart_batch_text(char *text, int64_t batch) {
    static const char *const RAISED[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    units_count(text, batch);
    char *caret = strchr(text, '^');
    if (caret == NULL)
        return text;
    char digits[UNITS_TEXT];
    snprintf(digits, sizeof digits, "%s", caret + 1);
    *caret = '\0';
    for (const char *digit = digits; *digit >= '0' && *digit <= '9'; digit++)
        strncat(text, RAISED[*digit - '0'], UNITS_TEXT - strlen(text) - 1);
    return text;
}

void range_take(range_t *range, double value) {
    if (!isfinite(value) || value <= 0)
        return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

void chart_time_axis(drawing_t *drawing, const range_t *seen_ns) {
    static const range_t NOTHING_SEEN_NS = {1000, 1000};
    const range_t *range_ns = seen_ns->high > 0 ? seen_ns : &NOTHING_SEEN_NS;
    /* A little air, so that nothing lies on the frame. */
    double low = floor(log10(range_ns->low / 1000 / 1.1));
    double high = ceil(log10(range_ns->high / 1000 * 1.1));
    drawing_number(drawing, "y_low", low);
    drawing_number(drawing, "y_high", high);
}

void chart_size(drawing_t *drawing, size_t n_bars, int height) {
    /* 42 pixels hold five digits of a batch under its bar; 150 are for the axis and the margins. */
    size_t width = 150 + 42 * n_bars;
    drawing_number(drawing, "width", width > CHART_WIDTH ? (double)width : CHART_WIDTH);
    drawing_number(drawing, "height", height);
}

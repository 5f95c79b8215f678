/* Speed-ups as a picture: a bar for each row of a headline, sorted, with its interval and a line at 1. */
#ifndef BENCH_REPORT_PICTURE_H
#define BENCH_REPORT_PICTURE_H

#include "report/headline.h"

#define PICTURE_BEGIN "<svg class=\"speedups\""

/* An SVG. With `hrefs`, one per row, each bar is a link, and the colour of the text is that of the page around it. NULL:
 * no row has a ratio. The caller frees it. */
char *picture_svg(const report_t *report, const headline_t *headline, const char *const *hrefs);

#endif

/* The headline as a picture: a bar for each row, sorted by its speed-up. */
#ifndef BENCH_REPORT_PICTURE_H
#define BENCH_REPORT_PICTURE_H

#include "report/headline.h"

/* Draw it into `file`, "plots/headline.svg", or a .png; its data beside it. `root`: the project's folder. */
status_t picture_draw(const report_t *report, const headline_t *headline, const char *root,
                      const char *file, error_t *err);

#endif

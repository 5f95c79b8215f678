/* Charts of the series of `bench history`. */
#ifndef BENCH_COMPARE_HISTORY_CHART_H
#define BENCH_COMPARE_HISTORY_CHART_H

#include "compare/history.h"
#include "compare/history_series.h"

/* Into options->out, which is made: <case>_<phase>.dat and a picture of each format, of the series
 * that history_is_told(). The paths of the pictures are added to `files`. */
status_t history_draw(const history_options_t *options, const history_list_t *list,
                      const record_t *runs, text_list_t *files, error_t *err);

#endif

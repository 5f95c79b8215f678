/* Charts of the series of `bench history`. */
#ifndef BENCH_COMPARE_HISTORY_CHART_H
#define BENCH_COMPARE_HISTORY_CHART_H

#include "compare/history.h"
#include "compare/history_series.h"

/* Create options->out, and in it <case>_<phase>.dat and a chart in each format for every series
 * shown. Adds the paths of the charts to `files`. */
status_t history_draw(const history_options_t *options, const history_list_t *list,
                      const record_t *runs, text_list_t *files, error_t *err);

#endif

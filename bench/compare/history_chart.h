/* A chart of one series of `bench history`. */
#ifndef BENCH_COMPARE_HISTORY_CHART_H
#define BENCH_COMPARE_HISTORY_CHART_H

#include "compare/history_series.h"

typedef struct history_charts {
    char *folder, *scripts, *gnuplot;
    text_list_t formats;
    text_list_t files; /* written so far */
} history_charts_t;

/* Makes the folder, and finds gnuplot. */
status_t history_charts_open(history_charts_t *charts, const char *root, const char *folder,
                             const char *formats, error_t *err);
/* FOLDER/<case>_<phase>.dat and a picture of each format. */
status_t history_chart(history_charts_t *charts, const history_series_t *series,
                       const record_t *runs, error_t *err);
void history_charts_close(history_charts_t *charts);

#endif

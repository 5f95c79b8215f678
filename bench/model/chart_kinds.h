/* All charts: one list for `bench plot` and its help, a sweep's "charts", and the order in a
 * report. plot/plot.c lists the functions that draw them. */
#ifndef BENCH_MODEL_CHART_KINDS_H
#define BENCH_MODEL_CHART_KINDS_H

#include "base/text.h"

typedef struct chart_kind {
    /* Of the file, after the workload's. ENGINE: one chart per engine; SETTING: one for each further
     * precision or shape ("tf32", "rows_1024"). */
    const char *name;
    const char *family;  /* its name in a sweep's "charts"; NULL: not selectable */
    const char *title;   /* for people; %s: what a size is, "batch size" */
    const char *summary; /* NULL: shares the line of the previous chart in the help */
} chart_kind_t;

/* In the order of a report: who is faster, by how much, why; then the rest. */
const chart_kind_t *chart_kinds(size_t *n);
const chart_kind_t *chart_kind_find(const char *name); /* NULL when unknown */
/* "Speed-up by batch size: f16", of "speed_f16"; the name of an unknown chart. The caller frees it. */
char *chart_title(const char *name, const char *size_noun);
/* Each family once, and those of earlier versions, which draw nothing. The caller frees the list. */
text_list_t chart_families(void);

#endif

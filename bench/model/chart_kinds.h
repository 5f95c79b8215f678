/* The charts that there are: one list for `bench plot` and its help, a sweep's "charts", and the
 * order in a report. Who draws them is in plot/plot.c. */
#ifndef BENCH_MODEL_CHART_KINDS_H
#define BENCH_MODEL_CHART_KINDS_H

#include "base/text.h"

typedef struct chart_kind {
    const char *name;    /* of the file, behind the workload's */
    const char *family;  /* what a sweep's "charts" asks for; NULL: nobody can ask for it */
    const char *summary; /* NULL: that of the one before, next to which it stands in the help */
} chart_kind_t;

/* In the order of a report, which is a reader's: who is faster, by how much, why; then the rest. */
const chart_kind_t *chart_kinds(size_t *n);
const chart_kind_t *chart_kind_find(const char *name); /* NULL when unknown */
/* Each family once. The caller frees the list. */
text_list_t chart_families(void);

#endif

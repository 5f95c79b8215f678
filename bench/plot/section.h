/* A workload's part of a run, and which charts it gets. */
#ifndef BENCH_PLOT_SECTION_H
#define BENCH_PLOT_SECTION_H

#include "base/text.h"
#include "plot/source.h"

typedef enum applies {
    ALWAYS,
    TO_RUNS,
    TO_RUNS_WITHOUT_CUDA,
    TO_TRAININGS,
    TO_STEPS,  /* trainings with separately timed operations */
    TO_EPOCHS, /* trainings by whole epochs, with an allocator */
    TO_BLOCKS, /* allocators alone */
} applies_t;

/* The shapes of one workload, contiguous in their source. */
typedef struct workload_section {
    const workload_t *workload;
    const plot_data_t *shapes;
    char *
        *settings; /* of each shape: how it differs from the first; "": in nothing to draw apart */
    size_t n;
    text_list_t families; /* requested families of charts; none: all */
} workload_section_t;

/* The caller frees it with section_free(); the source must outlive it. */
workload_section_t section_of(const plot_source_t *source, const workload_t *workload);
void section_free(workload_section_t *section);

/* Was this chart asked for, and is it one for such a workload? `chart`: the name of a chart_kind_t */
bool section_allows(const workload_section_t *section, const char *chart, applies_t applies);

#endif

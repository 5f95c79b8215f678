/* `bench plot`: charts from a run's folder or from saved study CSVs, drawn by gnuplot. Data
 * preparation is here, drawing is in plots/(name).gp. Needs no GPU, no compiler, no PyTorch. */
#ifndef BENCH_PLOT_PLOT_H
#define BENCH_PLOT_PLOT_H

#include "results/record.h"

typedef struct plot_options {
    const char *const *inputs; /* run folders or CSV files */
    size_t n_inputs;
    const char *out;     /* folder for the charts; NULL: plots/<run> */
    const char *format;  /* "svg", "png" or "svg,png"; NULL: "svg" */
    const char *root;    /* the project's folder: gnuplot scripts are in <root>/plots */
    const char *case_id; /* distribution of this one case instead of the usual charts; or NULL */
    const char *phase;   /* with case_id: which of its phases; NULL: host_to_host where it has it */
} plot_options_t;

/* A chart that was drawn: `file` relative to the output folder. */
typedef struct drawn_chart {
    char *name, *file, *title;
} drawn_chart_t;

typedef struct chart_list {
    drawn_chart_t *items;
    size_t n, capacity;
    text_list_t skipped; /* "ladder: no case has a hardware limit", … */
} chart_list_t;

/* Draw every chart the data can carry. Every chart's data file is kept beside it (NAME.dat), so
 * that anyone can check or redraw it. */
status_t plot_charts(const plot_options_t *options, chart_list_t *charts, error_t *err);
void chart_list_free(chart_list_t *charts);

#endif

/* `bench plot`: charts from a run's folder or from saved study CSVs. Data preparation is here; the
 * gnuplot scripts in plots/ draw. Needs no GPU, no compiler, no PyTorch. */
#ifndef BENCH_PLOT_PLOT_H
#define BENCH_PLOT_PLOT_H

#include "results/record.h"

typedef struct plot_options {
    const char *const *inputs; /* run folders or CSV files */
    size_t n_inputs;
    text_list_t boots;   /* of the only input, a run: further starts of its machine; borrowed */
    const char *out;     /* folder for the charts; NULL: plots/<run> */
    const char *format;  /* "svg", "png" or "svg,png"; NULL: "svg" */
    const char *root;    /* the data folder: gnuplot scripts are in <root>/plots */
    const char *case_id; /* draw only the distribution of this case; or NULL */
    const char *phase;   /* with case_id: the phase; NULL: host_to_host if the case has it */
} plot_options_t;

/* A chart that was drawn: `file` is its path as seen from the current folder. */
typedef struct drawn_chart {
    char *name, *file;
} drawn_chart_t;

typedef struct chart_list {
    drawn_chart_t *items;
    size_t n, capacity;
    text_list_t skipped; /* "ladder: no case has a hardware limit", … */
} chart_list_t;

/* Draw every chart that the data allow. The data file of each chart stays beside it (NAME.dat), so
 * that anyone can check or redraw it. */
status_t plot_charts(const plot_options_t *options, chart_list_t *charts, error_t *err);
void chart_list_free(chart_list_t *charts);

#endif

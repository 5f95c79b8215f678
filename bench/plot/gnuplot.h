/* A chart as input for gnuplot: a table of data, a title, a few numbers, and the script in plots/
 * that draws it. Strings reach gnuplot only as script arguments and as quoted fields of the data
 * file, which it never evaluates: nothing in a results file can run a command. */
#ifndef BENCH_PLOT_GNUPLOT_H
#define BENCH_PLOT_GNUPLOT_H

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/fs.h"

#include <stdio.h>

extern const package_t CHART_GNUPLOT;

/* The program's path, owned by the caller; the error says how to install it. */
status_t chart_find_gnuplot(char **path, error_t *err);

/* "svg", "png" or both from an option's `text`; NULL: svg. The caller frees the list, also on
 * failure. */
status_t chart_formats(const char *text, text_list_t *formats, error_t *err);

typedef struct chart {
    const char *script;       /* plots/<script>.gp */
    const char *title, *note; /* note: grey, under the title */
    text_list_t numbers;      /* gnuplot assignments of numbers: "n_bars=23" */
    FILE *table;              /* the data file is written here, into `data` */
    char *data;
    size_t size;
    arena_t texts; /* title, note, fields: they live as long as the chart */
} chart_t;

void chart_init(chart_t *chart, const char *script);
void chart_free(chart_t *chart);

/* Numbers for the script: "n_rows=%zu left=%d". */
void chart_numbers(chart_t *chart, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lists of numbers; gnuplot reads them with word(). */
void chart_integers(chart_t *chart, const char *name, const int *values, size_t n);
void chart_reals(chart_t *chart, const char *name, const double *values, size_t n);

/* A formatted string that lives as long as the chart. */
const char *chart_format(chart_t *chart, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Write a row of the table. Two empty lines start another block. */
void chart_row(chart_t *chart, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fields of a row; they live as long as the chart: a text, quoted and escaped; a number with so
 * many digits; nanoseconds as microseconds. Non-finite numbers are "NaN". */
const char *chart_quote(chart_t *chart, const char *text);
const char *chart_real(chart_t *chart, double value, int digits);
const char *chart_us(chart_t *chart, double ns);

typedef struct chart_target {
    const char *folder;  /* exists */
    const char *name;    /* "phases_cuda" → phases_cuda.dat, phases_cuda.svg */
    const char *scripts; /* folder of the .gp files */
    const char *gnuplot; /* the program */
    const char *footer;
    const char *size_label; /* of a size axis: "batch, samples" */
} chart_target_t;

/* Write NAME.dat, then one NAME.<format> for each format ("svg", "png"). A chart appears complete
 * or not at all. */
status_t chart_write(chart_t *chart, const chart_target_t *target, const text_list_t *formats,
                     error_t *err);

#endif

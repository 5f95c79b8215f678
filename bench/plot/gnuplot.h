/* One chart on its way to gnuplot: a table of data, a title, a few numbers, and the script in
 * plots/ that draws them. Strings reach gnuplot only as script arguments and as quoted fields of
 * the data file, which it never evaluates: nothing that stands in a results file can run a command.
 */
#ifndef BENCH_PLOT_GNUPLOT_H
#define BENCH_PLOT_GNUPLOT_H

#include "base/error.h"
#include "base/text.h"
#include "io/package.h"

#include <stdio.h>

extern const package_t DRAWING_GNUPLOT;

/* The program's path, owned by the caller; fails with how to get it. */
status_t drawing_find_gnuplot(char **path, error_t *err);

typedef struct drawing {
    char *script;        /* plots/<script>.gp */
    char *title, *note;  /* note: the grey line under the title */
    text_list_t numbers; /* gnuplot assignments, numbers only: "n_bars=23" */
    FILE *table;         /* the data file is written here, into `data` */
    char *data;
    size_t size;
} drawing_t;

/* Takes copies. */
void drawing_init(drawing_t *drawing, const char *script);
void drawing_free(drawing_t *drawing);

void drawing_number(drawing_t *drawing, const char *name, double value);
/* Lists of numbers, read in gnuplot by word(). */
void drawing_integers(drawing_t *drawing, const char *name, const int *values, size_t n);
void drawing_reals(drawing_t *drawing, const char *name, const double *values, size_t n);
/* One field of the table: quoted, without anything that would end it. */
void drawing_text(drawing_t *drawing, const char *text);
/* Nanoseconds in, a field in microseconds out; NaN stays NaN. */
void drawing_us(drawing_t *drawing, double ns);

typedef struct drawing_target {
    const char *folder;  /* exists */
    const char *name;    /* "phases_cuda" → phases_cuda.dat, phases_cuda.svg */
    const char *scripts; /* folder of the .gp files */
    const char *gnuplot; /* the program */
    const char *footer;
    const char *size_title; /* of an axis of sizes: "batch, samples" */
} drawing_target_t;

/* NAME.dat, then one NAME.<format> for each format ("svg", "png"). A chart appears complete or not
 * at all. */
status_t drawing_write(drawing_t *drawing, const drawing_target_t *target,
                       const text_list_t *formats, error_t *err);

#endif

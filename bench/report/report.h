/* `bench report`: REPORT.md, with a page for each workload, from the files of runs and their charts; or
 * all of it as one HTML file. */
#ifndef BENCH_REPORT_REPORT_H
#define BENCH_REPORT_REPORT_H

#include "results/record.h"

typedef struct report_options {
    const char *const *runs; /* folders: see shown_load() */
    size_t n_runs;
    const char *out;       /* REPORT.md; "-", a pipe or device: no page is written */
    const char *out_named; /* what the report's own command says of it; NULL: nothing */
    const char
        *pages; /* NULL: a page is RUN/WORKLOAD.md; else PAGES/<name of the run>/WORKLOAD.md */
    const char
        *html; /* NULL: as above; else the only file, of all pages and cases; "-": as above */
    const char *picture; /* NULL, or the only file: the speed-ups of all runs, .svg */
    const char *root;    /* the data folder, for scripts; links and plots/ are of its project */
    const char *program; /* in commands; NULL: folders_program() */
} report_options_t;

/* The files of a report: REPORT.md, its picture REPORT.svg, the pages. */
typedef struct report_file {
    char *path, *text;
} report_file_t;

typedef struct report_files {
    report_file_t *items;
    size_t n;
    size_t n_runs, n_unsealed; /* that they are of; without a digest */
    text_list_t edits;         /* record_edits() of these */
} report_files_t;

/* Refused, before anything is written: to overwrite a file that is no report, or two pages of one name. To be freed
 * with report_files_free(), also on failure. */
status_t report_render(const report_options_t *options, report_files_t *files, error_t *err);
void report_files_free(report_files_t *files);
/* Write them; those that would not change stay untouched. To a pipe or device, the first only. */
status_t report_write(const report_options_t *options, error_t *err);

/* Draw options->picture instead. */
status_t report_picture(const report_options_t *options, error_t *err);

/* Tables for a terminal: of one workload of the run, or of all (NULL). The caller frees them. */
char *report_workload_tables(const record_t *run, const char *workload);

/* The same rows as lines, only those with a ratio: "CUDA ≈ 2.6×, rows 64: 1.08 µs 01_study against 2.80 µs PyTorch graph".
 * The caller frees them. */
char *report_workload_lines(const record_t *run, const char *workload);

typedef enum report_view {
    REPORT_HEADLINE,  /* one table for all runs, labelled as saved */
    REPORT_WORKLOADS, /* one table for each workload of each run */
} report_view_t;

/* Print tables of the runs in `folders` instead of writing a report. */
status_t report_print(const char *const *folders, size_t n, report_view_t view, error_t *err);

/* `bench report --check`: is a report, with its pages, what its runs give? */

typedef struct report_check {
    size_t n_files;
    size_t n_runs, n_unsealed; /* of which edits could not be told */
} report_check_t;

/* Make the report in `path` again, from the runs that it names, and compare every file byte for byte.
 * STATUS_FAILED if one differs or is missing: the error has the first line that differs; or if a run's lines, tables
 * or charts are not those that its run.json has digests of. */
status_t report_check(const char *path, const char *root, report_check_t *found, error_t *err);

#endif

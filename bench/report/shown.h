/* The runs of a report, each with its other boots and divided into workloads, and the pages that show them. */
#ifndef BENCH_REPORT_SHOWN_H
#define BENCH_REPORT_SHOWN_H

#include "report/headline.h"
#include "report/words.h"

/* One workload of a run. Comparisons are computed once because it takes long. */
typedef struct shown_part {
    const char *workload;       /* borrowed */
    const record_t *whole;      /* its run */
    size_t number;              /* in the list, counted from 1 */
    record_t steady;            /* the run with its cases and the device's alone, no cold starts */
    comparison_set_list_t sets; /* of `steady`; empty without sizes to compare */
    size_t n_cases;             /* of the workload in `steady` */
    boots_t boots;              /* those of the run that have the workload */
    headline_part_t headline;   /* these, without `when` */
} shown_part_t;

typedef struct shown_run {
    const record_t *whole;
    boots_t boots; /* other runs of its sweeps */
    shown_part_t *parts;
    size_t n_parts;
} shown_run_t;

typedef struct shown_list {
    record_list_t loaded; /* the others borrow from here */
    shown_run_t *items;
    size_t n;
    const shown_part_t **parts; /* of all, run after run */
    size_t n_parts;
} shown_list_t;

/* A run with the sweeps of an earlier one becomes another boot of it; STATUS_INCOMPARABLE if it is none
 * of the same machine. A run that has only cases of others, wherever they are named, becomes another boot
 * of each. The list, of zeros, is to be freed after a failure, too. */
status_t shown_load(const char *const *folders, size_t n, shown_list_t *list, error_t *err);
void shown_list_free(shown_list_t *list);

/* Fill in the parts of `shown->whole`, of one workload or of all (NULL). */
void shown_select(shown_run_t *shown, const char *only);
void shown_free_parts(shown_run_t *shown);

/* "NVIDIA H200", else the CPU's name; "2026-03-02". Safe for markdown. */
const char *shown_machine(const report_t *report, const record_t *run);
const char *shown_date(const report_t *report, const record_t *run);
/* "2026-11-26 to 2026-11-27"; empties the list. */
const char *report_dates(const report_t *report, text_list_t *dates);
/* "git 1a2b3c with uncommitted changes": what this program was built from. */
const char *revision_text(const report_t *report, const record_t *run);

/* The page of one workload of a run: charts, findings, tables, warnings, the machine. */

/* What the tables of a page say, a sentence each: who is faster, how near to the limit, what techniques bring. */
void section_findings(const report_t *report, const comparison_set_list_t *sets,
                      const views_t *views);

/* Fills in the report's run, whole and boots. */
void workload_page(report_t *report, const shown_part_t *part);

/* Speed-ups as a picture: a bar for each row of a headline, sorted, with its interval and a line at 1. */

#define PICTURE_BEGIN "<svg class=\"speedups\""

/* An SVG. With `hrefs`, one per row, each bar is a link, and the colour of the text is that of the page around it. NULL:
 * no row has a ratio. The caller frees it. */
char *picture_svg(const report_t *report, const headline_t *headline, const char *const *hrefs);

/* The top page of a report: a picture, a table, where we do not win, the machine and the method, all pages. */

enum { TOP_ROWS = HEADLINE_ROWS };

/* One workload of one run. */
typedef struct top_part {
    const shown_part_t *part;
    const char *href; /* of its page, as it is linked */
    const char *name; /* "softmax"; with the run, if two have the workload */
} top_part_t;

typedef struct top {
    const shown_list_t *runs;
    const top_part_t *parts;
    size_t n_parts;
    const char *picture;  /* its file, as it is linked; NULL: none */
    char *const *command; /* that prints this report again */
    size_t n_command;
} top_t;

void top_page(const report_t *report, const top_t *top);
/* The picture of all workloads, an SVG; NULL: no size has a ratio. In HTML each bar leads to the page of its workload. The
 * caller frees it. */
char *top_picture(const report_t *report, const top_t *top, bool in_html);
/* "w2": the id of that page in HTML, by the number of the part. */
#define HTML_PART "w%zu"

/* ---- the parts of pages, and everything about one case --------------------------------------- */

typedef struct status_counts {
    size_t all, of[CASE_IMPLAUSIBLE + 1];
} status_counts_t;

/* Without calibration, and without cases that a variant leaves out by design. */
void count_status(status_counts_t *counts, const case_result_t *result);
status_counts_t count_statuses(const record_t *run);
/* "6 ok, 3 skipped" */
const char *statuses_text(const report_t *report, const status_counts_t *counts);

/* What limits the trust in the numbers. */
void section_warnings(const report_t *report);

/* The recorded environment, the device as it was measured, and how to measure a run again, or one of its cases: commands
 * are called in the project's folder. */

void section_environment(const report_t *report);
void section_device(const report_t *report);
void section_reproduce(const report_t *report);
/* "    bench run 'a b.json'": quoted for a POSIX shell; indented, because a fenced block could be closed
 * by its content. */
void print_command(const report_t *report, char *const *arguments, size_t n);

/* The words of the command that measures a run again, into a folder of its own; empty if it did not record how it was
 * called. */
text_list_t command_again(const char *program, const record_t *run);
/* The command that measures a case of a run alone, for a shell; the caller frees it. */
char *command_of_case(const char *program, const record_t *run, const case_t *spec);

/* The tables of a workload's page: six at most, each of all its comparison sets. A table without rows is not printed. */

void table_by_size(const report_t *report, const views_t *views);
void table_of_phases(const report_t *report, const views_t *views);
void table_of_ladder(const report_t *report, const views_t *views);
void table_of_parts(const report_t *report, const comparison_set_list_t *sets);
void table_of_contenders(const report_t *report, const char *workload);
void table_of_compilations(const report_t *report);
/* Of a workload without sets: every case with its time. */
void table_of_times(const report_t *report, const char *workload);

/* Everything about one case on one screen: for `bench run` of a few cases, and for the HTML report. */

/* Status and reason, device, checks, phases with their intervals and quantiles, trust, limit, one-time
 * costs, program with the hash of its code, passes, flags; and an empty line. */
void case_text_print(FILE *out, const case_result_t *result);

#endif

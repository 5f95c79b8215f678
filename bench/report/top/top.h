/* The top page of a report: at most 60 lines, of which each says where its proof is. */
#ifndef BENCH_REPORT_TOP_TOP_H
#define BENCH_REPORT_TOP_TOP_H

#include "report/shown.h"

/* So that it is no longer than that: lines of sentences about workloads, rows of the table, and losses
 * with details, at most. */
enum { TOP_LINES = 60, TOP_LEADS = 12, TOP_ROWS = HEADLINE_ROWS, TOP_LOSSES = 3 };

/* One workload of one run. */
typedef struct top_part {
    const shown_run_t *shown;
    const shown_part_t *part;
    headline_part_t headline;
    const char
        *link;      /* "[mlp_infer](results/h200/mlp_infer.md)"; with the run, as headline.when, if
                         two have the workload */
    bool elsewhere; /* measured on another machine than the first run */
} top_part_t;

typedef struct top {
    const shown_list_t *runs;
    const top_part_t *parts;
    size_t n_parts;
    char *const *command; /* that prints this report again */
    size_t n_command;
} top_t;

void top_page(const report_t *report, const top_t *top);

/* facts.c: what was measured, with what, and how far to trust it: a column per machine. */
void top_facts(const report_t *report, const top_t *top);
/* leads.c: a sentence per workload. */
void top_leads(const report_t *report, const top_t *top);
/* How many workloads have a sentence, and the lines of all: one each, two or three for the title of each of
 * several machines. */
size_t top_n_leads(const report_t *report, const top_t *top, size_t *lines);
/* table.c: the headline of all workloads. */
void top_table(const report_t *report, const top_t *top);
/* losses.c: where no lead of ours was found; the sizes of a set at which a rival leads, or NULL. */
void top_losses(const report_t *report, const top_t *top);
const char *top_sizes_lost(const report_t *report, const comparison_set_t *set);
/* links.c: charts, commands, raw samples; all workloads with their pages. */
void top_charts(const report_t *report, const top_t *top);
void top_reproduce(const report_t *report, const top_t *top);
void section_workloads(const report_t *report, const top_t *top);

#endif

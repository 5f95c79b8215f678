/* What the sections of a report share: the page that they are printed on, and how numbers and names
 * look there. Sections are functions (page) that print nothing when the run has nothing for them.
 */
#ifndef BENCH_REPORT_PAGE_H
#define BENCH_REPORT_PAGE_H

#include "analysis/speedup.h"
#include "base/arena.h"
#include "io/table.h"

#include <stdio.h>

typedef struct report {
    FILE *out;
    arena_t *texts;        /* that live as long as the report: report_text(), report_keep() */
    const record_t *run;   /* without cold starts */
    const record_t *whole; /* with them */
    const char *root;      /* the project's folder */
    const char *folder;    /* the report's own, which links are relative to */
    bool saved;            /* a run of another time or machine, shown beside this machine's */
} report_t;

/* Print to the report, as printf() does. */
void print(const report_t *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A text that lives as long as the report: formatted; taken over from malloc(); `text` made safe
 * for markdown, or as a code span; UNITS_TEXT bytes for a function of base/units.h to write into.
 */
const char *report_text(const report_t *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *report_keep(const report_t *report, char *text);
const char *report_safe(const report_t *report, const char *text);
const char *report_code(const report_t *report, const char *text);
char *report_buffer(const report_t *report);

/* "## text", one level deeper and marked as saved on a saved run's page, so that no heading of two
 * runs is the same. */
void report_heading(const report_t *report, unsigned level, const char *text);
/* Print the table, a blank line after it, and free it. */
void report_table(const report_t *report, table_t *table);
/* A fact of the run's environment, escaped; NULL when it was not recorded. The caller frees it. */
char *report_fact(const report_t *report, const char *key);
/* "NVIDIA H200", else the CPU's name, escaped; the caller frees it. */
char *report_machine(const record_t *run);
/* "2026-03-02", or "unknown date". The caller frees it. */
char *report_date(const record_t *run);
/* A link's target for `path`, relative to the report's folder and percent-encoded; the caller frees
 * it. */
char *report_link(const report_t *report, const char *path);

/* words.c: "64", "5 M"; "batch 64", "5 M points"; "batch sizes", "data-set sizes";
 * "Batch", "Points". `text` has UNITS_TEXT bytes and is returned. */
const char *size_text(char *text, const comparison_set_t *set, int64_t size);
const char *named_size(char *text, const comparison_set_t *set, int64_t size);
const char *sizes_word(const comparison_set_t *set, size_t n);
const char *size_heading(char *text, const comparison_set_t *set);

/* Add a time to a table: the median, "12.6 µs †" for a throttled case, the status for a case
 * without times, "–" where there is no such case or phase. */
void add_time(table_t *table, const case_result_t *result, const char *phase);
/* "3.4× (3.3–3.6)"; "3.4× (no interval)"; "–" for none. Returns `text`. */
const char *ratio_text(char *text, size_t size, const speedup_t *speedup);

/* "cuda 03_vectorized", "pytorch-cuda graph": who a case belongs to, whatever its parameters. The
 * caller frees it. */
char *contender_key(const case_t *spec);
/* A contender's name with its techniques, safe for markdown; the caller frees it. */
char *shown_name(const case_result_t *result);

/* "88 %", and with a decimal where rounding would make it all: "99.7 %". Returns `text`. */
const char *part_text(char *text, double frac);
/* "CUDA is **3.4× (3.3–3.6)** as fast", for whoever is the faster. */
void print_verdict(FILE *out, const speedup_t *speedup, const char *ours, const char *theirs);

/* Was the case skipped because its variant is for another dtype or shape by design? Nothing went
 * wrong then. */
bool is_not_applicable(const case_result_t *result);
/* "93 %", of the limit that the case's own record names; "–" where there is none. */
void add_limit_share(table_t *table, const case_result_t *result);

/* sentences.c: findings that any workload has. */
bool has_headline(const size_row_t *row);
/* Who is faster at how many sizes, where the lead changes, and up to three sizes with numbers. */
void print_score(FILE *out, const comparison_set_t *set, speedup_of_t speedup_of, const char *ours,
                 const char *theirs);
void print_crossover(FILE *out, const comparison_set_t *set, speedup_of_t speedup_of,
                     const char *ours, const char *theirs);
/* `subject` says what is timed, up to a colon: "**Host to host** (…), the fastest CUDA case against
 * PyTorch's fastest mode". */
void finding_headline(const report_t *report, const comparison_set_t *set, const char *subject);
void finding_others(const report_t *report, const comparison_set_t *set);
void finding_missing(const report_t *report, const comparison_set_t *set);
/* report/sections/limits.c */
void finding_limit(const report_t *report, const comparison_set_t *set,
                   int64_t reference); /* -1: largest */
void finding_compute(const report_t *report, const comparison_set_t *set);
void finding_once(const report_t *report, const comparison_set_t *set);

/* Sections. report/mlp_infer/findings.c, report/sections/limits.c: sentences on mlp_infer;
 * report/mlp_infer/tables.c, report/mlp_infer/kernel_times.c: its tables. */
void mlp_infer_findings(const report_t *report, const comparison_set_list_t *sets);
void mlp_infer_cost_findings(const report_t *report, const comparison_set_t *set);
void mlp_infer_tables(const report_t *report, const comparison_set_list_t *sets);
/* How many samples stand behind the medians of a set's table, and how far off they can be. */
void print_spread(const report_t *report, const comparison_set_t *set);
/* report_training*.c: workloads that train. */
void training_findings(const report_t *report, const comparison_set_list_t *sets);
void training_tables(const report_t *report, const comparison_set_list_t *sets);
/* report/training/blocks.c: allocators by themselves. */
void block_findings(const report_t *report, const comparison_set_list_t *sets);
void block_tables(const report_t *report, const comparison_set_list_t *sets);
void section_compute(const report_t *report, const comparison_set_t *set);
bool comparison_set_has_limit(const comparison_set_t *set); /* of ours or PyTorch's */
/* report/mlp_infer/techniques.c: what host techniques, polling and a constant batch buy. */
void finding_techniques(const report_t *report, const comparison_set_t *set);
void finding_polling(const report_t *report, const comparison_set_t *set);
void finding_batch_constant(const report_t *report, const comparison_set_t *set);
/* Is CUDA's fastest case at any batch one that polls? Then: its fastest that synchronises, as
 * PyTorch does, against PyTorch's. */
bool comparison_set_polls(const comparison_set_t *set);
speedup_t speedup_synchronising(const comparison_set_t *set, const size_row_t *row);
void section_techniques(const report_t *report, const comparison_set_t *set);
/* report/sections/environment.c, report/sections/device.c */
void section_environment(const report_t *report);
void section_device(const report_t *report);
/* report/sections/charts.c: charts of no workload by name; those of one. */
void section_charts(const report_t *report);
void section_charts_of(const report_t *report, const char *workload);
/* report/sections/cold.c */
void section_cold(const report_t *report);
/* report/sections/cases.c: of any workload. */
void section_cases(const report_t *report);
void section_once(const report_t *report, const char *workload);
void section_checks(const report_t *report, const char *workload);
void section_resources(const report_t *report, const char *workload);
/* report/sections/sanitize.c */
void section_sanitize(const report_t *report, const char *workload);
/* report/sections/flags.c, report/sections/warnings.c */
void section_flags(const report_t *report);
void section_warnings(const report_t *report);
/* report/sections/method.c */
void section_reproduce(const report_t *report);
void section_method(const report_t *report);

#endif

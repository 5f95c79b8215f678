/* The words of reports: names of sizes and of contenders, passes, and the one form of a comparison. */
#ifndef BENCH_REPORT_WORDS_H
#define BENCH_REPORT_WORDS_H

#include "report/page.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

/* "64", "5 M"; "batch 64", "5 M points"; "Batch", "Points". */
const char *size_cell(const report_t *report, int64_t size);
const char *size_name(const report_t *report, const comparison_set_t *set, int64_t size);
const char *size_heading(const report_t *report, const comparison_set_t *set);
/* "1, 64–256, 2^20": the rows of the set that are chosen; a dash joins adjacent ones. NULL: none. */
const char *sizes_text(const report_t *report, const comparison_set_t *set, const bool *chosen);
/* "batch 64", "3 sizes (64–256)": where a row fits; or NULL. */
const char *sizes_where(const report_t *report, const comparison_set_t *set, row_fits_t *fits);

/* ---- contenders ------------------------------------------------------------------------------ */

const char *who(const report_t *report, const case_result_t *result); /* "PyTorch" */
const char *who_and_name(const report_t *report, const case_result_t *result);
/* "PyTorch graph": as plain text, without techniques; "–" for NULL. */
const char *contender_text(const report_t *report, const case_result_t *result);
/* "cuda 03_vectorized, f16": engine, device, variant and precision. */
const char *key_cell(const report_t *report, const case_result_t *result);
/* Names of the rivals of several sets. */
void add_rivals(const report_t *report, text_list_t *names, const comparison_set_list_t *sets);
/* "4-5-1, f32, on the GPU" */
const char *set_name(const report_t *report, const comparison_set_t *set);

/* ---- comparisons ----------------------------------------------------------------------------- */

bool theirs_leads(
    const speedup_t *speedup); /* has the other side the lower time, decided or not? */
/* "3.4× (3.3–3.6)", "≈ 3.4×": the speed-up of the faster side, or if undecided of the side with the
 * lower times; with " ‡" if a side has two values. */
const char *lead_text(const report_t *report, const speedup_t *speedup);
/* "CUDA 3.4× (3.3–3.6)", "PyTorch ≈ 1.2×", "no difference, 1.00× (0.98–1.02)"; "" without a ratio. */
const char *faster_text(const report_t *report, const speedup_t *speedup, const char *ours,
                        const char *theirs);
bool has_headline(const size_row_t *row);
/* A rival leads; it is no difference. */
row_fits_t is_lost, is_even;
/* "faster at 25 of 29 sizes, slower at 3 (64–256), no difference at 1 (2^20)"; of few passes "lower time at …". */
const char *tally_text(const report_t *report, const comparison_set_t *set);

/* ---- comparison sets as a page uses them -------------------------------------------------------- */

/* Are the trainings of the set timed by operation? They are not comparable with the others. */
bool set_is_by_operation(const comparison_set_t *set);
/* Is a set left out of every headline: it differs from an earlier one only in the seed, or its
 * trainings are timed by operation? */
bool headline_omits(const comparison_set_list_t *sets, size_t index);
/* The row that findings show: at reference_size, else the largest that both sides have a time for,
 * else the largest. NULL for a set without rows. */
const size_row_t *set_reference(const comparison_set_t *set);
bool has_contender(const size_row_t *row); /* either side has a time */

/* The ratio of the fastest that wait for the device instead of polling; NULL: our fastest does not poll. */
const char *waiting_cell(const report_t *report, const comparison_set_t *set,
                         const size_row_t *row);

/* One comparison of a set: by its own phase, or by that of a whole sample. */
typedef struct view {
    const comparison_set_t *set;
    const char *name; /* "4-5-1, f32, on the GPU, `host_to_host`" */
} view_t;

typedef struct views {
    view_t *items; /* those and the sets of whole samples are the report's */
    size_t n;
} views_t;

/* Of all sets with times that no headline omits. Free their rows with views_free(). */
views_t views_of(const report_t *report, const comparison_set_list_t *sets);
void views_free(views_t *views);

/* ---- passes: of the cases with times, without calibration --------------------------------------- */

typedef struct passes {
    size_t fewest, most; /* 0, 0 if there are none */
    bool bimodal;        /* does a phase have two values? */
    bool busy;           /* did other programs take CPU time from a case? */
    bool quick;          /* measured with --quick */
    const char *devices; /* measured on these GPUs, "0,1 at once"; NULL: on one at a time */
    bool devices_differ; /* … in one of the runs, and on others or one at a time in another */
} passes_t;

passes_t passes_of(const record_t *run);
bool has_two_values(const case_result_t *result); /* in some phase */
passes_t passes_join(passes_t a, passes_t b);
bool passes_have_intervals(passes_t passes); /* in any case? */
/* "6 passes, on GPUs 0,1 at once" */
const char *passes_counted(const report_t *report, passes_t passes);
/* "6 passes; 95 % intervals are over passes. ‡: …": for below a table with ratios; "" without times. */
const char *passes_note(const report_t *report, passes_t passes);
/* A sentence on where passes ran, if not all on one GPU; else NULL. */
const char *machines_text(const report_t *report);

/* "9.6 µs in 61 % of the rounds, 17.0 µs in 39 %"; the caller frees it. */
char *bimodal_text(const bimodal_t *bimodal);

#endif

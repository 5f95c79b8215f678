/* Allocators by themselves: what one block given back and one taken cost, against PyTorch's and the
 * driver's. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

static const char PHASE[] = "total";

static const case_result_t *case_at(const comparison_set_t *set, int64_t size, owner_t owner,
                                    const char *variant) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (comparison_set_has(set, result, owner) && size_of_case(set, &result->spec) == size &&
            strcmp(result->spec.variant, variant) == 0)
            return result;
    }
    return NULL;
}

static void print_against(const report_t *report, const case_result_t *ours,
                          const case_result_t *theirs, const char *name) {
    const speedup_t speedup = speedup_make(ours, PHASE, theirs, PHASE);
    char time[UNITS_TEXT];
    if (speedup.verdict == VERDICT_NONE)
        return;
    fprintf(report->out, "; %s %s: ", name, units_time(time, speedup.theirs->summary.median));
    print_verdict(report->out, &speedup, "caching", name);
}

static void print_set(const report_t *report, const comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rows; i++) {
        const int64_t size = set->rows[i].size;
        const case_result_t *caching = case_at(set, size, OWNER_OURS, "caching");
        char text[UNITS_TEXT], time[UNITS_TEXT];
        if (caching == NULL || caching->status != CASE_OK)
            continue;
        fprintf(report->out,
                "- **%s block%s in use**, %s: one block given back and one taken take caching %s",
                size_text(text, set, size), size == 1 ? "" : "s", set->platform->place,
                units_time(time, result_median(caching, PHASE)));
        print_against(report, caching, case_at(set, size, OWNER_OURS, "async"), "cudaMallocAsync");
        print_against(report, caching, case_at(set, size, OWNER_PYTORCH, "caching"), "PyTorch's");
        print_against(report, caching, case_at(set, size, OWNER_OURS, "malloc"), "cudaMalloc");
        fputs(".\n", report->out);
    }
}

void block_findings(const report_t *report, const comparison_set_list_t *sets) {
    report_heading(report, 3, "allocate");
    for (size_t i = 0; i < sets->n; i++)
        print_set(report, &sets->items[i]);
    fputc('\n', report->out);
}

static void add_case(table_t *table, const comparison_set_t *set, const size_row_t *row,
                     const case_result_t *result) {
    char size[UNITS_TEXT], label[32], text[2 * UNITS_TEXT];
    const bool algorithmic = result_is_algorithmic(result);
    const case_result_t *pytorch = case_at(set, row->size, OWNER_PYTORCH, "caching");
    char *name = shown_name(result);
    table_add(table, size_text(size, set, row->size));
    table_add_format(table, "%s %s%s", case_engine_label(&result->spec, label), name,
                     algorithmic ? " *(algorithmic)*" : "");
    add_time(table, result, "allocate");
    add_time(table, result, "free");
    add_time(table, result, PHASE);
    const bool competes = result != pytorch && !algorithmic;
    const speedup_t speedup = speedup_make(competes ? result : NULL, PHASE, pytorch, PHASE);
    table_add(table, ratio_text(text, sizeof text, &speedup));
    free(name);
}

void block_tables(const report_t *report, const comparison_set_list_t *sets) {
    static const char *const HEADINGS[] = {"Live", "Allocator", "allocation",
                                           "free", "both",      "vs PyTorch's"};
    table_t table;
    table_init(&table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&table, "rlrrrr");
    for (size_t f = 0; f < sets->n; f++)
        for (size_t r = 0; r < sets->items[f].n_rows; r++)
            for (size_t i = 0; i < report->run->n_cases; i++) {
                const comparison_set_t *set = &sets->items[f];
                const case_result_t *result = &report->run->cases[i];
                if (size_of_case(set, &result->spec) == set->rows[r].size &&
                    (comparison_set_has(set, result, OWNER_OURS) ||
                     comparison_set_has(set, result, OWNER_PYTORCH)))
                    add_case(&table, set, &set->rows[r], result);
            }
    fputs("*Live*: blocks in use. Medians of giving back one of them, chosen at random, and taking "
          "another; the device is idle. *vs PyTorch's*: PyTorch's time over it, with a bootstrap "
          "95 % "
          "interval. *(algorithmic)*: planned from a first pass, it knows what will be asked for, "
          "and "
          "is in no comparison. Cases of the CPU have a driver that only counts addresses: their "
          "bookkeeping alone.\n\n",
          report->out);
    report_table(report, &table);
}

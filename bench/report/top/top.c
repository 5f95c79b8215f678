#include "report/top/top.h"

#include "report/rivals.h"
#include "report/sections/sections.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* " against PyTorch and JAX": the rivals of all workloads; "" without any. */
static const char *title_rivals(const report_t *report, const top_t *top) {
    comparison_set_list_t all = {0};
    for (size_t p = 0; p < top->n_parts; p++)
        for (size_t i = 0; i < top->parts[p].part->sets.n; i++) {
            mem_grow(&all.items, all.n, &all.capacity, sizeof *all.items);
            all.items[all.n++] = top->parts[p].part->sets.items[i]; /* borrowed */
        }
    const char *names = rivals_of_sets(report, &all);
    free(all.items);
    return names != NULL ? report_text(report, " against %s", names) : "";
}

/* A run without a workload has no page: what is known of it stands here. */
static void print_pageless(const report_t *report, const top_t *top) {
    report_t shown = *report;
    for (size_t r = 0; r < top->runs->n; r++) {
        if (top->runs->items[r].n_parts > 0)
            continue;
        shown.run = shown.whole = &top->runs->items[r].whole;
        section_environment(&shown);
        section_device(&shown);
        section_warnings(&shown);
    }
}

/* "2026-11-26", or "2026-11-26 to 2026-11-27" of the runs on the first machine. */
static const char *title_dates(const report_t *report, const top_t *top) {
    const shown_run_t *runs = top->runs->items;
    text_list_t dates = {0};
    for (size_t r = 0; r < top->runs->n; r++)
        if (strcmp(shown_machine(report, &runs[r].whole), shown_machine(report, &runs->whole)) == 0)
            text_list_add_new(&dates, shown_date(report, &runs[r].whole));
    text_list_sort(&dates);
    const char *first = report_text(report, "%s", dates.items[0]);
    const char *text =
        dates.n == 1 ? first : report_text(report, "%s to %s", first, dates.items[dates.n - 1]);
    text_list_free(&dates);
    return text;
}

void top_page(const report_t *report, const top_t *top) {
    const record_t *run = &top->runs->items[0].whole;
    print(report, REPORT_TITLE "%s: %s, %s\n\n", title_rivals(report, top),
          shown_machine(report, run), title_dates(report, top));
    top_leads(report, top);
    top_facts(report, top);
    top_table(report, top);
    report_heading(report, 2, "Where we do not win");
    top_losses(report, top);
    report_heading(report, 2, "Charts, commands, samples");
    top_charts(report, top);
    top_reproduce(report, top);
    section_workloads(report, top);
    print_pageless(report, top);
    section_method(report);
}

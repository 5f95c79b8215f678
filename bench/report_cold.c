/* First answers from a cold start: the cases of `bench run --cold`. */
#include "report_page.h"

#include "contender_name.h"
#include "ground/units.h"

#include <stdlib.h>

void section_cold(const page_t *page) {
    static const char *const HEADINGS[] = {"Case",         "first answer", "95 % interval",
                                           "of it: start", "of it: open",  "whole process",
                                           "samples"};
    table_t table;
    table_init(&table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&table, "lrrrrrr");
    for (size_t i = 0; i < page->whole->n_cases; i++) {
        const case_result_t *result = &page->whole->cases[i];
        if (!is_cold_start(result))
            continue;
        const phase_t *first = result_phase(result, "cold_first_answer");
        char low[UNITS_TEXT], high[UNITS_TEXT];
        char *id = markdown_code(result->spec.id);
        table_add(&table, id);
        free(id);
        add_time(&table, result, "cold_first_answer");
        table_add_format(&table, "%s – %s", units_time(low, first->summary.ci95[0]),
                         units_time(high, first->summary.ci95[1]));
        add_time(&table, result, "cold_start");
        add_time(&table, result, "cold_open");
        add_time(&table, result, "cold_total");
        table_add_format(&table, "%zu", first->summary.n);
    }
    if (table_rows(&table) == 0) {
        table_free(&table);
        return;
    }
    page_heading(page, 2, "First answer from a cold start");
    fputs("Every sample is a new process, on the host's clock from its start to its first output. "
          "These cases are in no other table and no chart.\n\n",
          page->out);
    page_table(page, &table);
}

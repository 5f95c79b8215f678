/* First answers from a cold start: the cases of `bench run --cold`. */
#include "report/page.h"

#include "analysis/labels.h"
#include "base/units.h"

#include <stdlib.h>

static bool any_without_times(const record_t *run) {
    for (size_t i = 0; i < run->n_cases; i++)
        if (is_cold_start(&run->cases[i]) && !result_has_times(&run->cases[i]))
            return true;
    return false;
}

/* A case without times says what became of it; its reason is the last column. */
static void add_row(table_t *table, const case_result_t *result) {
    const summary_t *first = &result_phase(result, "cold_first_answer")->summary;
    char low[UNITS_TEXT], high[UNITS_TEXT];
    bool timed = result_has_times(result);
    char *id = markdown_code(result->spec.id);
    table_add(table, id);
    free(id);
    add_time(table, result, "cold_first_answer");
    if (timed) {
        table_add_format(table, "%s – %s", units_time(low, first->ci95[0]),
                         units_time(high, first->ci95[1]));
        add_time(table, result, "cold_start");
        add_time(table, result, "cold_open");
        add_time(table, result, "cold_total");
        table_add_format(table, "%zu", first->n);
    } else {
        for (size_t i = 0; i < 5; i++)
            table_add(table, "–");
        char *reason = markdown_text(result->reason != NULL ? result->reason : "not recorded");
        table_add(table, reason);
        free(reason);
    }
    table_end_row(table);
}

void section_cold(const report_t *report) {
    static const char *const HEADINGS[] = {"Case",         "first answer", "95 % interval",
                                           "of it: start", "of it: open",  "whole process",
                                           "samples",      "reason"};
    const size_t n = sizeof HEADINGS / sizeof *HEADINGS;
    table_t table;
    table_init(&table, HEADINGS, any_without_times(report->whole) ? n : n - 1);
    table_set_align(&table, "lrrrrrr");
    for (size_t i = 0; i < report->whole->n_cases; i++)
        if (is_cold_start(&report->whole->cases[i]))
            add_row(&table, &report->whole->cases[i]);
    if (table_rows(&table) == 0) {
        table_free(&table);
        return;
    }
    report_heading(report, 2, "First answer from a cold start");
    fputs("Every sample is a new process, on the host's clock from its start to its first output. "
          "These cases are in no other table and no chart.\n\n",
          report->out);
    report_table(report, &table);
}

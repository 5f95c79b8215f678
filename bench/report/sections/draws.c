/* What a tuning compiler chose in each draw. */
#include "report/sections/sections.h"

#include "analysis/labels.h"
#include "base/memory.h"
#include "base/units.h"
#include "report/columns.h"

#include <math.h>
#include <stdlib.h>

/* "655 µs, **1.20 ms**, 4.20 ms": the draw that the passes run is bold. */
static const char *times_cell(const report_t *report, const case_result_t *result) {
    text_list_t times = {0};
    for (size_t i = 0; i < result->n_draws; i++) {
        char time[UNITS_TEXT];
        const char *bold = i + 1 == result->draw ? "**" : "";
        text_list_add_format(&times, "%s%s%s", bold, units_time(time, result->draws[i].median_ns),
                             bold);
    }
    const char *cell = report_keep(report, text_list_join(&times, ", "));
    text_list_free(&times);
    return cell;
}

static const char *spread_cell(const report_t *report, const case_result_t *result) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < result->n_draws; i++) {
        least = fmin(least, result->draws[i].median_ns);
        most = fmax(most, result->draws[i].median_ns);
    }
    return report_text(report, "%.2f×", most / least);
}

static const char *compile_cell(const report_t *report, const case_result_t *result) {
    double longest_ns = NAN;
    for (size_t i = 0; i < result->n_draws; i++)
        longest_ns = fmax(longest_ns, result->draws[i].compile_ns);
    return units_time(report_buffer(report), longest_ns);
}

void section_draws(const report_t *report) {
    static const column_t COLUMNS[] = {{.heading = "case", .align = 'l'},
                                       {.heading = "host to host, by compilation", .align = 'r'},
                                       {.heading = "slowest / fastest", .align = 'r'},
                                       {.heading = "longest compilation", .align = 'r'}};
    columns_t table = columns_begin(report, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    const case_result_t *result = NULL;
    while ((result = record_next(report->run, result)) != NULL)
        if (result->n_draws > 0 && result_has_times(result))
            columns_row(&table, (const char *const[]){report_code(report, result->spec.id),
                                                      times_cell(report, result),
                                                      spread_cell(report, result),
                                                      compile_cell(report, result)});
    columns_end_under(
        &table, 3, "Compilations",
        "A compiler that tunes chooses by timing, so its code differs from one "
        "compilation to the next. Each of these cases was compiled several times, "
        "in a new process without earlier choices; all passes load the fastest (bold). "
        "This spread is no part of any interval.\n\n");
}

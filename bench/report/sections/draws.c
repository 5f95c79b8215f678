/* What a tuning compiler chose in each draw. */
#include "report/sections/sections.h"

#include "analysis/speedup.h"
#include "base/memory.h"
#include "base/units.h"
#include "report/columns.h"

#include <math.h>
#include <stdlib.h>

/* "655 µs, **1.20 ms**, 4.20 ms": the draw that the passes run is bold. */
static const char *times_cell(const report_t *report, const case_result_t *result,
                              const char *phase) {
    text_list_t times = {0};
    for (size_t i = 0; i < result->n_draws; i++) {
        char time[UNITS_TEXT];
        const char *bold = i + 1 == result->draw ? "**" : "";
        text_list_add_format(&times, "%s%s%s", bold,
                             units_time(time, draw_median(&result->draws[i], phase)), bold);
    }
    const char *cell = report_keep(report, text_list_join(&times, ", "));
    text_list_free(&times);
    return cell;
}

static double fastest_of(const case_result_t *result, const char *phase) {
    double least = INFINITY;
    for (size_t i = 0; i < result->n_draws; i++)
        least = fmin(least, draw_median(&result->draws[i], phase));
    return least;
}

static const char *spread_cell(const report_t *report, const case_result_t *result,
                               const char *phase) {
    double most = 0;
    for (size_t i = 0; i < result->n_draws; i++)
        most = fmax(most, draw_median(&result->draws[i], phase));
    return most > 0 ? report_text(report, "%.2f×", most / fastest_of(result, phase)) : "–";
}

static const char *compile_cell(const report_t *report, const case_result_t *result) {
    double longest_ns = NAN;
    for (size_t i = 0; i < result->n_draws; i++)
        longest_ns = fmax(longest_ns, result->draws[i].compile_ns);
    return units_time(report_buffer(report), longest_ns);
}

/* "868 µs", and whether that code was faster in the process that compiled it. */
static const char *passes_cell(const report_t *report, const case_result_t *result,
                               const phase_t *phase) {
    const char *time = units_time(report_buffer(report), phase->summary.median);
    return isfinite(speedup_unreached_draw(result, phase)) ? report_text(report, "%s, slower", time)
                                                           : time;
}

/* Did the run choose by another phase? */
static bool is_not_fastest(const case_result_t *result, const char *phase) {
    return result->draw > 0 && result->draw <= result->n_draws &&
           draw_median(&result->draws[result->draw - 1], phase) > fastest_of(result, phase);
}

void section_draws(const report_t *report) {
    static const column_t COLUMNS[] = {{.heading = "case", .align = 'l'},
                                       {.heading = "phase", .align = 'l'},
                                       {.heading = "median, by compilation", .align = 'r'},
                                       {.heading = "of the passes", .align = 'r'},
                                       {.heading = "slowest / fastest", .align = 'r'},
                                       {.heading = "longest compilation", .align = 'r'}};
    columns_t table = columns_begin(report, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    bool any_not_fastest = false, any_unreached = false;
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const phase_t *phase = result_has_times(result) ? compared_phase(result) : NULL;
        if (result->n_draws == 0 || phase == NULL)
            continue;
        any_not_fastest = any_not_fastest || is_not_fastest(result, phase->name);
        any_unreached = any_unreached || isfinite(speedup_unreached_draw(result, phase));
        columns_row(&table, (const char *const[]){report_code(report, result->spec.id), phase->name,
                                                  times_cell(report, result, phase->name),
                                                  passes_cell(report, result, phase),
                                                  spread_cell(report, result, phase->name),
                                                  compile_cell(report, result)});
    }
    columns_end_under(
        &table, 3, "Compilations",
        report_text(report,
                    "A compiler that tunes chooses by timing, so its code differs from one "
                    "compilation to the next. Each of these cases was compiled several times, "
                    "in a new process without earlier choices; all passes load %s. This spread is "
                    "no part of any interval.%s\n\n",
                    any_not_fastest ? "the one in bold, which this run did not choose by the phase "
                                      "compared"
                                    : "the fastest (bold)",
                    any_unreached ? " *Slower*: all passes took longer than the process that "
                                    "compiled the code they load, by more than they differ; the "
                                    "interval of a ratio covers that time, too."
                                  : ""));
}

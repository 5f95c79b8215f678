#include "report/columns.h"

#include "base/units.h"

#include <math.h>

enum { MOST_COLUMNS = 24 };

columns_t columns_begin(const report_t *report, const column_t *columns, size_t n_columns) {
    columns_t started = {.report = report, .columns = columns, .n_columns = n_columns};
    const char *headings[MOST_COLUMNS];
    char align[MOST_COLUMNS + 1] = "";
    size_t n = 0;
    for (size_t c = 0; c < n_columns && n < MOST_COLUMNS; c++)
        if (!columns[c].hidden) {
            headings[n] = columns[c].heading;
            align[n++] = columns[c].align;
        }
    table_init(&started.table, headings, n);
    table_set_align(&started.table, align);
    return started;
}

void columns_row(columns_t *columns, const char *const *cells) {
    for (size_t c = 0; c < columns->n_columns; c++)
        if (!columns->columns[c].hidden)
            table_add(&columns->table, cells[c]);
}

void columns_end(columns_t *columns, const char *intro) {
    if (table_rows(&columns->table) > 0) {
        print(columns->report, "%s", intro);
        report_table(columns->report, &columns->table);
    } else {
        table_free(&columns->table);
    }
}

const char *time_cell(const report_t *report, const case_result_t *result, const char *phase) {
    if (result != NULL && !result_has_times(result))
        return case_status_name(result->status);
    return report_text(
        report, "%s%s",
        units_time(report_buffer(report), result != NULL ? result_median(result, phase) : NAN),
        result != NULL && result->status == CASE_THROTTLED ? " †" : "");
}

const char *ratio_cell(const report_t *report, const speedup_t *speedup) {
    const stats_ratio_t *ratio = &speedup->ratio;
    return report_text(report, "%s%s",
                       units_ratio(report_buffer(report), ratio->ratio, ratio->low, ratio->high),
                       speedup->verdict == VERDICT_UNDECIDED ? " (no interval)" : "");
}

const char *name_cell(const report_t *report, const case_result_t *result) {
    return result != NULL ? report_keep(report, shown_name(result)) : "–";
}

const char *key_cell(const report_t *report, const case_result_t *result) {
    return result != NULL ? report_safe(report, report_keep(report, contender_key(&result->spec)))
                          : "–";
}

const char *share_cell(const report_t *report, double frac) {
    return part_text(report_buffer(report), frac);
}

const char *limit_cell(const report_t *report, const case_result_t *result) {
    bool known = result != NULL && result_has_times(result);
    return units_percent(report_buffer(report), known ? result->limit.frac : NAN);
}

const char *count_cell(const report_t *report, double count) {
    return isfinite(count) ? report_text(report, "%.0f", count) : "–";
}

const char *size_cell(const report_t *report, const comparison_set_t *set, int64_t size) {
    return size_text(report_buffer(report), set, size);
}

const char *size_name(const report_t *report, const comparison_set_t *set, int64_t size) {
    return named_size(report_buffer(report), set, size);
}

const char *size_title(const report_t *report, const comparison_set_t *set) {
    return size_heading(report_buffer(report), set);
}

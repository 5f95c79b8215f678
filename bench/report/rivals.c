#include "report/rivals.h"

#include <string.h>

const char *who(const report_t *report, const case_result_t *result) {
    return report_safe(report, engine_name(result->spec.engine));
}

const char *who_and_name(const report_t *report, const case_result_t *result) {
    return report_text(report, "%s %s", who(report, result), name_cell(report, result));
}

static const char *name_of(const report_t *report, const comparison_set_t *set, size_t rival) {
    return report_safe(report, engine_name(set->rivals[rival]));
}

const char *their_name(const report_t *report, const comparison_set_t *set) {
    return set->n_rivals == 1 ? name_of(report, set, 0) : "the strongest rival";
}

const char *their_case(const report_t *report, const comparison_set_t *set,
                       const case_result_t *theirs) {
    return set->n_rivals == 1 ? name_cell(report, theirs) : who_and_name(report, theirs);
}

const char *their_best(const report_t *report, const comparison_set_t *set) {
    return set->n_rivals == 1 ? report_text(report, "%s's fastest mode", name_of(report, set, 0))
                              : "the strongest rival";
}

const char *rivals_of_sets(const report_t *report, const comparison_set_list_t *sets) {
    text_list_t names = {0};
    for (size_t s = 0; s < sets->n; s++)
        for (size_t i = 0; i < sets->items[s].n_rivals; i++)
            text_list_add_new(&names, name_of(report, &sets->items[s], i));
    const char *text = NULL;
    for (size_t i = 0; i < names.n; i++)
        text = i == 0 ? report_text(report, "%s", names.items[i])
                      : report_text(report, i + 1 < names.n ? "%s, %s" : "%s and %s", text,
                                    names.items[i]);
    text_list_free(&names);
    return text;
}

size_t rival_columns(const report_t *report, const comparison_set_t *set, column_t *columns) {
    size_t n = 0;
    for (size_t i = 0; i < set->n_rivals; i++) {
        const char *name = name_of(report, set, i);
        columns[n++] = (column_t){report_text(report, "%s best", name), 'r', false};
        columns[n++] = (column_t){"Mode", 'l', false};
        columns[n++] = (column_t){report_text(report, "vs %s", name), 'r', false};
    }
    return n;
}

size_t rival_cells(const report_t *report, const comparison_set_t *set, const size_row_t *row,
                   const char **cells) {
    size_t n = 0;
    for (size_t i = 0; i < set->n_rivals; i++) {
        const rival_t *rival = &row->rivals[i];
        const bool bold =
            set->n_rivals > 1 && rival->fastest != NULL && rival->fastest == row->strongest;
        n += standing_cells(report, &rival->standing, set->phase, &cells[n]);
        if (bold)
            cells[n - 2] = report_text(report, "**%s**", cells[n - 2]);
        cells[n++] = ratio_cell(report, &rival->speedup);
    }
    return n;
}

const char *rival_columns_meaning(const report_t *report, const comparison_set_t *set) {
    text_list_t names = {0};
    for (size_t i = 0; i < set->n_rivals; i++)
        text_list_add_format(&names, "*vs %s*", name_of(report, set, i));
    if (names.n == 0)
        return "";
    const char *list = report_join(report, &names, ", ");
    return report_text(report, " %s: the rival's median over ours%s.%s", list,
                       ratio_meaning(report, set->platform->name),
                       set->n_rivals > 1 ? " Bold: the strongest rival of a row." : "");
}

/* A comparison as JSON: docs/compare.md lists the keys. */
#include "comparison.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text(const char *value) {
    if (value == NULL)
        return json_null();
    char *valid = text_utf8(value);
    json_t *json = json_string_nocheck(valid);
    free(valid);
    return json;
}

static json_t *texts(const text_list_t *list) {
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(array, text(list->items[i]));
    return array;
}

static json_t *cell_to_json(const cell_t *cell) {
    const gate_cell_t *gate = &cell->gate;
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:[o, o], s:o, s:o, s:o, s:o}", "phase",
                     text(cell->base->name), "verdict", gate_verdict_name(gate->verdict), "base_ns",
                     number(cell->base->summary.median), "candidate_ns",
                     number(cell->candidate->summary.median), "ratio",
                     number(exp(gate->change.log_ratio)), "ci95", number(gate->low),
                     number(gate->high), "threshold_frac", number(gate->threshold_frac),
                     "floor_frac", gate->floor_frac > 0 ? number(gate->floor_frac) : json_null(),
                     "p_slower", number(gate->p_slower), "p_faster", number(gate->p_faster));
}

static json_t *pair_to_json(const pair_t *pair) {
    json_t *cells = json_array();
    for (size_t i = 0; i < pair->n_cells; i++)
        json_array_append_new(cells, cell_to_json(&pair->cells[i]));
    return json_pack("{s:o, s:s, s:o, s:o, s:o}", "id", text(pair->id), "verdict",
                     pair_verdict_name(pair->verdict), "reason", text(pair->reason), "cause",
                     text(pair->cause), "cells", cells);
}

void compare_print_json(const comparison_t *comparison, FILE *out) {
    json_t *cases = json_array(), *counts = json_object();
    for (size_t i = 0; i < comparison->n_pairs; i++)
        json_array_append_new(cases, pair_to_json(&comparison->pairs[i]));
    for (size_t v = 0; v < PAIR_VERDICTS; v++)
        json_object_set_new(counts, pair_verdict_name((pair_verdict_t)v),
                            json_integer((json_int_t)comparison->counts[v]));
    char *headline = comparison_headline(comparison);
    json_t *json = json_pack(
        "{s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:b, s:I, s:I, s:o, s:o, s:o}", "schema", 1, "base",
        text(comparison->base->folder), "candidate", text(comparison->candidate->folder),
        "headline", headline, "counts", counts, "threshold_frac",
        number(comparison->threshold_frac), "alarm_rate_frac", number(GATE_ALARM_RATE), "paired",
        comparison->paired, "n_cells", (json_int_t)comparison->n_cells, "n_floor_runs",
        (json_int_t)comparison->n_floor_runs, "allowed", texts(&comparison->allowed), "changes",
        texts(&comparison->changes), "cases", cases);
    json_dumpf(json, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(json);
    free(headline);
}

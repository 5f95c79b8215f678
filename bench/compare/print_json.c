/* A comparison as JSON: docs/compare.md lists the keys. */
#include "compare/comparison.h"

#include "io/json.h"

#include <jansson.h>
#include <math.h>

static json_t *cell_to_json(const cell_t *cell) {
    const gate_cell_t *gate = &cell->gate;
    return json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:[o, o], s:o, s:o, s:o, s:o, s:o, s:o}", "phase",
        json_text(cell->base->name), "verdict", gate_verdict_name(gate->verdict), "base_ns",
        json_finite(cell->base->summary.median), "candidate_ns",
        json_finite(cell->candidate->summary.median), "ratio",
        json_finite(exp(gate->change.log_ratio)), "ci95", json_finite(gate->low),
        json_finite(gate->high), "threshold_frac", json_finite(gate->threshold_frac), "floor_frac",
        gate->floor_frac > 0 ? json_finite(gate->floor_frac) : json_null(), "p_slower",
        json_finite(gate->p_slower), "p_faster", json_finite(gate->p_faster), "detectable_frac",
        json_finite(cell->detectable_frac), "more_passes", json_finite(cell->more_passes));
}

static json_t *group_to_json(const cell_group_t *group) {
    const sweep_group_t *test = &group->test;
    return json_pack("{s:o, s:o, s:s, s:o, s:[o, o], s:o, s:o, s:o, s:I, s:I, s:o, s:o}", "engine",
                     json_text(group->engine), "phase", json_text(group->phase), "verdict",
                     gate_verdict_name(test->verdict), "ratio", json_finite(exp(test->log_ratio)),
                     "ci95", json_finite(test->low), json_finite(test->high), "threshold_frac",
                     json_finite(test->threshold_frac), "p_slower", json_finite(test->p_slower),
                     "p_faster", json_finite(test->p_faster), "n_cells", (json_int_t)test->n_cells,
                     "n_moved", (json_int_t)test->n_moved, "detectable_frac",
                     json_finite(test->detectable_frac), "cell_detectable_frac",
                     json_finite(test->cell_detectable_frac));
}

static json_t *pair_to_json(const pair_t *pair) {
    json_t *cells = json_array();
    for (size_t i = 0; i < pair->n_cells; i++)
        json_array_append_new(cells, cell_to_json(&pair->cells[i]));
    return json_pack("{s:o, s:s, s:o, s:o, s:o}", "id", json_text(pair->id), "verdict",
                     pair_verdict_name(pair->verdict), "reason", json_text(pair->reason), "cause",
                     json_text(pair->cause), "cells", cells);
}

void compare_print_json(const comparison_t *comparison, FILE *out) {
    json_t *cases = json_array(), *groups = json_array(), *counts = json_object();
    for (size_t i = 0; i < comparison->n_groups; i++)
        json_array_append_new(groups, group_to_json(&comparison->groups[i]));
    for (size_t i = 0; i < comparison->n_pairs; i++)
        json_array_append_new(cases, pair_to_json(&comparison->pairs[i]));
    for (size_t v = 0; v < PAIR_VERDICTS; v++)
        json_object_set_new(counts, pair_verdict_name((pair_verdict_t)v),
                            json_integer((json_int_t)comparison->counts[v]));
    char *headline = comparison_headline(comparison);
    json_t *json =
        json_pack("{s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:b, s:[I, I], s:I, s:I, s:o, s:o, s:o, "
                  "s:o}",
                  "schema", 1, "base", json_text(comparison->base->folder), "candidate",
                  json_text(comparison->candidate->folder), "headline", headline, "counts", counts,
                  "threshold_frac", json_finite(comparison->threshold_frac), "alarm_rate_frac",
                  json_finite(GATE_ALARM_RATE), "paired", comparison->paired, "passes",
                  (json_int_t)comparison->n_passes[0], (json_int_t)comparison->n_passes[1],
                  "n_cells", (json_int_t)comparison->n_cells, "n_floor_runs",
                  (json_int_t)comparison->n_floor_runs, "allowed", json_texts(&comparison->allowed),
                  "changes", json_texts(&comparison->changes), "groups", groups, "cases", cases);
    json_print(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
    free(headline);
}

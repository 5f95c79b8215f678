/* The cells of a comparison as a sweep, which is decided as a whole. See comparison.h. */
#include "compare/comparison.h"

#include "analysis/contenders.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_ours_on_gpu(const case_t *spec) {
    return !engine_is_rival(spec->engine) && strcmp(spec->device, "cuda") == 0;
}

/* The index of the group of an engine's phase, which is added if it is new. */
static size_t group_of(comparison_t *comparison, const floors_t *floors, const case_t *spec,
                       const char *phase) {
    char label[32];
    const char *engine = case_engine_label(spec, label);
    size_t g = 0;
    while (g < comparison->n_groups && (strcmp(comparison->groups[g].engine, engine) != 0 ||
                                        strcmp(comparison->groups[g].phase, phase) != 0))
        g++;
    if (g == comparison->n_groups) {
        mem_grow(&comparison->groups, g, &comparison->groups_capacity, sizeof *comparison->groups);
        comparison->groups[comparison->n_groups++] = (cell_group_t){
            .engine = arena_format(&comparison->texts, "%s", engine),
            .phase = phase,
            .test = {.spread = is_ours_on_gpu(spec) ? SWEEP_SPREAD_OURS : SWEEP_SPREAD_OTHERS,
                     .floor_frac = floors_of_group(floors, engine, phase)}};
    }
    return g;
}

/* The phase's times by each program that a compiler made, as parts of the one that was timed. */
static void find_choices(const case_result_t *result, const phase_t *phase, double choices[2]) {
    for (size_t d = 0; d < result->n_draws; d++)
        for (size_t m = 0; m < result->draws[d].n_medians; m++) {
            const named_ns_t *median = &result->draws[d].medians[m];
            const double part = log(median->ns / phase->summary.median);
            if (strcmp(median->name, phase->name) != 0 || !isfinite(part))
                continue;
            choices[0] = fmin(choices[0], part);
            choices[1] = fmax(choices[1], part);
        }
}

static stats_change_t change_of(const sweep_cell_t *cell, bool paired) {
    return paired ? stats_change_paired(cell->sides[0], cell->sides[1])
                  : stats_change(cell->sides[0], cell->sides[1]);
}

/* In the order of the pairs. */
static void open_cells(comparison_t *comparison, const floors_t *floors, sweep_cell_t *cells) {
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++)
        for (size_t c = 0; c < comparison->pairs[i].n_cells; c++) {
            const pair_t *pair = &comparison->pairs[i];
            const cell_t *cell = &pair->cells[c];
            sweep_cell_t *own = &cells[n++];
            own->group = group_of(comparison, floors, &pair->base->spec, cell->base->name);
            own->gate.floor_frac = floors_of(floors, pair->id, cell->base->name);
            find_choices(pair->base, cell->base, own->choices[0]);
            find_choices(pair->candidate, cell->candidate, own->choices[1]);
        }
}

static void measure_cells(const comparison_t *comparison, stats_side_t *sides,
                          sweep_cell_t *cells) {
    const phase_t **phases = mem_alloc((2 * comparison->n_cells + 1) * sizeof *phases);
    for (size_t i = 0, n = 0; i < comparison->n_pairs; i++)
        for (size_t c = 0; c < comparison->pairs[i].n_cells; c++) {
            phases[n++] = comparison->pairs[i].cells[c].base;
            phases[n++] = comparison->pairs[i].cells[c].candidate;
        }
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t i = 0; i < comparison->n_cells; i++) {
        for (size_t k = 0; k < 2; k++) {
            sides[2 * i + k] = phase_side(phases[2 * i + k]);
            cells[i].sides[k] = &sides[2 * i + k];
        }
        cells[i].gate.change = change_of(&cells[i], comparison->paired);
    }
    free(phases);
}

static void keep_decisions(comparison_t *comparison, const tested_sweep_t *sweep) {
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++)
        for (size_t c = 0; c < comparison->pairs[i].n_cells; c++) {
            cell_t *cell = &comparison->pairs[i].cells[c];
            cell->gate = sweep->cells[n].gate;
            cell->detectable_frac = sweep->cells[n].detectable_frac;
            cell->more_passes = sweep->cells[n++].more_passes;
        }
    for (size_t g = 0; g < sweep->n_groups; g++)
        comparison->groups[g].test = sweep->groups[g];
}

void comparison_decide(comparison_t *comparison, const floors_t *floors) {
    comparison->n_cells = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++)
        comparison->n_cells += comparison->pairs[i].n_cells;
    sweep_cell_t *cells = mem_zeroed(comparison->n_cells + 1, sizeof *cells);
    stats_side_t *sides = mem_zeroed(2 * comparison->n_cells + 1, sizeof *sides);
    open_cells(comparison, floors, cells);
    measure_cells(comparison, sides, cells);
    sweep_group_t *groups = mem_zeroed(comparison->n_groups + 1, sizeof *groups);
    for (size_t g = 0; g < comparison->n_groups; g++)
        groups[g] = comparison->groups[g].test;
    tested_sweep_t sweep = {.cells = cells,
                            .n_cells = comparison->n_cells,
                            .groups = groups,
                            .n_groups = comparison->n_groups,
                            .threshold_frac = comparison->threshold_frac,
                            .alarm_rate_frac = GATE_ALARM_RATE,
                            .paired = comparison->paired};
    sweep_decide(&sweep);
    keep_decisions(comparison, &sweep);
    free(groups);
    free(sides);
    free(cells);
}

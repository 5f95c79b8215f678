#include "fleet/deviation.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

deviation_t deviation_make(size_t n_machines) {
    return (deviation_t){.sides = mem_zeroed(n_machines + 1, sizeof(stats_side_t)),
                         .gates = mem_zeroed(n_machines + 1, sizeof(gate_cell_t))};
}

void deviation_free(deviation_t *deviation) {
    free(deviation->sides);
    free(deviation->gates);
    *deviation = (deviation_t){0};
}

/* ---- against the median machine -------------------------------------------------------------- */

static double log_centre_of(const stats_side_t *side) {
    return log(stats_interval_of(side->units, side->n).centre);
}

/* The faster of the two in the middle if their number is even, so that of four machines two slow
 * ones are found. */
static void find_reference(deviation_t *deviation, size_t n_machines) {
    double *logs = mem_alloc((2 * n_machines + 1) * sizeof *logs), *sorted = logs + n_machines;
    size_t n = 0;
    for (size_t m = 0; m < n_machines; m++) {
        logs[m] = log_centre_of(&deviation->sides[m]);
        if (isfinite(logs[m]))
            sorted[n++] = logs[m];
    }
    stats_sort(sorted, n);
    for (size_t m = 0; n >= FLEET_FEWEST && m < n_machines; m++)
        if (logs[m] == sorted[(n - 1) / 2])
            deviation->reference = m;
    deviation->log_centre = n >= FLEET_FEWEST ? logs[deviation->reference] : (double)NAN;
    free(logs);
}

static void compare_machines(deviation_t *deviation, size_t n_machines) {
    find_reference(deviation, n_machines);
    const stats_side_t *base = &deviation->sides[deviation->reference];
    for (size_t m = 0; m < n_machines; m++) {
        gate_cell_t *gate = &deviation->gates[m];
        *gate = (gate_cell_t){.change = {.log_ratio = NAN}, .verdict = GATE_UNDECIDED};
        gate->low = gate->high = NAN;
        if (isfinite(deviation->log_centre) && deviation->sides[m].n > 0)
            gate->change = stats_change(base, &deviation->sides[m]);
    }
}

bool deviation_is_known(const deviation_t *deviation, size_t machine) {
    return !isnan(deviation->gates[machine].change.log_ratio);
}

bool deviation_is_outlier(const deviation_t *deviation, size_t machine) {
    const gate_verdict_t verdict = deviation->gates[machine].verdict;
    return verdict == GATE_REGRESSED || verdict == GATE_IMPROVED;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Two values have no median that another run would repeat. */
static bool is_usable(const stats_side_t *side, bool of_passes) {
    return side->n > 0 && side->are_passes == of_passes && !side->bimodal.found;
}

static bool has_passes(const fleet_evidence_t *fleet, size_t group, size_t machine) {
    for (size_t c = 0; c < fleet->n_cells; c++)
        if (fleet->cells[c].group == group && is_usable(&fleet->cells[c].of.sides[machine], true) &&
            deviation_is_known(&fleet->cells[c].of, machine))
            return true;
    return false;
}

/* The median of the cells' deviations in a pass. Without passes, of the centres. */
static stats_pass_t unit_of(const fleet_evidence_t *fleet, size_t group, size_t machine,
                            size_t pass, bool of_passes) {
    static const double PI_HALF = 1.57079632679489661923; /* a median's variance over a mean's */
    double *logs = mem_alloc((fleet->n_cells + 1) * sizeof *logs);
    stats_pass_t unit = {.log_value = NAN};
    size_t n = 0;
    for (size_t c = 0; c < fleet->n_cells; c++) {
        const deviation_t *of = &fleet->cells[c].of;
        const stats_side_t *side = &of->sides[machine];
        if (fleet->cells[c].group != group || !deviation_is_known(of, machine) ||
            !is_usable(side, of_passes) || pass >= side->n)
            continue;
        const double value = of_passes ? side->units[pass].log_value : log_centre_of(side);
        if (!isfinite(value))
            continue;
        logs[n++] = value - of->log_centre;
        unit.variance_log += side->units[pass].variance_log;
        unit.shared = fmax(unit.shared, side->units[pass].shared);
    }
    if (n > 0) {
        unit.log_value = stats_median(logs, n);
        unit.variance_log *= PI_HALF / ((double)n * (double)n);
    }
    free(logs);
    return unit;
}

/* Cells share their process and their minute, so a pass is one unit for all of them. */
static void make_side(fleet_evidence_t *fleet, size_t group, size_t machine) {
    stats_side_t *side = &fleet->groups[group].of.sides[machine];
    *side = (stats_side_t){.are_passes = has_passes(fleet, group, machine)};
    const size_t most = side->are_passes ? STATS_MOST_PASSES : 1;
    for (size_t pass = 0; pass < most; pass++) {
        const stats_pass_t unit = unit_of(fleet, group, machine, pass, side->are_passes);
        if (isfinite(unit.log_value))
            side->units[side->n++] = unit;
    }
}

/* ---- deciding -------------------------------------------------------------------------------- */

typedef struct gates {
    gate_cell_t **items;
    size_t n, capacity;
} gates_t;

static void add_gates(gates_t *gates, deviation_t *deviation, size_t n_machines) {
    for (size_t m = 0; m < n_machines; m++)
        if (deviation_is_known(deviation, m)) {
            mem_grow(&gates->items, gates->n, &gates->capacity, sizeof *gates->items);
            gates->items[gates->n++] = &deviation->gates[m];
        }
}

/* Frees the list. */
static void decide(gates_t *gates, const gate_options_t *options) {
    gate_cell_t *cells = mem_zeroed(gates->n + 1, sizeof *cells);
    for (size_t i = 0; i < gates->n; i++)
        cells[i] = *gates->items[i];
    gate_decide(cells, gates->n, options);
    for (size_t i = 0; i < gates->n; i++)
        *gates->items[i] = cells[i];
    free(cells);
    free(gates->items);
}

/* Cells and groups, each of the device's clock and of the host's, are four families, which share the
 * alarm rate: restless processes on the host cannot hide a slow memory. */
static void decide_clock(fleet_evidence_t *fleet, clock_domain_t clock, double threshold_frac) {
    const gate_options_t options = {threshold_frac, GATE_ALARM_RATE / 4};
    gates_t cells = {0}, groups = {0};
    for (size_t c = 0; c < fleet->n_cells; c++)
        if (fleet->groups[fleet->cells[c].group].clock == clock)
            add_gates(&cells, &fleet->cells[c].of, fleet->n_machines);
    for (size_t g = 0; g < fleet->n_groups; g++)
        if (fleet->groups[g].clock == clock)
            add_gates(&groups, &fleet->groups[g].of, fleet->n_machines);
    decide(&cells, &options);
    decide(&groups, &options);
}

void fleet_decide(fleet_evidence_t *fleet, double threshold_frac) {
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t c = 0; c < fleet->n_cells; c++)
        compare_machines(&fleet->cells[c].of, fleet->n_machines);
#pragma omp parallel for schedule(dynamic)
    for (size_t g = 0; g < fleet->n_groups; g++) {
        for (size_t m = 0; m < fleet->n_machines; m++)
            make_side(fleet, g, m);
        compare_machines(&fleet->groups[g].of, fleet->n_machines);
    }
    decide_clock(fleet, CLOCK_DEVICE, threshold_frac);
    decide_clock(fleet, CLOCK_HOST, threshold_frac);
}

size_t fleet_beyond(const fleet_evidence_t *fleet, size_t group, size_t machine) {
    const gate_cell_t *of_group = &fleet->groups[group].of.gates[machine];
    const double sign = of_group->change.log_ratio < 0 ? -1 : 1;
    size_t n = 0;
    for (size_t c = 0; c < fleet->n_cells; c++)
        n += fleet->cells[c].group == group &&
             sign * fleet->cells[c].of.gates[machine].change.log_ratio >
                 log1p(of_group->threshold_frac);
    return n;
}

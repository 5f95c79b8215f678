#include "compare/decision.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

const char *gate_verdict_name(gate_verdict_t verdict) {
    static const char *const NAMES[] = {"unchanged", "regressed", "improved", "undecided"};
    return NAMES[verdict];
}

static gate_verdict_t verdict_of(const gate_cell_t *cell, const gate_options_t *options) {
    if (cell->p_slower <= options->alarm_rate_frac)
        return GATE_REGRESSED;
    if (cell->p_faster <= options->alarm_rate_frac)
        return GATE_IMPROVED;
    double most = 1 + cell->threshold_frac;
    return cell->low >= 1 / most && cell->high <= most ? GATE_UNCHANGED : GATE_UNDECIDED;
}

void gate_decide(gate_cell_t *cells, size_t n, const gate_options_t *options) {
    double *slower = mem_alloc((n + 1) * sizeof *slower);
    double *faster = mem_alloc((n + 1) * sizeof *faster);
    for (size_t i = 0; i < n; i++) {
        gate_cell_t *cell = &cells[i];
        cell->threshold_frac = fmax(options->threshold_frac, cell->floor_frac);
        stats_change_interval(&cell->change, &cell->low, &cell->high);
        slower[i] = stats_change_above(&cell->change, 1 + cell->threshold_frac);
        faster[i] = stats_change_below(&cell->change, 1 / (1 + cell->threshold_frac));
    }
    double *adjusted = mem_alloc((n + 1) * sizeof *adjusted);
    stats_holm(slower, n, adjusted);
    for (size_t i = 0; i < n; i++)
        cells[i].p_slower = adjusted[i];
    stats_holm(faster, n, adjusted);
    for (size_t i = 0; i < n; i++) {
        cells[i].p_faster = adjusted[i];
        cells[i].verdict = verdict_of(&cells[i], options);
    }
    free(adjusted);
    free(faster);
    free(slower);
}

double gate_floor_of_runs(const stats_location_t *runs, size_t n_runs) {
    double most = 0;
    for (size_t a = 0; a < n_runs; a++)
        for (size_t b = a + 1; b < n_runs; b++) {
            double low, high;
            stats_change_t change = stats_change(&runs[a], &runs[b]);
            stats_change_interval(&change, &low, &high);
            if (!isnan(low))
                most = fmax(most, fmax(high, 1 / low) - 1);
        }
    return most;
}

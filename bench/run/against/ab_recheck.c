/* `bench run --against`: re-measure undecided cases until they are decided or time is up. */
#include "run/against/ab_recheck.h"

#include "base/clock.h"
#include "base/memory.h"
#include "run/against/ab.h"

#include <stdlib.h>

static size_t passes_of(const pair_t *pair) {
    size_t most = 0;
    for (size_t i = 0; i < pair->n_cells; i++) {
        const phase_t *const sides[] = {pair->cells[i].base, pair->cells[i].candidate};
        for (size_t k = 0; k < 2; k++)
            if (sides[k]->n_passes > most)
                most = sides[k]->n_passes;
    }
    return most;
}

/* Are all undecided cells so because a side has two values? More passes do not change that. */
static bool hangs_on_two_values(const pair_t *pair) {
    size_t n = 0;
    for (size_t i = 0; i < pair->n_cells; i++) {
        const cell_t *cell = &pair->cells[i];
        const bool two_values = cell->base->bimodal.found || cell->candidate->bimodal.found;
        if (cell->gate.verdict == GATE_UNDECIDED && !two_values)
            return false;
        n += cell->gate.verdict == GATE_UNDECIDED;
    }
    return n > 0;
}

static bool is_open(const pair_t *pair) {
    return pair->verdict == PAIR_UNDECIDED ||
           (pair->verdict != PAIR_REGRESSED && pair_has_undecided(pair));
}

unsigned recheck_choose(const comparison_t *comparison, text_list_t *ids) {
    size_t most = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++) {
        const pair_t *pair = &comparison->pairs[i];
        size_t passes = passes_of(pair);
        if (!is_open(pair) || passes >= RECHECK_MOST_PASSES || hangs_on_two_values(pair))
            continue;
        text_list_add(ids, pair->id);
        if (passes > most)
            most = passes;
    }
    return (unsigned)(2 * most <= RECHECK_MOST_PASSES ? most : RECHECK_MOST_PASSES - most);
}

static status_t load_both(const ab_t *ab, record_t records[2], error_t *err) {
    TRY(record_load(ab->theirs.folder, &records[0], err));
    status_t status = record_load(ab->ours->folder, &records[1], err);
    if (status != STATUS_OK)
        record_free(&records[0]);
    return status;
}

/* Choose cases by the current verdict. For incomparable runs choose none: the verdict reports it.
 */
static unsigned choose(const run_t *run, const record_t records[2], text_list_t *ids) {
    error_t ignored = ERROR_INIT;
    comparison_t comparison = {0};
    floors_t *floors = NULL;
    unsigned more_passes = 0;
    if (floors_load(records[0].folder, &floors, &ignored) == STATUS_OK &&
        comparison_make(&records[0], &records[1],
                        &(comparison_options_t){.floors = floors,
                                                .threshold_frac = run->options->threshold_frac},
                        &comparison, &ignored) == STATUS_OK)
        more_passes = recheck_choose(&comparison, ids);
    comparison_free(&comparison);
    floors_free(floors);
    return more_passes;
}

/* The number of the last pass of both runs. */
static unsigned last_pass(const record_t records[2]) {
    unsigned last = 0;
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < records[r].n_passes; i++) {
            const char *number = environment_get(&records[r].passes[i], "pass");
            const unsigned pass = (unsigned)strtoul(number, NULL, 10);
            last = pass > last ? pass : last;
        }
    return last;
}

/* Clears `*more` when nothing is undecided any more or time is up. */
static status_t recheck_once(ab_t *ab, const record_t records[2], int64_t deadline_ns, bool *more,
                             error_t *err) {
    text_list_t ids = {0};
    const unsigned last = last_pass(records);
    unsigned more_passes = choose(ab->ours, records, &ids);
    if (more_passes > STATS_MOST_PASSES - last)
        more_passes = STATS_MOST_PASSES - last;
    *more = more_passes > 0;
    if (*more)
        progress_note(&ab->ours->progress, "undecided: measuring %zu cases in %u more passes",
                      ids.n, more_passes);
    status_t status = STATUS_OK;
    for (unsigned i = 1; i <= more_passes && *more && status == STATUS_OK; i++) {
        status = ab_measure_pass(ab, last + i, &ids, deadline_ns, err);
        *more = clock_ns() < deadline_ns && !*ab->ours->interrupted;
    }
    text_list_free(&ids);
    return status;
}

status_t ab_recheck(ab_t *ab, error_t *err) {
    const double limit_s = ab->ours->options->recheck_limit_s;
    int64_t deadline_ns = clock_ns() + (int64_t)(limit_s * 1e9);
    bool more = limit_s > 0;
    while (more && !*ab->ours->interrupted) {
        record_t records[2];
        TRY(load_both(ab, records, err));
        status_t status = recheck_once(ab, records, deadline_ns, &more, err);
        record_free(&records[0]);
        record_free(&records[1]);
        TRY(status);
    }
    return STATUS_OK;
}

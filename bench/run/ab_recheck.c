/* `bench run --against`: re-measure undecided cases until they are decided or time is up. */
#include "run/ab_recheck.h"

#include "base/clock.h"
#include "base/memory.h"
#include "run/ab.h"

#include <stdlib.h>

static size_t rounds_of(const pair_t *pair) {
    size_t most = 0;
    for (size_t i = 0; i < pair->n_cells; i++) {
        const phase_t *const sides[] = {pair->cells[i].base, pair->cells[i].candidate};
        for (size_t k = 0; k < 2; k++)
            if (sides[k]->n_rounds > most)
                most = sides[k]->n_rounds;
    }
    return most;
}

unsigned recheck_choose(const comparison_t *comparison, text_list_t *ids) {
    size_t most = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++) {
        const pair_t *pair = &comparison->pairs[i];
        size_t rounds = rounds_of(pair);
        if (pair->verdict != PAIR_UNDECIDED || rounds >= RECHECK_MOST_ROUNDS)
            continue;
        text_list_add(ids, pair->id);
        if (rounds > most)
            most = rounds;
    }
    return (unsigned)(2 * most <= RECHECK_MOST_ROUNDS ? most : RECHECK_MOST_ROUNDS - most);
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
    unsigned more_rounds = 0;
    if (floors_load(records[0].folder, &floors, &ignored) == STATUS_OK &&
        comparison_make(&records[0], &records[1],
                        &(comparison_options_t){.floors = floors,
                                                .threshold_frac = run->options->threshold_frac},
                        &comparison, &ignored) == STATUS_OK)
        more_rounds = recheck_choose(&comparison, ids);
    comparison_free(&comparison);
    floors_free(floors);
    return more_rounds;
}

/* Clears `*more` when nothing is undecided any more or time is up. */
static status_t recheck_once(ab_t *ab, const record_t records[2], int64_t deadline_ns, bool *more,
                             error_t *err) {
    text_list_t ids = {0};
    unsigned more_rounds = choose(ab->ours, records, &ids);
    *more = more_rounds > 0;
    if (*more)
        progress_note(&ab->ours->progress, "undecided: measuring %zu cases in %u more processes",
                      ids.n, more_rounds);
    status_t status = STATUS_OK;
    for (size_t s = 0; s < ab->ours->n_sweeps; s++) {
        ab_group_t group;
        size_t at = 0, at_theirs = 0;
        while (*more && status == STATUS_OK && ab_next_group(ab, s, &at, &at_theirs, &group)) {
            group.recheck_ids = &ids;
            group.n_replicates = more_rounds;
            group.deadline_ns = deadline_ns;
            status = ab_measure(ab, &group, err);
            *more = clock_ns() < deadline_ns && !*ab->ours->interrupted;
        }
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
        ab->rechecked[0] = &records[1];
        ab->rechecked[1] = &records[0];
        status_t status = recheck_once(ab, records, deadline_ns, &more, err);
        record_free(&records[0]);
        record_free(&records[1]);
        TRY(status);
    }
    return STATUS_OK;
}

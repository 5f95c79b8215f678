/* `bench run --against`: what is undecided is measured again, in turns, only that, until it is
 * decided or the time is up. */
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

/* Who deserves more rounds, by the verdict as it stands. Runs that cannot be compared deserve none,
 * and the verdict says so. */
static unsigned choose(const run_t *run, const record_t records[2], text_list_t *ids) {
    static const text_list_t USUAL;
    error_t ignored = ERROR_INIT;
    comparison_t comparison = {0};
    floors_t *floors = NULL;
    unsigned more_rounds = 0;
    if (floors_load(records[0].folder, &floors, &ignored) == STATUS_OK &&
        comparison_make(&records[0], &records[1], floors, &USUAL, &USUAL,
                        run->options->threshold_frac, &comparison, &ignored) == STATUS_OK)
        more_rounds = recheck_choose(&comparison, ids);
    comparison_free(&comparison);
    floors_free(floors);
    return more_rounds;
}

static status_t look_again(ab_t *ab, const record_t records[2], int64_t deadline_ns, bool *go_on,
                           error_t *err) {
    text_list_t ids = {0};
    unsigned more_rounds = choose(ab->ours, records, &ids);
    *go_on = more_rounds > 0;
    if (*go_on)
        progress_note(&ab->ours->progress, "undecided: %zu cases are measured in %u more processes",
                      ids.n, more_rounds);
    status_t status = STATUS_OK;
    for (size_t s = 0; s < ab->ours->n_sweeps; s++) {
        ab_group_t group;
        size_t at = 0, there = 0;
        while (*go_on && status == STATUS_OK && ab_next_group(ab, s, &at, &there, &group)) {
            group.again = &ids;
            group.n_visits = more_rounds;
            group.deadline_ns = deadline_ns;
            status = ab_measure(ab, &group, err);
            *go_on = clock_ns() < deadline_ns && !*ab->ours->interrupted;
        }
    }
    text_list_free(&ids);
    return status;
}

status_t ab_recheck(ab_t *ab, error_t *err) {
    const double limit_s = ab->ours->options->recheck_limit_s;
    int64_t deadline_ns = clock_ns() + (int64_t)(limit_s * 1e9);
    bool go_on = limit_s > 0;
    while (go_on && !*ab->ours->interrupted) {
        record_t records[2];
        TRY(load_both(ab, records, err));
        ab->again[0] = &records[1];
        ab->again[1] = &records[0];
        status_t status = look_again(ab, records, deadline_ns, &go_on, err);
        record_free(&records[0]);
        record_free(&records[1]);
        TRY(status);
    }
    return STATUS_OK;
}

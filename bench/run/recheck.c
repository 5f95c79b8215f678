#include "run/recheck.h"

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

#include "report/headline.h"

#include "analysis/step_parts.h"
#include "base/memory.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets -----------------------------------------------------------------------------------
 */

static bool differs_in_seed_only(const comparison_set_list_t *sets, size_t index) {
    const comparison_set_t *set = &sets->items[index];
    char *key = comparison_set_key_without_seed(set->key);
    bool found = false;
    for (size_t i = 0; i < index && !found; i++) {
        char *other = comparison_set_key_without_seed(sets->items[i].key);
        found = sets->items[i].platform == set->platform && strcmp(other, key) == 0;
        free(other);
    }
    free(key);
    return found;
}

/* A training whose operations are timed one by one answers a question of its own. */
static bool is_taken_apart(const comparison_set_t *set) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if ((isfinite(step_part_ns(result, PART_BACKWARD)) ||
             isfinite(step_part_ns(result, PART_FUSED))) &&
            strcmp(result->spec.device, set->platform->device) == 0 &&
            comparison_set_shares_work(set, &result->spec))
            return true;
    }
    return false;
}

/* ---- sizes --------------------------------------------------------------------------------------
 */

static bool has_rival(const size_row_t *row) {
    return row->headline.verdict != VERDICT_NONE || row->against_other.verdict != VERDICT_NONE;
}

static bool has_time(const size_row_t *row) {
    return row->best != NULL || row->fastest != NULL || row->other != NULL;
}

/* Rows of one set, the most telling first. */
typedef struct ranking {
    const comparison_set_t *set;
    const size_row_t **rows;
    size_t n, next; /* next: the first that was not dealt out */
} ranking_t;

static void rank(ranking_t *ranking, const size_row_t *row) {
    for (size_t i = 0; i < ranking->n; i++)
        if (ranking->rows[i] == row)
            return;
    ranking->rows[ranking->n++] = row;
}

/* How far row `i` of the candidates is from the nearest that has been ranked. */
static size_t distance(const ranking_t *ranking, const size_row_t *const *candidates, size_t n,
                       size_t i) {
    size_t least = n;
    for (size_t k = 0; k < n; k++)
        for (size_t r = 0; r < ranking->n; r++)
            if (ranking->rows[r] == candidates[k]) {
                size_t apart = k > i ? k - i : i - k;
                least = apart < least ? apart : least;
            }
    return least;
}

static void rank_between(ranking_t *ranking, const size_row_t *const *candidates, size_t n) {
    while (ranking->n < n) {
        size_t farthest = 0, most = 0;
        for (size_t i = 0; i < n; i++) {
            size_t apart = distance(ranking, candidates, n, i);
            if (apart > most) {
                most = apart;
                farthest = i;
            }
        }
        rank(ranking, candidates[farthest]);
    }
}

static bool any_row(const comparison_set_t *set, bool (*fits)(const size_row_t *row)) {
    for (size_t i = 0; i < set->n_rows; i++)
        if (fits(&set->rows[i]))
            return true;
    return false;
}

static ranking_t rank_sizes(const comparison_set_t *set, bool (*fits)(const size_row_t *row)) {
    ranking_t ranking = {.set = set, .rows = mem_zeroed(set->n_rows + 1, sizeof *ranking.rows)};
    const size_row_t **candidates = mem_zeroed(set->n_rows + 1, sizeof *candidates);
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        if (fits(&set->rows[i]))
            candidates[n++] = &set->rows[i];
    for (size_t i = 0; i < n; i++)
        if (candidates[i]->size == set->reference_size)
            rank(&ranking, candidates[i]);
    if (n > 0) {
        rank(&ranking, candidates[n - 1]);
        rank(&ranking, candidates[0]);
    }
    for (size_t i = 1; i < n; i++)
        if (candidates[i]->headline.verdict != candidates[i - 1]->headline.verdict) {
            rank(&ranking, candidates[i - 1]);
            rank(&ranking, candidates[i]);
        }
    rank_between(&ranking, candidates, n);
    free(candidates);
    return ranking;
}

const char *headline_caveat(const char *workload) {
    const workload_t *known = workload_find(workload);
    return known != NULL ? known->caveat : NULL;
}

/* ---- dealing out --------------------------------------------------------------------------------
 */

typedef struct hand {
    const headline_part_t *part;
    ranking_t *rankings; /* one a set that is shown */
    size_t n;
} hand_t;

/* With `gpu_first` the sets of the CPU are dealt out only where no other one has a row. */
static hand_t hand_of(const headline_part_t *part, bool gpu_first) {
    const comparison_set_list_t *sets = part->sets;
    hand_t hand = {.part = part, .rankings = mem_zeroed(sets->n + 1, sizeof *hand.rankings)};
    bool (*fits)(const size_row_t *row) = has_time;
    for (size_t i = 0; i < sets->n; i++)
        if (any_row(&sets->items[i], has_rival) && !is_taken_apart(&sets->items[i]))
            fits = has_rival;
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        ranking_t ranking = {0};
        if (gpu_first && hand.n > 0 && strcmp(set->platform->device, "cpu") == 0)
            break; /* the GPU's come first */
        if (!differs_in_seed_only(sets, i) && !is_taken_apart(set))
            ranking = rank_sizes(set, fits);
        if (ranking.n > 0)
            hand.rankings[hand.n++] = ranking;
        else
            free(ranking.rows);
    }
    return hand;
}

/* The set whose next row is due: the first one's second row comes with the second one's first.
 */
static ranking_t *due(const hand_t *hand) {
    ranking_t *found = NULL;
    size_t least = SIZE_MAX;
    for (size_t f = 0; f < hand->n; f++) {
        ranking_t *ranking = &hand->rankings[f];
        if (ranking->next < ranking->n && f + ranking->next < least) {
            least = f + ranking->next;
            found = ranking;
        }
    }
    return found;
}

static int by_place(const void *a, const void *b) {
    const headline_row_t *x = a, *y = b;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* A ratio that needs a caveat is no headline: it is shown by itself only, where the caveat stands
 * too.
 */
static bool is_left_out(const headline_part_t *part, size_t n_parts) {
    return n_parts > 1 && part->sets->n > 0 &&
           headline_caveat(part->sets->items[0].workload) != NULL;
}

headline_t headline_select(const headline_part_t *parts, size_t n_parts, size_t most) {
    headline_t headline = {0};
    hand_t *hands = mem_zeroed(n_parts + 1, sizeof *hands);
    for (size_t i = 0; i < n_parts; i++)
        if (!is_left_out(&parts[i], n_parts))
            hands[i] = hand_of(&parts[i], n_parts > 1);
    for (bool any = true; any && headline.n < most;) {
        any = false;
        for (size_t i = 0; i < n_parts && headline.n < most; i++) {
            ranking_t *ranking = due(&hands[i]);
            if (ranking == NULL)
                continue;
            any = true;
            mem_grow(&headline.rows, headline.n, &headline.capacity, sizeof *headline.rows);
            headline.rows[headline.n++] = (headline_row_t){
                .part = &parts[i], .set = ranking->set, .row = ranking->rows[ranking->next++]};
        }
    }
    if (headline.n > 0)
        qsort(headline.rows, headline.n, sizeof *headline.rows, by_place);
    for (size_t i = 0; i < n_parts; i++) {
        for (size_t f = 0; f < hands[i].n; f++)
            free(hands[i].rankings[f].rows);
        free(hands[i].rankings);
    }
    free(hands);
    return headline;
}

void headline_free(headline_t *headline) {
    free(headline->rows);
    *headline = (headline_t){0};
}

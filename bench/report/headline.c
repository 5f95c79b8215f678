#include "report/headline.h"

#include "analysis/step_parts.h"
#include "base/memory.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets ------------------------------------------------------------------------------------ */

static bool differs_in_seed_only(const comparison_set_list_t *sets, size_t index) {
    const comparison_set_t *set = &sets->items[index];
    for (size_t i = 0; i < index; i++)
        if (sets->items[i].platform == set->platform &&
            strcmp(sets->items[i].shape, set->shape) == 0)
            return true;
    return false;
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

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool has_rival(const size_row_t *row) {
    return row->headline.verdict != VERDICT_NONE || row->against_other.verdict != VERDICT_NONE;
}

static bool has_time(const size_row_t *row) {
    return row->best != NULL || row->fastest != NULL || row->other != NULL;
}

/* Rows of one set, and the order in which they are dealt out: the most telling first. */
typedef struct ranking {
    const headline_part_t *part;
    size_t index; /* in the part */
    const comparison_set_t *set;
    const size_row_t **rows; /* ascending */
    size_t *places;          /* of each row in that order, from 1 on; 0: not ranked yet */
    size_t n, n_ranked, n_dealt;
} ranking_t;

typedef struct ranking_list {
    ranking_t *items;
    size_t n, capacity;
} ranking_list_t;

/* How far row `i` is from the nearest that has been ranked; 0: it has been itself. */
static size_t distance(const ranking_t *ranking, size_t i) {
    size_t least = ranking->n;
    for (size_t k = 0; k < ranking->n; k++) {
        const size_t apart = k > i ? k - i : i - k;
        if (ranking->places[k] > 0 && apart < least)
            least = apart;
    }
    return least;
}

static void rank(ranking_t *ranking, size_t i) {
    if (ranking->places[i] == 0)
        ranking->places[i] = ++ranking->n_ranked;
}

/* The reference size, the largest and the smallest; those around a change of lead; then always the
 * one that is farthest from those ranked. */
static void rank_sizes(ranking_t *ranking) {
    for (size_t i = 0; i < ranking->n; i++)
        if (ranking->rows[i]->size == ranking->set->reference_size)
            rank(ranking, i);
    rank(ranking, ranking->n - 1);
    rank(ranking, 0);
    for (size_t i = 1; i < ranking->n; i++)
        if (ranking->rows[i]->headline.verdict != ranking->rows[i - 1]->headline.verdict) {
            rank(ranking, i - 1);
            rank(ranking, i);
        }
    while (ranking->n_ranked < ranking->n) {
        size_t farthest = 0;
        for (size_t i = 1; i < ranking->n; i++)
            if (distance(ranking, i) > distance(ranking, farthest))
                farthest = i;
        rank(ranking, farthest);
    }
}

/* With `gpu_first` the sets of the CPU are dealt out only where no other one has a row. */
static void add_rankings(ranking_list_t *list, const headline_part_t *part, bool gpu_first) {
    const comparison_set_list_t *sets = part->sets;
    size_t index = 0;
    bool (*fits)(const size_row_t *row) = has_time;
    for (size_t i = 0; i < sets->n; i++)
        if (fitting_rows(&sets->items[i], has_rival, NULL) > 0 && !is_taken_apart(&sets->items[i]))
            fits = has_rival;
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        const size_t n = fitting_rows(set, fits, NULL);
        if (gpu_first && index > 0 && strcmp(set->platform->device, "cpu") == 0)
            break; /* the GPU's come first */
        if (n == 0 || differs_in_seed_only(sets, i) || is_taken_apart(set))
            continue;
        ranking_t ranking = {part, index++, set, .n = n};
        ranking.rows = mem_zeroed(n, sizeof *ranking.rows);
        ranking.places = mem_zeroed(n, sizeof *ranking.places);
        fitting_rows(set, fits, ranking.rows);
        rank_sizes(&ranking);
        mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
        list->items[list->n++] = ranking;
    }
}

/* ---- dealing out ----------------------------------------------------------------------------- */

/* Deal out the next row of a part: the first set's second row comes with the second one's first.
 * False where there is none left. */
static bool deal(const ranking_list_t *list, const headline_part_t *part) {
    ranking_t *due = NULL;
    for (size_t r = 0; r < list->n; r++) {
        ranking_t *ranking = &list->items[r];
        if (ranking->part == part && ranking->n_dealt < ranking->n &&
            (due == NULL || ranking->index + ranking->n_dealt < due->index + due->n_dealt))
            due = ranking;
    }
    if (due != NULL)
        due->n_dealt++;
    return due != NULL;
}

const char *headline_caveat(const char *workload) {
    const workload_t *known = workload_find(workload);
    return known != NULL ? known->caveat : NULL;
}

headline_t headline_select(const headline_part_t *parts, size_t n_parts, size_t most) {
    headline_t headline = {0};
    ranking_list_t list = {0};
    /* A ratio that needs a caveat is shown by itself only, where the caveat stands too. */
    for (size_t i = 0; i < n_parts; i++)
        if (n_parts == 1 || parts[i].sets->n == 0 ||
            headline_caveat(parts[i].sets->items[0].workload) == NULL)
            add_rankings(&list, &parts[i], n_parts > 1);
    size_t n = 0, before;
    do {
        before = n;
        for (size_t i = 0; i < n_parts && n < most; i++)
            n += deal(&list, &parts[i]);
    } while (n > before);
    headline.rows = mem_zeroed(n + 1, sizeof *headline.rows);
    for (size_t r = 0; r < list.n; r++) {
        const ranking_t *ranking = &list.items[r];
        for (size_t i = 0; i < ranking->n; i++)
            if (ranking->places[i] <= ranking->n_dealt)
                headline.rows[headline.n++] =
                    (headline_row_t){ranking->part, ranking->set, ranking->rows[i]};
        free(ranking->rows);
        free(ranking->places);
    }
    free(list.items);
    return headline;
}

void headline_free(headline_t *headline) {
    free(headline->rows);
    *headline = (headline_t){0};
}

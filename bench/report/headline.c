#include "report/headline.h"

#include "analysis/learning.h"
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

/* A training timed by operation is not comparable with the others. */
static bool is_timed_by_operation(const comparison_set_t *set) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (has_backward_part(result) && strcmp(result->spec.device, set->platform->device) == 0 &&
            comparison_set_shares_work(set, &result->spec))
            return true;
    }
    return false;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool has_rival(const size_row_t *row) {
    return row->headline.verdict != VERDICT_NONE || row->headline.self_reported;
}

static bool has_time(const size_row_t *row) {
    return row->best != NULL || row->strongest != NULL || row->ours.claimed != NULL ||
           row->theirs.claimed != NULL;
}

/* Both sides were run, so whoever sees no ratio is told why. */
static bool is_tried(const size_row_t *row) {
    return has_rival(row) ||
           (standing_shown(&row->ours) != NULL && standing_shown(&row->theirs) != NULL);
}

typedef bool (*fits_t)(const size_row_t *row);

/* Rows of one set and the order in which they are selected. */
typedef struct ranking {
    const headline_part_t *part;
    size_t index; /* in the part */
    const comparison_set_t *set;
    const size_row_t **rows; /* ascending */
    size_t *places;          /* of each row in that order, from 1; 0: not ranked yet */
    size_t n, n_ranked, n_selected;
} ranking_t;

typedef struct ranking_list {
    ranking_t *items;
    size_t n, capacity;
} ranking_list_t;

static void rank(ranking_t *ranking, size_t i) {
    if (ranking->places[i] == 0)
        ranking->places[i] = ++ranking->n_ranked;
}

/* A row that is not ranked yet: how far it is from the nearest ranked one when its turn comes. */
typedef struct waiting {
    size_t distance, row;
} waiting_t;

static int farthest_first(const void *a, const void *b) {
    const waiting_t *x = a, *y = b;
    return x->distance != y->distance ? (x->distance < y->distance) - (x->distance > y->distance)
                                      : (x->row > y->row) - (x->row < y->row);
}

/* Between two ranked rows the one in the middle is the farthest, and makes two such gaps of one. */
static void halve(size_t first, size_t last, waiting_t *waiting, size_t *n) {
    const size_t distance = (last - first) / 2;
    if (distance == 0)
        return;
    waiting[(*n)++] = (waiting_t){distance, first + distance};
    halve(first, first + distance, waiting, n);
    halve(first + distance, last, waiting, n);
}

/* The reference size, the largest, the smallest, those around a change of lead; then repeatedly the
 * one farthest from all ranked sizes. */
static void rank_sizes(ranking_t *ranking) {
    for (size_t i = 0; i < ranking->n; i++)
        if (ranking->rows[i]->size == ranking->set->reference_size)
            rank(ranking, i);
    if (ranking->n > 0) {
        rank(ranking, ranking->n - 1);
        rank(ranking, 0);
    }
    for (size_t i = 1; i < ranking->n; i++)
        if (ranking->rows[i]->headline.verdict != ranking->rows[i - 1]->headline.verdict) {
            rank(ranking, i - 1);
            rank(ranking, i);
        }
    waiting_t *waiting = mem_zeroed(ranking->n + 1, sizeof *waiting);
    size_t n = 0, last = 0;
    for (size_t i = 1; i < ranking->n; i++)
        if (ranking->places[i] > 0) {
            halve(last, i, waiting, &n);
            last = i;
        }
    qsort(waiting, n, sizeof *waiting, farthest_first);
    for (size_t i = 0; i < n; i++)
        rank(ranking, waiting[i].row);
    free(waiting);
}

/* The rows that `fits`, and with `with_tried` others that is_tried(), which are selected last. */
static ranking_t ranking_of(const headline_part_t *part, const comparison_set_t *set, fits_t fits,
                            bool with_tried) {
    ranking_t ranking = {.part = part, .set = set}, compared = {.set = set};
    ranking.rows = mem_zeroed(set->n_rows + 1, sizeof *ranking.rows);
    ranking.places = mem_zeroed(set->n_rows + 1, sizeof *ranking.places);
    compared.rows = mem_zeroed(set->n_rows + 1, sizeof *compared.rows);
    compared.places = mem_zeroed(set->n_rows + 1, sizeof *compared.places);
    compared.n = fitting_rows(set, fits, compared.rows);
    rank_sizes(&compared);
    size_t n_compared = 0, last = compared.n;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const bool is_compared = fits(row);
        if (!is_compared && !(with_tried && is_tried(row)))
            continue;
        ranking.rows[ranking.n] = row;
        ranking.places[ranking.n++] = is_compared ? compared.places[n_compared++] : ++last;
    }
    free(compared.rows);
    free(compared.places);
    return ranking;
}

bool headline_omits(const comparison_set_list_t *sets, size_t index) {
    return differs_in_seed_only(sets, index) || is_timed_by_operation(&sets->items[index]);
}

/* Of several parts, a set of the CPU is used only if no GPU set has a row, and no size is shown only to say
 * why it has no ratio. */
static void add_rankings(ranking_list_t *list, const headline_part_t *part, bool of_several) {
    const comparison_set_list_t *sets = part->sets;
    size_t index = 0;
    fits_t fits = has_time;
    for (size_t i = 0; i < sets->n; i++)
        if (fitting_rows(&sets->items[i], has_rival, NULL) > 0 &&
            !is_timed_by_operation(&sets->items[i]))
            fits = has_rival;
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        if (of_several && index > 0 && strcmp(set->platform->device, "cpu") == 0)
            break; /* GPU sets come first in the list */
        if (fitting_rows(set, has_time, NULL) == 0 || headline_omits(sets, i))
            continue;
        ranking_t ranking = ranking_of(part, set, fits, !of_several);
        ranking.index = index;
        index += ranking.n > 0;
        mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
        list->items[list->n++] = ranking;
    }
}

static void rankings_free(ranking_list_t *list) {
    for (size_t r = 0; r < list->n; r++) {
        free(list->items[r].rows);
        free(list->items[r].places);
    }
    free(list->items);
}

/* ---- selection ------------------------------------------------------------------------------- */

/* Select the next row of a part: set k starts k rows after the first set. False if none is left. */
static bool select_next(const ranking_list_t *list, const headline_part_t *part) {
    ranking_t *next = NULL;
    for (size_t r = 0; r < list->n; r++) {
        ranking_t *ranking = &list->items[r];
        if (ranking->part == part && ranking->n_selected < ranking->n &&
            (next == NULL || ranking->index + ranking->n_selected < next->index + next->n_selected))
            next = ranking;
    }
    if (next != NULL)
        next->n_selected++;
    return next != NULL;
}

const char *headline_caveat(const char *workload) {
    const workload_t *known = workload_find(workload);
    return known != NULL ? known->caveat : NULL;
}

headline_t headline_select(const headline_part_t *parts, size_t n_parts, size_t most) {
    headline_t headline = {0};
    ranking_list_t list = {0};
    /* The caveat is printed only in a table of one workload, so a ratio that needs one is too. */
    for (size_t i = 0; i < n_parts; i++)
        if (n_parts == 1 || parts[i].sets->n == 0 ||
            headline_caveat(parts[i].sets->items[0].workload) == NULL)
            add_rankings(&list, &parts[i], n_parts > 1);
    size_t n = 0, before;
    do {
        before = n;
        for (size_t i = 0; i < n_parts && n < most; i++)
            n += select_next(&list, &parts[i]);
    } while (n > before);
    headline.rows = mem_zeroed(n + 1, sizeof *headline.rows);
    for (size_t r = 0; r < list.n; r++) {
        const ranking_t *ranking = &list.items[r];
        for (size_t i = 0; i < ranking->n; i++)
            if (ranking->places[i] <= ranking->n_selected)
                headline.rows[headline.n++] =
                    (headline_row_t){ranking->part, ranking->set, ranking->rows[i]};
        headline.n_omitted += ranking->n - ranking->n_selected;
    }
    rankings_free(&list);
    return headline;
}

headline_t headline_leads(const headline_part_t *part) {
    ranking_list_t list = {0};
    add_rankings(&list, part, true);
    headline_t headline = {.rows = mem_zeroed(list.n + 1, sizeof *headline.rows)};
    for (size_t r = 0; r < list.n; r++) {
        const ranking_t *ranking = &list.items[r];
        for (size_t i = 0; i < ranking->n; i++)
            if (ranking->places[i] == 1)
                headline.rows[headline.n++] =
                    (headline_row_t){part, ranking->set, ranking->rows[i]};
    }
    rankings_free(&list);
    return headline;
}

void headline_free(headline_t *headline) {
    free(headline->rows);
    *headline = (headline_t){0};
}

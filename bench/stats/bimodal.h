/* Two values instead of one: round medians that lie in two groups with nothing between. A median of
 * such rounds is one group's or the other's by chance, and no interval around it shows that. */
#ifndef BENCH_STATS_BIMODAL_H
#define BENCH_STATS_BIMODAL_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer rounds show two groups too often by chance. */
enum { BIMODAL_FEWEST_ROUNDS = 40 };

typedef struct bimodal {
    bool found;
    double low, high;  /* medians of the two groups */
    double share_high; /* of the rounds, 0 … 1 */
} bimodal_t;

/* `medians` of all rounds, pass after pass; pass p has the rounds starts[p] … starts[p + 1] - 1.
 * `tick` is the step of the clock, in their unit (stats_tick()). The logarithms are split by 2-means.
 * Found if all hold:
 *   1. each group has at least 20 % of the rounds;
 *   2. the groups' medians are at least 5 % and three ticks apart,
 *   3. and at least 4 times 1.4826 MAD of the wider group;
 *   4. the middle third between the medians holds at most 5 % of the rounds;
 *   5. at least two passes have rounds of both groups: else it is the processes that differ. */
bimodal_t bimodal_of(const double *medians, const size_t *starts, size_t n_passes, double tick);

#endif

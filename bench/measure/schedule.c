#include "measure/schedule.h"

#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>

static bool is_unfinished(const contender_t *contender) {
    return contender->active && contender->result.stop == STOP_NONE;
}

static bool wants_rounds(const contender_t *contender) {
    return is_unfinished(contender) ||
           (contender->active && contender->paired != NULL && is_unfinished(contender->paired));
}

/* Who takes part in this pass is settled before it: twins have equally many rounds. */
static bool choose(const contender_t *contenders, size_t n, bool *takes_part) {
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        takes_part[i] = wants_rounds(&contenders[i]);
        any = any || takes_part[i];
    }
    return any;
}

/* Each right behind the one it is paired with, wherever the shuffle has put it: drift has little
 * time between. */
static void join_twins(uint32_t *order, const contender_t *contenders, size_t n) {
    for (size_t i = 0; i + 1 < n; i++) {
        const contender_t *paired = contenders[order[i]].paired;
        if (paired == NULL || (i > 0 && paired == &contenders[order[i - 1]]))
            continue;
        size_t at = i + 1;
        while (at < n && &contenders[order[at]] != paired)
            at++;
        for (; at < n && at > i + 1; at--) {
            uint32_t earlier = order[at - 1];
            order[at - 1] = order[at];
            order[at] = earlier;
        }
    }
}

void schedule_turns(contender_t *contenders, size_t n, void (*round)(contender_t *contender),
                    uint64_t seed, uint32_t stream, const volatile sig_atomic_t *interrupted) {
    uint32_t *order = mem_zeroed(n, sizeof *order);
    bool *takes_part = mem_zeroed(n, sizeof *takes_part);
    for (uint32_t pass = 0; choose(contenders, n, takes_part) && !*interrupted; pass++) {
        if (pass % 2 == 0) {
            rng_permutation(order, n, seed + pass / 2, stream);
            join_twins(order, contenders, n);
        }
        for (size_t i = 0; i < n && !*interrupted; i++) {
            size_t next = order[pass % 2 == 0 ? i : n - 1 - i];
            if (takes_part[next] && contenders[next].active)
                round(&contenders[next]);
        }
    }
    free(takes_part);
    free(order);
}

void schedule_rounds(contender_t *contenders, size_t n, uint64_t seed, uint32_t stream,
                     const volatile sig_atomic_t *interrupted) {
    for (size_t i = 0; i < n && !*interrupted; i++)
        if (contenders[i].active && !contenders[i].settings->profile)
            contender_warm_up(&contenders[i]);
    schedule_turns(contenders, n, contender_round, seed, stream, interrupted);
}

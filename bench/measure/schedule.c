#include "measure/schedule.h"

#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static bool is_unfinished(const contender_t *contender) {
    return contender->active && contender->result.stop == STOP_NONE;
}

static bool needs_round(const contender_t *contender) {
    return is_unfinished(contender) ||
           (contender->active && contender->paired != NULL && is_unfinished(contender->paired));
}

/* Chosen before each pass, so that paired contenders take equally many rounds. */
static bool choose(const contender_t *contenders, size_t n, bool *selected) {
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        selected[i] = needs_round(&contenders[i]);
        any = any || selected[i];
    }
    return any;
}

/* Move paired contenders next to each other, to minimise the drift between them. */
static void join_pairs(uint32_t *order, const contender_t *contenders, size_t n) {
    for (size_t i = 0; i + 1 < n; i++) {
        const contender_t *paired = contenders[order[i]].paired;
        if (paired == NULL || (i > 0 && paired == &contenders[order[i - 1]]))
            continue;
        size_t at = i + 1;
        while (at < n && &contenders[order[at]] != paired)
            at++;
        if (at == n)
            continue;
        const uint32_t moved = order[at];
        memmove(&order[i + 2], &order[i + 1], (at - i - 1) * sizeof *order);
        order[i + 1] = moved;
    }
}

void schedule_turns(contender_t *contenders, size_t n, void (*round)(contender_t *contender),
                    uint64_t seed, uint32_t stream, const volatile sig_atomic_t *interrupted) {
    uint32_t *order = mem_zeroed(n, sizeof *order);
    bool *selected = mem_zeroed(n, sizeof *selected);
    for (uint32_t pass = 0; choose(contenders, n, selected) && !*interrupted; pass++) {
        if (pass % 2 == 0) {
            rng_permutation(order, n, seed + pass / 2, stream);
            join_pairs(order, contenders, n);
        }
        for (size_t i = 0; i < n && !*interrupted; i++) {
            size_t next = order[pass % 2 == 0 ? i : n - 1 - i];
            if (selected[next] && contenders[next].active)
                round(&contenders[next]);
        }
    }
    free(selected);
    free(order);
}

void schedule_rounds(contender_t *contenders, size_t n, uint64_t seed, uint32_t stream,
                     const volatile sig_atomic_t *interrupted) {
    for (size_t i = 0; i < n && !*interrupted; i++)
        if (contenders[i].active && !contenders[i].settings->profile)
            contender_warm_up(&contenders[i]);
    schedule_turns(contenders, n, contender_round, seed, stream, interrupted);
}

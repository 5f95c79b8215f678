#include "steps/schedule.h"

#include "ground/memory.h"
#include "ground/rng.h"

#include <stdlib.h>

static bool wants_rounds(const contender_t *contender) {
    return contender->live && contender->result.stop == STOP_NONE;
}

static bool any_wants_rounds(const contender_t *contenders, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (wants_rounds(&contenders[i]))
            return true;
    return false;
}

void schedule_turns(contender_t *contenders, size_t n, void (*round)(contender_t *contender),
                    uint64_t seed, uint32_t stream, const volatile sig_atomic_t *interrupted) {
    uint32_t *order = mem_zeroed(n, sizeof *order);
    for (uint32_t pass = 0; any_wants_rounds(contenders, n) && !*interrupted; pass++) {
        if (pass % 2 == 0)
            rng_permutation(order, n, seed + pass / 2, stream);
        for (size_t i = 0; i < n && !*interrupted; i++) {
            contender_t *next = &contenders[order[pass % 2 == 0 ? i : n - 1 - i]];
            if (wants_rounds(next))
                round(next);
        }
    }
    free(order);
}

void schedule_rounds(contender_t *contenders, size_t n, uint64_t seed, uint32_t stream,
                     const volatile sig_atomic_t *interrupted) {
    for (size_t i = 0; i < n && !*interrupted; i++)
        if (contenders[i].live && !contenders[i].settings->profile)
            contender_warm_up(&contenders[i]);
    schedule_turns(contenders, n, contender_round, seed, stream, interrupted);
}

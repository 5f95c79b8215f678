/* "Greedy by size for offset calculation": Pisarchyk and Lee, "Efficient memory management for deep
 * neural net inference", 2020 (arXiv 2001.03288), section 5.2. From the largest block to the
 * smallest, each goes into the smallest gap that is large enough among those placed before that it
 * must not overlap, or behind them. The best order is NP-hard to find; this one is near it. */
#include "allocators/arena_plan.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *left, const void *right) {
    const arena_block_t *a = *(arena_block_t *const *)left, *b = *(arena_block_t *const *)right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from; /* one order in every run */
}

static bool may_overlap(const arena_block_t *a, const arena_block_t *b) {
    return a->stream == b->stream && (a->to <= b->from || b->to <= a->from);
}

/* `placed` is in the order of offsets. */
static size_t best_offset(const arena_block_t *block, arena_block_t *const *placed, size_t n) {
    size_t end = 0, best = 0, best_gap_bytes = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const arena_block_t *other = placed[i];
        if (may_overlap(block, other))
            continue;
        if (other->offset > end) {
            size_t gap_bytes = other->offset - end;
            if (gap_bytes >= block->bytes && gap_bytes < best_gap_bytes) {
                best = end;
                best_gap_bytes = gap_bytes;
            }
        }
        if (other->offset + other->bytes > end)
            end = other->offset + other->bytes;
    }
    return best_gap_bytes < SIZE_MAX ? best : end;
}

static void insert(arena_block_t **placed, size_t n, arena_block_t *block) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (placed[middle]->offset <= block->offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&placed[low + 1], &placed[low], (n - low) * sizeof(arena_block_t *));
    placed[low] = block;
}

size_t arena_plan(arena_block_t *blocks, size_t n) {
    arena_block_t **order = mem_zeroed(n + 1, sizeof(arena_block_t *));
    arena_block_t **placed = mem_zeroed(n + 1, sizeof(arena_block_t *));
    size_t whole_bytes = 0;
    for (size_t i = 0; i < n; i++)
        order[i] = &blocks[i];
    qsort(order, n, sizeof(arena_block_t *), by_size);
    for (size_t i = 0; i < n; i++) {
        order[i]->offset = best_offset(order[i], placed, i);
        insert(placed, i, order[i]);
        if (order[i]->offset + order[i]->bytes > whole_bytes)
            whole_bytes = order[i]->offset + order[i]->bytes;
    }
    free(order);
    free(placed);
    return whole_bytes;
}

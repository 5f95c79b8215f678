/* "Greedy by size for offset calculation": Pisarchyk and Lee, "Efficient memory management for deep
 * neural net inference", 2020 (arXiv 2001.03288), section 5.2. From the largest block to the
 * smallest, each goes into the smallest sufficient gap between the placed blocks that it must not
 * overlap, or after them. An optimal order is NP-hard to find; this one comes close. */
#include "allocators/arena_plan.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>

static int by_size(const void *left, const void *right) {
    const arena_block_t *a = *(arena_block_t *const *)left, *b = *(arena_block_t *const *)right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from; /* same order in every run */
}

static bool may_overlap(const arena_block_t *a, const arena_block_t *b) {
    return a->stream == b->stream && (a->to <= b->from || b->to <= a->from);
}

/* `placed` is sorted by offset. */
static size_t best_offset(const arena_block_t *block, arena_block_t *const *placed, size_t n) {
    size_t end = 0, best = 0, best_gap_bytes = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const arena_block_t *other = placed[i];
        if (may_overlap(block, other))
            continue;
        size_t gap_bytes = other->offset > end ? other->offset - end : 0;
        if (gap_bytes >= block->bytes && gap_bytes < best_gap_bytes) {
            best = end;
            best_gap_bytes = gap_bytes;
        }
        if (other->offset + other->bytes > end)
            end = other->offset + other->bytes;
    }
    return best_gap_bytes < SIZE_MAX ? best : end;
}

static void insert(arena_block_t **placed, size_t n, arena_block_t *block) {
    size_t at = n;
    for (; at > 0 && placed[at - 1]->offset > block->offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = block;
}

size_t arena_plan(arena_block_t *blocks, size_t n) {
    arena_block_t **order = mem_zeroed(n + 1, sizeof(arena_block_t *));
    arena_block_t **placed = mem_zeroed(n + 1, sizeof(arena_block_t *));
    size_t total_bytes = 0;
    for (size_t i = 0; i < n; i++)
        order[i] = &blocks[i];
    qsort(order, n, sizeof(arena_block_t *), by_size);
    for (size_t i = 0; i < n; i++) {
        order[i]->offset = best_offset(order[i], placed, i);
        insert(placed, i, order[i]);
        if (order[i]->offset + order[i]->bytes > total_bytes)
            total_bytes = order[i]->offset + order[i]->bytes;
    }
    free(order);
    free(placed);
    return total_bytes;
}

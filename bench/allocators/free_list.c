#include "allocators/free_list.h"

#include "base/memory.h"

#include <stdlib.h>

enum { OFFSET_UNIT = 512 };

/* Priorities need only be independent of the order of sizes. These are the same in every run: the
 * high half of a linear congruential generator (Knuth's MMIX). */
static uint32_t next_priority(block_store_t *store) {
    store->random = store->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(store->random >> 32);
}

static block_t *block_new(block_store_t *store) {
    block_t *block = store->spare;
    if (block != NULL) {
        store->spare = block->larger;
        *block = (block_t){0};
    } else {
        block = mem_zeroed(1, sizeof *block);
    }
    block->priority = next_priority(store);
    return block;
}

static void block_recycle(block_store_t *store, block_t *block) {
    block->larger = store->spare;
    store->spare = block;
}

void block_store_free(block_store_t *store) {
    while (store->spare != NULL) {
        block_t *block = store->spare;
        store->spare = block->larger;
        free(block);
    }
}

block_segment_t *block_segment_new(block_store_t *store, cu_pointer_t address, size_t bytes) {
    block_segment_t *segment = mem_zeroed(1, sizeof *segment);
    segment->address = address;
    segment->bytes = bytes;
    segment->number = store->n_segments++;
    segment->first = block_new(store);
    segment->first->segment = segment;
    segment->first->bytes = bytes;
    segment->first->place = (uint64_t)segment->number << 32;
    return segment;
}

bool block_segment_is_free(const block_segment_t *segment) {
    return segment->first->use == BLOCK_FREE && segment->first->next == NULL;
}

void block_segment_free(block_store_t *store, block_segment_t *segment) {
    block_recycle(store, segment->first);
    free(segment);
}

cu_pointer_t block_address(const block_t *block) {
    return block->segment->address + (block->place & UINT32_MAX) * OFFSET_UNIT;
}

block_t *block_split(block_store_t *store, block_t *block, size_t bytes) {
    block_t *rest = block_new(store);
    rest->segment = block->segment;
    rest->place = block->place + bytes / OFFSET_UNIT;
    rest->bytes = block->bytes - bytes;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next != NULL)
        rest->next->previous = rest;
    block->next = rest;
    block->bytes = bytes;
    return rest;
}

static void merge_with_next(block_store_t *store, block_t *block) {
    block_t *gone = block->next;
    block->bytes += gone->bytes;
    block->next = gone->next;
    if (block->next != NULL)
        block->next->previous = block;
    block_recycle(store, gone);
}

block_t *block_coalesce(block_store_t *store, block_tree_t *tree, block_t *block) {
    block->use = BLOCK_FREE;
    if (block->next != NULL && block->next->use == BLOCK_FREE) {
        block_tree_remove(tree, block->next);
        merge_with_next(store, block);
    }
    if (block->previous != NULL && block->previous->use == BLOCK_FREE) {
        block = block->previous;
        block_tree_remove(tree, block);
        merge_with_next(store, block);
    }
    return block;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static bool precedes(const block_t *a, const block_t *b) {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->place < b->place;
}

void block_tree_add(block_tree_t *tree, block_t *block) {
    block_t **at = &tree->root;
    while (*at != NULL && (*at)->priority >= block->priority)
        at = precedes(block, *at) ? &(*at)->smaller : &(*at)->larger;
    /* The block replaces a subtree, which is split between its two sides. */
    block_t *subtree = *at, **smaller = &block->smaller, **larger = &block->larger;
    *at = block;
    while (subtree != NULL) {
        if (precedes(subtree, block)) {
            *smaller = subtree;
            smaller = &subtree->larger;
            subtree = subtree->larger;
        } else {
            *larger = subtree;
            larger = &subtree->smaller;
            subtree = subtree->smaller;
        }
    }
    *smaller = *larger = NULL;
}

void block_tree_remove(block_tree_t *tree, block_t *block) {
    block_t **at = &tree->root;
    while (*at != block)
        at = precedes(block, *at) ? &(*at)->smaller : &(*at)->larger;
    block_t *smaller = block->smaller, *larger = block->larger;
    while (smaller != NULL && larger != NULL) {
        if (smaller->priority >= larger->priority) {
            *at = smaller;
            at = &smaller->larger;
            smaller = smaller->larger;
        } else {
            *at = larger;
            at = &larger->smaller;
            larger = larger->smaller;
        }
    }
    *at = smaller != NULL ? smaller : larger;
}

block_t *block_tree_best(const block_tree_t *tree, size_t bytes) {
    block_t *best = NULL;
    for (block_t *block = tree->root; block != NULL;) {
        if (block->bytes >= bytes) {
            best = block;
            block = block->smaller;
        } else {
            block = block->larger;
        }
    }
    return best;
}

size_t block_tree_largest(const block_tree_t *tree) {
    size_t bytes = 0;
    for (const block_t *block = tree->root; block != NULL; block = block->larger)
        bytes = block->bytes;
    return bytes;
}

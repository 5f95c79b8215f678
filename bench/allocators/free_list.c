#include "allocators/free_list.h"

#include "base/memory.h"

#include <stdlib.h>

enum { PLACE_UNIT = 512 };

/* Any numbers that do not follow the order of sizes will do as priorities; these are the same in
 * every run (a linear congruential generator, Knuth's MMIX, of which the high half is used). */
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

static void block_put_by(block_store_t *store, block_t *block) {
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
    return segment->first->use == BLOCK_FREE && segment->first->behind == NULL;
}

void block_segment_free(block_store_t *store, block_segment_t *segment) {
    block_put_by(store, segment->first);
    free(segment);
}

cu_pointer_t block_address(const block_t *block) {
    return block->segment->address + (block->place & UINT32_MAX) * PLACE_UNIT;
}

block_t *block_split(block_store_t *store, block_t *block, size_t bytes) {
    block_t *rest = block_new(store);
    rest->segment = block->segment;
    rest->place = block->place + bytes / PLACE_UNIT;
    rest->bytes = block->bytes - bytes;
    rest->before = block;
    rest->behind = block->behind;
    if (rest->behind != NULL)
        rest->behind->before = rest;
    block->behind = rest;
    block->bytes = bytes;
    return rest;
}

/* `block` takes in the one behind it. */
static void swallow(block_store_t *store, block_t *block) {
    block_t *gone = block->behind;
    block->bytes += gone->bytes;
    block->behind = gone->behind;
    if (block->behind != NULL)
        block->behind->before = block;
    block_put_by(store, gone);
}

block_t *block_coalesce(block_store_t *store, block_tree_t *tree, block_t *block) {
    block->use = BLOCK_FREE;
    if (block->behind != NULL && block->behind->use == BLOCK_FREE) {
        block_tree_remove(tree, block->behind);
        swallow(store, block);
    }
    if (block->before != NULL && block->before->use == BLOCK_FREE) {
        block = block->before;
        block_tree_remove(tree, block);
        swallow(store, block);
    }
    return block;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static bool is_before(const block_t *a, const block_t *b) {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->place < b->place;
}

void block_tree_add(block_tree_t *tree, block_t *block) {
    block_t **at = &tree->root;
    while (*at != NULL && (*at)->priority >= block->priority)
        at = is_before(block, *at) ? &(*at)->smaller : &(*at)->larger;
    /* It takes the place of a subtree, which is divided between its two sides. */
    block_t *divided = *at, **smaller = &block->smaller, **larger = &block->larger;
    *at = block;
    while (divided != NULL) {
        if (is_before(divided, block)) {
            *smaller = divided;
            smaller = &divided->larger;
            divided = divided->larger;
        } else {
            *larger = divided;
            larger = &divided->smaller;
            divided = divided->smaller;
        }
    }
    *smaller = *larger = NULL;
}

void block_tree_remove(block_tree_t *tree, block_t *block) {
    block_t **at = &tree->root;
    while (*at != block)
        at = is_before(block, *at) ? &(*at)->smaller : &(*at)->larger;
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

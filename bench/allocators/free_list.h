/* Segments of device memory cut into blocks: neighbours know each other, free blocks stand in a
 * tree ordered by size. No driver, no streams, no statistics: those are the caching allocator's. */
#ifndef BENCH_ALLOCATORS_FREE_LIST_H
#define BENCH_ALLOCATORS_FREE_LIST_H

#include "cuda/driver.h"

#include <stdbool.h>

typedef struct block block_t;
typedef struct block_segment block_segment_t;

/* Free blocks by (bytes, place): a treap (Aragon and Seidel, "Randomized search trees", FOCS 1989),
 * whose every operation is two short loops with no case to tell apart; expected depth about
 * 2 ln n, that is 19 for 10,000 free blocks. */
typedef struct block_tree {
    block_t *root;
} block_tree_t;

typedef enum block_use {
    BLOCK_FREE,    /* in the tree of its segment's owner */
    BLOCK_LIVE,    /* in the caller's hands */
    BLOCK_WAITING, /* given back, but another stream's work may still use it */
} block_use_t;

struct block {
    /* Segment's number · 2^32 + offset / 512: the order of blocks of one size. The driver's
     * addresses play no part, so that equal calls get equal places in every run. */
    uint64_t place;
    size_t bytes;
    size_t asked_bytes; /* of a live block: what of it was asked for */
    block_segment_t *segment;
    block_t *before, *behind;  /* neighbours in the segment */
    block_t *smaller, *larger; /* in the tree; `larger` also links queues and spare ones */
    cu_event_t event;          /* of a waiting block */
    uint32_t priority;
    block_use_t use;
};

struct block_segment {
    cu_pointer_t address;
    size_t bytes;
    block_t *first;
    unsigned number; /* counts from the first segment on, never used twice */
    unsigned owner;  /* whose tree its free blocks are in: an index of the heap's user */
    bool small;
    cu_event_t event; /* while all of it is free: the owner's work on it is done; NULL for none */
};

/* Where block structs come from: spare ones are kept. Zero-initialise it. */
typedef struct block_store {
    block_t *spare;
    uint64_t random;
    unsigned n_segments; /* ever made */
} block_store_t;

/* A segment that is one free block; put it into a tree with block_tree_add(). */
block_segment_t *block_segment_new(block_store_t *store, cu_pointer_t address, size_t bytes);
/* It must be one free block that is in no tree. */
void block_segment_free(block_store_t *store, block_segment_t *segment);
bool block_segment_is_free(const block_segment_t *segment);
void block_store_free(block_store_t *store);

cu_pointer_t block_address(const block_t *block);
/* Cut what is behind the first `bytes` off; the rest is a free block, in no tree yet. */
block_t *block_split(block_store_t *store, block_t *block, size_t bytes);
/* Unite a block with the free blocks around it, which leave `tree`. Returns the one that is left,
 * free, not in the tree. */
block_t *block_coalesce(block_store_t *store, block_tree_t *tree, block_t *block);

void block_tree_add(block_tree_t *tree, block_t *block);
void block_tree_remove(block_tree_t *tree, block_t *block);
/* The smallest block of at least `bytes`, the one with the lowest place if there are several; NULL
 * for none. It stays in the tree. */
block_t *block_tree_best(const block_tree_t *tree, size_t bytes);
size_t block_tree_largest(const block_tree_t *tree); /* bytes; 0 for an empty tree */

#endif

/* Segments of device memory divided into blocks: neighbours are linked, free blocks are in a tree
 * ordered by size. Driver calls, streams and statistics are left to the caching allocator. */
#ifndef BENCH_ALLOCATORS_FREE_LIST_H
#define BENCH_ALLOCATORS_FREE_LIST_H

#include "cuda/driver.h"

#include <stdbool.h>

typedef struct block block_t;
typedef struct block_segment block_segment_t;

/* Free blocks by (bytes, place): a treap (Aragon and Seidel, "Randomized search trees", FOCS 1989),
 * whose operations are short loops without special cases; expected depth about 2 ln n, that is 19
 * for 10,000 free blocks. */
typedef struct block_tree {
    block_t *root;
} block_tree_t;

typedef enum block_use {
    BLOCK_FREE, /* in the tree of its segment's owner */
    BLOCK_ALLOCATED,
    BLOCK_WAITING, /* freed, but another stream's work may still use it */
} block_use_t;

struct block {
    /* Segment number · 2^32 + offset / 512: orders blocks of equal size. It does not depend on the
     * driver's addresses, so equal calls get equal places in every run. */
    uint64_t place;
    size_t bytes;
    size_t asked_bytes; /* of an allocated block: the bytes requested */
    block_segment_t *segment;
    block_t *previous, *next;  /* neighbours in the segment */
    block_t *smaller, *larger; /* in the tree; `larger` also links queues and spare blocks */
    cu_event_t event;          /* of a waiting block */
    uint32_t priority;
    block_use_t use;
};

struct block_segment {
    cu_pointer_t address;
    size_t bytes;
    block_t *first;
    unsigned number; /* in order of allocation, never reused */
    unsigned owner;  /* the caching allocator's index of the stream that it belongs to */
    bool small;
    cu_event_t event; /* of an entirely free segment: the end of the owner's work; or NULL */
};

/* Allocates block structs and keeps spare ones. Zero-initialise. */
typedef struct block_store {
    block_t *spare;
    uint64_t random;
    unsigned n_segments; /* created so far */
} block_store_t;

/* A segment that is one free block, for block_tree_add(). */
block_segment_t *block_segment_new(block_store_t *store, cu_pointer_t address, size_t bytes);
/* The segment must be one free block, in no tree. */
void block_segment_free(block_store_t *store, block_segment_t *segment);
bool block_segment_is_free(const block_segment_t *segment);
void block_store_free(block_store_t *store);

cu_pointer_t block_address(const block_t *block);
/* Split off all but the first `bytes`: returns the rest, a free block in no tree yet. */
block_t *block_split(block_store_t *store, block_t *block, size_t bytes);
/* Merge a block with its free neighbours, which leave `tree`. Returns the merged block, free, in no
 * tree. */
block_t *block_coalesce(block_store_t *store, block_tree_t *tree, block_t *block);

void block_tree_add(block_tree_t *tree, block_t *block);
void block_tree_remove(block_tree_t *tree, block_t *block);
/* The smallest block of at least `bytes` (of equal ones the lowest place), which stays in the tree;
 * or NULL. */
block_t *block_tree_best(const block_tree_t *tree, size_t bytes);
size_t block_tree_largest(const block_tree_t *tree); /* bytes; 0 for an empty tree */

#endif

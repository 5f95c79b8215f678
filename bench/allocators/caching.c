/* The caching allocator. Sizes, segments and the splitting rule are PyTorch's (the head of
 * c10/cuda/CUDACachingAllocator.cpp; "Memory management" in PyTorch's notes on CUDA), so that a
 * comparison measures the implementation, not how well constants suit a model:
 *
 *   block          taken from a segment of        split when the rest exceeds
 *   up to 1 MiB    2 MiB                          0
 *   under 10 MiB   20 MiB                         1 MiB
 *   10 MiB and up  its size, rounded up to 2 MiB  1 MiB
 *
 * Best fit: the smallest free block that is large enough, the oldest of equal ones. A freed block
 * is merged with its free neighbours at once.
 *
 * Streams: a segment belongs to the stream that it was allocated for, and so do its free blocks. A
 * block freed on that stream is reusable at once, since the stream's work is ordered. A block freed
 * on another stream waits for an event recorded there at that moment. An entirely free segment can
 * move to another stream when the event recorded on the old one when it became free has completed.
 * With a single stream no event is created.
 *
 * When the driver or the limit reports out of memory, the allocator synchronises, which completes
 * all pending events, returns entirely free segments to the driver, and tries again. */
#include "allocators/allocator_internal.h"

#include "base/memory.h"

#include <stdlib.h>

/* ==== blocks by address ======================================================================= */

enum { FIRST_BITS = 6 };

static size_t mask(const address_map_t *map) {
    return ((size_t)1 << map->bits) - 1;
}

/* Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): the low bits of
 * aligned addresses are all equal, the high bits of the product are not. */
static size_t first_slot(const address_map_t *map, uint64_t address) {
    return (size_t)((address * 0x9E3779B97F4A7C15u) >> (64 - map->bits));
}

static void place(address_map_t *map, address_entry_t entry) {
    size_t at = first_slot(map, entry.address);
    while (map->entries[at].address != 0)
        at = (at + 1) & mask(map);
    map->entries[at] = entry;
}

static void grow(address_map_t *map) {
    address_map_t larger = {.n = map->n, .bits = map->entries == NULL ? FIRST_BITS : map->bits + 1};
    larger.entries = mem_zeroed((size_t)1 << larger.bits, sizeof *larger.entries);
    for (size_t i = 0; map->entries != NULL && i <= mask(map); i++)
        if (map->entries[i].address != 0)
            place(&larger, map->entries[i]);
    free(map->entries);
    *map = larger;
}

void address_map_add(address_map_t *map, uint64_t address, uint64_t value) {
    if (map->entries == NULL || 2 * map->n > mask(map)) /* half full: runs stay short */
        grow(map);
    place(map, (address_entry_t){.address = address, .value = value});
    map->n++;
}

static address_entry_t *find(const address_map_t *map, uint64_t address) {
    if (map->entries == NULL || address == 0)
        return NULL;
    for (size_t at = first_slot(map, address); map->entries[at].address != 0;
         at = (at + 1) & mask(map))
        if (map->entries[at].address == address)
            return &map->entries[at];
    return NULL;
}

bool address_map_get(const address_map_t *map, uint64_t address, uint64_t *value) {
    const address_entry_t *entry = find(map, address);
    if (entry != NULL)
        *value = entry->value;
    return entry != NULL;
}

/* Move later entries of the run into the gap where a look-up would otherwise miss them (Knuth,
 * ibid., algorithm R): no slot has to be marked as deleted. */
static void close_gap(address_map_t *map, size_t gap) {
    for (size_t at = (gap + 1) & mask(map); map->entries[at].address != 0;
         at = (at + 1) & mask(map)) {
        size_t distance = (at - first_slot(map, map->entries[at].address)) & mask(map);
        if (distance >= ((at - gap) & mask(map))) {
            map->entries[gap] = map->entries[at];
            gap = at;
        }
    }
    map->entries[gap].address = 0;
}

bool address_map_take(address_map_t *map, uint64_t address, uint64_t *value) {
    address_entry_t *entry = find(map, address);
    if (entry == NULL)
        return false;
    *value = entry->value;
    close_gap(map, (size_t)(entry - map->entries));
    map->n--;
    return true;
}

const address_entry_t *address_map_next(const address_map_t *map, const address_entry_t *entry) {
    for (size_t at = entry != NULL ? (size_t)(entry - map->entries) + 1 : 0;
         map->entries != NULL && at <= mask(map); at++)
        if (map->entries[at].address != 0)
            return &map->entries[at];
    return NULL;
}

void address_map_free(address_map_t *map) {
    free(map->entries);
    *map = (address_map_t){0};
}

/* ==== free blocks by size ===================================================================== */

/* Free blocks by (bytes, place): a treap (Aragon and Seidel, "Randomized search trees", FOCS 1989),
 * whose operations are short loops without special cases; expected depth about 2 ln n, that is 19
 * for 10,000 free blocks. */
typedef struct block_tree {
    block_t *root;
} block_tree_t;

/* Allocates block structs and keeps spare ones. Zero-initialise. */
typedef struct block_store {
    block_t *spare;
    uint64_t random;
    unsigned n_segments; /* created so far */
} block_store_t;

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

static void block_store_free(block_store_t *store) {
    while (store->spare != NULL) {
        block_t *block = store->spare;
        store->spare = block->larger;
        free(block);
    }
}

/* A segment that is one free block, for block_tree_add(). */
static block_segment_t *block_segment_new(block_store_t *store, cu_pointer_t address,
                                          size_t bytes) {
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

static bool block_segment_is_free(const block_segment_t *segment) {
    return segment->first->use == BLOCK_FREE && segment->first->next == NULL;
}

/* The segment must be one free block, in no tree. */
static void block_segment_free(block_store_t *store, block_segment_t *segment) {
    block_recycle(store, segment->first);
    free(segment);
}

static cu_pointer_t block_address(const block_t *block) {
    return block->segment->address + (block->place & UINT32_MAX) * OFFSET_UNIT;
}

/* Split off all but the first `bytes`: returns the rest, a free block in no tree yet. */
static block_t *block_split(block_store_t *store, block_t *block, size_t bytes) {
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

static void block_tree_remove(block_tree_t *tree, block_t *block);

/* Merge a block with its free neighbours, which leave `tree`. Returns the merged block, free, in no
 * tree. */
static block_t *block_coalesce(block_store_t *store, block_tree_t *tree, block_t *block) {
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

static void block_tree_add(block_tree_t *tree, block_t *block) {
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

static void block_tree_remove(block_tree_t *tree, block_t *block) {
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

/* The smallest block of at least `bytes` (of equal ones the lowest place), which stays in the tree;
 * or NULL. */
static block_t *block_tree_best(const block_tree_t *tree, size_t bytes) {
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

static size_t block_tree_largest(const block_tree_t *tree) {
    size_t bytes = 0;
    for (const block_t *block = tree->root; block != NULL; block = block->larger)
        bytes = block->bytes;
    return bytes;
}

/* ==== the caching allocator =================================================================== */

#define MIB ((size_t)1 << 20)
#define SMALL_BLOCK MIB          /* largest block of a small segment */
#define SMALL_SEGMENT (2 * MIB)  /* larger segments are multiples of it */
#define LARGE_SEGMENT (20 * MIB) /* for blocks below OWN_SEGMENT */
#define OWN_SEGMENT (10 * MIB)   /* blocks from this size on get their own segment */
#define LARGE_REST MIB           /* a rest up to this size is not split off */

typedef struct owner {
    cu_stream_t stream;
    block_tree_t free[2];                  /* in large and in small segments */
    block_t *waiting_first, *waiting_last; /* freed on this stream, oldest first */
} owner_t;

typedef struct caching {
    block_store_t store;
    owner_t *owners;
    size_t n_owners, owners_capacity;
    block_segment_t **segments;
    size_t n_segments, segments_capacity;
    size_t n_waiting;
    cu_event_t *events; /* for reuse */
    size_t n_events, events_capacity;
} caching_t;

/* ---- events ---------------------------------------------------------------------------------- */

static void event_recycle(caching_t *c, cu_event_t event) {
    if (event == NULL)
        return;
    mem_grow(&c->events, c->n_events, &c->events_capacity, sizeof *c->events);
    c->events[c->n_events++] = event;
}

static status_t event_after(allocator_t *a, cu_stream_t stream, cu_event_t *event, error_t *err) {
    caching_t *c = a->state;
    if (c->n_events > 0)
        *event = c->events[--c->n_events];
    else
        TRY(cuda_check(a->api, a->api->event_create(event, CU_EVENT_NO_TIMING), "event_create",
                       err));
    status_t status = cuda_check(a->api, a->api->event_record(*event, stream), "event_record", err);
    if (status != STATUS_OK) {
        event_recycle(c, *event);
        *event = NULL;
    }
    return status;
}

static status_t event_completed(const allocator_t *a, cu_event_t event, bool *completed,
                                error_t *err) {
    cu_result_t result = a->api->event_query(event);
    *completed = result == CU_SUCCESS;
    return result == CU_ERROR_NOT_READY ? STATUS_OK
                                        : cuda_check(a->api, result, "event_query", err);
}

/* ---- free ------------------------------------------------------------------------------------ */

/* If several streams share the cache, mark when the work on an entirely free segment ends. */
static status_t mark_if_free(allocator_t *a, block_segment_t *segment, error_t *err) {
    caching_t *c = a->state;
    if (c->n_owners < 2 || segment->event != NULL || !block_segment_is_free(segment))
        return STATUS_OK;
    return event_after(a, c->owners[segment->owner].stream, &segment->event, err);
}

static status_t make_free(allocator_t *a, block_t *block, error_t *err) {
    caching_t *c = a->state;
    block_segment_t *segment = block->segment;
    block_tree_t *tree = &c->owners[segment->owner].free[segment->small];
    block_tree_add(tree, block_coalesce(&c->store, tree, block));
    return mark_if_free(a, segment, err);
}

/* Reclaim blocks whose events have completed, or all of them when the device is idle. */
static status_t reclaim_waiting(allocator_t *a, bool idle, error_t *err) {
    caching_t *c = a->state;
    for (size_t i = 0; i < c->n_owners && c->n_waiting > 0; i++) {
        owner_t *owner = &c->owners[i];
        while (owner->waiting_first != NULL) {
            block_t *block = owner->waiting_first;
            bool completed = idle;
            if (!idle)
                TRY(event_completed(a, block->event, &completed, err));
            if (!completed)
                break; /* events of one stream complete in order */
            owner->waiting_first = block->larger;
            c->n_waiting--;
            event_recycle(c, block->event);
            block->event = NULL;
            TRY(make_free(a, block, err));
        }
    }
    return STATUS_OK;
}

static status_t owner_of(allocator_t *a, cu_stream_t stream, size_t *index, error_t *err) {
    caching_t *c = a->state;
    for (*index = 0; *index < c->n_owners; ++*index)
        if (c->owners[*index].stream == stream)
            return STATUS_OK;
    mem_grow(&c->owners, c->n_owners, &c->owners_capacity, sizeof *c->owners);
    c->owners[c->n_owners++] = (owner_t){.stream = stream};
    for (size_t i = 0; c->n_owners == 2 && i < c->n_segments; i++) /* already free */
        TRY(mark_if_free(a, c->segments[i], err));
    return STATUS_OK;
}

static status_t caching_release(allocator_t *a, cu_pointer_t address, cu_stream_t stream,
                                size_t *bytes, error_t *err) {
    caching_t *c = a->state;
    uint64_t value;
    size_t index;
    TRY(owner_of(a, stream, &index, err));
    if (!address_map_get(&a->blocks, address, &value))
        return allocator_unknown_block(address, err);
    block_t *block = (block_t *)(uintptr_t)value;
    if (block->segment->owner != index)
        TRY(event_after(a, stream, &block->event, err));
    address_map_take(&a->blocks, address, &value);
    *bytes = block->asked_bytes;
    if (block->segment->owner == index)
        return make_free(a, block, err);
    owner_t *owner = &c->owners[index];
    block->use = BLOCK_WAITING;
    block->larger = NULL;
    *(owner->waiting_first == NULL ? &owner->waiting_first : &owner->waiting_last->larger) = block;
    owner->waiting_last = block;
    c->n_waiting++;
    return STATUS_OK;
}

/* ---- allocate -------------------------------------------------------------------------------- */

static size_t segment_bytes(size_t bytes) {
    if (bytes <= SMALL_BLOCK)
        return SMALL_SEGMENT;
    if (bytes < OWN_SEGMENT)
        return LARGE_SEGMENT;
    return (bytes + SMALL_SEGMENT - 1) / SMALL_SEGMENT * SMALL_SEGMENT;
}

/* Take over the smallest sufficient segment that another stream has finished with, if any. */
static status_t take_over_segment(allocator_t *a, size_t index, size_t bytes, error_t *err) {
    caching_t *c = a->state;
    const bool small = bytes <= SMALL_BLOCK;
    block_segment_t *best = NULL;
    for (size_t i = 0; c->n_owners > 1 && i < c->n_segments; i++) {
        block_segment_t *segment = c->segments[i];
        bool completed;
        if (segment->owner == index || segment->small != small || segment->bytes < bytes ||
            segment->event == NULL || !block_segment_is_free(segment) ||
            (best != NULL && best->bytes <= segment->bytes))
            continue;
        TRY(event_completed(a, segment->event, &completed, err));
        if (completed)
            best = segment;
    }
    if (best == NULL)
        return STATUS_OK;
    block_tree_remove(&c->owners[best->owner].free[small], best->first);
    best->owner = (unsigned)index;
    block_tree_add(&c->owners[index].free[small], best->first);
    return STATUS_OK;
}

static status_t caching_trim(allocator_t *a, error_t *err) {
    caching_t *c = a->state;
    TRY(cuda_check(a->api, a->api->context_sync(), "context_sync", err));
    TRY(reclaim_waiting(a, true, err));
    size_t n_kept = 0;
    status_t status = STATUS_OK;
    for (size_t i = 0; i < c->n_segments; i++) {
        block_segment_t *segment = c->segments[i];
        if (status == STATUS_OK && block_segment_is_free(segment))
            status = allocator_unreserve(a, segment->address, segment->bytes, err);
        if (status != STATUS_OK || !block_segment_is_free(segment)) {
            c->segments[n_kept++] = segment;
            continue;
        }
        block_tree_remove(&c->owners[segment->owner].free[segment->small], segment->first);
        event_recycle(c, segment->event);
        block_segment_free(&c->store, segment);
    }
    c->n_segments = n_kept;
    return status;
}

static status_t new_segment(allocator_t *a, size_t index, size_t bytes, error_t *err) {
    caching_t *c = a->state;
    const size_t taken_bytes = segment_bytes(bytes);
    cu_pointer_t address;
    block_tree_t *tree = &c->owners[index].free[bytes <= SMALL_BLOCK];
    cu_result_t result = allocator_reserve(a, taken_bytes, &address);
    if (result == CU_ERROR_OUT_OF_MEMORY) {
        a->stats.retries++;
        TRY(caching_trim(a, err));
        if (block_tree_best(tree, bytes) != NULL) /* a waiting block was enough */
            return STATUS_OK;
        result = allocator_reserve(a, taken_bytes, &address);
    }
    if (result != CU_SUCCESS)
        return allocator_refused(a, result, bytes, taken_bytes, "cuMemAlloc", err);
    block_segment_t *segment = block_segment_new(&c->store, address, taken_bytes);
    segment->owner = (unsigned)index;
    segment->small = bytes <= SMALL_BLOCK;
    mem_grow(&c->segments, c->n_segments, &c->segments_capacity, sizeof(block_segment_t *));
    c->segments[c->n_segments++] = segment;
    block_tree_add(tree, segment->first);
    return STATUS_OK;
}

static cu_pointer_t take_block(allocator_t *a, block_tree_t *tree, block_t *block, size_t bytes) {
    caching_t *c = a->state;
    block_segment_t *segment = block->segment;
    block_tree_remove(tree, block);
    event_recycle(c, segment->event);
    segment->event = NULL;
    if (block->bytes - bytes > (segment->small ? 0 : LARGE_REST))
        block_tree_add(tree, block_split(&c->store, block, bytes));
    block->use = BLOCK_ALLOCATED;
    block->asked_bytes = bytes;
    address_map_add(&a->blocks, block_address(block), (uintptr_t)block);
    return block_address(block);
}

static status_t caching_allocate(allocator_t *a, size_t bytes, cu_stream_t stream,
                                 cu_pointer_t *address, error_t *err) {
    caching_t *c = a->state;
    size_t index;
    TRY(owner_of(a, stream, &index, err));
    if (c->n_waiting > 0)
        TRY(reclaim_waiting(a, false, err));
    block_tree_t *tree = &c->owners[index].free[bytes <= SMALL_BLOCK];
    block_t *block = block_tree_best(tree, bytes);
    if (block == NULL) {
        TRY(take_over_segment(a, index, bytes, err));
        block = block_tree_best(tree, bytes);
    }
    if (block == NULL) {
        TRY(new_segment(a, index, bytes, err));
        block = block_tree_best(tree, bytes);
    }
    *address = take_block(a, tree, block, bytes);
    return STATUS_OK;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void caching_measure(allocator_t *a, allocator_stats_t *stats) {
    const caching_t *c = a->state;
    for (size_t i = 0; i < 2 * c->n_owners; i++) {
        size_t largest_bytes = block_tree_largest(&c->owners[i / 2].free[i % 2]);
        if (largest_bytes > stats->largest_free_bytes)
            stats->largest_free_bytes = largest_bytes;
    }
}

static void caching_close(allocator_t *a) {
    caching_t *c = a->state;
    a->api->context_sync();
    for (size_t i = 0; i < c->n_segments; i++) {
        block_segment_t *segment = c->segments[i];
        allocator_unreserve(a, segment->address, segment->bytes, NULL);
        event_recycle(c, segment->event);
        for (block_t *block = segment->first, *next; block != NULL; block = next) {
            next = block->next;
            event_recycle(c, block->event);
            free(block);
        }
        free(segment);
    }
    for (size_t i = 0; i < c->n_events; i++)
        a->api->event_destroy(c->events[i]);
    block_store_free(&c->store);
    free(c->events);
    free(c->segments);
    free(c->owners);
    free(c);
}

const allocator_ops_t ALLOCATOR_OPS_CACHING = {.state_bytes = sizeof(caching_t),
                                               .allocate = caching_allocate,
                                               .release = caching_release,
                                               .measure = caching_measure,
                                               .close = caching_close};

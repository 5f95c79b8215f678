/* Planned once. In the first pass every block comes from the driver, and the calls are recorded; at
 * its end the blocks get offsets in one allocation. From then on a call is a comparison with the
 * recorded call and an addition.
 *
 * A block keeps its memory from pass to pass, and blocks of different streams share none: all uses
 * of an address are on one stream, so they are ordered. */
#include "allocators/allocator_internal.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

/* ==== a plan of offsets ======================================================================= */

/* "Greedy by size for offset calculation": Pisarchyk and Lee, "Efficient memory management for deep
 * neural net inference", 2020 (arXiv 2001.03288), section 5.2. From the largest block to the
 * smallest, each goes into the smallest sufficient gap between the placed blocks that it must not
 * overlap, or after them. An optimal order is NP-hard to find; this one comes close. */

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

/* ==== the arena =============================================================================== */

typedef struct call {
    size_t block;
    bool frees;
} call_t;

typedef struct arena_allocator {
    call_t *calls;
    size_t n_calls, calls_capacity;
    arena_block_t *blocks;
    size_t *asked_bytes; /* of each block, in the open pass; NULL until there is a plan */
    size_t n_blocks, blocks_capacity;
    bool open;   /* a pass */
    size_t next; /* call of the open pass, if planned */
    cu_pointer_t memory;
    size_t memory_bytes;
} arena_allocator_t;

static status_t arena_begin(allocator_t *a, error_t *err) {
    arena_allocator_t *s = a->state;
    if (s->open)
        return error_set(err, STATUS_FAILED, "arena: a pass begins while one is open");
    s->open = true;
    s->next = 0;
    return STATUS_OK;
}

/* ---- the first pass -------------------------------------------------------------------------- */

static void record(arena_allocator_t *s, size_t block, bool frees) {
    mem_grow(&s->calls, s->n_calls, &s->calls_capacity, sizeof *s->calls);
    s->calls[s->n_calls++] = (call_t){.block = block, .frees = frees};
}

static status_t record_allocate(allocator_t *a, size_t bytes, cu_stream_t stream,
                                cu_pointer_t *address, error_t *err) {
    arena_allocator_t *s = a->state;
    cu_result_t result = allocator_reserve(a, bytes, address);
    if (result != CU_SUCCESS)
        return allocator_refused(a, result, bytes, bytes, "cuMemAlloc", err);
    address_map_add(&a->blocks, *address, s->n_blocks);
    mem_grow(&s->blocks, s->n_blocks, &s->blocks_capacity, sizeof *s->blocks);
    s->blocks[s->n_blocks] = (arena_block_t){.bytes = bytes, .from = s->n_calls, .stream = stream};
    record(s, s->n_blocks++, false);
    return STATUS_OK;
}

static status_t record_release(allocator_t *a, cu_pointer_t address, cu_stream_t stream,
                               size_t *bytes, error_t *err) {
    arena_allocator_t *s = a->state;
    uint64_t block;
    if (!address_map_get(&a->blocks, address, &block))
        return allocator_unknown_block(address, err);
    if (s->blocks[block].stream != stream)
        return error_set(err, STATUS_FAILED,
                         "arena: block %" PRIu64 " was freed on another stream than it "
                         "was allocated on",
                         block);
    address_map_take(&a->blocks, address, &block);
    *bytes = s->blocks[block].bytes;
    s->blocks[block].to = s->n_calls;
    record(s, block, true);
    return allocator_unreserve(a, address, *bytes, err);
}

static status_t make_plan(allocator_t *a, error_t *err) {
    arena_allocator_t *s = a->state;
    if (a->blocks.n > 0)
        return error_set(err, STATUS_FAILED, "arena: %zu blocks in use at the end of the pass",
                         a->blocks.n);
    const size_t total_bytes = arena_plan(s->blocks, s->n_blocks);
    if (total_bytes > 0) {
        const cu_result_t result = allocator_reserve(a, total_bytes, &s->memory);
        if (result != CU_SUCCESS)
            return allocator_refused(a, result, total_bytes, total_bytes, "cuMemAlloc", err);
        s->memory_bytes = total_bytes;
    }
    s->asked_bytes = mem_zeroed(s->n_blocks + 1, sizeof *s->asked_bytes);
    return STATUS_OK;
}

/* ---- later passes ---------------------------------------------------------------------------- */

/* Fail with `found`, which describes the call, and the planned call; frees `found`. */
static status_t deviation(const arena_allocator_t *s, char *found, error_t *err) {
    char *planned;
    if (s->next >= s->n_calls) {
        planned = mem_text("the end of the pass");
    } else {
        const call_t *call = &s->calls[s->next];
        const arena_block_t *block = &s->blocks[call->block];
        planned = mem_format("the %s of block %zu (%zu bytes, stream %p)",
                             call->frees ? "release" : "allocation", call->block, block->bytes,
                             (void *)block->stream);
    }
    error_set(err, STATUS_FAILED, "arena: call %zu of the pass is %s, expected %s", s->next, found,
              planned);
    free(planned);
    free(found);
    return err != NULL ? err->status : STATUS_FAILED;
}

static status_t outside(const char *what, error_t *err) {
    return error_set(err, STATUS_FAILED, "arena: %s outside a pass", what);
}

static status_t arena_allocate(allocator_t *a, size_t bytes, cu_stream_t stream,
                               cu_pointer_t *address, error_t *err) {
    arena_allocator_t *s = a->state;
    if (!s->open)
        return outside("allocation", err);
    if (s->asked_bytes == NULL)
        return record_allocate(a, bytes, stream, address, err);
    const call_t *call = &s->calls[s->next];
    const arena_block_t *block = s->next < s->n_calls ? &s->blocks[call->block] : NULL;
    if (block == NULL || call->frees || bytes > block->bytes || stream != block->stream)
        return deviation(
            s, mem_format("an allocation (%zu bytes, stream %p)", bytes, (void *)stream), err);
    s->next++;
    s->asked_bytes[call->block] = bytes;
    *address = s->memory + block->offset;
    return STATUS_OK;
}

static status_t arena_release(allocator_t *a, cu_pointer_t address, cu_stream_t stream,
                              size_t *bytes, error_t *err) {
    arena_allocator_t *s = a->state;
    if (!s->open)
        return outside("release", err);
    if (s->asked_bytes == NULL)
        return record_release(a, address, stream, bytes, err);
    const call_t *call = &s->calls[s->next];
    const arena_block_t *block = s->next < s->n_calls ? &s->blocks[call->block] : NULL;
    if (block == NULL || !call->frees || address != s->memory + block->offset ||
        stream != block->stream)
        return deviation(
            s, mem_format("the release of 0x%" PRIx64 " (stream %p)", address, (void *)stream),
            err);
    s->next++;
    *bytes = s->asked_bytes[call->block];
    return STATUS_OK;
}

static status_t arena_end(allocator_t *a, error_t *err) {
    arena_allocator_t *s = a->state;
    if (!s->open)
        return outside("end", err);
    if (s->asked_bytes == NULL)
        TRY(make_plan(a, err));
    else if (s->next < s->n_calls)
        return deviation(s, mem_text("the end of the pass"), err);
    s->open = false;
    return STATUS_OK;
}

static void arena_close(allocator_t *a) {
    arena_allocator_t *s = a->state;
    a->api->context_sync();
    /* Blocks remain only when a first pass did not end. */
    for (const address_entry_t *e = NULL; (e = address_map_next(&a->blocks, e)) != NULL;)
        allocator_unreserve(a, e->address, s->blocks[e->value].bytes, NULL);
    if (s->memory != 0)
        allocator_unreserve(a, s->memory, s->memory_bytes, NULL);
    free(s->calls);
    free(s->blocks);
    free(s->asked_bytes);
    free(s);
}

const allocator_ops_t ALLOCATOR_OPS_ARENA = {.state_bytes = sizeof(arena_allocator_t),
                                             .allocate = arena_allocate,
                                             .release = arena_release,
                                             .begin = arena_begin,
                                             .end = arena_end,
                                             .close = arena_close};

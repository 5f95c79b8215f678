// Steps on their way to shared memory: a ring of stages, filled with asynchronous copies (sm_80).
#pragma once
#include "tiles.cuh"

// As many stages as shared memory has room for, at most MOST_STAGES (of the rung).
constexpr unsigned ROOM = (SHARED_LIMIT - 1024) / STAGE_BYTES, SLOTS = ROOM < MOST_STAGES ? ROOM : MOST_STAGES;
constexpr unsigned RING_BYTES = SLOTS * STAGE_BYTES;
constexpr unsigned RING_SHARED = (RING_BYTES > Y_BYTES ? RING_BYTES : Y_BYTES) + 1024;  // and its alignment
static_assert(SLOTS >= 2, "copies and products overlap");

// The ring begins at a multiple of 1024 bytes.
__device__ __forceinline__ unsigned char *ring_memory() {
    extern __shared__ unsigned char dynamic_shared[];
    return dynamic_shared + (0u - shared_address(dynamic_shared)) % 1024;
}

// Requests a step, if there is one, and ends a group of copies. Zeros where a or b has no elements.
__device__ __forceinline__ void copy_step(const T *a, const T *b, const place_t &place, unsigned step, unsigned ring) {
    const unsigned stage = ring + step % SLOTS * STAGE_BYTES;
    if (step < STEPS)
        for_chunks(a, b, place, step, [&](unsigned, unsigned at, const T *from, bool valid) {
            copy_16_async(stage + at, from, valid);
        });
    end_copy_group();
}

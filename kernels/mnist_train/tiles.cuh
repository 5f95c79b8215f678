// How the warps of rungs 03 and 04 load tiles of a weight matrix, each with its tile of activations or deltas. A tile
// is 32 long along the sum. A lane loads only the vectors that it uses, so the loop needs no barrier.
//
// A source gives the addresses of a lane's vectors of tile n: WEIGHTS of them of WEIGHT_WORDS words (`weight`, zeros
// where not `weight_valid`), and INPUTS of 4 words (`input`, `input_valid`).
#pragma once
#include "mma.cuh"

constexpr unsigned WARPS = 8, THREADS = WARPS * 32;
constexpr unsigned BATCH_TILES = BATCH / 16, BATCH_ROWS = BATCH / 8;  // rows: per lane

template <class Source> struct tile_t {
    vector_t<Source::WEIGHT_WORDS> weights[Source::WEIGHTS];
    vector_t<4> inputs[Source::INPUTS];
};

template <unsigned WORDS> __device__ __forceinline__ vector_t<WORDS> load_or_zero(const void *from, bool valid) {
    vector_t<WORDS> v = {};
    if (valid)
        v = load<WORDS>(from);
    return v;
}

template <class Source>
__device__ __forceinline__ void load_weights(const Source &s, unsigned n, tile_t<Source> &tile) {
#pragma unroll
    for (unsigned i = 0; i < Source::WEIGHTS; i++)
        tile.weights[i] = load_or_zero<Source::WEIGHT_WORDS>(s.weight(n, i), s.weight_valid(n, i));
}

template <class Source>
__device__ __forceinline__ void load_inputs(const Source &s, unsigned n, tile_t<Source> &tile) {
#pragma unroll
    for (unsigned i = 0; i < Source::INPUTS; i++)
        tile.inputs[i] = load_or_zero<4>(s.input(n, i), s.input_valid(n));
}

// Calls use(n, tile) for n = first, first + step, … below `end`, at most MOST tiles, with AHEAD of them in flight in
// registers. Calls ready() after the wait for earlier stages; with EARLY the first weights, which the previous stage
// does not write, are loaded before the wait.
template <unsigned MOST, unsigned AHEAD, bool EARLY, class Source, class Ready, class Use>
__device__ __forceinline__ void for_tiles_in_registers(const Source &source, unsigned first, unsigned step,
                                                       unsigned end, Ready ready, Use use) {
    tile_t<Source> ahead[AHEAD];
    if (!EARLY)
        wait_for_earlier_stages();
#pragma unroll
    for (unsigned i = 0; i < AHEAD; i++)
        if (first + i * step < end)
            load_weights(source, first + i * step, ahead[i]);
    if (EARLY)
        wait_for_earlier_stages();
    ready();
#pragma unroll
    for (unsigned i = 0; i < AHEAD; i++)
        if (first + i * step < end)
            load_inputs(source, first + i * step, ahead[i]);
#pragma unroll 1
    for (unsigned n = first, round = 0; round < (MOST + AHEAD - 1) / AHEAD; n += AHEAD * step, round++)
#pragma unroll
        for (unsigned i = 0; i < AHEAD; i++) {
            if (n + i * step >= end)
                break;
            tile_t<Source> tile = ahead[i];
            const unsigned next = n + (i + AHEAD) * step;
            if (MOST > AHEAD && next < end) {
                load_weights(source, next, ahead[i]);
                load_inputs(source, next, ahead[i]);
            }
            use(n + i * step, tile);
        }
}

#if STREAMED && __CUDA_ARCH__ >= 800
// A slot of a block's ring. A thread's vectors lie 16 (8, 4) bytes from its neighbours': no bank conflicts.
template <class Source> struct ring_slot_t {
    vector_t<4> inputs[Source::INPUTS][THREADS];
    vector_t<Source::WEIGHT_WORDS> weights[Source::WEIGHTS][THREADS];
};

template <class Source>
__device__ __forceinline__ void copy_weights(const Source &s, unsigned n, ring_slot_t<Source> &slot) {
#pragma unroll
    for (unsigned i = 0; i < Source::WEIGHTS; i++)
        copy_async(&slot.weights[i][threadIdx.x], s.weight(n, i), s.weight_valid(n, i));
}

template <class Source>
__device__ __forceinline__ void copy_inputs(const Source &s, unsigned n, ring_slot_t<Source> &slot) {
#pragma unroll
    for (unsigned i = 0; i < Source::INPUTS; i++)
        copy_async(&slot.inputs[i][threadIdx.x], s.input(n, i), s.input_valid(n));
}

// The same with DEPTH - 1 tiles in flight to shared memory. Each thread reads only what it copied, so it waits only for
// its own copies.
template <unsigned DEPTH, bool EARLY, class Source, class Ready, class Use>
__device__ __forceinline__ void for_tiles_in_ring(ring_slot_t<Source> *ring, const Source &source, Ready ready,
                                                  Use use) {
    constexpr unsigned step = WARPS, end = Source::TILES;
    const unsigned first = threadIdx.x / 32;
    if (!EARLY)
        wait_for_earlier_stages();
#pragma unroll
    for (unsigned i = 0; i < DEPTH - 1; i++)
        if (first + i * step < end)
            copy_weights(source, first + i * step, ring[i]);
    if (EARLY)
        wait_for_earlier_stages();
    ready();
#pragma unroll
    for (unsigned i = 0; i < DEPTH - 1; i++) {
        if (first + i * step < end)
            copy_inputs(source, first + i * step, ring[i]);
        end_copy_group();  // may be empty, to keep the count
    }
    unsigned slot = 0;
#pragma unroll 1
    for (unsigned n = first; n < end; n += step) {
        wait_for_copies<DEPTH - 2>();
        tile_t<Source> tile;
#pragma unroll
        for (unsigned i = 0; i < Source::WEIGHTS; i++)
            tile.weights[i] = ring[slot].weights[i][threadIdx.x];
#pragma unroll
        for (unsigned i = 0; i < Source::INPUTS; i++)
            tile.inputs[i] = ring[slot].inputs[i][threadIdx.x];
        // Into the slot that the previous iteration released.
        const unsigned next = n + (DEPTH - 1) * step, free_slot = slot == 0 ? DEPTH - 1 : slot - 1;
        if (next < end) {
            copy_weights(source, next, ring[free_slot]);
            copy_inputs(source, next, ring[free_slot]);
        }
        end_copy_group();
        use(n, tile);
        slot = slot + 1 == DEPTH ? 0 : slot + 1;
    }
}
#endif

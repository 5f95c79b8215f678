// The warps of rung 07 that move items: one lane each, but for images.
#pragma once
#include "tiled_ring.cuh"

// Tiles. Those of a stage may be requested before the stage begins: who wrote them last has counted up since.
__device__ __forceinline__ void load_tiles(const mnist_t &p, shared_t &shared) {
    items_t items(shared);
    const place_t place;
    const auto fill = [&](unsigned kind) {
#pragma unroll 1
        for (unsigned i = 0; i < place.chunks(kind); i++, items.n++) {
            items.wait_until_free();
            if (kind == FIRST_LAYER) {
                barrier_arrive(items.full());
                continue;
            }
            barrier_expect(items.full(), TILE_BYTES);
            copy_bulk(items.tile(), tile_of_item(p, kind, place, i), TILE_BYTES, items.full());
        }
    };
    fill(FIRST_LAYER);
    wait_for_count(stages_ended(p), BLOCKS);
    proxy_fence();
#pragma unroll 1
    for (unsigned step = 0; step < p.steps; step++) {
        wait_for_count(weights_written(p), 2 * step * BLOCKS);
        proxy_fence();
#pragma unroll 1
        for (unsigned kind = 0; kind < KINDS; kind++)
            fill(kind);
    }
}

// Slabs, and the panel of activations that a stage backward needs.
__device__ __forceinline__ void load_slabs(const mnist_t &p, shared_t &shared) {
    items_t items(shared);
    const place_t place;
    const unsigned panel_here = shared_address(&shared.kept.panel_here);
    const auto fill = [&](unsigned kind, unsigned step) {  // FIRST_LAYER: `step` is the next one
        const half *const slabs = slabs_of_kind(p, kind);
#pragma unroll 1
        for (unsigned i = 0; i < place.chunks(kind); i++, items.n++) {
            items.wait_until_free();
            if (kind != FIRST_LAYER) {
                barrier_expect(items.full(), SLAB_BYTES);
                copy_bulk(items.slab(), slabs + place.chunk(kind, i) * SLAB_HALVES, SLAB_BYTES, items.full());
                continue;
            }
            barrier_expect(items.full(), 2 * SLAB_BYTES);
            for (unsigned k = 0; k < 2; k++)
                copy_bulk(items.tile() + k * SLAB_BYTES, step_images[(step + 1 + k) % 2][place.chunk(kind, i)],
                          SLAB_BYTES, items.full());
        }
    };
    const auto wait_for_stages = [&](unsigned step, unsigned stages) {
        wait_for_count(stages_ended(p), stages_before(step) + stages * BLOCKS);
        proxy_fence();
    };
    wait_for_count(stages_ended(p), BLOCKS);
    proxy_fence();
    fill(FIRST_LAYER, 0);
#pragma unroll 1
    for (unsigned step = 0; step < p.steps; step++) {
        wait_for_stages(step, 0);
        fill(FORWARD_1, step);
        wait_for_stages(step, 1);
        fill(FORWARD_2, step);
#pragma unroll 1
        for (unsigned kind = BACKWARD_2; kind <= BACKWARD_1; kind++) {
            wait_for_stages(step, kind == BACKWARD_2 ? 3 : 4);
            barrier_expect(panel_here, SLAB_BYTES);
            const half *const panel = slab_of(p.a[kind == BACKWARD_2 ? 2 : 1], place.panel);
            copy_bulk(shared_address(shared.kept.panel), panel, SLAB_BYTES, panel_here);
            fill(kind, step);
        }
        wait_for_count(images_gathered(p), (step + 1) * GATHERERS);
        proxy_fence();
        fill(FIRST_LAYER, step + 1);
    }
}

// By one warp: an image of a step, zeros behind it.
__device__ __forceinline__ void gather_image(const mnist_t &p, unsigned step, unsigned row) {
    const unsigned image = __ldg(p.order + (size_t)min(step, p.steps - 1) * BATCH + row);
    const uint4 *const from = reinterpret_cast<const uint4 *>(p.images + (size_t)image * PIXELS);
    for (unsigned i = lane(); i < PIXEL_CHUNKS * CHUNK / 8; i += 32) {
        const uint4 pixels = i < PIXELS / 8 ? __ldg(from + i) : make_uint4(0, 0, 0, 0);
        step_images[step % 2][i / 8][swizzled<CHUNK>(row, i % 8) / 16] = pixels;
    }
    proxy_fence();
    __syncwarp();
}

// Stores updated tiles and frees slots.
__device__ __forceinline__ void write_tiles(const mnist_t &p, shared_t &shared) {
    items_t items(shared);
    const place_t place;
    const auto pass = [&](unsigned kind) {
#pragma unroll 1
        for (unsigned i = 0; i < place.chunks(kind); i++, items.n++) {
            barrier_wait(items.done(), items.parity());
            barrier_arrive(items.free());
        }
    };
    const auto store = [&](unsigned kind) {
        unsigned before = 0;
#pragma unroll 1
        for (unsigned i = 0; i < place.chunks(kind); i++, items.n++) {
            barrier_wait(items.done(), items.parity());
            store_bulk(tile_of_item(p, kind, place, i), items.tile(), TILE_BYTES);
            wait_for_all_but_one_read();
            if (i > 0)
                barrier_arrive(before);
            before = items.free();
        }
        wait_for_stores();
        barrier_arrive(before);
        proxy_fence();
        count_up(weights_written(p));
    };
    if (lane() == 0)
        pass(FIRST_LAYER);
#pragma unroll 1
    for (unsigned step = 0; step < p.steps; step++) {
        if (lane() == 0) {
            pass(FORWARD_1);
            pass(FORWARD_2);
            // The place of the images before the last: all blocks are through with them.
            wait_for_count(stages_ended(p), stages_before(step));
        }
        __syncwarp();
        for (unsigned row = blockIdx.x; row < BATCH; row += BLOCKS)
            gather_image(p, step + 1, row);
        if (lane() == 0) {
            if (blockIdx.x < GATHERERS)
                count_up(images_gathered(p));
            store(BACKWARD_2);
            store(BACKWARD_1);
            pass(FIRST_LAYER);
        }
        __syncwarp();
    }
}

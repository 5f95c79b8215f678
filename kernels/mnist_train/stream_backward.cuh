// Backward through the ring: hidden layers, and layer 0 together with the next step's forward.
#pragma once
#include "stream_layers.cuh"

// Biases of a chunk's rows, from its deltas, by the group of warps that uses it.
template <unsigned LAYER>
__device__ __forceinline__ void step_biases(const mnist_t &p, unsigned first_row, unsigned slab) {
    const unsigned place = threadIdx.x % (GROUP * 32), row = first_row + place;
    if (place >= CHUNK)
        return;
    const char *deltas = reinterpret_cast<const char *>(shared) + (slab - shared_address(shared));
    float sum = 0;
#pragma unroll 8
    for (unsigned image = 0; image < BATCH; image++)
        sum += __half2float(
            *reinterpret_cast<const half *>(deltas + swizzled<CHUNK>(image, place / 8) + place % 8 * sizeof(half)));
    descend_bias(p, p.b[LAYER] + row, sum / BATCH);
}

// Multiplies a tile, updates it, and writes it in whole lines of 128 bytes: two neighbouring warps share them, and each
// writes those of eight rows.
template <unsigned LAYER>
__device__ __forceinline__ void use_backward(const mnist_t &p, const ring_t<UPDATED_TILES, 1> &ring,
                                             const share_t<HIDDEN> &share, warp_sums_t &sums) {
    constexpr unsigned STEP_BYTES = 16 * PANEL * sizeof(half);
    panel_t inputs;
    load_panel(ring, inputs);
    wait_for_earlier_stages();
    const unsigned step = step_of_warp();
    const unsigned tile = vectors_first<PANEL>(0, across() * 4);
    const unsigned line_row = warp() % 2 * 8 + lane() / 8, line_vector = across() / 2 * 8 + lane() % 8;
    const unsigned line = swizzled<PANEL>(line_row, line_vector);
    const unsigned long long policy = keep_policy();
    half *const of_lane = p.w[LAYER] + (size_t)(step * 16 + line_row) * HIDDEN + share.panel * PANEL + line_vector * 8;
    empty(ring, share, [&](unsigned n, unsigned slot) {
        const unsigned rows = ring.tile(slot) + step * STEP_BYTES;
        weights_t w, low;
        load_weights<true>(w, rows + tile, rows + (tile ^ 32));
        add_products(sums, w, ring.slab(slot));
        if (DTYPE_MIXED)
            load_weights<true>(low, rows + TILE_BYTES + tile, rows + TILE_BYTES + (tile ^ 32));
        step_weights(w, low, inputs, ring.slab(slot), p.rate);
        store_weights<true>(rows + tile, rows + (tile ^ 32), w);
        if (DTYPE_MIXED)
            store_weights<true>(rows + TILE_BYTES + tile, rows + TILE_BYTES + (tile ^ 32), low);
        set_barrier(ring, warp() / 2, n);
#pragma unroll
        for (unsigned i = 0; i < 2; i++) {
            half *const to = of_lane + (size_t)(share.first(n) + i * 4) * HIDDEN;
            const unsigned from = rows + (line ^ i * 64) + i * 4 * PANEL * sizeof(half);
            store_16<true>(to, load_shared(from), policy);
            if (DTYPE_MIXED)
                store_16<false>(low_of(p, to), load_shared(from + TILE_BYTES));
        }
        if (share.first(n) / CHUNK % PANELS == share.panel)
            step_biases<LAYER>(p, share.first(n), ring.slab(slot));
    });
}

template <unsigned LAYER> __device__ __forceinline__ void stream_backward(const mnist_t &p) {
    __shared__ barriers_t barriers;
    const ring_t<UPDATED_TILES, 1> ring = ring_of_block<UPDATED_TILES, 1, 2>(barriers);
    const share_t<HIDDEN> share;
    warp_sums_t sums = {};
    if (copies_weights()) {
        const half *w = p.w[LAYER] + share.panel * PANEL;
        fill(ring, share, [&](unsigned n, unsigned slot) {
            const half *from = w + (size_t)share.first(n) * HIDDEN;
            copy_tile<CHUNK, PANEL, HIDDEN, true>(ring.tile(slot), from);
            if (DTYPE_MIXED)
                copy_tile<CHUNK, PANEL, HIDDEN>(ring.tile(slot, 1), (const half *)low_of(p, from));
        });
        wait_for_earlier_stages();
    } else if (copies_slabs()) {
        copy_panel(ring, p.a[LAYER] + share.panel * PANEL);
        wait_for_earlier_stages();
        fill(ring, share, [&](unsigned n, unsigned slot) {
            copy_tile<BATCH, CHUNK, HIDDEN>(ring.slab(slot), p.delta[LAYER] + share.first(n));
        });
    } else {
        use_backward<LAYER>(p, ring, share, sums);
    }
    add_up(ring, share, sums, [&](unsigned image, unsigned place, float4 sum) {
        const unsigned at = swizzled<PANEL>(image, place / 8) + place % 8 * sizeof(half);
        const char *panel = reinterpret_cast<const char *>(shared) + (ring.panel() - shared_address(shared));
        const uint2 a = *reinterpret_cast<const uint2 *>(panel + at);
        const vector_t<2> delta = {{masked(sum.x, sum.y, a.x), masked(sum.z, sum.w, a.y)}};
        store(p.delta[LAYER - 1] + (size_t)image * HIDDEN + share.panel * PANEL + place, delta);
    });
}

__device__ uint4 step_images[2][BATCH * IMAGE_VECTORS];

__device__ __forceinline__ const half *images_of(unsigned step) {
    return reinterpret_cast<const half *>(step_images[step % 2]);
}

// By one warp.
__device__ __forceinline__ void gather_image(const mnist_t &p, unsigned step, unsigned row) {
    const uint4 *from = reinterpret_cast<const uint4 *>(image_of_step(p, step, row));
    for (unsigned i = lane(); i < IMAGE_VECTORS; i += 32)
        step_images[step % 2][row * IMAGE_VECTORS + i] = __ldg(from + i);
}

// Biases of this block's part of the panel, also to `bias`. By one warp.
__device__ __forceinline__ void step_first_biases(const mnist_t &p, const share_t<PIXELS> &share, half *bias) {
    for (unsigned i = share.rank * PART + lane(); i < (share.rank + 1) * PART; i += 32) {
        const unsigned row = share.panel * PANEL + i;
        float sum = 0;
#pragma unroll
        for (unsigned image = 0; image < BATCH; image++)
            sum += __half2float(__ldcg(p.delta[0] + image * HIDDEN + row));
        bias[i] = descend_bias(p, p.b[0] + row, sum / BATCH);
    }
}

// Updates a tile, then multiplies it. Four warps along the chunk share lines of 128 bytes, and each writes eight of
// them.
__device__ __forceinline__ void use_first_layer(const mnist_t &p, const ring_t<UPDATED_TILES, 2> &ring,
                                                const share_t<PIXELS> &share, warp_sums_t &sums) {
    wait_for_earlier_stages();
    panel_t deltas;
    load_panel(ring, deltas);
    const unsigned step = step_of_warp(), tile = rows_first<CHUNK>(across() * 32, step * 2);
    const unsigned line_row = across() * 32 + step * 8 + lane() / 8, line = swizzled<CHUNK>(line_row, lane() % 8);
    half *const of_lane = p.w[0] + (size_t)(share.panel * PANEL + line_row) * PIXELS + lane() % 8 * 8;
    empty(ring, share, [&](unsigned n, unsigned slot) {
        const unsigned first = ring.tile(slot) + tile, second = first + 16 * CHUNK * sizeof(half);
        weights_t w, low;
        load_weights<false>(w, first, second);
        if (DTYPE_MIXED)
            load_weights<false>(low, first + TILE_BYTES, second + TILE_BYTES);
        step_weights(w, low, deltas, ring.slab(slot, 0), p.rate);
        add_products(sums, w, ring.slab(slot, 1));
        store_weights<false>(first, second, w);
        if (DTYPE_MIXED)
            store_weights<false>(first + TILE_BYTES, second + TILE_BYTES, low);
        set_barrier(ring, warp() / GROUP * ACROSS + across(), n);
#pragma unroll
        for (unsigned i = 0; i < 2; i++)
            if (lane() % 8 * 8 < share.left(n)) {
                half *const to = of_lane + (size_t)i * 4 * PIXELS + share.first(n);
                const unsigned from = ring.tile(slot) + (line ^ i * 64) + i * 4 * CHUNK * sizeof(half);
                store_16<false>(to, load_shared(from));
                if (DTYPE_MIXED)
                    store_16<false>(low_of(p, to), load_shared(from + TILE_BYTES));
            }
    });
}

__device__ __forceinline__ void stream_first_layer(const mnist_t &p) {
    __shared__ barriers_t barriers;
    __shared__ __align__(16) half bias[PANEL];
    const ring_t<UPDATED_TILES, 2> ring = ring_of_block<UPDATED_TILES, 2, STEPS>(barriers);
    const share_t<PIXELS> share;
    warp_sums_t sums = {};
    if (copies_weights()) {
        const half *w = p.w[0] + (size_t)share.panel * PANEL * PIXELS;
        fill(ring, share, [&](unsigned n, unsigned slot) {
            const half *from = w + share.first(n);
            copy_tile<PANEL, CHUNK, PIXELS>(ring.tile(slot), from, share.left(n));
            if (DTYPE_MIXED)
                copy_tile<PANEL, CHUNK, PIXELS>(ring.tile(slot, 1), (const half *)low_of(p, from), share.left(n));
        });
        wait_for_earlier_stages();
    } else if (copies_slabs()) {
        const unsigned next = p.step + 1;
        fill(ring, share, [&](unsigned n, unsigned slot) {
            for (unsigned i = 0; i < 2; i++)
                copy_tile<BATCH, CHUNK, PIXELS>(ring.slab(slot, i), images_of(next + 1 - i) + share.first(n),
                                                share.left(n));
        });
        wait_for_earlier_stages();
        copy_panel(ring, p.delta[0] + share.panel * PANEL);
        step_first_biases(p, share, bias);
    } else {
        use_first_layer(p, ring, share, sums);
    }
    add_up(ring, share, sums, [&](unsigned image, unsigned place, float4 sum) {
        store_activations<0>(p, share.panel, image, place, sum, bias);
    });
}

// Rungs 08 to 10: all steps of an epoch.
#pragma once
#include "on_chip_last_layer.cuh"

struct trainer_t : last_layer_t {
    using last_layer_t::last_layer_t;
    unsigned positive; // four bits per hidden layer: the thread's activations that are, for the deltas

    // Tiles are numbered in the order of their products: forward 0 … DEPTH - 2, backward DEPTH - 2 … 1.
    __device__ __forceinline__ static bool is_backward(unsigned tile) { return tile >= FORWARD_TILES; }
    __device__ __forceinline__ static unsigned layer_of(unsigned tile) {
        return is_backward(tile) ? 2 * DEPTH - 3 - tile : tile;
    }

    // Where number k of the warp's piece j is in the layer's matrix; -1: it is padding.
    __device__ __forceinline__ int place_of(unsigned tile, unsigned j, unsigned k) const {
        const unsigned part = tile == 0 ? PIXEL_PART : HIDDEN_PART, terms = tile == 0 ? PIXELS : WIDTH;
        const unsigned neuron = cluster * NEURONS + 16 * sixteen + down_of(k);
        const unsigned own = 8 * piece(j) + across_of(k), term = rank * part + own;
        if (neuron >= WIDTH || own >= part || term >= terms)
            return -1;
        return (int)(is_backward(tile) ? term * WIDTH + neuron : neuron * terms + term);
    }

    // ---- an epoch's begin and end -----------------------------------------------------------------------------------

    __device__ __forceinline__ void begin() {
        if (threadIdx.x < 4)
            mbarrier_init(&block.arrived[threadIdx.x]);
        publish_barriers();
        clear_memory();
        fetch_images(block.factor[0], 0);
#pragma unroll 1
        for (unsigned tile = 0; tile < TILES; tile++) {
            tile_t w;
#pragma unroll
            for (unsigned j = 0; j < PIECES_EACH; j++)
#pragma unroll
                for (unsigned k = 0; k < 4; k++) {
                    const int place = place_of(tile, j, k);
                    w[j][k] = place >= 0 ? __ldcg(p.w[layer_of(tile)] + place) : 0.0f;
                }
            store(tile, w);
        }
        load_rest();
        cluster_barrier();
        wait_for_all_blocks();
        wait_for_copies<0>();
        __syncthreads();
    }

    // Biases and the last layer.
    __device__ __forceinline__ void load_rest() {
        for (unsigned i = threadIdx.x; i < HIDDEN_LAYERS * NEURONS; i += THREADS) {
            const unsigned neuron = cluster * NEURONS + i % NEURONS;
            block.bias[i / NEURONS][i % NEURONS] = neuron < WIDTH ? __ldcg(p.b[i / NEURONS] + neuron) : 0.0f;
        }
        if (threadIdx.x < 16)
            block.last_bias[threadIdx.x] = threadIdx.x < CLASSES ? __ldcg(p.b[DEPTH - 1] + threadIdx.x) : 0.0f;
        for (unsigned i = threadIdx.x; i < HIDDEN_PART / 8 * 128; i += THREADS) {
            const int place = last_place_of(i);
            ((float *)block.last_w[i / 128])[i % 128] = place >= 0 ? __ldcg(p.w[DEPTH - 1] + place) : 0.0f;
        }
    }

    // Number i of last_w in the last layer's matrix, or -1.
    __device__ __forceinline__ int last_place_of(unsigned i) const {
        const unsigned of_class = i % 128 / 16 + i % 4 / 2 * 8;
        const unsigned column = rank * HIDDEN_PART + i / 128 * 8 + i / 4 % 4 * 2 + i % 2;
        return of_class < CLASSES && column < WIDTH ? (int)(of_class * WIDTH + column) : -1;
    }

    // After it a block sees what all wrote before it.
    __device__ __forceinline__ void wait_for_all_blocks() {
        __syncthreads();
        if (threadIdx.x == 0) {
            const unsigned last = (count_release(&started) / BLOCKS + 1) * BLOCKS;
            while ((int)(load_acquire(&started) - last) < 0) {
            }
        }
        __syncthreads();
    }

    __device__ __forceinline__ void end() {
#pragma unroll 1
        for (unsigned tile = 0; tile < FORWARD_TILES; tile++) {
            tile_t w;
            load(tile, w);
#pragma unroll
            for (unsigned j = 0; j < PIECES_EACH; j++)
#pragma unroll
                for (unsigned k = 0; k < 4; k++)
                    if (place_of(tile, j, k) >= 0)
                        p.w[tile][place_of(tile, j, k)] = w[j][k];
        }
        for (unsigned i = threadIdx.x; i < HIDDEN_PART / 8 * 128 && cluster == 0; i += THREADS)
            if (last_place_of(i) >= 0)
                p.w[DEPTH - 1][last_place_of(i)] = ((const float *)block.last_w[i / 128])[i % 128];
        for (unsigned i = threadIdx.x; i < HIDDEN_LAYERS * NEURONS && rank == 0; i += THREADS)
            if (cluster * NEURONS + i % NEURONS < WIDTH)
                p.b[i / NEURONS][cluster * NEURONS + i % NEURONS] = block.bias[i / NEURONS][i % NEURONS];
        if (blockIdx.x == 0 && threadIdx.x < CLASSES)
            p.b[DEPTH - 1][threadIdx.x] = block.last_bias[threadIdx.x];
        cluster_barrier(); // no block ends while others may send to it
    }

    // ---- a product --------------------------------------------------------------------------------------------------

    __device__ __forceinline__ void multiply(unsigned tile, const float *factor, unsigned s) {
        const unsigned pieces = (tile == 0 ? PIXEL_PART : HIDDEN_PART) / 8;
        partial_t<EIGHTS> partial = {};
        each_piece(tile, pieces, [&](unsigned i, operand_t w) { add_terms(partial, w, factor + 8 * i); });
        float sums[EIGHTS][4];
        combine(sums, partial);
        STAMP(PRODUCT, tile);
        before_sums(tile, s);
        STAMP(COPIES_CHECKED, tile);
        send_sums(sums);
        STAMP(SUMS_SENT, tile);
    }

    // Some warps finish the sums of the block's eight rows.
    __device__ __forceinline__ void finish(unsigned tile, unsigned s) {
        const bool finishes = warp < SIXTEENS, backward = is_backward(tile);
        const unsigned l = layer_of(tile), shift = 4 * (backward ? l - 1 : l);
        static_assert(4 * HIDDEN_LAYERS <= 32, "the bits of `positive`");
        wait_for(turn, finishes);
        STAMP(SUMS_HERE, tile);
        if (finishes) {
            const unsigned first = cluster * NEURONS + 16 * warp;
            float *to = (backward ? deltas(l - 1) : activations(l + 1, s)) + 8 * rank * WIDTH + first;
            float v[4];
            set_four(v, add_blocks(block.sums[turn], threadIdx.x));
            if (!backward) {
#pragma unroll
                for (unsigned k = 0; k < 4; k++)
                    v[k] += block.bias[l][16 * warp + down_of(k)];
                const unsigned bits = (v[0] > 0) | (v[1] > 0) << 1 | (v[2] > 0) << 2 | (v[3] > 0) << 3;
                positive = (positive & ~(15u << shift)) | bits << shift;
            }
            const unsigned flag = backward ? flag_of_deltas(s) : flag_of_activations(s);
#pragma unroll
            for (unsigned k = 0; k < 4; k++)
                v[k] = flagged(positive >> (shift + k) & 1 ? v[k] : 0, flag);
            store_result(to, (int)WIDTH - (int)first, v);
        }
        turn ^= 1;
        STAMP(RESULTS_SENT, tile);
    }

    // ---- updates ----------------------------------------------------------------------------------------------------

    // A tile of PART terms, by the sum over rows of the neurons' own values times the factor.
    template <unsigned PART>
    __device__ __forceinline__ void update_tile(unsigned tile, const float *own, const float *factor) {
        constexpr unsigned OF_WARP = (PART / 8 + GROUPS_OF_TERMS - 1) / GROUPS_OF_TERMS;
        float sums[OF_WARP][4] = {};
        // All places are constants: the last piece may be beyond the tile, where nothing is used of what is read.
        add_rows(sums, own + 16 * sixteen, OWN_PITCH, factor, [&](unsigned j) { return 8 * piece(j); });
        tile_t w;
        load(tile, w);
#pragma unroll
        for (unsigned j = 0; j < OF_WARP; j++)
#pragma unroll
            for (unsigned k = 0; k < 4; k++)
                if (piece(j) < PART / 8)
                    w[j][k] = fmaf(-p.rate, sums[j][k], w[j][k]);
        store(tile, w);
    }

    __device__ __forceinline__ void update_bias(unsigned l) {
        const unsigned own = 8 * warp + lane % 8;
        if (8 * warp >= NEURONS)
            return;
        const float sum = sum_of_eight_columns(block.own_deltas + own, OWN_PITCH);
        if (lane < 8)
            update(block.bias[l][own], sum);
    }

    // ---- a step: factor[0] has a layer's inputs, factor[1] its outputs' deltas --------------------------------------

    // While the activations of layer l + 1 travel, backward tile l is updated for the step before: it is not needed
    // until the backward products. Its copies are those of before_sums().
    __device__ __forceinline__ void after_forward(unsigned l, unsigned s) {
        if (l == 0) {
            load_labels(s);
            prefetch_images(s + 1);
        }
        if (l > 0 && s > 0)
            update_tile<HIDDEN_PART>(2 * DEPTH - 3 - l, block.own_inputs, block.factor[1]);
        STAMP(TRANSPOSED_UPDATE, l);
        activations_of_terms(l + 1, s).receive(flag_of_activations(s));
        __syncthreads();
        STAMP(ACTIVATIONS_HERE, l);
        if (l < DEPTH - 2 && s > 0) {
            own_inputs(l + 1, s - 1).start();
            deltas_of_terms(l + 1).start();
        }
        if (l == DEPTH - 2) {
            find_deltas(block.factor[0], s);
            spread_deltas(block.factor[0], block.factor[1], s);
            __syncthreads();
            STAMP(DELTAS_SPREAD, 0);
        }
    }

    // The next barrier shows the copies to all.
    __device__ __forceinline__ void before_sums(unsigned tile, unsigned s) {
        if (is_backward(tile) || tile == 0 || s == 0)
            return;
        wait_for_copies<0>();
        own_inputs(tile, s - 1).complete(flag_of_activations(s - 1));
        deltas_of_terms(tile).complete(flag_of_deltas(s - 1));
    }

    // While the deltas of layer l - 1 travel: the update of layer l.
    __device__ __forceinline__ void after_backward(unsigned l, unsigned s) {
        if (l == DEPTH - 2)
            update_last_layer(block.factor[0], s);
        __syncthreads();
        STAMP(LAST_UPDATE, l);
        if (l == DEPTH - 2)
            activations_of_terms(l, s).start();
        own_deltas(l).start();
        wait_for_copies<0>();
        activations_of_terms(l, s).complete(flag_of_activations(s));
        own_deltas(l).complete(flag_of_deltas(s));
        __syncthreads();
        STAMP(COPIES_HERE, l);
        if (l == 1)
            fetch_images(block.factor[1], s);
        STAMP(IMAGES_STARTED, l);
        update_bias(l);
        STAMP(BIAS, l);
        update_tile<HIDDEN_PART>(l, block.own_deltas, block.factor[0]);
        __syncthreads();
        STAMP(UPDATE, l);
        if (l > 1) {
            activations_of_terms(l - 1, s).start();
            deltas_of_terms(l - 1).receive(flag_of_deltas(s));
            __syncthreads();
            STAMP(DELTAS_HERE, l);
        }
    }

    __device__ __forceinline__ void update_first_layer(unsigned s) {
        if (DEPTH == 2) {
            fetch_images(block.factor[1], s);
            update_last_layer(block.factor[0], s);
        }
        own_deltas(0).receive(flag_of_deltas(s));
        wait_for_copies<0>();
        __syncthreads();
        STAMP(DELTAS_HERE, 0);
        fetch_images(block.factor[0], s + 1);
        STAMP(IMAGES_STARTED, 0);
        update_tile<PIXEL_PART>(0, block.own_deltas, block.factor[1]);
        STAMP(UPDATE, 0);
        update_bias(0);
        STAMP(BIAS, 0);
        wait_for_copies<0>();
        __syncthreads();
        STAMP(IMAGES_HERE, 0);
    }

    // One loop over the products, so that the code of each part exists once.
    __device__ __forceinline__ void step(unsigned s) {
        STAMP(START, 0);
#pragma unroll 1
        for (unsigned tile = 0; tile < TILES; tile++) {
            const unsigned l = layer_of(tile);
            multiply(tile, block.factor[is_backward(tile)], s);
            finish(tile, s);
            if (is_backward(tile))
                after_backward(l, s);
            else
                after_forward(l, s);
        }
        update_first_layer(s);
    }
};

STEPS_KERNEL(THREADS) {
    trainer_t trainer(p, *(block_t *)shared_memory);
    trainer.begin();
    for (unsigned s = 0; s < p.steps; s++)
        trainer.step(s);
    trainer.end();
}

// The warps of rung 07 that compute: products, updates, and the last layer.
#pragma once
#include "tiled_together.cuh"

struct users_t : together_t {
    using together_t::together_t;

    // ---- layers forward ---------------------------------------------------------------------------------------------

    __device__ __forceinline__ vector_t<2> activated(unsigned layer, unsigned in_panel, float4 sum) const {
        const unsigned *pairs = reinterpret_cast<const unsigned *>(&kept.bias[layer][in_panel % PART]);
        const float2 low = to_floats(pairs[0]), high = to_floats(pairs[1]);
        return {{to_halves(fmaxf(sum.x + low.x, 0), fmaxf(sum.y + low.y, 0)),
                 to_halves(fmaxf(sum.z + high.x, 0), fmaxf(sum.w + high.y, 0))}};
    }
    __device__ __forceinline__ static unsigned in_slab(unsigned image, unsigned column) {  // in bytes
        return swizzled<CHUNK>(image, column / 8) + column % 8 * sizeof(half);
    }
    // Four neighbours of the panel, in device memory.
    __device__ __forceinline__ void store_four(half *matrix, unsigned image, unsigned in_panel, const vector_t<2> &v) {
        store(reinterpret_cast<char *>(slab_of(matrix, place.panel)) + in_slab(image, in_panel), v);
    }

    __device__ __forceinline__ void forward(unsigned kind, warp_sums_t &sums) {
        const unsigned tile = rows_first<CHUNK>(across() * 32, step_of_warp() * 2);
        each_item(kind, [&](unsigned i) {
            if (i == 0) {
                STAMP(HERE, kind);
            }
            weights_t w;
            load_weights<false>(w, items.tile() + tile, items.tile() + tile + 16 * CHUNK * sizeof(half));
            add_products(sums, w, items.slab());
        });
        STAMP(PRODUCT, kind);
    }
    __device__ __forceinline__ void forward_1() {
        warp_sums_t sums = {};
        forward(FORWARD_1, sums);
        add_up(sums, [&](unsigned image, unsigned in_panel, float4 sum) {
            store_four(p.a[2], image, in_panel, activated(1, in_panel, sum));
        });
        end_stage();
        STAMP(ENDED, FORWARD_1);
    }

    // The last hidden activations stay here: this block's share of the logits.
    __device__ __forceinline__ void forward_2(unsigned step) {
        warp_sums_t sums = {};
        forward(FORWARD_2, sums);
        add_up(sums, [&](unsigned image, unsigned in_panel, float4 sum) {
            *reinterpret_cast<vector_t<2> *>(&kept.last_activations[image][in_panel % PART]) =
                activated(2, in_panel, sum);
        });
        users_barrier();
        const unsigned image = threadIdx.x / PADDED_CLASSES, k = threadIdx.x % PADDED_CLASSES;
        if (k < CLASSES) {
            float logit = 0;
#pragma unroll 8
            for (unsigned i = 0; i < PART; i += 2) {
                const float2 a = pair_of(&kept.last_activations[image][i]), w = pair_of(&kept.last_w[k][i]);
                logit = fmaf(w.x, a.x, fmaf(w.y, a.y, logit));
            }
            add_relaxed(&logit_sums[step % 2][image][k], (unsigned long long)__float2ll_rn(logit * 0x1p32f));
            if (!(fabsf(logit) < 0x1p23f))  // or NaN
                store_relaxed(&diverged, 1u);
        }
        end_stage();
        STAMP(ENDED, FORWARD_2);
    }
    __device__ __forceinline__ static float2 pair_of(const half *first) {
        return to_floats(*reinterpret_cast<const unsigned *>(first));
    }

    // ---- the last layer ---------------------------------------------------------------------------------------------

    // In every block: one thread per image.
    __device__ __forceinline__ void softmax(unsigned step) {
        const unsigned row = threadIdx.x;
        unsigned label = 0;
        if (row < BATCH)
            label = p.labels[__ldg(p.order + (size_t)step * BATCH + row)];
        if (threadIdx.x == 0)
            wait_for_count(stages_ended(p), stages_before(step) + 2 * BLOCKS);
        users_barrier();
        if (row >= BATCH)
            return;
        float logit[CLASSES], delta[CLASSES];
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++)
            logit[k] = (float)(long long)__ldcg(&logit_sums[step % 2][row][k]) * 0x1p-32f + kept.last_bias[k];
        kept.losses[row] = cross_entropy(logit, label, delta);
#pragma unroll
        for (unsigned k = 0; k < PADDED_CLASSES; k += 2) {
            const unsigned pair = k < CLASSES ? to_halves(delta[k], delta[k + 1]) : 0;
            *reinterpret_cast<unsigned *>(&kept.last_delta[row][k]) = pair;
        }
    }

    __device__ __forceinline__ void last_layer(unsigned step) {
        softmax(step);
        users_barrier();
        STAMP(SOFTMAX, 0);
#pragma unroll
        for (unsigned i = threadIdx.x; i < BATCH * PART / 2; i += USER_THREADS) {
            const unsigned image = i / (PART / 2), column = i % (PART / 2) * 2;
            float2 sum = make_float2(0, 0);
#pragma unroll
            for (unsigned k = 0; k < CLASSES; k++) {
                const float d = __half2float(kept.last_delta[image][k]);
                const float2 w = pair_of(&kept.last_w[k][column]);
                sum = make_float2(fmaf(d, w.x, sum.x), fmaf(d, w.y, sum.y));
            }
            const unsigned a = *reinterpret_cast<const unsigned *>(&kept.last_activations[image][column]);
            const vector_t<1> delta = {{masked(sum.x, sum.y, a)}};
            *reinterpret_cast<vector_t<1> *>(&kept.own_delta[image][column]) = delta;
            half *const to = slab_of(p.delta[2], place.panel);
            store(reinterpret_cast<char *>(to) + in_slab(image, place.rank * PART + column), delta);
        }
        end_stage();
        STAMP(DELTA, 0);
        step_last_layer();
        step_biases(2, [&](unsigned image, unsigned i) { return kept.own_delta[image][i]; });
        if (blockIdx.x == 0) {
            reinterpret_cast<unsigned long long *>(logit_sums[(step + 1) % 2])[threadIdx.x] = 0;
            if (threadIdx.x == 0)
                write_loss(step);
        }
        STAMP(UPDATE, 0);
    }
    __device__ __forceinline__ void write_loss(unsigned step) {
        float sum = 0;
        for (unsigned row = 0; row < BATCH; row++)
            sum += kept.losses[row];
        p.losses[step] = load_relaxed(&diverged) != 0 ? __uint_as_float(0x7fffffff) : sum / BATCH;
    }

    __device__ __forceinline__ void step_last_layer() {
        if (threadIdx.x < CLASSES * PART / 2) {
            const unsigned k = threadIdx.x / (PART / 2), column = threadIdx.x % (PART / 2) * 2;
            float2 sum = make_float2(0, 0);
#pragma unroll 8
            for (unsigned image = 0; image < BATCH; image++) {
                const float d = __half2float(kept.last_delta[image][k]);
                const float2 a = pair_of(&kept.last_activations[image][column]);
                sum = make_float2(fmaf(d, a.x, sum.x), fmaf(d, a.y, sum.y));
            }
            unsigned &w = *reinterpret_cast<unsigned *>(&kept.last_w[k][column]);
            w = updated_pair(w, sum.x, sum.y, p.rate / BATCH);
        } else if (threadIdx.x >= USER_THREADS - CLASSES) {
            const unsigned k = threadIdx.x - (USER_THREADS - CLASSES);
            float sum = 0;
#pragma unroll 8
            for (unsigned image = 0; image < BATCH; image++)
                sum += __half2float(kept.last_delta[image][k]);
            kept.last_bias[k] = __half2float(updated(__float2half_rn(kept.last_bias[k]), p.rate, sum / BATCH));
        }
    }

    // ---- layers backward --------------------------------------------------------------------------------------------

    __device__ __forceinline__ unsigned first_own() const { return place.panel * PANEL + place.rank * PART; }

    // Of this block's neurons, whose deltas are of(image, neuron).
    template <class Deltas> __device__ __forceinline__ void step_biases(unsigned layer, Deltas of) {
        const unsigned i = threadIdx.x;
        if (i >= PART)
            return;
        float sum = 0;
#pragma unroll 8
        for (unsigned image = 0; image < BATCH; image++)
            sum += __half2float(of(image, i));
        kept.bias[layer][i] = updated(kept.bias[layer][i], p.rate, sum / BATCH);
    }

    // A layer's deltas of this block, 0 where the activation of the panel is 0.
    __device__ __forceinline__ vector_t<2> delta_of(unsigned image, unsigned in_panel, float4 sum) const {
        const char *panel = reinterpret_cast<const char *>(kept.panel);
        const uint2 a = *reinterpret_cast<const uint2 *>(panel + in_slab(image, in_panel));
        return {{masked(sum.x, sum.y, a.x), masked(sum.z, sum.w, a.y)}};
    }

    template <unsigned LAYER> __device__ __forceinline__ void backward(warp_sums_t &sums) {
        panel_t inputs;
        barrier_wait(shared_address(&kept.panel_here), LAYER % 2);
        __syncwarp();
        load_panel(inputs, shared_address(kept.panel));
        const unsigned rows = step_of_warp() * 16, tile = vectors_first<PANEL>(rows, across() * 4);
        constexpr item_kind KIND = LAYER == 2 ? BACKWARD_2 : BACKWARD_1;
        each_item(KIND, [&](unsigned i) {
            if (i == 0) {
                STAMP(HERE, KIND);
            }
            const unsigned first = items.tile() + tile, second = items.tile() + (tile ^ 32);
            weights_t w, low;
            load_weights<true>(w, first, second);
            add_products(sums, w, items.slab());
            step_weights(w, low, inputs, items.slab(), p.rate);
            store_weights<true>(first, second, w);
            copies_fence();
        });
        STAMP(PRODUCT, KIND);
    }
    __device__ __forceinline__ void backward_2() {
        warp_sums_t sums = {};
        backward<2>(sums);
        add_up(sums, [&](unsigned image, unsigned in_panel, float4 sum) {
            const vector_t<2> delta = delta_of(image, in_panel, sum);
            *reinterpret_cast<vector_t<2> *>(&kept.own_delta[image][in_panel % PART]) = delta;
            store_four(p.delta[1], image, in_panel, delta);
        });
        end_stage();
        STAMP(ENDED, BACKWARD_2);
        step_biases(1, [&](unsigned image, unsigned i) { return kept.own_delta[image][i]; });
    }

    // Delta 0 goes to the blocks of the panel only: their weights of layer 0 are here.
    __device__ __forceinline__ void backward_1(unsigned step) {
        warp_sums_t sums = {};
        backward<1>(sums);
        char *const to = reinterpret_cast<char *>(kept.first_delta);
        if (CLUSTER > 1 && threadIdx.x == 0)
            barrier_expect(shared_address(&kept.delta_here), sizeof kept.first_delta);
        add_up(sums, [&](unsigned image, unsigned in_panel, float4 sum) {
            const vector_t<2> own = delta_of(image, in_panel, sum);
            if (CLUSTER == 1) {
                *reinterpret_cast<vector_t<2> *>(to + in_slab(image, in_panel)) = own;
                return;
            }
            // Two lanes have eight neighbours: each sends them to one block.
            const unsigned first = lane() / 2 * 2;
            unsigned words[4];
#pragma unroll
            for (unsigned i = 0; i < 4; i++)
                words[i] = __shfl_sync(0xffffffff, own.word[i % 2], first + i / 2);
            for (unsigned rank = lane() % 2; rank < CLUSTER; rank += 2)
                send(rank, to + in_slab(image, in_panel / 8 * 8), words, &kept.delta_here);
        });
        users_barrier();
        if (CLUSTER > 1)
            barrier_wait(shared_address(&kept.delta_here), step % 2);
        __syncwarp();
        STAMP(ENDED, BACKWARD_1);
    }

    // Updates layer 0, then the next step's products with it. Before the first step products only.
    template <bool UPDATES> __device__ __forceinline__ void first_layer() {
        warp_sums_t sums = {};
        panel_t deltas;
        if (UPDATES)
            load_panel(deltas, shared_address(kept.first_delta));
        const unsigned tile = rows_first<CHUNK>(across() * 32, step_of_warp() * 2);
        each_item(FIRST_LAYER, [&](unsigned i) {
            const unsigned first = shared_address(kept.first[i]) + tile, second = first + 16 * CHUNK * sizeof(half);
            weights_t w, low;
            load_weights<false>(w, first, second);
            if (UPDATES) {
                if (i == 0) {
                    STAMP(HERE, FIRST_LAYER);
                }
                step_weights(w, low, deltas, items.tile(), p.rate);
                store_weights<false>(first, second, w);
            }
            add_products(sums, w, items.tile() + SLAB_BYTES);
        });
        if (UPDATES) {
            STAMP(PRODUCT, FIRST_LAYER);
            const char *const of_panel = reinterpret_cast<const char *>(kept.first_delta);
            step_biases(0, [&](unsigned image, unsigned i) {
                return *reinterpret_cast<const half *>(of_panel + in_slab(image, place.rank * PART + i));
            });
        }
        add_up(sums, [&](unsigned image, unsigned in_panel, float4 sum) {
            store_four(p.a[1], image, in_panel, activated(0, in_panel, sum));
        });
        end_stage();
        if (UPDATES) {
            STAMP(ENDED, FIRST_LAYER);
        }
    }

    __device__ __forceinline__ void train() {
        first_layer<false>();
#pragma unroll 1
        for (unsigned step = 0; step < p.steps; step++) {
            STAMP(START, 0);
            forward_1();
            forward_2(step);
            last_layer(step);
            backward_2();
            backward_1(step);
            first_layer<true>();
        }
    }
};

// Rungs 08 to 10: the last layer. Every block has the weights of ten classes for its terms, as every cluster has them
// all; a cluster computes all logits and needs no other one. Its blocks add each other's sums for eight rows each, and
// send their rows' deltas to the others.
#pragma once
#include "on_chip_exchange.cuh"

struct last_layer_t : exchange_t {
    using exchange_t::exchange_t;
    unsigned label[2]; // of rows 2t and 2t + 1 of the block's eight, in warp 0

    __device__ __forceinline__ unsigned row_of_lane(unsigned i) const { return 8 * rank + lane % 4 * 2 + i; }

    // In a wait, for much later.
    __device__ __forceinline__ void load_labels(unsigned s) {
        const unsigned *order = p.order + s * BATCH;
#pragma unroll
        for (unsigned i = 0; i < 2; i++)
            label[i] = warp == 0 && row_of_lane(i) < rows_of(s)
                           ? __ldg(p.labels + __ldg(order + row_of_lane(i)))
                           : 0;
    }

    __device__ __forceinline__ void send_logits(const float *x) {
        constexpr unsigned CHAINS = 4; // of dependent products
#pragma unroll 1
        for (unsigned j = warp; j < EIGHTS; j += WARPS) {
            float sums[CHAINS][1][4] = {};
#pragma unroll
            for (unsigned q = 0; q < HIDDEN_PART / 8; q++)
                add_class_terms(sums[q % CHAINS], block.last_w[q], x + 8 * j * PITCH + 8 * q);
            const float4 sum = add(add(four_of(sums[0][0]), four_of(sums[1][0])),
                                   add(four_of(sums[2][0]), four_of(sums[3][0])));
            store_to_block(&block.logits[rank][lane], &block.arrived[2], j, sum);
        }
        expect(2, sizeof block.logits);
    }

    // Over the lanes that have the same rows.
    template <class Operation> __device__ __forceinline__ static float over_classes(float value, Operation operation) {
#pragma unroll
        for (unsigned lanes = 4; lanes < 32; lanes *= 2)
            value = operation(value, __shfl_xor_sync(EVERY_LANE, value, lanes));
        return value;
    }

    // Of one row; a lane has classes g and, if it is one, g + 8.
    __device__ __forceinline__ void prepare_row(unsigned i, float low, float high, unsigned rows) {
        const auto larger = [](float a, float b) { return fmaxf(a, b); };
        const auto both = [](float a, float b) { return a + b; };
        const unsigned g = lane / 4;
        const bool has_high = g + 8 < CLASSES, real = row_of_lane(i) < rows;
        low += block.last_bias[g];
        high += block.last_bias[g + 8];
        const float largest = over_classes(has_high ? fmaxf(low, high) : low, larger);
        const float power = expf(low - largest), high_power = has_high ? expf(high - largest) : 0.0f;
        const float sum = over_classes(power + high_power, both);
        const float of_label =
            over_classes((g == label[i] ? low : 0.0f) + (has_high && g + 8 == label[i] ? high : 0.0f), both);
        float *to = block.prepared + (lane % 4 * 2 + i) * CLASS_PITCH;
        to[g] = real ? (power / sum - (g == label[i] ? 1.0f : 0.0f)) / rows : 0.0f;
        to[g + 8] = real && has_high ? (high_power / sum - (g + 8 == label[i] ? 1.0f : 0.0f)) / rows : 0.0f;
        if (g < 4)
            to[LOSS_COLUMN + g] = real && g == 0 ? logf(sum) + largest - of_label : 0.0f;
    }

    // The deltas of this block's eight rows, to all blocks of the cluster.
    __device__ __forceinline__ void send_deltas(unsigned rows) {
        const float4 logits = add_blocks(block.logits, lane);
        prepare_row(0, logits.x, logits.z, rows);
        prepare_row(1, logits.y, logits.w, rows);
        __syncwarp();
#pragma unroll 1
        for (unsigned i = lane; i < EIGHTS * CLASS_FOURS; i += 32) {
            const unsigned row = i / CLASS_FOURS, column = i % CLASS_FOURS * 4;
            const float4 four = *(const float4 *)(block.prepared + row * CLASS_PITCH + column);
            const float4 *to = (const float4 *)(block.deltas + (8 * rank + row) * CLASS_PITCH + column);
#pragma unroll
            for (unsigned b = 0; b < CLUSTER; b++)
                store_to_block(to, &block.arrived[3], b, four);
        }
    }

    // From the activations x of the block's terms: all deltas of the last layer.
    __device__ __forceinline__ void find_deltas(const float *x, unsigned s) {
        send_logits(x);
        STAMP(LOGITS_SENT, 0);
        wait_for(2, warp == 0);
        if (warp == 0)
            send_deltas(rows_of(s));
        expect(3, ROWS * CLASS_FOURS * sizeof(float4));
        wait_for(3, true);
        STAMP(LAST_DELTAS_HERE, 0);
    }

    // The weights of four terms, by classes.
    __device__ __forceinline__ void load_classes(unsigned four, float4 (&w)[CLASSES]) const {
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++) {
            const float4 *two = &block.last_w[four / 2][k % 8 * 4 + four % 2 * 2];
            const float2 first = ((const float2 *)two)[k / 8], second = ((const float2 *)(two + 1))[k / 8];
            w[k] = make_float4(first.x, first.y, second.x, second.y);
        }
    }

    // The previous layer's deltas of the block's terms. Every cluster computes them; each sends a share of the rows to
    // all, for those who need them as their neurons'.
    __device__ __forceinline__ void spread_deltas(const float *x, float *to, unsigned s) {
        constexpr unsigned FOURS = HIDDEN_PART / 4, SHARES = THREADS / FOURS;
        static_assert(SHARES > 0, "a thread has four columns");
        const unsigned four = threadIdx.x % FOURS, column = rank * HIDDEN_PART + 4 * four;
        float *all = deltas(DEPTH - 2) + column;
        float4 w[CLASSES];
        load_classes(four, w);
#pragma unroll 1
        for (unsigned row = threadIdx.x / FOURS; row < ROWS && threadIdx.x < SHARES * FOURS; row += SHARES) {
            const float *dy = block.deltas + row * CLASS_PITCH;
            const float4 v = *(const float4 *)(x + row * PITCH + 4 * four);
            float4 d = make_float4(0, 0, 0, 0);
#pragma unroll
            for (unsigned k = 0; k < CLASSES; k++)
                d = make_float4(fmaf(dy[k], w[k].x, d.x), fmaf(dy[k], w[k].y, d.y), fmaf(dy[k], w[k].z, d.z),
                                fmaf(dy[k], w[k].w, d.w));
            d = make_float4(is_positive(v.x) ? d.x : 0, is_positive(v.y) ? d.y : 0, is_positive(v.z) ? d.z : 0,
                            is_positive(v.w) ? d.w : 0);
            *(float4 *)(to + row * PITCH + 4 * four) = d;
            if (row % CLUSTERS == cluster && column < WIDTH)
#pragma unroll
                for (unsigned c = 0; c < 4; c++)
                    store_relaxed(all + row * WIDTH + c, flagged(component(d, c), flag_of_deltas(s)));
        }
    }

    __device__ __forceinline__ void update(float &value, float gradient) const {
        value = fmaf(-p.rate, gradient, value);
    }

    // Every cluster updates its copy alike.
    __device__ __forceinline__ void update_last_layer(const float *x, unsigned s) {
#pragma unroll 1
        for (unsigned q = warp; q < HIDDEN_PART / 8; q += WARPS) {
            float sums[1][4] = {}, w[4];
            add_class_rows(sums, block.deltas, x + 8 * q);
            set_four(w, block.last_w[q][lane]);
#pragma unroll
            for (unsigned k = 0; k < 4; k++)
                update(w[k], sums[0][k]);
            block.last_w[q][lane] = four_of(w);
        }
        if (warp == WARPS - 1)
            update_last_bias(s);
    }

    // The same, by a warp that has eight columns: four lanes each.
    __device__ __forceinline__ float sum_of_eight_columns(const float *column, unsigned pitch) const {
        static_assert(8 * WARPS >= NEURONS, "each column has lanes");
        float sum = 0;
#pragma unroll
        for (unsigned row = 0; row < ROWS; row += 4)
            sum += column[(row + lane / 8) * pitch];
        sum += __shfl_xor_sync(EVERY_LANE, sum, 8);
        return sum + __shfl_xor_sync(EVERY_LANE, sum, 16);
    }

    __device__ __forceinline__ static float sum_of_column(const float *column, unsigned pitch) {
        constexpr unsigned CHAINS = 4; // of dependent sums
        float sum[CHAINS] = {};
#pragma unroll 4
        for (unsigned row = 0; row < ROWS; row += CHAINS)
#pragma unroll
            for (unsigned i = 0; i < CHAINS; i++)
                sum[i] += column[(row + i) * pitch];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    __device__ __forceinline__ void update_last_bias(unsigned s) {
        const float sum = sum_of_column(block.deltas + min(lane, LOSS_COLUMN), CLASS_PITCH);
        if (lane < CLASSES)
            update(block.last_bias[lane], sum);
        if (lane == LOSS_COLUMN && blockIdx.x == 0)
            p.losses[s] = sum / rows_of(s);
    }
};

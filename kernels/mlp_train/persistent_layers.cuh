// The parts of rung 05's step: products, the last layer, gradients with the update.
#pragma once
#include "persistent_copies.cuh"

// The last layer's weights are updated around the next step's first grid barrier. If another barrier follows before
// they are read, the update comes after the arrival, else before it.
constexpr bool LAST_IS_FAR = DEPTH > 3;

struct layers_of_block_t : copies_of_block_t {
    using copies_of_block_t::copies_of_block_t;

    // Multiplies the factor, whose copy groups are the last but one, by weights copied earlier.
    template <bool ALONG> __device__ __forceinline__ void multiply(unsigned part, sums_of_thread_t &sums) {
        const unsigned half = first_half(part);
        const float *w = block.w[turn];
        unsigned term = warp / WARPS_OF_GROUP * 8;
        wait_for_copies<2>();
        __syncthreads();
#pragma unroll 1
        for (unsigned end = half;; end = part) {
#pragma unroll 1
            for (; term < end; term += 8 * GROUPS_OF_TERMS)
                add_terms<ALONG>(block.factor, w, term, sums);
            if (end == part)
                break;
            wait_for_copies<1>();
            __syncthreads();
        }
    }

    // Reduces the sums; the block stores its quarter of the rows: store(row, column, four results, load(…)).
    template <class Load, class Store>
    __device__ __forceinline__ void finish(const sums_of_thread_t &sums, Load load, Store store) {
        static_assert(SHARE <= THREADS, "a thread has one four at most");
        const unsigned row = rank * 16 + threadIdx.x / EACH, column = first_column + threadIdx.x % EACH * 4;
        const bool stores = threadIdx.x < SHARE && column < WIDTH;
        float4 other = make_float4(0, 0, 0, 0);
        if (stores)
            other = load(row, column);
        send_sums(block, rank, turn, sums);
        if (threadIdx.x == 0)
            mbarrier_expect(&block.arrived[turn], sizeof block.sums[turn]);
        mbarrier_wait(&block.arrived[turn], phases >> turn & 1);
        phases ^= 1 << turn;
        if (stores)
            store(row, column, add_blocks(block, turn, threadIdx.x), other);
        wait_for_copies<0>(); // the next weights: other blocks may update them after the barrier
        turn ^= 1;
    }

    // Rows are distributed over the blocks: logits, loss, deltas of the last layer and of the previous one. Weights and
    // the first label are loaded before the barrier that the activations need.
    __device__ __forceinline__ void last_layer() {
        const bool active = threadIdx.x < WIDTH / 4;
        float4 of_class[CLASSES] = {};
        if (!LAST_IS_FAR)
            wait();
        if (active)
#pragma unroll
            for (unsigned k = 0; k < CLASSES; k++)
                of_class[k] = load_four(p.w[DEPTH - 1] + k * WIDTH + 4 * threadIdx.x);
        unsigned label = blockIdx.x < rows ? __ldg(p.labels + __ldg(order + blockIdx.x)) : 0;
        const float bias = lane < CLASSES ? __ldcg(p.b[DEPTH - 1] + lane) : 0.0f;
        if (LAST_IS_FAR)
            wait();
#pragma unroll 1
        for (unsigned row = blockIdx.x; row < ROWS; row += BLOCKS) {
            last_layer(row, of_class, label, bias);
            if (row + BLOCKS < rows)
                label = __ldg(p.labels + __ldg(order + row + BLOCKS));
        }
    }

    __device__ __forceinline__ void last_layer(unsigned row, const float4 (&of_class)[CLASSES], unsigned label,
                                               float bias) {
        const bool active = threadIdx.x < WIDTH / 4, real = row < rows;
        float4 x = make_float4(0, 0, 0, 0);
        if (active)
            x = load_four(activations(DEPTH - 1) + row * WIDTH + 4 * threadIdx.x);
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++) {
            const float4 v = of_class[k];
            const float sum = warp_sum(fmaf(x.x, v.x, fmaf(x.y, v.y, fmaf(x.z, v.z, x.w * v.w))));
            if (lane == 0)
                block.logits[k][warp] = sum;
        }
        __syncthreads();
        const float delta = loss_of_row(row, real, label, bias);
        float dx[4] = {};
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++) {
            const float d = __shfl_sync(EVERY_LANE, delta, k);
#pragma unroll
            for (unsigned c = 0; c < 4; c++)
                dx[c] = fmaf(d, component(of_class[k], c), dx[c]);
        }
        if (active)
            *(float4 *)(deltas(DEPTH - 2) + row * WIDTH + 4 * threadIdx.x) =
                make_float4(x.x > 0 ? dx[0] : 0, x.y > 0 ? dx[1] : 0, x.z > 0 ? dx[2] : 0, x.w > 0 ? dx[3] : 0);
        __syncthreads();
    }

    // Each warp computes the loss; a lane per class returns its delta.
    __device__ __forceinline__ float loss_of_row(unsigned row, bool real, unsigned label, float bias) {
        float logit = bias;
#pragma unroll
        for (unsigned i = 0; i < WARPS; i++)
            logit += block.logits[lane < CLASSES ? lane : 0][i];
        float largest = lane < CLASSES ? logit : __int_as_float((int)0xFF800000);
        largest = over_lanes<16>(largest, [](float a, float b) { return fmaxf(a, b); });
        largest = __shfl_sync(EVERY_LANE, largest, 0);
        const float power = lane < CLASSES ? expf(logit - largest) : 0.0f;
        const float sum = __shfl_sync(EVERY_LANE, sum_over_lanes<16>(power), 0);
        const float of_label = __shfl_sync(EVERY_LANE, logit, label);
        const float delta = real ? (power / sum - (lane == label ? 1.0f : 0.0f)) / rows : 0.0f;
        if (warp == 0 && lane < CLASSES)
            last_deltas()[row * LAST_DELTA_ROW + lane] = delta;
        if (threadIdx.x == 0)
            row_losses()[row] = real ? logf(sum) + largest - of_label : 0.0f;
        return delta;
    }

    // Updates the last layer; columns are distributed over the blocks, two lanes per weight, half of the rows each.
    __device__ __forceinline__ void update_last_layer(unsigned of_parity, float *of_step, unsigned of_rows) {
        constexpr unsigned OWN = (WIDTH + BLOCKS - 1) / BLOCKS;
        static_assert(2 * CLASSES * OWN <= THREADS, "two lanes a weight");
        const unsigned k = threadIdx.x / 2 / OWN, column = blockIdx.x * OWN + threadIdx.x / 2 % OWN;
        const bool weight = k < CLASSES && column < WIDTH;
        const float *dy = last_deltas() + k, *x = activations(DEPTH - 1, of_parity) + column;
        float sum = 0, bias = 0;
#pragma unroll 32
        for (unsigned i = 0; i < ROWS / 2 && weight; i++) {
            const unsigned row = threadIdx.x % 2 * (ROWS / 2) + i;
            const float d = __ldcg(dy + row * LAST_DELTA_ROW);
            sum = fmaf(d, __ldcg(x + row * WIDTH), sum);
            bias += d;
        }
        sum += __shfl_xor_sync(EVERY_LANE, sum, 1);
        bias += __shfl_xor_sync(EVERY_LANE, bias, 1);
        if (weight && threadIdx.x % 2 == 0)
            update(p.w[DEPTH - 1] + k * WIDTH + column, sum);
        if (weight && threadIdx.x % 2 == 0 && column == 0)
            update(p.b[DEPTH - 1] + k, bias);
        if (blockIdx.x == BLOCKS - 1 && warp == WARPS - 1)
            mean_of_losses(of_step, of_rows);
    }

    __device__ __forceinline__ void mean_of_losses(float *of_step, unsigned of_rows) const {
        const float sum = warp_sum(__ldcg(row_losses() + lane) + __ldcg(row_losses() + 32 + lane));
        if (lane == 0)
            *of_step = sum / of_rows;
    }

    __device__ __forceinline__ void update(float *value, float gradient) const {
        *value = fmaf(-p.rate, gradient, __ldcg(value));
    }

    // Updates the block's weights of layer l: a warp has every eighth group of eight inputs of all neurons. `copy` in
    // shared memory gets them too. The inputs' copies precede the last two groups.
    __device__ __forceinline__ void update_layer(unsigned l, float *copy) {
        constexpr unsigned TILES = (LONGEST_PART / 8 + WARPS - 1) / WARPS, NEXT_TILE = 8 * WARPS;
        const unsigned n = inputs_of(l), own = own_part(n, part_of_layer(l)),
                       neurons = min(COLUMNS, WIDTH - first_column);
        const unsigned g = lane / 4, in = warp * 8 + lane % 4 * 2;
        const size_t first = (size_t)(first_column + g) * n + rank * part_of_layer(l) + in;
        float *w = p.w[l] + first;
        float gradient[SIXTEENS][TILES][4] = {};
        float2 old[2 * SIXTEENS][TILES];
#pragma unroll
        for (unsigned i = 0; i < 2 * SIXTEENS; i++)
#pragma unroll
            for (unsigned j = 0; j < TILES; j++)
                if (g + 8 * i < neurons && in + j * NEXT_TILE < own)
                    old[i][j] = __ldcg((const float2 *)(w + 8 * i * n + j * NEXT_TILE));
        wait_for_copies<2>();
        __syncthreads();
#pragma unroll 1
        for (unsigned row = 0; row < ROWS; row += 8)
            add_gradients(row, own, gradient);
#pragma unroll
        for (unsigned i = 0; i < 2 * SIXTEENS; i++)
#pragma unroll
            for (unsigned j = 0; j < TILES; j++) {
                const float *d = &gradient[i / 2][j][i % 2 * 2];
                if (g + 8 * i < neurons && in + j * NEXT_TILE < own) {
                    const float2 updated = make_float2(fmaf(-p.rate, d[0], old[i][j].x),
                                                       fmaf(-p.rate, d[1], old[i][j].y));
                    *(float2 *)(w + 8 * i * n + j * NEXT_TILE) = updated;
                    if (copy != nullptr)
                        *(float2 *)(copy + (g + 8 * i) * ALONG_PITCH + in + j * NEXT_TILE) = updated;
                }
            }
        update_biases(l);
    }

    template <unsigned TILES>
    __device__ __forceinline__ void add_gradients(unsigned row, unsigned own, float (&gradient)[SIXTEENS][TILES][4]) {
        factors_t<4> a[SIXTEENS];
        factors_t<2> b[TILES];
#pragma unroll
        for (unsigned i = 0; i < SIXTEENS; i++)
            load_left(a[i], block.deltas + row * COLUMN_PITCH + 16 * i, 1, COLUMN_PITCH);
#pragma unroll
        for (unsigned j = 0; j < TILES; j++) {
            const unsigned in = (j * WARPS + warp) * 8;
            load_right(b[j], block.inputs + row * INPUT_PITCH + (in < own ? in : 0), INPUT_PITCH, 1);
        }
        add_products(gradient, a, b);
    }

    // Every block of the cluster updates its copy; one writes it to memory.
    __device__ __forceinline__ void update_biases(unsigned l) {
        const unsigned i = THREADS - 1 - threadIdx.x, out = first_column + i;
        if (i >= COLUMNS || out >= WIDTH)
            return;
        float sum = 0;
#pragma unroll 8
        for (unsigned row = 0; row < ROWS; row++)
            sum += block.deltas[row * COLUMN_PITCH + i];
        block.bias[l][i] = fmaf(-p.rate, sum, block.bias[l][i]);
        if (rank == 0)
            p.b[l][out] = block.bias[l][i];
    }
};

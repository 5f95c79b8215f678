// Rung 05: a block's state, the grid barrier, and copies to shared memory. No block reads what another still writes:
//   activations  alternate between two buffers: a slow block may still read the last step's.
//   deltas       are written after a barrier at which all blocks are done with those of the previous step.
//   weights      of other blocks are copied before the barrier in front of their product, and updated after it. All
//                others are read only by the block that updates them.
// All these copies and loads bypass the L1 cache.
#pragma once

// Layout of `memory`: activations of hidden layers 1 … DEPTH - 1, twice; deltas of layers 0 … DEPTH - 2, then of the
// last one, CLASSES in a row of 12; each row's loss.
constexpr unsigned HIDDEN_LAYERS = DEPTH - 1, MATRIX = ROWS * WIDTH, LAST_DELTA_ROW = 12;

__device__ unsigned arrivals; // of all launches; only grows, wraps at 2^32
__device__ unsigned earlier_barriers; // before this launch

struct copies_of_block_t {
    const steps_t &p;
    block_t &block;
    const unsigned rank, first_column, warp, lane;
    unsigned rows, parity, turn, barriers; // of this step; the product's weights; grid barriers so far
    unsigned phases;                       // a bit for the sums of either turn
    const unsigned *order;
    float *loss;

    __device__ __forceinline__ copies_of_block_t(const steps_t &problem, block_t &memory)
        : p(problem), block(memory), rank(block_of_cluster()), first_column(blockIdx.x / CLUSTER * COLUMNS),
          warp(threadIdx.x / 32), lane(threadIdx.x % 32), rows(0), parity(0), turn(0), barriers(__ldcg(&earlier_barriers)),
          phases(0), order(problem.order), loss(problem.losses) {}

    __device__ __forceinline__ unsigned rows_of(unsigned s) const {
        return s < p.steps ? min(BATCH, p.rows - s * BATCH) : 0;
    }

    __device__ __forceinline__ void begin_step(unsigned s) {
        rows = rows_of(s);
        parity = s % 2;
        order = p.order + s * BATCH;
        loss = p.losses + s;
    }

    __device__ __forceinline__ float *activations(unsigned l, unsigned of_parity) const {
        return p.memory + (of_parity * HIDDEN_LAYERS + l - 1) * MATRIX;
    }
    __device__ __forceinline__ float *activations(unsigned l) const { return activations(l, parity); }
    __device__ __forceinline__ float *deltas(unsigned l) const { return p.memory + (2 * HIDDEN_LAYERS + l) * MATRIX; }
    __device__ __forceinline__ float *last_deltas() const { return p.memory + 3 * HIDDEN_LAYERS * MATRIX; }
    __device__ __forceinline__ float *row_losses() const { return last_deltas() + ROWS * LAST_DELTA_ROW; }

    // ---- grid barrier: after wait() a block sees all writes before any block's arrive() ------------------------

    __device__ __forceinline__ void arrive() {
        __syncthreads();
        barriers++;
        if (threadIdx.x == 0)
            add_release(&arrivals);
    }

    __device__ __forceinline__ void wait() const {
        if (threadIdx.x == 0) {
            while ((int)(load_acquire(&arrivals) - barriers * BLOCKS) < 0) {
            }
        }
        __syncthreads();
    }

    __device__ __forceinline__ void end() {
        arrive();
        wait();
        if (blockIdx.x == 0 && threadIdx.x == 0)
            earlier_barriers = barriers;
        cluster_barrier();
    }

    __device__ __forceinline__ static unsigned inputs_of(unsigned l) { return l == 0 ? PIXELS : WIDTH; }
    __device__ __forceinline__ static unsigned part_of_layer(unsigned l) { return l == 0 ? PIXEL_PART : HIDDEN_PART; }

    // The length of this block's part of a sum over n, and of the first of its halves.
    __device__ __forceinline__ unsigned own_part(unsigned n, unsigned part) const {
        return min(part, n - min(n, rank * part));
    }
    __device__ __forceinline__ static unsigned first_half(unsigned part) { return part / 16 * 8; }

    // Copies this block's part of ROWS input rows of layer l, in two groups, one per half. With numbers: rows
    // numbers[0] …. A short batch is filled with copies of its first row, whose deltas are 0.
    __device__ __forceinline__ void fetch_rows(float *to, unsigned pitch, unsigned l, const float *matrix,
                                               const unsigned *numbers, unsigned n_rows) {
        const unsigned part = own_part(inputs_of(l), part_of_layer(l)), half = first_half(part);
        const float *source[ROWS / WARPS];
#pragma unroll
        for (unsigned i = 0; i < ROWS / WARPS; i++) {
            const unsigned row = warp + WARPS * i, valid_row = row < n_rows ? row : 0;
            const unsigned number = numbers != nullptr ? __ldg(numbers + valid_row) : valid_row;
            source[i] = matrix + (size_t)number * inputs_of(l) + rank * part_of_layer(l);
        }
#pragma unroll 1
        for (unsigned first = 0, end = half;; first = half, end = part) {
            const unsigned at = first + 4 * lane;
            if (at < end) {
#pragma unroll
                for (unsigned i = 0; i < ROWS / WARPS; i++)
                    copy_async<16>(to + (warp + WARPS * i) * pitch + at, source[i] + at, true);
            }
            end_copy_group();
            if (first == half && end == part)
                break;
        }
    }

    // Copies the factor of the product in `stage` of step s; after the last stage, of the next step's first.
    __device__ __forceinline__ void fetch_factor(unsigned s, unsigned stage) {
        const bool images = stage == 0 || stage >= 2 * DEPTH - 3;
        s = min(s + (stage != 0 && images), p.steps - 1);
        const float *matrix = images              ? p.x
                              : stage < DEPTH - 1 ? activations(stage)
                                                  : deltas(2 * DEPTH - 3 - stage);
        fetch_rows(block.factor, ALONG_PITCH, images ? 0 : 1, matrix, images ? p.order + s * BATCH : nullptr,
                   images ? rows_of(s) : ROWS);
    }

    // The block's part of the inputs of layer l, for its gradient.
    __device__ __forceinline__ void fetch_inputs(unsigned l) {
        fetch_rows(block.inputs, INPUT_PITCH, l, l == 0 ? p.x : activations(l), l == 0 ? order : nullptr,
                   l == 0 ? rows : ROWS);
    }

    // Deltas of the cluster's neurons, for the gradients of layer l.
    __device__ __forceinline__ void fetch_deltas(unsigned l) {
        const float *from = deltas(l) + first_column;
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < ROWS * EACH; i += THREADS) {
            const unsigned row = i / EACH, column = i % EACH * 4;
            if (first_column + column < WIDTH)
                copy_async<16>(block.deltas + row * COLUMN_PITCH + column, from + row * WIDTH + column, true);
        }
        end_copy_group();
    }

    // Rows of W: the block's part of each of the cluster's neurons.
    __device__ __forceinline__ void fetch_weights_along(unsigned l, float *to) {
        const unsigned n = inputs_of(l), at = threadIdx.x % 64 * 4;
        const float *w = p.w[l] + (size_t)first_column * n + rank * part_of_layer(l) + at;
        if (at < own_part(n, part_of_layer(l)))
#pragma unroll 2
            for (unsigned column = threadIdx.x / 64; column < COLUMNS; column += THREADS / 64)
                if (first_column + column < WIDTH)
                    copy_async<16>(to + column * ALONG_PITCH + at, w + (size_t)column * n, true);
    }

    // Columns of W: the inputs whose deltas the cluster computes; the block's terms are rows.
    __device__ __forceinline__ void fetch_weights_across(unsigned l, float *to) {
        const unsigned all = own_part(WIDTH, HIDDEN_PART) * EACH;
        const float *w = p.w[l] + (size_t)rank * HIDDEN_PART * WIDTH + first_column;
#pragma unroll 2
        for (unsigned i = threadIdx.x; i < all; i += THREADS) {
            const unsigned term = i / EACH, column = i % EACH * 4;
            if (first_column + column < WIDTH)
                copy_async<16>(to + term * COLUMNS + column, w + (size_t)term * WIDTH + column, true);
        }
    }

    // Weights of the product after `stage`. Those of the next step's first product come from its update.
    __device__ __forceinline__ void fetch_next_weights(unsigned stage) {
        if (stage + 2 < DEPTH)
            fetch_weights_along(stage + 1, block.w[turn ^ 1]);
        else if (stage + 4 < 2 * DEPTH)
            fetch_weights_across(2 * DEPTH - 4 - stage, block.w[turn ^ 1]);
        end_copy_group();
    }

    __device__ __forceinline__ void begin() {
        if (threadIdx.x < 2)
            mbarrier_init(&block.arrived[threadIdx.x]);
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < HIDDEN_LAYERS * COLUMNS; i += THREADS) {
            const unsigned out = first_column + i % COLUMNS;
            block.bias[i / COLUMNS][i % COLUMNS] = out < WIDTH ? __ldcg(p.b[i / COLUMNS] + out) : 0.0f;
        }
        fetch_weights_along(0, block.w[turn]);
        end_copy_group();
        fetch_factor(0, 0);
        cluster_barrier();
    }
};

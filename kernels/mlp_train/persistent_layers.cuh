// Rung 05's step in pieces: what a block fetches, the meeting of the grid, the last layer, gradients with the update.
//
// What is read is never what somebody still writes, and the other way round:
//   activations  lie in two places, by turns of steps: a slow block may still read the last step's.
//   deltas       are written behind a meeting that a block comes to when it is done with those of the step before.
//   weights      of layer l that other blocks have are copied before the meeting in front of the product with them, and
//                changed behind that meeting. All others are read by the block that changes them.
// Copies and loads of all this pass by the L1 cache.
#pragma once

// Of `memory`: activations of hidden layers 1 … DEPTH - 1, twice; deltas of layers 0 … DEPTH - 2; then, of the last
// one, CLASSES a row in a row of 12, and each row's loss.
constexpr unsigned HIDDEN_LAYERS = DEPTH - 1, MATRIX = ROWS * WIDTH, LAST_DELTA_ROW = 12;
constexpr unsigned MEMORY_ROW = 3 * HIDDEN_LAYERS * WIDTH + 16;  // the host allocates as much

__device__ unsigned arrivals;  // of all launches; only grows, and begins again at 0 behind 2^32 - 1
__device__ unsigned meetings;  // before this launch

struct layers_of_block_t {
    const steps_t &p;
    block_t &block;
    const unsigned rank, first_column, warp, lane;
    unsigned rows, parity, turn, met;  // of this step; place of the product's weights; meetings that are behind us
    const unsigned *order;
    float *loss;

    __device__ __forceinline__ layers_of_block_t(const steps_t &problem, block_t &memory)
        : p(problem), block(memory), rank(block_of_cluster()), first_column(blockIdx.x / CLUSTER * COLUMNS),
          warp(threadIdx.x / 32), lane(threadIdx.x % 32), rows(0), parity(0), turn(0), met(__ldcg(&meetings)),
          order(problem.layer[0].order), loss(problem.losses) {}

    __device__ __forceinline__ unsigned rows_of(unsigned s) const {
        return s < p.steps ? min(BATCH, p.rows - s * BATCH) : 0;
    }

    __device__ __forceinline__ void begin_step(unsigned s) {
        rows = rows_of(s);
        parity = s % 2;
        order = p.layer[0].order + s * BATCH;
        loss = p.losses + s;
    }

    __device__ __forceinline__ float *activations(unsigned l) const {
        return p.memory + (parity * HIDDEN_LAYERS + l - 1) * MATRIX;
    }
    __device__ __forceinline__ float *deltas(unsigned l) const { return p.memory + (2 * HIDDEN_LAYERS + l) * MATRIX; }
    __device__ __forceinline__ float *last_deltas() const { return p.memory + 3 * HIDDEN_LAYERS * MATRIX; }
    __device__ __forceinline__ float *row_losses() const { return last_deltas() + ROWS * LAST_DELTA_ROW; }

    // ---- meetings: what any block wrote before it arrives, all may read behind their wait ----------------------

    __device__ __forceinline__ void arrive() {
        __syncthreads();
        met++;
        if (threadIdx.x == 0)
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(&arrivals) : "memory");
    }

    __device__ __forceinline__ void wait() const {
        if (threadIdx.x == 0) {
            unsigned seen;
            do
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(&arrivals) : "memory");
            while ((int)(seen - met * BLOCKS) < 0);
        }
        __syncthreads();
    }

    __device__ __forceinline__ void end() {
        wait_for_copies<0>();
        arrive();
        wait();
        if (blockIdx.x == 0 && threadIdx.x == 0)
            meetings = met;
        cluster_barrier();
    }

    // ---- copies ------------------------------------------------------------------------------------------------

    // This warp's fours of the block's part of a matrix (ROWS, n), in two groups. With an order: of its rows order[0] ….
    template <unsigned PART>
    __device__ __forceinline__ void fetch_factor(const float *matrix, const unsigned *numbers, unsigned n = WIDTH,
                                                 unsigned n_rows = ROWS) {
        const unsigned first = first_four<PART>(warp), fours = first_four<PART>(warp + 1) - first;
        const float *source[ROWS / 8];
#pragma unroll
        for (unsigned i = 0; i < ROWS / 8; i++) {
            const unsigned row = lane / 4 + 8 * i;
            source[i] = matrix + (numbers != nullptr && row < n_rows ? numbers[row] : row < n_rows ? row : 0) * (size_t)n;
        }
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            const unsigned four = 4 * half + lane % 4;
#pragma unroll
            for (unsigned i = 0; i < ROWS / 8; i++) {
                const unsigned row = lane / 4 + 8 * i, at = 4 * (first + four);
                if (four < fours)
                    copy_four(block.factor + row * PITCH + at, source[i], rank * PART + at, n, row < n_rows);
            }
            end_copy_group();
        }
    }

    __device__ __forceinline__ void fetch_images(unsigned s) {
        if (s < p.steps)
            fetch_factor<PIXEL_PART>(p.layer[0].x, p.layer[0].order + s * BATCH, PIXELS, rows_of(s));
    }

    __device__ __forceinline__ const float *hidden(unsigned l) const { return activations(l); }

    // Rows of W: the cluster's neurons; of them this warp's fours of the block's part.
    template <unsigned PART> __device__ __forceinline__ void fetch_weights_along(unsigned l, float *to, unsigned n) {
        const unsigned first = first_four<PART>(warp), fours = first_four<PART>(warp + 1) - first;
        for (unsigned i = lane; i < COLUMNS * 8; i += 32) {
            const unsigned column = i / 8, at = 4 * (first + i % 8), out = first_column + column;
            if (i % 8 < fours)
                copy_four(to + column * PITCH + at, p.layer[l].w + (size_t)(out < WIDTH ? out : 0) * n, rank * PART + at,
                          n, out < WIDTH);
        }
    }

    // Columns of W: inputs whose deltas the cluster makes; of them this warp's terms, which are rows.
    __device__ __forceinline__ void fetch_weights_across(unsigned l) {
        const unsigned first = 4 * first_four<HIDDEN_PART>(warp), terms = 4 * first_four<HIDDEN_PART>(warp + 1) - first;
        float *to = block.w[turn ^ 1];
        for (unsigned i = lane; i < terms * EACH; i += 32) {
            const unsigned term = first + i / EACH, column = i % EACH * 4, out = rank * HIDDEN_PART + term;
            copy_four(to + term * COLUMNS + column, p.layer[l].w + (size_t)(out < WIDTH ? out : 0) * WIDTH,
                      first_column + column, WIDTH, out < WIDTH);
        }
    }

    // For the first step.
    __device__ __forceinline__ void begin() {
        for (unsigned i = threadIdx.x; i < HIDDEN_LAYERS * COLUMNS; i += THREADS) {
            const unsigned out = first_column + i % COLUMNS;
            block.bias[i / COLUMNS][i % COLUMNS] = out < WIDTH ? __ldcg(p.layer[i / COLUMNS].b + out) : 0.0f;
        }
        fetch_weights_along<PIXEL_PART>(0, block.w[turn], PIXELS);
        end_copy_group();
        fetch_images(0);
        __syncthreads();
    }

    // Of the product behind forward(l). Those of the next step's first one its update leaves there.
    __device__ __forceinline__ void fetch_next_weights(unsigned l) {
        if (l + 2 < DEPTH)
            fetch_weights_along<HIDDEN_PART>(l + 1, block.w[turn ^ 1], WIDTH);
        else if (DEPTH > 2)
            fetch_weights_across(l);
        end_copy_group();
    }

    // The block's part of what goes into layer l, by all threads.
    template <unsigned PART>
    __device__ __forceinline__ void fetch_part(const float *matrix, const unsigned *numbers, unsigned n,
                                               unsigned n_rows) {
        for (unsigned i = threadIdx.x; i < ROWS * (PART / 4); i += THREADS) {
            const unsigned row = i / (PART / 4), at = i % (PART / 4) * 4;
            const unsigned source = row >= n_rows ? 0 : numbers != nullptr ? numbers[row] : row;
            copy_four(block.inputs + row * PITCH + at, matrix + (size_t)source * n, rank * PART + at, n, row < n_rows);
        }
        end_copy_group();
    }

    __device__ __forceinline__ void fetch_inputs(unsigned l) {
        if (l == 0)
            fetch_part<PIXEL_PART>(p.layer[0].x, order, PIXELS, rows);
        else
            fetch_part<HIDDEN_PART>(activations(l), nullptr, WIDTH, ROWS);
    }

    // ---- products ----------------------------------------------------------------------------------------------

    // Of the factor, whose groups of copies are the last but one, and of weights from before.
    template <bool ALONG, unsigned PART>
    __device__ __forceinline__ void multiply(const float *w, sums_of_thread_t &sums) {
        const unsigned first = first_four<PART>(warp), fours = first_four<PART>(warp + 1) - first;
        wait_for_copies<2>();
        __syncwarp();
#pragma unroll 2
        for (unsigned four = 0; four < min(fours, 4u); four++)
            add_terms<ALONG>(block.factor, w, first + four, sums);
        wait_for_copies<1>();
        __syncwarp();
#pragma unroll 2
        for (unsigned four = 4; four < fours; four++)
            add_terms<ALONG>(block.factor, w, first + four, sums);
    }

    // Adds all sums up; the block stores its quarter of the rows: store(row, column, four of the result, load(…)).
    template <class Load, class Store>
    __device__ __forceinline__ void finish(const sums_of_thread_t &sums, Load load, Store store) {
        static_assert(SHARE <= THREADS, "a thread has one four at most");
        const unsigned four = rank * SHARE + threadIdx.x;
        const unsigned row = four / EACH, column = first_column + four % EACH * 4;
        const bool stores = threadIdx.x < SHARE && column < WIDTH;
        float4 other = make_float4(0, 0, 0, 0);
        if (stores)
            other = load(row, column);
        add_warps(block.factor, sums);
        cluster_barrier();
        if (stores)
            store(row, column, add_blocks(block.factor, four), other);
        wait_for_copies<0>();  // the next weights: others may change theirs behind the meeting
    }

    // The others have read this block's sums, and stored what the cluster makes.
    __device__ __forceinline__ void leave_product() const { cluster_barrier(); }

    // ---- the last layer ----------------------------------------------------------------------------------------

    // Rows are dealt out to the blocks: logits, loss, deltas of the last layer and of the one in front.
    __device__ __forceinline__ void last_layer() {
        for (unsigned row = blockIdx.x; row < ROWS; row += BLOCKS)
            last_layer(row);
    }

    __device__ __forceinline__ void last_layer(unsigned row) {
        const bool has = threadIdx.x < WIDTH / 4;
        const float *w = p.layer[DEPTH - 1].w;
        float4 x = make_float4(0, 0, 0, 0), of_class[CLASSES] = {};
        if (has) {
            x = load_four(activations(DEPTH - 1) + row * WIDTH + 4 * threadIdx.x);
#pragma unroll
            for (unsigned k = 0; k < CLASSES; k++)
                of_class[k] = load_four(w + k * WIDTH + 4 * threadIdx.x);
        }
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++) {
            const float4 v = of_class[k];
            float sum = fmaf(x.x, v.x, fmaf(x.y, v.y, fmaf(x.z, v.z, x.w * v.w)));
#pragma unroll
            for (unsigned lanes = 16; lanes > 0; lanes /= 2)
                sum += __shfl_xor_sync(EVERY_LANE, sum, lanes);
            if (lane == 0)
                block.logits[k][warp] = sum;
        }
        __syncthreads();
        float logit[CLASSES], delta[CLASSES], dx[4] = {};
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++) {
            logit[k] = __ldcg(p.layer[DEPTH - 1].b + k);
#pragma unroll
            for (unsigned i = 0; i < WARPS; i++)
                logit[k] += block.logits[k][i];
        }
        const bool real = row < rows;
        const float of_row = cross_entropy(logit, real ? p.layer[DEPTH - 1].labels[order[row]] : 0, delta);
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++) {
            delta[k] = real ? delta[k] / rows : 0.0f;
            if (threadIdx.x == k)
                last_deltas()[row * LAST_DELTA_ROW + k] = delta[k];
#pragma unroll
            for (unsigned c = 0; c < 4; c++)
                dx[c] = fmaf(delta[k], component(of_class[k], c), dx[c]);
        }
        if (threadIdx.x == 0)
            row_losses()[row] = real ? of_row : 0.0f;
        if (has)
            *(float4 *)(deltas(DEPTH - 2) + row * WIDTH + 4 * threadIdx.x) =
                make_float4(x.x > 0 ? dx[0] : 0, x.y > 0 ? dx[1] : 0, x.z > 0 ? dx[2] : 0, x.w > 0 ? dx[3] : 0);
        __syncthreads();
    }

    // The last layer's weights, columns dealt out to the blocks: two lanes for each, half of the rows each.
    __device__ __forceinline__ void descend_last() {
        constexpr unsigned OWN = (WIDTH + BLOCKS - 1) / BLOCKS;
        static_assert(2 * CLASSES * OWN <= THREADS, "two lanes a weight");
        const op_t &layer = p.layer[DEPTH - 1];
        const unsigned k = threadIdx.x / 2 / OWN, column = blockIdx.x * OWN + threadIdx.x / 2 % OWN;
        const bool weight = k < CLASSES && column < WIDTH;
        const float *dy = last_deltas() + k, *x = activations(DEPTH - 1) + column;
        float sum = 0, alone = 0;
#pragma unroll 16
        for (unsigned i = 0; i < ROWS / 2 && weight; i++) {
            const unsigned row = threadIdx.x % 2 * (ROWS / 2) + i;
            const float d = __ldcg(dy + row * LAST_DELTA_ROW);
            sum = fmaf(d, __ldcg(x + row * WIDTH), sum);
            alone += d;
        }
        sum += __shfl_xor_sync(EVERY_LANE, sum, 1);
        alone += __shfl_xor_sync(EVERY_LANE, alone, 1);
        if (weight && threadIdx.x % 2 == 0)
            update(layer.w, layer.dw, k * WIDTH + column, sum);
        if (weight && threadIdx.x % 2 == 0 && column == 0)
            update(layer.b, layer.db, k, alone);
        if (blockIdx.x == BLOCKS - 1 && warp == WARPS - 1)
            mean_of_losses();
    }

    __device__ __forceinline__ void mean_of_losses() const {
        float sum = __ldcg(row_losses() + lane) + __ldcg(row_losses() + 32 + lane);
#pragma unroll
        for (unsigned lanes = 16; lanes > 0; lanes /= 2)
            sum += __shfl_xor_sync(EVERY_LANE, sum, lanes);
        if (lane == 0)
            *loss = sum / rows;
    }

    __device__ __forceinline__ void update(float *values, float *gradients, unsigned i, float gradient) const {
        values[i] = fmaf(-p.layer[0].rate, gradient, __ldcg(values + i));
        if (gradients != nullptr)
            gradients[i] = gradient;
    }

    // ---- hidden layers' gradients ------------------------------------------------------------------------------

    // Deltas of the cluster's neurons, in four groups for the threads that use them.
    __device__ __forceinline__ void load_deltas(unsigned l) {
        for (unsigned i = threadIdx.x; i < ROWS * EACH; i += THREADS) {
            const unsigned row = i / EACH, column = i % EACH * 4;
            float4 v = make_float4(0, 0, 0, 0);
            if (first_column + column < WIDTH)
                v = load_four(deltas(l) + row * WIDTH + first_column + column);
#pragma unroll
            for (unsigned k = 0; k < 4; k++) {
                const unsigned out = column + k;
                block.deltas[row * DELTA_ROW + out / EACH * DELTA_GROUP + out % EACH] = component(v, k);
            }
        }
    }

    // The block's weights of layer l: a thread has those of EACH neurons to four inputs. A place in shared memory gets
    // the new ones too.
    template <unsigned PART> __device__ __forceinline__ void descend(unsigned l, float *place) {
        constexpr unsigned FOURS = PART / 4;
        const unsigned n = l == 0 ? PIXELS : WIDTH;
        const unsigned group = threadIdx.x / FOURS, at = threadIdx.x % FOURS * 4, input = rank * PART + at;
        const unsigned out = first_column + group * EACH;
        const bool own = group < 4, inside = own && input < n;
        static_assert(4 * FOURS <= THREADS, "a thread has one four of inputs at most");
        float4 w[EACH], gradient[EACH];
#pragma unroll
        for (unsigned j = 0; j < EACH; j++) {
            w[j] = gradient[j] = make_float4(0, 0, 0, 0);
            if (inside && out + j < WIDTH)
                w[j] = load_four(p.layer[l].w + (size_t)(out + j) * n + input);
        }
        load_deltas(l);
        wait_for_copies<0>();
        __syncthreads();
        if (own)
            add_gradients(block.inputs + at, block.deltas + group * DELTA_GROUP, gradient);
#pragma unroll
        for (unsigned j = 0; j < EACH; j++) {
            const float4 g = gradient[j];
            const float4 updated = make_float4(fmaf(-p.layer[0].rate, g.x, w[j].x), fmaf(-p.layer[0].rate, g.y, w[j].y),
                                               fmaf(-p.layer[0].rate, g.z, w[j].z), fmaf(-p.layer[0].rate, g.w, w[j].w));
            const size_t i = (size_t)(out + j) * n + input;
            if (inside && out + j < WIDTH) {
                *(float4 *)(p.layer[l].w + i) = updated;
                if (p.layer[l].dw != nullptr)
                    *(float4 *)(p.layer[l].dw + i) = g;
            }
            if (own && place != nullptr)
                *(float4 *)(place + (group * EACH + j) * PITCH + at) = updated;
        }
        descend_biases(l);
    }

    __device__ __forceinline__ static void add_gradients(const float *inputs, const float *deltas,
                                                         float4 (&gradient)[EACH]) {
#pragma unroll 4
        for (unsigned row = 0; row < ROWS; row++) {
            const float4 x = as_float4(inputs + row * PITCH);
#pragma unroll
            for (unsigned j = 0; j < EACH; j++) {
                const float d = deltas[row * DELTA_ROW + j];
                gradient[j] = make_float4(fmaf(d, x.x, gradient[j].x), fmaf(d, x.y, gradient[j].y),
                                          fmaf(d, x.z, gradient[j].z), fmaf(d, x.w, gradient[j].w));
            }
        }
    }

    // Every block of the cluster has them, and one tells.
    __device__ __forceinline__ void descend_biases(unsigned l) {
        const unsigned i = THREADS - 1 - threadIdx.x, out = first_column + i;
        if (i >= COLUMNS || out >= WIDTH)
            return;
        float sum = 0;
#pragma unroll 8
        for (unsigned row = 0; row < ROWS; row++)
            sum += block.deltas[row * DELTA_ROW + i / EACH * DELTA_GROUP + i % EACH];
        block.bias[l][i] = fmaf(-p.layer[0].rate, sum, block.bias[l][i]);
        if (rank == 0)
            p.layer[l].b[out] = block.bias[l][i];
        if (rank == 0 && p.layer[l].db != nullptr)
            p.layer[l].db[out] = sum;
    }
};

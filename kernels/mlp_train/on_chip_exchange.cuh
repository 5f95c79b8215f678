// Rungs 08 to 10: what blocks send each other.
//   sums     of a product, from all blocks of a cluster to the one that finishes their rows: distributed shared memory.
//   results  (activations, deltas) to all blocks, through the L2. A number's last bit says which step it belongs to:
//            the number is its own flag, so nothing else is waited for and no order is needed. A reader loads a place
//            until it has the bit. It costs at most one unit in the last place.
// A place is written again only when all blocks have read it:
//   activations  in two buffers, by the step's parity. A block is in step s + 2 only after all blocks' last activations
//                of step s + 1. A block sends these when it has read all of step s, also for updates that come later.
//   deltas       in one: a step's first ones depend on all blocks' last activations of that step.
//   sums         in two buffers: a block sends to the same one again after results of the product between, for which
//                some cluster needed results of each block of this one.
#pragma once
#include "on_chip_tiles.cuh"

// Layout of `memory`: activations of hidden layers 1 … DEPTH - 1, twice, then deltas of layers 0 … DEPTH - 2.
constexpr unsigned HIDDEN_LAYERS = DEPTH - 1, MATRIX = ROWS * WIDTH, MEMORY_FLOATS = 3 * HIDDEN_LAYERS * MATRIX;

__device__ unsigned started; // blocks of all launches; only grows

__device__ __forceinline__ float flagged(float value, unsigned flag) {
    return __uint_as_float(with_last_bit(value, flag));
}

__device__ __forceinline__ bool has_flag(float4 v, unsigned flag) {
    const unsigned all = __float_as_uint(v.x) & __float_as_uint(v.y) & __float_as_uint(v.z) & __float_as_uint(v.w);
    const unsigned any = __float_as_uint(v.x) | __float_as_uint(v.y) | __float_as_uint(v.z) | __float_as_uint(v.w);
    return ((flag ? all : ~any) & 1) != 0;
}

// A zero may carry the flag.
__device__ __forceinline__ bool is_positive(float activation) {
    return __float_as_uint(activation) > 1;
}

struct exchange_t : tiles_t {
    const steps_t &p;
    const unsigned rank, cluster, warp, lane;
    unsigned turn, phases; // of the sums; bit b: parity of what arrived[b] waits for

    __device__ __forceinline__ exchange_t(const steps_t &problem, block_t &memory)
        : tiles_t(memory), p(problem), rank(block_of_cluster()), cluster(blockIdx.x / CLUSTER), warp(threadIdx.x / 32),
          lane(threadIdx.x % 32), turn(0), phases(0) {}

    // ---- results ----------------------------------------------------------------------------------------------------

    // Activations of layer l are the inputs of layer l; deltas of layer l are those of its outputs.
    __device__ __forceinline__ float *activations(unsigned l, unsigned s) const {
        return p.memory + (s % 2 * HIDDEN_LAYERS + l - 1) * MATRIX;
    }
    __device__ __forceinline__ float *deltas(unsigned l) const { return p.memory + (2 * HIDDEN_LAYERS + l) * MATRIX; }
    __device__ __forceinline__ static unsigned flag_of_activations(unsigned s) { return s / 2 % 2; }
    __device__ __forceinline__ static unsigned flag_of_deltas(unsigned s) { return s % 2; }

    // The flag that no first step has, everywhere.
    __device__ __forceinline__ void clear_memory() const {
#pragma unroll 1
        for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < MEMORY_FLOATS; i += BLOCKS * THREADS)
            store_relaxed(p.memory + i, __uint_as_float(1));
    }

    // A thread's fours of columns first … first + COLUMNS - 1 of all rows. Those beyond WIDTH are zeros, with flag or
    // without.
    template <unsigned COLUMNS, unsigned TO_PITCH> struct fours_t {
        static constexpr unsigned ACROSS = COLUMNS / 4, ALL = ROWS * ACROSS, EACH = (ALL + THREADS - 1) / THREADS;
        float *to;
        const float *matrix;
        unsigned first;

        __device__ __forceinline__ static unsigned number(unsigned i) { return threadIdx.x + i * THREADS; }
        __device__ __forceinline__ static bool exists(unsigned i) { return number(i) < ALL; }
        __device__ __forceinline__ unsigned column(unsigned i) const { return first + number(i) % ACROSS * 4; }
        __device__ __forceinline__ bool inside(unsigned i) const { return exists(i) && column(i) < WIDTH; }
        __device__ __forceinline__ const float *from(unsigned i) const {
            return matrix + number(i) / ACROSS * WIDTH + column(i);
        }
        __device__ __forceinline__ float4 *place(unsigned i) const {
            return (float4 *)(to + number(i) / ACROSS * TO_PITCH + number(i) % ACROSS * 4);
        }

        __device__ __forceinline__ static bool have_flag(const float4 (&v)[EACH], unsigned flag) {
            common_bits_t words(__float_as_uint(v[EACH - 1].x));
#pragma unroll
            for (unsigned i = EACH; i-- > 0;)
                words.add(v[i]);
            return words.are(1, flag != 0);
        }

        // Loads those that are missing, a bit each, until they have arrived.
        __device__ __forceinline__ void poll(unsigned missing, unsigned flag, float4 (&v)[EACH]) const {
            for (;;) {
#pragma unroll
                for (unsigned i = 0; i < EACH; i++)
                    load_relaxed_if(missing >> i & 1, v[i], (const float4 *)from(i));
                if (have_flag(v, flag))
                    return;
                missing = missing_of(v, flag);
            }
        }

        __device__ __forceinline__ static unsigned missing_of(const float4 (&v)[EACH], unsigned flag) {
            unsigned missing = 0;
#pragma unroll
            for (unsigned i = 0; i < EACH; i++)
                missing |= (has_flag(v[i], flag) ? 0u : 1u) << i;
            return missing;
        }

        // What nobody sends: zeros that have arrived.
        __device__ __forceinline__ static float4 padding(unsigned flag) {
            const float zero = flagged(0, flag);
            return make_float4(zero, zero, zero, zero);
        }

        __device__ __forceinline__ void receive(unsigned flag) const {
            float4 v[EACH];
            unsigned missing = 0;
#pragma unroll
            for (unsigned i = 0; i < EACH; i++) {
                v[i] = padding(flag);
                missing |= (inside(i) ? 1u : 0u) << i;
            }
            poll(missing, flag, v);
#pragma unroll
            for (unsigned i = 0; i < EACH; i++)
                if (exists(i))
                    *place(i) = v[i];
        }

        // The same in two halves: asynchronous copies, in one group, of what should have arrived …
        __device__ __forceinline__ void start() const {
#pragma unroll 1
            for (unsigned i = 0; i < EACH; i++)
                if (exists(i))
                    copy_async<16>((float *)place(i), inside(i) ? from(i) : matrix, inside(i));
            end_copy_group();
        }

        // … and, once these are done, what had not: rarely anything.
        __device__ __forceinline__ void complete(unsigned flag) const {
            common_bits_t words(__float_as_uint(padding(flag).x));
#pragma unroll 4
            for (unsigned i = 0; i < EACH; i++)
                words.add(inside(i) ? *place(i) : padding(flag));
            if (words.are(1, flag != 0))
                return;
#pragma unroll 1
            for (unsigned i = 0; i < EACH; i++)
                while (inside(i) && !has_flag(*place(i), flag))
                    *place(i) = load_relaxed((const float4 *)from(i));
        }
    };
    typedef fours_t<HIDDEN_PART, PITCH> factor_t;
    typedef fours_t<NEURONS, OWN_PITCH> own_t;

    __device__ __forceinline__ factor_t activations_of_terms(unsigned l, unsigned s) const {
        return {block.factor[0], activations(l, s), rank * HIDDEN_PART};
    }
    __device__ __forceinline__ factor_t deltas_of_terms(unsigned l) const {
        return {block.factor[1], deltas(l), rank * HIDDEN_PART};
    }
    __device__ __forceinline__ own_t own_inputs(unsigned l, unsigned s) const {
        return {block.own_inputs, activations(l, s), cluster * NEURONS};
    }
    __device__ __forceinline__ own_t own_deltas(unsigned l) const {
        return {block.own_deltas, deltas(l), cluster * NEURONS};
    }

    // ---- images -----------------------------------------------------------------------------------------------------

    __device__ __forceinline__ unsigned rows_of(unsigned s) const {
        return s < p.steps ? min((unsigned)BATCH, p.rows - s * BATCH) : 0;
    }

    // The block's columns of a step's images, in one group. Zeros beyond the images and the columns.
    __device__ __forceinline__ void fetch_images(float *to, unsigned s) const {
        constexpr unsigned ACROSS = PIXEL_PART / 4;
        const unsigned rows = rows_of(s);
#pragma unroll 4
        for (unsigned four = threadIdx.x; four < ROWS * ACROSS; four += THREADS) {
            const unsigned row = four / ACROSS, column = rank * PIXEL_PART + four % ACROSS * 4;
            const bool valid = row < rows && column < PIXELS;
            const size_t image = valid ? __ldg(p.order + s * BATCH + row) : 0;
            const float *from = p.x + image * PIXELS + (valid ? column : 0);
            copy_async<16>(to + row * PITCH + four % ACROSS * 4, from, valid);
        }
        end_copy_group();
    }

    // From device memory to the L2, by the warps that wait for nothing.
    __device__ __forceinline__ void prefetch_images(unsigned s) const {
        constexpr unsigned LINE = 32, LINES = PIXEL_PART / LINE + 2, FIRST = 32 * SIXTEENS;
        for (unsigned i = threadIdx.x - FIRST; threadIdx.x >= FIRST && i < ROWS * LINES; i += THREADS - FIRST) {
            const unsigned row = i / LINES, column = rank * PIXEL_PART + min(i % LINES * LINE, PIXEL_PART - 1);
            if (row < rows_of(s) && column < PIXELS)
                prefetch(p.x + (size_t)__ldg(p.order + s * BATCH + row) * PIXELS + column);
        }
    }

    // ---- sums -------------------------------------------------------------------------------------------------------

    __device__ __forceinline__ void expect(unsigned barrier, unsigned bytes) {
        if (threadIdx.x == 0)
            mbarrier_expect(&block.arrived[barrier], bytes);
    }

    // All threads call it, also those that need not wait.
    __device__ __forceinline__ void wait_for(unsigned barrier, bool waits) {
        if (waits)
            mbarrier_wait(&block.arrived[barrier], phases >> barrier & 1);
        phases ^= 1u << barrier;
    }

    // Adds the sums of groups of warps, each for its eights of rows, and sends them to the blocks of these rows.
    __device__ __forceinline__ void send_sums(float (&sums)[EIGHTS][4]) {
        float4(*given)[32] = block.given + sixteen * EIGHTS * (GROUPS_OF_TERMS - 1);
#pragma unroll
        for (unsigned j = 0; j < EIGHTS; j++) {
            const unsigned source = (group + GROUPS_OF_TERMS - j % GROUPS_OF_TERMS) % GROUPS_OF_TERMS;
            if (source > 0)
                given[j * (GROUPS_OF_TERMS - 1) + source - 1][lane] = four_of(sums[j]);
        }
        __syncthreads();
#pragma unroll
        for (unsigned first = 0; first < EIGHTS; first += GROUPS_OF_TERMS) {
            float v[4];
#pragma unroll
            for (unsigned k = 0; k < 4; k++) {
                v[k] = sums[first][k];
#pragma unroll
                for (unsigned i = 1; i < GROUPS_OF_TERMS; i++) {
                    const float other = sums[first + i][k];
                    v[k] = group == i ? other : v[k];
                }
            }
            float4 sum = four_of(v);
#pragma unroll
            for (unsigned i = 0; i < GROUPS_OF_TERMS - 1; i++)
                sum = add(sum, given[(first + group) * (GROUPS_OF_TERMS - 1) + i][lane]);
            store_to_block(&block.sums[turn][rank][sixteen * 32 + lane], &block.arrived[turn], first + group, sum);
        }
        expect(turn, sizeof block.sums[turn]);
    }

    template <unsigned N>
    __device__ __forceinline__ static float4 add_blocks(const float4 (&of_block)[CLUSTER][N], unsigned i) {
        float4 sum = of_block[0][i];
#pragma unroll
        for (unsigned b = 1; b < CLUSTER; b++)
            sum = add(sum, of_block[b][i]);
        return sum;
    }
};

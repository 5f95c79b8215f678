// How the blocks of rung 05 give each other their columns of a matrix of 32 x WIDTH halves: through distributed shared
// memory within a cluster, or through the L2 over the grid. Five matrices a step: activations 1, 2, 3, then deltas 2, 1.
//
// Nobody says "I have read it". A cluster's block sends a matrix of the next step only when it got a later matrix of
// this step from every block, which sent it after its last look at the place that is written now; the first activation,
// for which that does not hold, and the third take turns with two places. In the grid, places in the L2 are twofold, and
// emptied by their writer one step later.
#pragma once

enum exchange { ACTIVATION_1, ACTIVATION_2, ACTIVATION_3, DELTA_2, DELTA_1, EXCHANGES };

constexpr unsigned EXCHANGE_BYTES = ROWS * WIDTH * sizeof(half);

// Which of shared.hidden a matrix of a step is in.
__device__ __forceinline__ constexpr unsigned place_of(exchange matrix, unsigned step) {
    if (CLUSTER)
        return matrix == ACTIVATION_1   ? step % 2
               : matrix == ACTIVATION_3 ? (step + 1) % 2
               : matrix == ACTIVATION_2 ? 2
               : matrix == DELTA_2      ? 3
                                        : 4;
    return matrix == ACTIVATION_1 ? 0 : matrix == ACTIVATION_2 ? 1 : matrix == DELTA_2 ? 3 : 2;
}

#if CLUSTER
__device__ __forceinline__ void exchanges_begin(const mnist_t &, shared_t &shared) {
    if (threadIdx.x < EXCHANGES)
        barrier_init(shared_address(shared.arrived + threadIdx.x));
    cluster_barrier();
}

// At the beginning of a step, whose first words may already have come: counts go below zero.
__device__ __forceinline__ void exchanges_expect(shared_t &shared) {
    if (threadIdx.x < EXCHANGES)
        barrier_expect(shared_address(shared.arrived + threadIdx.x), EXCHANGE_BYTES);
}

// By all lanes of a warp: each two halves, of the block's own columns `column` and the next; four lanes make 16 bytes.
__device__ __forceinline__ void send(shared_t &shared, exchange matrix, unsigned step, unsigned row, unsigned column,
                                     half2 value) {
    const unsigned lane = threadIdx.x % 32, word = *(const unsigned *)&value;
    unsigned words[4];
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        words[k] = __shfl_sync(EVERY_LANE, word, lane / 4 * 4 + k);
    const unsigned base = shared_address(&shared);
    tile_rows_t &own = shared.hidden[place_of(matrix, step)][blockIdx.x];
    const unsigned to = shared_address(pair_at(own, row, column / 8 * 8)) - base;
    const unsigned barrier = shared_address(shared.arrived + matrix) - base;
#pragma unroll
    for (unsigned k = 0; k < BLOCKS / 4; k++) {
        // Each block begins with another one, so that they do not all send to the same. The eight lanes that send to
        // one block have 128 bytes in a row, and those go as one.
        const unsigned there = address_in((blockIdx.x + lane % 4 * (BLOCKS / 4) + k) % BLOCKS, base);
        store_async(there + to, words, there + barrier);
    }
}

// Every thread of this block has sent its words before the matrix is complete: a barrier of the block, too.
__device__ __forceinline__ void receive(shared_t &shared, exchange matrix, unsigned step) {
    barrier_wait(shared_address(shared.arrived + matrix), step % 2);
    __syncwarp();  // lanes may leave the loop one by one, and products are for whole warps
}

__device__ __forceinline__ void exchanges_clear(unsigned) {}
__device__ __forceinline__ void exchanges_cleared() {}

// No block's shared memory goes while another one writes to it.
__device__ __forceinline__ void exchanges_end() {
    cluster_barrier();
}

#else
// Words are sent inverted, and 0 is "not yet here": it stands for two halves 0xFFFF, a NaN that no conversion makes. So
// every word says by itself whether it has come, without tag, flag or fence.
__device__ uint4 board[2][EXCHANGES][BLOCKS][sizeof(tile_rows_t) / sizeof(uint4)];

__device__ __forceinline__ void clear_columns(unsigned set) {
    constexpr unsigned WORDS = sizeof(tile_rows_t) / 4;
    for (unsigned i = threadIdx.x; i < EXCHANGES * WORDS; i += THREADS)
        store_relaxed((unsigned *)board[set][i / WORDS][blockIdx.x] + i % WORDS, 0);
}

__device__ __forceinline__ void exchanges_begin(const mnist_t &p, shared_t &) {
    clear_columns(0);
    clear_columns(1);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *here = p.counters + 48;  // 0 before each training
        atomicAdd(here, 1);
        while (*(volatile unsigned *)here < BLOCKS)
            ;
        __threadfence();
    }
    __syncthreads();
}

__device__ __forceinline__ void exchanges_expect(shared_t &) {}

__device__ __forceinline__ void send(shared_t &, exchange matrix, unsigned step, unsigned row, unsigned column,
                                     half2 value) {
    store_relaxed((unsigned *)pair_at(*(tile_rows_t *)board[step % 2][matrix][blockIdx.x], row, column),
                  ~*(const unsigned *)&value);
}

__device__ __forceinline__ bool has_come(uint4 words) {
    return words.x != 0 && words.y != 0 && words.z != 0 && words.w != 0;
}

// The whole matrix into shared memory, over what was in its place.
__device__ __forceinline__ void receive(shared_t &shared, exchange matrix, unsigned step) {
    constexpr unsigned ROUNDS = ROWS * WIDTH / 8 / THREADS, IN_FLIGHT = ROUNDS;
    const uint4 *from = board[step % 2][matrix][0];
    // The update that is put off reads what was in this place last, all others lie behind a barrier.
    if (matrix == ACTIVATION_1)
        __syncthreads();
#pragma unroll
    for (unsigned first = 0; first < ROUNDS; first += IN_FLIGHT) {
        uint4 words[IN_FLIGHT];
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; k++)
            words[k] = make_uint4(0, 0, 0, 0);
        bool complete;
        do {
            complete = true;
#pragma unroll
            for (unsigned k = 0; k < IN_FLIGHT; k++)
                if (!has_come(words[k]))
                    words[k] = load_relaxed(from + (first + k) * THREADS + threadIdx.x);
#pragma unroll
            for (unsigned k = 0; k < IN_FLIGHT; k++)
                complete &= has_come(words[k]);
        } while (!complete);
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; k++) {
            const unsigned i = (first + k) * THREADS + threadIdx.x;
            const uint4 w = make_uint4(~words[k].x, ~words[k].y, ~words[k].z, ~words[k].w);
            ((uint4 *)shared.hidden[place_of(matrix, step)])[i] = w;
        }
    }
    __syncthreads();
}

// Behind the first matrix of a step: all blocks have read those of the step before.
__device__ __forceinline__ void exchanges_clear(unsigned step) {
    if (step > 0)
        clear_columns((step - 1) % 2);
}

// In front of the last matrix of a step: who gets it, and asks for the next step's, finds those places empty.
__device__ __forceinline__ void exchanges_cleared() {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

__device__ __forceinline__ void exchanges_end() {}
#endif

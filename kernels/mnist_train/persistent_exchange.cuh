// How the blocks of rung 05 exchange their columns of a matrix of 32 x WIDTH halves: through distributed shared memory
// within a cluster, or through the L2. Five matrices per step: activations 1, 2, 3, then deltas 2, 1.
//
// Reads are not acknowledged. A cluster's block sends a matrix of the next step only after it received a later matrix
// of this step from every block, which each sent after its last read of the destination. This does not hold for the
// first activation, which therefore alternates between two buffers with the third. In the grid, every matrix has two
// buffers in the L2, cleared by their writer one step later.
#pragma once

enum exchanged { ACTIVATION_1, ACTIVATION_2, ACTIVATION_3, DELTA_2, DELTA_1, EXCHANGES };

constexpr unsigned EXCHANGE_BYTES = ROWS * WIDTH * sizeof(half);

// The index in shared.hidden of a step's matrix.
__device__ __forceinline__ constexpr unsigned place_of(exchanged matrix, unsigned step) {
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

// At the start of a step, whose first words may already have arrived: counts may be negative.
__device__ __forceinline__ void exchanges_expect(shared_t &shared) {
    if (threadIdx.x < EXCHANGES)
        barrier_expect(shared_address(shared.arrived + threadIdx.x), EXCHANGE_BYTES);
}

// By all lanes of a warp: each sends two halves, columns `column` and the next of the block; four lanes make 16 bytes.
__device__ __forceinline__ void send(shared_t &shared, exchanged matrix, unsigned step, unsigned row, unsigned column,
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
        // Each block starts with a different receiver. The eight lanes that send to one block write 128 consecutive
        // bytes, as one transfer.
        const unsigned remote = address_in((blockIdx.x + lane % 4 * (BLOCKS / 4) + k) % BLOCKS, base);
        store_async(remote + to, words, remote + barrier);
    }
}

// All threads of this block have sent before the matrix is complete, so this is also a barrier of the block.
__device__ __forceinline__ void receive(shared_t &shared, exchanged matrix, unsigned step) {
    barrier_wait(shared_address(shared.arrived + matrix), step % 2);
    __syncwarp();  // lanes may leave the loop separately; products need whole warps
}

__device__ __forceinline__ void exchanges_clear(unsigned) {}
__device__ __forceinline__ void exchanges_cleared() {}

// A block must not exit while another writes to its shared memory.
__device__ __forceinline__ void exchanges_end() {
    cluster_barrier();
}

#else
// Words are sent inverted, and 0 means empty: it stands for two halves 0xFFFF, a NaN that no conversion produces. So
// each word shows whether it has arrived, without tag, flag or fence.
__device__ uint4 buffers[2][EXCHANGES][BLOCKS][sizeof(tile_rows_t) / sizeof(uint4)];

__device__ __forceinline__ void clear_columns(unsigned set) {
    constexpr unsigned WORDS = sizeof(tile_rows_t) / 4;
    for (unsigned i = threadIdx.x; i < EXCHANGES * WORDS; i += THREADS)
        store_relaxed((unsigned *)buffers[set][i / WORDS][blockIdx.x] + i % WORDS, 0);
}

__device__ __forceinline__ void exchanges_begin(const mnist_t &p, shared_t &) {
    clear_columns(0);
    clear_columns(1);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *arrivals = p.counters + 48;  // 0 before each training
        atomicAdd(arrivals, 1);
        while (*(volatile unsigned *)arrivals < BLOCKS)
            ;
        __threadfence();
    }
    __syncthreads();
}

__device__ __forceinline__ void exchanges_expect(shared_t &) {}

__device__ __forceinline__ void send(shared_t &, exchanged matrix, unsigned step, unsigned row, unsigned column,
                                     half2 value) {
    store_relaxed((unsigned *)pair_at(*(tile_rows_t *)buffers[step % 2][matrix][blockIdx.x], row, column),
                  ~*(const unsigned *)&value);
}

__device__ __forceinline__ bool has_arrived(uint4 words) {
    return words.x != 0 && words.y != 0 && words.z != 0 && words.w != 0;
}

__device__ __forceinline__ void receive(shared_t &shared, exchanged matrix, unsigned step) {
    constexpr unsigned IN_FLIGHT = ROWS * WIDTH / 8 / THREADS;
    const uint4 *from = buffers[step % 2][matrix][0];
    // The deferred update read this buffer last; all others are separated by a barrier.
    if (matrix == ACTIVATION_1)
        __syncthreads();
    uint4 words[IN_FLIGHT];
#pragma unroll
    for (unsigned k = 0; k < IN_FLIGHT; k++)
        words[k] = make_uint4(0, 0, 0, 0);
    bool complete;
    do {
        complete = true;
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; k++)
            if (!has_arrived(words[k]))
                words[k] = load_relaxed(from + k * THREADS + threadIdx.x);
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; k++)
            complete &= has_arrived(words[k]);
    } while (!complete);
#pragma unroll
    for (unsigned k = 0; k < IN_FLIGHT; k++) {
        const unsigned i = k * THREADS + threadIdx.x;
        const uint4 w = make_uint4(~words[k].x, ~words[k].y, ~words[k].z, ~words[k].w);
        ((uint4 *)shared.hidden[place_of(matrix, step)])[i] = w;
    }
    __syncthreads();
}

// After the first matrix of a step all blocks have read those of the previous step.
__device__ __forceinline__ void exchanges_clear(unsigned step) {
    if (step > 0)
        clear_columns((step - 1) % 2);
}

// Before the last matrix of a step: a block that receives it and polls for the next step finds empty buffers.
__device__ __forceinline__ void exchanges_cleared() {
    fence_gpu();
}

__device__ __forceinline__ void exchanges_end() {}
#endif

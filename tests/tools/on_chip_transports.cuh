// Probes of docs/on-chip.md: how 128 blocks, in clusters of 8 as in mnist_train's 06_on_chip, can exchange data.
//
// A round is a hop out and a hop back. Out, block (rank, cluster) reads a piece from each of 16 blocks 16 * rank …; back,
// it sends a piece to each of them. So no block can be a round ahead of those that read its data, without further signals.
#pragma once

enum transport { BIT_OF_WORD, WORD_AND_FLAG, FLAG_AFTER, BARRIER, GRID_SYNC, TRANSPORTS };

constexpr unsigned PIECES = 16, EXCHANGE_BLOCKS = 8 * PIECES, EXCHANGE_THREADS = 256, MOST_VECTORS = 256;

struct exchange_memory_t {
    uint4 out[EXCHANGE_BLOCKS][MOST_VECTORS], back[EXCHANGE_BLOCKS][PIECES][MOST_VECTORS];
    unsigned flags[2][EXCHANGE_BLOCKS], arrivals;
};

// As in kernels/device/02_barrier.cu.
__device__ __forceinline__ void probe_barrier(unsigned *counter, unsigned k) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned seen;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
        while (seen < (k + 1) * gridDim.x);
    }
    __syncthreads();
}

// VECTORS of 16 bytes per piece; WORD_AND_FLAG needs twice as many for the same data.
template <transport T, unsigned VECTORS> struct hop_t {
    static constexpr unsigned STORED = T == WORD_AND_FLAG ? 2 * VECTORS : VECTORS;
    static_assert(STORED <= MOST_VECTORS, "memory of a piece");

    __device__ static void store(uint4 *piece, unsigned i, unsigned round) {
        const unsigned bit = round % 2;
        if (T == BIT_OF_WORD)
            store_relaxed(piece + i, make_uint4(i * 2 + bit, i * 2 + bit, i * 2 + bit, i * 2 + bit));
        else if (T == WORD_AND_FLAG)
            store_relaxed(piece + i, make_uint4(i, round + 1, i, round + 1));
        else
            store_relaxed(piece + i, make_uint4(i, i, i, i));
    }
    // For a thread without a vector.
    __device__ static uint4 nothing(unsigned round) {
        const unsigned word = T == WORD_AND_FLAG ? round + 1 : round % 2;
        return make_uint4(word, word, word, word);
    }
    template <unsigned N> __device__ static bool arrived(const uint4 (&v)[N], unsigned round) {
        common_bits_t words(v[N - 1].y);
#pragma unroll
        for (unsigned k = N; k-- > 0;)
            if (T == WORD_AND_FLAG)
                words.add(v[k].y, v[k].w);
            else
                words.add(v[k]);
        if (T == WORD_AND_FLAG)
            return words.of_all == round + 1 && words.of_any == round + 1;
        return T != BIT_OF_WORD || words.are(1, round % 2 != 0);
    }

    // After the stores of all threads. `k` counts hops.
    __device__ static void signal(exchange_memory_t &m, unsigned hop, unsigned round) {
        if (T == BARRIER)
            probe_barrier(&m.arrivals, round * 2 + hop);
        else if (T == GRID_SYNC)
            cooperative_groups::this_grid().sync();
        else if (T == FLAG_AFTER) {
            __syncthreads();
            if (threadIdx.x == 0)
                asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&m.flags[hop][blockIdx.x]), "r"(round + 1)
                             : "memory");
        }
    }
    // Block `from` + i * `step` for each piece i has signalled.
    __device__ static void await(exchange_memory_t &m, unsigned hop, unsigned round, unsigned from, unsigned step) {
        if (T != FLAG_AFTER)
            return;
        if (threadIdx.x < PIECES) {
            unsigned seen;
            do
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                             : "=r"(seen)
                             : "l"(&m.flags[hop][from + threadIdx.x * step])
                             : "memory");
            while (seen < round + 1);
        }
        __syncthreads();
    }

    // All pieces into shared memory; piece i begins at from + i * MOST_VECTORS.
    __device__ static void receive(const uint4 *from, uint4 *to, unsigned round) {
        constexpr unsigned ALL = PIECES * STORED, N = (ALL + EXCHANGE_THREADS - 1) / EXCHANGE_THREADS;
        uint4 v[N];
        for (unsigned k = 0; k < N; k++)
            v[k] = nothing(round);
        for (;;) {
#pragma unroll
            for (unsigned k = 0; k < N; k++) {
                const unsigned i = k * EXCHANGE_THREADS + threadIdx.x;
                if (i < ALL)
                    v[k] = load_relaxed(from + i / STORED * MOST_VECTORS + i % STORED);
            }
            if (arrived(v, round))
                break;
        }
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            if (k * EXCHANGE_THREADS + threadIdx.x < ALL)
                to[k * EXCHANGE_THREADS + threadIdx.x] = v[k];
        __syncthreads();
    }
};

template <transport T, unsigned OUT, unsigned BACK>
__global__ void __launch_bounds__(EXCHANGE_THREADS, 1) exchange_rounds(exchange_memory_t *m, unsigned rounds) {
    extern __shared__ uint4 probe_shared[];
    typedef hop_t<T, OUT> out_t;
    typedef hop_t<T, BACK> back_t;
    const unsigned rank = blockIdx.x % 8, cluster = blockIdx.x / 8, owner = blockIdx.x / PIECES;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = threadIdx.x; i < out_t::STORED; i += EXCHANGE_THREADS)
            out_t::store(m->out[blockIdx.x], i, round);
        out_t::signal(*m, 0, round);
        out_t::await(*m, 0, round, rank * PIECES, 1);
        out_t::receive(m->out[rank * PIECES], probe_shared, round);
        for (unsigned i = threadIdx.x; i < PIECES * back_t::STORED; i += EXCHANGE_THREADS)
            back_t::store(m->back[rank * PIECES + i / back_t::STORED][cluster], i % back_t::STORED, round);
        back_t::signal(*m, 1, round);
        back_t::await(*m, 1, round, owner, 8);
        back_t::receive(m->back[blockIdx.x][0], probe_shared, round);
    }
}

// ---- within a cluster of N blocks -------------------------------------------------------------------------------

enum cluster_probe { CLUSTER_BARRIER, REDUCE_SCATTER, ALL_GATHER };

struct cluster_memory_t {
    float4 received[2][4096];
    unsigned long long arrived[2];
};

// BYTES: what a block sends in all (to reduce: a part to each rank; to gather: all of it to each).
template <unsigned N, cluster_probe WHAT, unsigned BYTES>
__global__ void __launch_bounds__(EXCHANGE_THREADS, 1) cluster_rounds(float4 *result, unsigned rounds) {
    extern __shared__ uint4 probe_shared[];
    cluster_memory_t &m = *(cluster_memory_t *)probe_shared;
    // Vectors, from one block to another.
    constexpr unsigned PART = WHAT == CLUSTER_BARRIER ? 1 : BYTES / 16 / (WHAT == REDUCE_SCATTER ? N : 1);
    const unsigned rank = block_in_cluster(), base = shared_address(&m);
    float4 sum = make_float4(0, 0, 0, 0);
    if (threadIdx.x < 2)
        barrier_init(shared_address(m.arrived + threadIdx.x));
    cluster_barrier();
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned set = round % 2, barrier = shared_address(m.arrived + set) - base;
        if (WHAT == CLUSTER_BARRIER) {
            cluster_barrier();
            continue;
        }
        if (threadIdx.x == 0)
            barrier_expect(base + barrier, N * PART * 16);
        for (unsigned i = threadIdx.x; i < N * PART; i += EXCHANGE_THREADS) {
            const unsigned to = (WHAT == REDUCE_SCATTER ? i / PART : i % N), word = __float_as_uint(sum.x) + i;
            const unsigned place = rank * PART + (WHAT == REDUCE_SCATTER ? i % PART : i / N);
            const unsigned words[4] = {word, word, word, word}, remote = address_in(to, base);
            store_async(remote + (shared_address(&m.received[set][place]) - base), words, remote + barrier);
        }
        barrier_wait(base + barrier, round / 2 % 2);
        __syncwarp();
        for (unsigned i = threadIdx.x; WHAT == REDUCE_SCATTER && i < PART; i += EXCHANGE_THREADS)
            for (unsigned r = 0; r < N; r++)
                sum.x += m.received[set][r * PART + i].x;
    }
    result[blockIdx.x * EXCHANGE_THREADS + threadIdx.x] = sum;
    cluster_barrier();
}

// Before rungs that keep a share of the weights on the chip and stream the rest: what the L2 keeps of weights that a
// step reads, reads again and writes, and whether the copies slow the blocks' exchanges. docs/on-chip.md has the results.
//     nvcc -arch=sm_90a -std=c++17 -O3 -o build/stream_probes tests/tools/stream_probes.cu && build/stream_probes
#include "probe.cuh"
#ifndef __CUDA_ARCH__  // kernels are declared for the host, too
#define __CUDA_ARCH__ 900
#endif
#include "../../kernels/common/ptx.cuh"
#include "../../kernels/common/relaxed.cuh"

constexpr unsigned BLOCKS = 128, THREADS = 96, TILE = 16 * 1024, SLOTS = 12, WRITES_UNDER_WAY = 3, GROUP = 16;

struct stream_t {
    uint4 *weights;          // of each block: `tiles` of 16 KB
    unsigned *arrivals;      // of the passes' barriers: 0 before the launch
    unsigned *rounds_seen;   // a word of each block
    long long *clocks;       // of all rounds, in block 0
    unsigned tiles, steps, kept, rounds;  // kept: tiles that are to stay in the L2
    bool reversed, writes;   // the second pass: in the opposite order; with a write of each tile
};

struct __align__(128) ring_of_block_t {
    unsigned char slot[SLOTS][TILE];
    unsigned long long full[SLOTS], empty[SLOTS];
};

__device__ __forceinline__ unsigned long long policy_of(bool kept) {
    unsigned long long policy;
    if (kept)
        asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    else
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ void read_tile(unsigned to, const void *from, unsigned barrier, unsigned long long policy) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, "
                 "[%3], %4;" ::"r"(to), "l"(from), "r"(TILE), "r"(barrier), "l"(policy)
                 : "memory");
}
__device__ __forceinline__ void write_tile(void *to, unsigned from, unsigned long long policy) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(to), "r"(from),
                 "r"(TILE), "l"(policy)
                 : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// The tile of visit i of a step's 2 * tiles.
__device__ __forceinline__ unsigned tile_of(const stream_t &p, unsigned i) {
    return i < p.tiles ? i : p.reversed ? 2 * p.tiles - 1 - i : i - p.tiles;
}
__device__ __forceinline__ unsigned char *address_of(const stream_t &p, unsigned tile) {
    return (unsigned char *)p.weights + ((size_t)blockIdx.x * p.tiles + tile) * TILE;
}

// The thread that copies runs ahead of the one that uses, also over the barriers between passes.
__device__ __forceinline__ void fill(const stream_t &p, ring_of_block_t &ring) {
    const unsigned long long kept = policy_of(true), other = policy_of(false);
    unsigned slot = 0, parity = 1;
    for (unsigned step = 0; step < p.steps; step++)
        for (unsigned i = 0; i < 2 * p.tiles; i++) {
            const unsigned full = shared_address(ring.full + slot), tile = tile_of(p, i);
            barrier_wait(shared_address(ring.empty + slot), parity);
            barrier_expect(full, TILE);
            read_tile(shared_address(ring.slot[slot]), address_of(p, tile), full, tile < p.kept ? kept : other);
            slot = slot + 1 == SLOTS ? 0 : slot + 1, parity ^= slot == 0;
        }
}

__device__ __forceinline__ void wait_for_grid(unsigned *arrivals, unsigned target) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrivals) : "memory");
    while (load_relaxed(arrivals) < target)
        ;
}

// A slot is free when the write of its tile, WRITES_UNDER_WAY tiles ago, has ended.
__device__ __forceinline__ void use(const stream_t &p, ring_of_block_t &ring) {
    const unsigned long long kept = policy_of(true), other = policy_of(false);
    unsigned slot = 0, parity = 0, barriers = 0, used = 0;
    for (unsigned step = 0; step < p.steps; step++)
        for (unsigned i = 0; i < 2 * p.tiles; i++) {
            const unsigned tile = tile_of(p, i);
            barrier_wait(shared_address(ring.full + slot), parity);
            if (p.writes && i >= p.tiles)
                write_tile(address_of(p, tile), shared_address(ring.slot[slot]), tile < p.kept ? kept : other);
            asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group %0;" ::"n"(WRITES_UNDER_WAY)
                         : "memory");
            if (++used > WRITES_UNDER_WAY)
                arrive(shared_address(ring.empty + (slot + SLOTS - WRITES_UNDER_WAY) % SLOTS));
            slot = slot + 1 == SLOTS ? 0 : slot + 1, parity ^= slot == 0;
            if (i + 1 == p.tiles || i + 1 == 2 * p.tiles)
                wait_for_grid(p.arrivals, ++barriers * BLOCKS);
        }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Exchanges as rung 06's between clusters: a word of each block, read by the GROUP blocks of its group.
__device__ __forceinline__ void exchange(const stream_t &p) {
    const unsigned *of_group = p.rounds_seen + blockIdx.x / GROUP * GROUP * 32;
    const long long start = clock64();
    for (unsigned round = 1; round <= p.rounds; round++) {
        if (threadIdx.x % 32 == 0)
            store_relaxed(p.rounds_seen + blockIdx.x * 32, round);
        while (__any_sync(0xffffffff, load_relaxed(of_group + threadIdx.x % GROUP * 32) < round))
            ;
    }
    if (blockIdx.x == 0 && threadIdx.x % 32 == 0)
        p.clocks[0] = clock64() - start;
}

__global__ void __launch_bounds__(THREADS, 1) stream(const __grid_constant__ stream_t p) {
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    ring_of_block_t &ring = *(ring_of_block_t *)shared_bytes;
    if (threadIdx.x < SLOTS) {
        barrier_init(shared_address(ring.full + threadIdx.x));
        barrier_init(shared_address(ring.empty + threadIdx.x));
    }
    __syncthreads();
    if (threadIdx.x == 0)
        fill(p, ring);
    else if (threadIdx.x == 32)
        use(p, ring);
    else if (threadIdx.x >= 64)
        exchange(p);
    __syncthreads();  // copies have ended before the block does
}

static const launch_of_probe_t OF = {(const void *)stream, BLOCKS, THREADS, sizeof(ring_of_block_t), 0, true};

static double us_a_step(stream_t p) {
    void *arguments[] = {&p};
    return each_us(OF, arguments, &p.steps, [&] { CUDA(cudaMemset(p.arrivals, 0, 4)); });
}

static void stream_row(stream_t p, unsigned kept_mb, double predicted) {
    char what[96];
    const double mb = (double)p.tiles * TILE * BLOCKS / 1e6;
    p.kept = (unsigned)(kept_mb * 1e6 / BLOCKS / TILE);
    snprintf(what, sizeof what, "%3.0f MB, %2u MB kept, %s, %s", mb, p.kept == 0 ? 0 : kept_mb,
             p.writes ? "read, read, written" : "read twice", p.reversed ? "to and fro" : "in one order");
    const double us = us_a_step(p);
    printf("%-46s | %8.1f us | predicted %6.1f | %5.2f TB/s\n", what, us, predicted,
           mb * (p.writes ? 3 : 2) / us);
    fflush(stdout);
}

static void exchange_row(stream_t p, unsigned steps, const char *what) {
    long long clocks;
    void *arguments[] = {&p};
    p.steps = steps, p.rounds = 3000;
    for (int i = 0; i < 3; i++) {
        CUDA(cudaMemset(p.arrivals, 0, 4));
        CUDA(cudaMemset(p.rounds_seen, 0, BLOCKS * 32 * 4));
        launch(OF, arguments);
        CUDA(cudaMemcpy(&clocks, p.clocks, sizeof clocks, cudaMemcpyDeviceToHost));
    }
    row("exchange", what, (double)clocks / p.rounds, "clocks a round");
}

int main() {
    stream_t p = {};
    p.weights = (uint4 *)zeros((size_t)BLOCKS * 130 * TILE);
    p.arrivals = (unsigned *)zeros(128), p.rounds_seen = (unsigned *)zeros(BLOCKS * 32 * 4);
    p.clocks = (long long *)zeros(sizeof *p.clocks);
    prepare(OF);
    // Megabytes of all blocks: of 4096, the streamed share, layers 1 and 2, all; of 8192. Predicted: reads of 20 to 30
    // MB that the L2 keeps at 9.7 TB/s, all else at 4.2.
    static const struct {
        unsigned tiles;
        double twice, written;
    } SIZES[] = {{8, 4, 8}, {14, 6, 12}, {20, 12, 20}, {28, 18, 28}, {35, 27, 40}, {128, 120, 180}};
    for (const auto &size : SIZES)
        for (unsigned order = 0; order < 2; order++) {
            p.tiles = size.tiles, p.reversed = order != 0;
            p.writes = false;
            stream_row(p, 0, size.twice);
            p.writes = true;
            for (unsigned kept_mb = 0; kept_mb <= 32; kept_mb += 16)
                stream_row(p, kept_mb, size.written);
        }
    p.tiles = 28, p.writes = p.reversed = true;
    exchange_row(p, 0, "without copies (predicted 1,000 to 1,300)");
    exchange_row(p, 600, "while 58 MB are streamed (predicted 2,000)");
    p.tiles = 128;
    exchange_row(p, 150, "while 268 MB are streamed (predicted 2,500)");
    return 0;
}

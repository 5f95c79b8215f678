// Layers forward and backward through the ring of stream_ring.cuh.
#pragma once
#include "stream_ring.cuh"

// The chunks of this block: rank, rank + CLUSTER, … of the layer's LENGTH.
template <unsigned LENGTH> struct share_t {
    unsigned panel, rank, chunks;

    __device__ __forceinline__ share_t() {
        panel = blockIdx.x / CLUSTER;
        rank = blockIdx.x % CLUSTER;
        chunks = ((LENGTH + CHUNK - 1) / CHUNK - rank + CLUSTER - 1) / CLUSTER;
    }
    __device__ __forceinline__ unsigned first(unsigned n) const { return (rank + n * CLUSTER) * CHUNK; }
    __device__ __forceinline__ unsigned left(unsigned n) const { return LENGTH - first(n); }
};

// TILES: of weights in a slot; SET: warps in a set.
template <unsigned TILES, unsigned SLABS, unsigned SET>
__device__ __forceinline__ ring_t<TILES, SLABS> ring_of_block(barriers_t &barriers) {
    const ring_t<TILES, SLABS> ring = {(shared_address(shared) + 127) / 128 * 128, shared_address(barriers)};
    if (threadIdx.x < ring.SLOTS) {
        barrier_init(ring.full(threadIdx.x), 2 * 32);
        barrier_init(ring.empty(threadIdx.x), GROUP);
    } else if (threadIdx.x - 32 < SETS) {
        barrier_init(ring.set(threadIdx.x - 32), SET);
    } else if (threadIdx.x == 64) {
        barrier_init(ring.panel_full(), 32);
    }
    __syncthreads();
    cluster_arrive();  // other blocks wait for it before they write here
    return ring;
}

__device__ __forceinline__ bool copies_weights() {
    return warp() == USERS;
}
__device__ __forceinline__ bool copies_slabs() {
    return warp() > USERS;
}

// Calls copy(n, slot) for each of the block's chunks, in one of the two copying warps.
template <class Ring, class Share, class Copy>
__device__ __forceinline__ void fill(const Ring &ring, const Share &share, Copy copy) {
#pragma unroll 1
    for (unsigned n = 0; n < share.chunks; n++) {
        const unsigned slot = n % Ring::SLOTS, round = n / Ring::SLOTS;
        if (round > 0)
            barrier_wait(ring.empty(slot), (round - 1) % 2);
        copy(n, slot);
        barrier_arrive_copied(ring.full(slot));
    }
}

// Calls use(n, slot) for each chunk of this warp's group.
template <class Ring, class Share, class Use>
__device__ __forceinline__ void empty(const Ring &ring, const Share &share, Use use) {
#pragma unroll 1
    for (unsigned n = warp() / GROUP; n < share.chunks; n += GROUPS) {
        const unsigned slot = n % Ring::SLOTS;
        barrier_wait(ring.full(slot), n / Ring::SLOTS % 2);
        use(n, slot);
        __syncwarp();
        if (lane() == 0)
            barrier_arrive(ring.empty(slot));
    }
}

// A panel (BATCH, PANEL) of `matrix`: its copy, by the warp that copies slabs, and its fragments.
template <class Ring> __device__ __forceinline__ void copy_panel(const Ring &ring, const half *matrix) {
    copy_tile<BATCH, PANEL, HIDDEN>(ring.panel(), matrix);
    barrier_arrive_copied(ring.panel_full());
}
template <class Ring> __device__ __forceinline__ void load_panel(const Ring &ring, panel_t &to) {
    barrier_wait(ring.panel_full(), 0);
    load_panel(to, ring.panel());
}

// Barrier of the warps of a set, after they stored their parts of the block's n-th tile.
template <class Ring> __device__ __forceinline__ void set_barrier(const Ring &ring, unsigned set, unsigned n) {
    __syncwarp();
    if (lane() == 0)
        barrier_arrive(ring.set(set));
    barrier_wait(ring.set(set), n / GROUPS % 2);
}

// Reduces the sums in the ring's memory: take(image, place, sum) for four neighbours from `place` of the panel. Each
// block reduces its part of the panel over all blocks, in order.
template <class Ring, class Share, class Take>
__device__ __forceinline__ void add_up(const Ring &ring, const Share &share, const warp_sums_t &sums, Take take) {
    cluster_wait();
    __syncthreads();
    if (warp() < USERS) {
        const unsigned own = warp() / ACROSS * SUMS_SHARE + (across() * 32 + lane() / 4) * sizeof(float);
        float *to =
            reinterpret_cast<float *>(reinterpret_cast<char *>(shared) + (ring.slots - shared_address(shared)) + own) +
            lane() % 4 * 2 * SUMS_ROW;
#pragma unroll
        for (unsigned m = 0; m < 2; m++)
#pragma unroll
            for (unsigned n = 0; n < BATCH / 8; n++) {
                const float4 v = in_float32(sums[m][n]);
                const unsigned at = n * 8 * SUMS_ROW + m * 16;
                to[at] = v.x;
                to[at + SUMS_ROW] = v.y;
                to[at + 8] = v.z;
                to[at + SUMS_ROW + 8] = v.w;
            }
    }
    __syncthreads();
    const auto add = [](unsigned at, unsigned n, unsigned stride) {
        float4 sum = load_sums(at);
        for (unsigned i = 1; i < n; i++) {
            const float4 more = load_sums(at + i * stride);
            sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
        }
        return sum;
    };
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < BATCH * PANEL / 4; i += STREAM_THREADS) {
        const unsigned image = i / (PANEL / 4), place = i % (PANEL / 4) * 4;
        const float4 sum = add(ring.slots + (image * SUMS_ROW + place) * sizeof(float), SHARES, SUMS_SHARE);
        const unsigned at = ((share.rank * BATCH + image) * PART + place % PART) * sizeof(float);
        store_sums(ring.exchange() + at, place / PART, sum);
    }
    cluster_arrive();
    cluster_wait();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < BATCH * PART / 4; i += STREAM_THREADS)
        take(i / (PART / 4), share.rank * PART + i % (PART / 4) * 4,
             add(ring.exchange() + i * sizeof(float4), CLUSTER, BATCH * PART * sizeof(float)));
}

// Stores four activations. `bias`: the panel's.
template <unsigned LAYER>
__device__ __forceinline__ void store_activations(const mnist_t &p, unsigned panel, unsigned image, unsigned place,
                                                  float4 sum, const half *bias) {
    const unsigned *pairs = reinterpret_cast<const unsigned *>(bias + place);
    const float2 low = to_floats(pairs[0]), high = to_floats(pairs[1]);
    const vector_t<2> y = {{to_halves(fmaxf(sum.x + low.x, 0), fmaxf(sum.y + low.y, 0)),
                            to_halves(fmaxf(sum.z + high.x, 0), fmaxf(sum.w + high.y, 0))}};
    store(p.a[LAYER + 1] + (size_t)image * HIDDEN + panel * PANEL + place, y);
}

// copy_slab(share, n, to) copies the inputs of chunk n.
template <unsigned LAYER, class CopySlab>
__device__ __forceinline__ void stream_forward(const mnist_t &p, CopySlab copy_slab) {
    constexpr unsigned N_IN = fan_in(LAYER);
    __shared__ barriers_t barriers;
    __shared__ __align__(16) half bias[PANEL];
    const ring_t<1, 1> ring = ring_of_block<1, 1, 1>(barriers);
    const share_t<N_IN> share;
    warp_sums_t sums = {};
    if (copies_weights()) {
        const half *w = p.w[LAYER] + (size_t)share.panel * PANEL * N_IN;
        fill(ring, share, [&](unsigned n, unsigned slot) {
            copy_tile<PANEL, CHUNK, N_IN, LAYER != 0>(ring.tile(slot), w + share.first(n), share.left(n));
        });
        wait_for_earlier_stages();
    } else if (copies_slabs()) {
        for (unsigned i = lane(); i < PANEL; i += 32)
            bias[i] = __ldcg(p.b[LAYER] + share.panel * PANEL + i);
        wait_for_earlier_stages();
        fill(ring, share, [&](unsigned n, unsigned slot) { copy_slab(share, n, ring.slab(slot)); });
    } else {
        wait_for_earlier_stages();
        const unsigned tile = rows_first<CHUNK>(across() * 32, step_of_warp() * 2);
        empty(ring, share, [&](unsigned, unsigned slot) {
            weights_t w;
            load_weights<false>(w, ring.tile(slot) + tile, ring.tile(slot) + tile + 16 * CHUNK * sizeof(half));
            add_products(sums, w, ring.slab(slot));
        });
    }
    add_up(ring, share, sums, [&](unsigned image, unsigned place, float4 sum) {
        store_activations<LAYER>(p, share.panel, image, place, sum, bias);
    });
}

template <unsigned LAYER> __device__ __forceinline__ void stream_forward(const mnist_t &p) {
    stream_forward<LAYER>(p, [&](const share_t<HIDDEN> &share, unsigned n, unsigned to) {
        copy_tile<BATCH, CHUNK, HIDDEN>(to, p.a[LAYER] + share.first(n));
    });
}

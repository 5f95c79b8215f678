// What the warps of rung 07 that compute do together: they take turns with items, and add up their sums.
#pragma once
#include "mma.cuh"
#include "tiled_ring.cuh"

struct together_t {
    const mnist_t &p;
    shared_t &shared;
    kept_t &kept;
    place_t place;
    items_t items;
    unsigned sums_added = 0;  // how often

    __device__ __forceinline__ together_t(const mnist_t &problem, shared_t &memory)
        : p(problem), shared(memory), kept(memory.kept), items(memory) {}

    __device__ __forceinline__ static void users_barrier() { barrier_of(USER_THREADS); }

    // This block has written a stage's activations or deltas.
    __device__ __forceinline__ void end_stage() {
        proxy_fence();
        users_barrier();
        if (threadIdx.x == 0)
            count_up(stages_ended(p));
    }

    // Calls use(i) for each chunk of this warp's set; items.n is then its item.
    template <class Use> __device__ __forceinline__ void each_item(unsigned kind, Use use) {
        const unsigned first = items.n, chunks = place.chunks(kind);
#pragma unroll 1
        for (unsigned i = warp() / GROUP; i < chunks; i += GROUPS) {
            items.n = first + i;
            items.wait_until_done_before();
            barrier_wait(items.full(), items.parity());
            __syncwarp();
            use(i);
            __syncwarp();
            if (lane() == 0)
                barrier_arrive(items.done());
        }
        items.n = first + chunks;
    }

    // A warp's sums, where those of the warps before it are.
    template <bool ADDS> __device__ __forceinline__ void put_sums(const warp_sums_t &sums) {
        float *const own = &kept.sums[step_of_warp() % SUMS][lane() % 4 * 2][across() * 32 + lane() / 4];
#pragma unroll
        for (unsigned m = 0; m < 2; m++)
#pragma unroll
            for (unsigned n = 0; n < BATCH / 8; n++) {
                const float4 v = in_float32(sums[m][n]);
                const float of[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                for (unsigned i = 0; i < 4; i++) {
                    float &to = own[(n * 8 + i % 2) * SUMS_ROW + m * 16 + i / 2 * 8];
                    to = ADDS ? to + of[i] : of[i];
                }
            }
    }

    // take(image, place in the panel, sum) for four neighbours of this block's part; sums over warps, then ranks.
    template <class Take> __device__ __forceinline__ void add_up(const warp_sums_t &sums, Take take) {
        const unsigned turn = warp() / GROUP * (TURNS / GROUPS) + step_of_warp() / SUMS;
        if (turn == 0)
            put_sums<false>(sums);
#pragma unroll
        for (unsigned i = 1; i < TURNS; i++) {
            users_barrier();
            if (turn == i)
                put_sums<true>(sums);
        }
        users_barrier();
        static_assert(BATCH * PANEL / 4 == USER_THREADS, "each thread adds up four");
        const unsigned image = threadIdx.x / (PANEL / 4), in_panel = threadIdx.x % (PANEL / 4) * 4;
        float4 sum = {};
#pragma unroll
        for (unsigned i = 0; i < SUMS; i++)
            add(sum, *reinterpret_cast<const float4 *>(&kept.sums[i][image][in_panel]));
        if (CLUSTER == 1)
            return take(image, in_panel, sum);
        if (threadIdx.x == 0)
            barrier_expect(shared_address(&kept.sums_here), sizeof kept.of_ranks);
        const unsigned words[4] = {__float_as_uint(sum.x), __float_as_uint(sum.y), __float_as_uint(sum.z),
                                   __float_as_uint(sum.w)};
        send(in_panel / PART, &kept.of_ranks[place.rank][image][in_panel % PART], words, &kept.sums_here);
        barrier_wait(shared_address(&kept.sums_here), sums_added++ % 2);
        __syncwarp();
        const unsigned i = threadIdx.x;
        if (i >= BATCH * PART / 4)
            return;
        const unsigned row_of_part = i / (PART / 4), in_part = i % (PART / 4) * 4;
        float4 total = {};
#pragma unroll
        for (unsigned rank = 0; rank < CLUSTER; rank++)
            add(total, *reinterpret_cast<const float4 *>(&kept.of_ranks[rank][row_of_part][in_part]));
        take(row_of_part, place.rank * PART + in_part, total);
    }
    __device__ __forceinline__ static void add(float4 &sum, const float4 &more) {
        sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
    }
    // To the same place of another block of the cluster.
    __device__ __forceinline__ void send(unsigned rank, const void *to, const unsigned (&words)[4],
                                         const unsigned long long *barrier) {
        const unsigned base = shared_address(&shared), remote = address_in(rank, base);
        store_async(remote + (shared_address(to) - base), words, remote + (shared_address(barrier) - base));
    }
};

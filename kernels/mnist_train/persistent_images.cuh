// Copies the images of the next step to shared memory during a step; each warp keeps their numbers in registers. From
// sm_90 on a row is one bulk copy, before that 16 bytes per lane.
#pragma once

struct images_t {
    unsigned image;              // of this lane, in the step to fetch next
    unsigned label, next_label;  // of image threadIdx.x / 8: in this step and in the fetched one

    __device__ __forceinline__ static unsigned in_order(const mnist_t &p, unsigned step) {
        return p.order[(size_t)min(step, p.steps - 1) * BATCH + min(lane_of(), BATCH - 1)];
    }

    __device__ __forceinline__ void begin(const mnist_t &p, shared_t &shared) {
        image = in_order(p, 0);
        next_label = 0;
#if __CUDA_ARCH__ >= 900
        if (threadIdx.x < PIXEL_SETS)
            barrier_init(shared_address(shared.fetched + threadIdx.x));
        copies_fence();
#endif
    }

    // By all warps, after a barrier that follows the last read of this buffer.
    __device__ __forceinline__ void fetch(const mnist_t &p, shared_t &shared, unsigned step) {
        half(&to)[ROWS][PIXEL_ROW] = shared.pixels[step % PIXEL_SETS];
#if __CUDA_ARCH__ >= 900
        constexpr unsigned ROW_BYTES = PIXELS * sizeof(half);
        const unsigned barrier = shared_address(shared.fetched + step % PIXEL_SETS);
        const unsigned row = CLUSTER ? warp_of() * BLOCKS + blockIdx.x : warp_of() * 4 + lane_of();
        const unsigned which = __shfl_sync(EVERY_LANE, image, row);
        if (threadIdx.x == 0)
            barrier_expect(barrier, BATCH * ROW_BYTES);
        if (row < BATCH && lane_of() < (CLUSTER ? 1 : 4)) {
            const half *from = p.images + (size_t)which * PIXELS;
            copies_fence();
#if CLUSTER
            copy_bulk_to_all(shared_address(to[row]), from, ROW_BYTES, barrier);
#else
            copy_bulk(shared_address(to[row]), from, ROW_BYTES, barrier);
#endif
        }
        __syncwarp();
#else
        for (unsigned row = warp_of(); row < BATCH; row += WARPS) {
            const half *from = p.images + (size_t)__shfl_sync(EVERY_LANE, image, row) * PIXELS;
            for (unsigned eight = lane_of(); eight < PIXELS / 8; eight += 32)
                copy_async(shared_address(&to[row][eight * 8]), from + eight * 8);
        }
#endif
        next_label = p.labels[__shfl_sync(EVERY_LANE, image, threadIdx.x / 8)];
        image = in_order(p, step + 1);
    }

    __device__ __forceinline__ void wait(shared_t &shared, unsigned step) {
        label = next_label;
#if __CUDA_ARCH__ >= 900
        barrier_wait(shared_address(shared.fetched + step % PIXEL_SETS), step / PIXEL_SETS % 2);
        __syncwarp();
#else
        copies_wait();
        __syncthreads();
#endif
    }

    // Blocks share the prefetch of the images that all of them will read.
    __device__ __forceinline__ void prefetch(const mnist_t &p) const {
        const unsigned row = blockIdx.x + warp_of() * BLOCKS, byte = lane_of() * 128;
        const unsigned which = __shfl_sync(EVERY_LANE, image, row % 32);
        if (row < BATCH && byte < PIXELS * sizeof(half))
            prefetch_l2((const char *)(p.images + (size_t)which * PIXELS) + byte);
    }
};

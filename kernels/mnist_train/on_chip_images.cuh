// Copies this rank's pixels of the next step's images to shared memory during a step. Each warp keeps their numbers.
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
        // One thread: of a barrier per thread the compiler makes code that racecheck takes for writes of all
        // threads, to addresses that only these have.
        if (threadIdx.x == 0)
            for (unsigned i = 0; i < 2; i++)
                barrier_init(shared_address(shared.fetched + i));
    }

    // By all warps, after a barrier that follows the last read of this buffer. The last rank may have no pixels.
    __device__ __forceinline__ void fetch(const mnist_t &p, shared_t &shared, unsigned step) {
        const unsigned first = rank_of() * PIXEL_TILES * 16, barrier = shared_address(shared.fetched + step % 2);
        const unsigned bytes = first >= PIXELS ? 0 : min(PIXEL_TILES * 16, PIXELS - first) * sizeof(half);
        if (threadIdx.x == 0)
            barrier_expect(barrier, BATCH * bytes);
        __syncwarp();
        if (threadIdx.x < BATCH && bytes > 0) {
            copies_fence();
            copy_bulk(shared_address(shared.pixels[step % 2][threadIdx.x]), p.images + (size_t)image * PIXELS + first,
                      bytes, barrier);
        }
        __syncwarp();
        next_label = p.labels[__shfl_sync(EVERY_LANE, image, threadIdx.x / 8)];
        image = in_order(p, step + 1);
    }

    __device__ __forceinline__ void wait(shared_t &shared, unsigned step) {
        label = next_label;
        barrier_wait(shared_address(shared.fetched + step % 2), step / 2 % 2);
        __syncwarp();
    }
};

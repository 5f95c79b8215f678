// Idea    With 32 images a step is bound by its weights: 192 operations per 3 accesses of 2 bytes, 32 per byte, where
//         an H200 can do 200. So stream them: read once forward, once backward, written back in the same pass.
// Change  On GPUs with clusters, from H = 768 on: two warps of a block only copy (cp.async, mbarriers) into a ring of
//         up to 180 KB; 16 others multiply, update and write back (stream_ring.cuh: ldmatrix, mma.sync, stmatrix). A
//         cluster splits the sum. Stages overlap (programmatic dependent launch): a stage requests its weights before
//         it waits for the previous stage. backward_0 includes the next step's forward_0, so W_0 is read once per step.
//         Elsewhere rung 03, its tiles in per-thread rings (tiles.cuh).
// Buys    3 * W at 4.3 TB/s: H = 8192 has 281 MB, 196 us; measured 228 (rung 03: 410). H = 4096: 74 MB, 51 us, measured
//         68 (111), with 16 MB of weights kept in the L2. 2048: 35.0 us (46), 1024: 22.3 (27). 128-byte lines in one
//         store: 5 us per stage less at H = 2048. One block per multiprocessor: 70 us less at 8192, because a stage's
//         blocks take the first free places, and two on one multiprocessor are slow. Tried: a block requests 96 KB of the
//         next stage's weights into the L2 behind its own (predicted 58 and 219 where it took 70 and 232): 73 and 232;
//         192 KB: 76 and 236. With requests, 24 or 32 MB kept in the L2 take 1 to 3 us more than 16.
//         dtype mixed, predicted: 10 bytes per weight instead of 6, 2 forward, 4 backward and 4 written: H = 512: 20 us,
//         measured 20.7; 1024: 27, measured 24.4; 4096: 105 (368 MB), measured 111; not measured yet 2048: 48, 8192: 355
//         (1.4 GB). The second words of the weights (split_weight.cuh) lie in a slot of the ring behind their tile, in
//         the same order.
// Limits  A large stage moves 3.6 TB/s, as does a plain copy with the same pattern. The chain of 6 or 7 stages costs
//         some 3 us each, which rung 05 shortens. Two warps that write a line synchronise on an mbarrier; bar.sync
//         takes up to 1 us per step less, but hides the block's own barriers from racecheck.
#define STREAMED 1
#define TAKES_MIXED 1
#ifndef NARROWEST_STREAMED  // tests on a host choose smaller layers
#define NARROWEST_STREAMED 768
#endif
#if (__CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030) && HIDDEN >= NARROWEST_STREAMED
#define OVERLAPPED 1
#include "last_layer.cuh"
#include "stream_backward.cuh"

__host__ __device__ constexpr unsigned whole_clusters(unsigned blocks) {
    return (blocks + CLUSTER - 1) / CLUSTER * CLUSTER;
}
constexpr unsigned GATHER_BLOCKS = whole_clusters(BATCH / WARPS), STEP_3_BLOCKS = whole_clusters(LAST_BLOCKS);

LAUNCHED_AS_GRAPH;
#define STREAM_LAUNCH(name, blocks) launch_of(name, blocks, STREAM_THREADS, STREAM_SHARED, OVERLAPS, CLUSTER)
LAUNCHES = {
    FIRST_LAUNCHES
    once(launch_of("forward_0", STREAM_BLOCKS, STREAM_THREADS, STREAM_SHARED, 0, CLUSTER)),
    STREAM_LAUNCH("forward_1", STREAM_BLOCKS + GATHER_BLOCKS),
    STREAM_LAUNCH("forward_2", STREAM_BLOCKS),
#if HIDDEN > 1024
    launch_of("forward_3", SPLITS, THREADS, CLASS_SHARED, OVERLAPS),
#endif
    launch_of("backward_3", LAST_BLOCKS, THREADS, CLASS_SHARED, OVERLAPS),
    STREAM_LAUNCH("backward_2", STREAM_BLOCKS + STEP_3_BLOCKS),
    STREAM_LAUNCH("backward_1", STREAM_BLOCKS),
    STREAM_LAUNCH("backward_0", STREAM_BLOCKS),
    LAST_LAUNCHES
};

#define STREAM_KERNEL(name)                                                                                            \
    PROBLEM_KERNEL(name, __launch_bounds__(STREAM_THREADS, ONE_BLOCK ? 1 : 2))

// For the first step only: backward_0 of the previous step computes the others.
STREAM_KERNEL(forward_0) {
    if (blockIdx.x == 0)
        for (unsigned row = warp(); row < BATCH; row += STREAM_THREADS / 32)
            gather_image(p, 0, row);
    stream_forward<0>(p, [&](const share_t<PIXELS> &share, unsigned n, unsigned to) {
        const unsigned row = lane() / 8, vector = lane() % 8;
        for (unsigned i = 0; i < BATCH; i += 4)
            copy_16<false>(to + swizzled<CHUNK>(row + i, vector),
                           image_of_step(p, 0, row + i) + share.first(n) + vector * 8, vector * 8 < share.left(n));
    });
}

STREAM_KERNEL(forward_1) {
    if (blockIdx.x < STREAM_BLOCKS)
        return stream_forward<1>(p);
    const unsigned row = (blockIdx.x - STREAM_BLOCKS) * WARPS + warp();
    wait_for_earlier_stages();
    if (warp() < WARPS && row < BATCH)
        gather_image(p, p.step + 1, row);
}

STREAM_KERNEL(forward_2) {
    stream_forward<2>(p);
}

STREAM_KERNEL(backward_2) {
    if (blockIdx.x < STREAM_BLOCKS)
        return stream_backward<2>(p);
    if (warp() < WARPS)
        update_last_layer(p, blockIdx.x - STREAM_BLOCKS);
}

STREAM_KERNEL(backward_1) {
    stream_backward<1>(p);
}

STREAM_KERNEL(backward_0) {
    stream_first_layer(p);
}
#else
#include "03_tensor_cores.cu"
#endif

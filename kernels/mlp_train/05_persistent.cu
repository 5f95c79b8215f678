// Idea    One launch per epoch. Each block keeps its part of every layer, with a grid barrier only where it needs
//         results of all blocks. Tensor cores compute float32 products, as three tf32 products each.
// Change  A cluster of four blocks (sm_90) owns up to 28 neurons of each hidden layer, a block a quarter of their
//         weights: it multiplies by them, computes their gradients and updates them (persistent_product.cuh,
//         _copies.cuh, _layers.cuh). So neither a step's first product nor the first layer's gradient needs a barrier:
//         2 DEPTH - 3 grid barriers per step, 5 where rung 04 has 7 kernels. The next product's weights are copied
//         during the current one; gradients and updates off the critical path run during waits. Each factor is split
//         into two tf32 numbers; a gradient is 1e-6 off float64's, with 32-bit lanes 1e-7.
// Buys    Predicted for 32-bit lanes: 23 us per step of width 784; measured 64 (H200). Their products read 15 words of
//         shared memory per 56 multiply-adds; 14 would be balanced. And it was 10,600 instructions, 166 KB, most of
//         them executed once per step: as one loop over the stages, with 4,000, the same products took 56 us. With
//         tensor cores, and sums that are reduced in a block and then sent to other blocks (no cluster barrier, which
//         waits for all stores): 45.4 us. Width 256: 31.5, then 28.2 us. (Earlier versions by a driver that is not in
//         the project, the last by this one.)
// Limits  Latency: with a third of the products (rung 07) a step takes 37 us, and at width 256, where products are
//         negligible, 24: a stage is 2 to 3.5 us of copies and barriers (a grid barrier at least 0.9 us). At most 64
//         images per batch (fewer are padded), widths that are multiples of 8 up to 784, 180 KB of shared memory. At
//         width 784 20 of 132 multiprocessors idle, so that 28 clusters fit any GPU's multiprocessor groups.
#define TEMPORARIES STEPS_MEMORY(64)  // ROWS
#include "mlp_train.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error SKIP: needs clusters of blocks (sm_90)
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#error SKIP: needs 180 KB of shared memory a block
#elif BATCH > 64
#error SKIP: batches of at most 64 images
#elif WIDTH % 8 != 0 || WIDTH < 16 || WIDTH > 784
#error SKIP: widths of whole eights from 16 to 784
#endif


#include "persistent_product.cuh"

STEPS_LAUNCH(THREADS, tiles(WIDTH, COLUMNS) * CLUSTER, sizeof(block_t), CLUSTER);

#include "persistent_layers.cuh"

struct trainer_t : layers_of_block_t {
    using layers_of_block_t::layers_of_block_t;

    // Computes the activations of layer l + 1 while it copies the next product's weights.
    __device__ __forceinline__ void forward(unsigned l) {
        sums_of_thread_t sums = {};
        fetch_next_weights(l);
        multiply<true>(own_part(inputs_of(l), part_of_layer(l)), sums);
        const float *bias = block.bias[l];
        float *to = activations(l + 1);
        finish(
            sums, [&](unsigned, unsigned column) { return as_float4(bias + column - first_column); },
            [&](unsigned row, unsigned column, float4 y, float4 b) {
                *(float4 *)(to + row * WIDTH + column) =
                    make_float4(fmaxf(y.x + b.x, 0), fmaxf(y.y + b.y, 0), fmaxf(y.z + b.z, 0), fmaxf(y.w + b.w, 0));
            });
    }

    // Computes the deltas of layer l - 1.
    __device__ __forceinline__ void backward(unsigned l) {
        sums_of_thread_t sums = {};
        const unsigned stage = 2 * DEPTH - 3 - l;
        fetch_next_weights(stage);
        multiply<false>(own_part(WIDTH, HIDDEN_PART), sums);
        const float *x = activations(l);
        float *to = deltas(l - 1);
        finish(
            sums, [&](unsigned row, unsigned column) { return load_four(x + row * WIDTH + column); },
            [&](unsigned row, unsigned column, float4 dx, float4 x) {
                *(float4 *)(to + row * WIDTH + column) =
                    make_float4(x.x > 0 ? dx.x : 0, x.y > 0 ? dx.y : 0, x.z > 0 ? dx.z : 0, x.w > 0 ? dx.w : 0);
            });
    }

    // The stages of a step are one loop, so that the code of each exists once and all of it fits the instruction cache.
    // Forward through layers 0 … DEPTH - 2, then back to 0, which has no product.
    __device__ __forceinline__ void step(unsigned s) {
        begin_step(s);
#pragma unroll 1
        for (unsigned stage = 0; stage < 2 * DEPTH - 2; stage++) {
            const bool back = stage >= DEPTH - 1;
            const unsigned l = back ? 2 * DEPTH - 3 - stage : stage;
            if (!back)
                forward(l);
            else if (l > 0)
                backward(l);
            const bool syncs_grid = !back || l > 1, updates_last = stage == 0 && s > 0;
            if (updates_last && !LAST_IS_FAR)
                update_last_layer(parity ^ 1, loss - 1, BATCH);
            if (syncs_grid)
                arrive();
            else if (l == 1)
                cluster_barrier(); // the cluster computed the deltas of its neurons
            if (updates_last && LAST_IS_FAR)
                update_last_layer(parity ^ 1, loss - 1, BATCH);
            if (back) {
                update_layer(l, l == 0 ? block.w[turn] : nullptr);
                __syncthreads();
            }
            if (back ? l > 0 : l == DEPTH - 2)
                fetch_inputs(back ? l - 1 : l);
            if (stage == DEPTH - 2) {
                last_layer();
                arrive();
            }
            if (syncs_grid)
                wait();
            if (back ? l > 0 : l == DEPTH - 2)
                fetch_deltas(back ? l - 1 : l);
            if (!back || l > 0)
                fetch_factor(s, stage + 1);
        }
    }
};

STEPS_KERNEL(THREADS) {
    trainer_t trainer(p, *(block_t *)shared_memory);
    trainer.begin();
    for (unsigned s = 0; s < p.steps; s++)
        trainer.step(s);
    trainer.update_last_layer(trainer.parity, trainer.loss, trainer.rows);
    trainer.end();
}

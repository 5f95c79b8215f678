// Idea    An epoch is one launch. Blocks stay where they are, each with its part of every layer, and meet only where one
//         needs what all others made.
// Change  A cluster of four blocks (sm_90) owns up to 28 neurons of each hidden layer, a block a quarter of their
//         weights: it multiplies by them, makes their gradients and updates them (persistent_product.cuh, _layers.cuh).
//         So a step's first product needs no meeting, nor does the first layer's gradient: 2 DEPTH - 3 meetings a step,
//         5 where rung 04 has 7 kernels. Weights of the next product are on their way while one runs; images of the
//         next step too; gradients and updates that nobody waits for are made while others are waited for.
// Buys    Predicted, not measured: width 784, five products of 39 M multiply-adds on 112 multiprocessors, 1.4 us each at
//         full rate, 2.0 at 70 %, with first words and sums over warps and blocks 2.7; the last layer 1.2; three
//         gradients of 2.0, one of them hidden; meetings 4 * 0.9 and a hidden one: 23 us a step, 21 ms an epoch. The
//         chain of dependent stages alone, 6 * 1.7 us, is 10 of them. Width 256: 11 us a step.
// Limits  At most 64 images a batch (fewer are padded), widths of whole fours up to 784, 160 KB of shared memory. At
//         width 784 20 of 132 multiprocessors idle, so that 28 clusters fit whatever the GPU's groups are.
#include "mlp_train.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error SKIP: needs clusters of blocks (sm_90)
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#error SKIP: needs 160 KB of shared memory a block
#elif BATCH > 64
#error SKIP: batches of at most 64 images
#elif WIDTH % 4 != 0 || WIDTH < 16 || WIDTH > 784
#error SKIP: widths of whole fours from 16 to 784
#endif

#include "wide_forward.cuh"

#include "persistent_product.cuh"

PLAN = {1, 0, 0, 0, 0};
STAGES = {
    {"train_steps", STAGE_EPOCH, STAGE_COOPERATIVE, THREADS, 1, 0, 0, sizeof(block_t), ROWS, COLUMNS, CLUSTER},
    WIDE_STAGE("linear_relu", STAGE_AFTER, 0),
    WIDE_STAGE("linear", STAGE_AFTER, 0),
    VALIDATE_STAGE,
};

#include "persistent_layers.cuh"

struct trainer_t : layers_of_block_t {
    __device__ __forceinline__ trainer_t(const steps_t &problem, block_t &memory) : layers_of_block_t(problem, memory) {}

    // x of layer l + 1. What the next product needs of weights is on its way meanwhile.
    __device__ __forceinline__ void forward(unsigned l) {
        sums_of_thread_t sums = {};
        if (l == 0) {
            fetch_next_weights(l);
            multiply<true, PIXEL_PART>(block.w[turn], sums);
        } else {
            fetch_factor<HIDDEN_PART>(hidden(l), nullptr);
            fetch_next_weights(l);
            multiply<true, HIDDEN_PART>(block.w[turn], sums);
        }
        const float *bias = block.bias[l];
        float *to = activations(l + 1);
        finish(sums, [&](unsigned, unsigned column) { return as_float4(bias + column - first_column); },
               [&](unsigned row, unsigned column, float4 y, float4 b) {
                   *(float4 *)(to + row * WIDTH + column) = make_float4(
                       fmaxf(y.x + b.x, 0), fmaxf(y.y + b.y, 0), fmaxf(y.z + b.z, 0), fmaxf(y.w + b.w, 0));
               });
        turn ^= 1;
        arrive();
        leave_product();
    }

    // dy of layer l - 1.
    __device__ __forceinline__ void backward(unsigned l) {
        sums_of_thread_t sums = {};
        fetch_factor<HIDDEN_PART>(deltas(l), nullptr);
        if (l > 1)
            fetch_weights_across(l - 1);
        end_copy_group();
        multiply<false, HIDDEN_PART>(block.w[turn], sums);
        const float *x = activations(l);
        float *to = deltas(l - 1);
        finish(sums, [&](unsigned row, unsigned column) { return load_four(x + row * WIDTH + column); },
               [&](unsigned row, unsigned column, float4 dx, float4 x) {
                   *(float4 *)(to + row * WIDTH + column) = make_float4(x.x > 0 ? dx.x : 0, x.y > 0 ? dx.y : 0,
                                                                        x.z > 0 ? dx.z : 0, x.w > 0 ? dx.w : 0);
               });
        turn ^= 1;
        if (l > 1)
            arrive();
        leave_product();
    }

    // Behind a meeting and in front of the next: what nobody waits for.
    __device__ __forceinline__ void descend_hidden(unsigned l) {
        descend<HIDDEN_PART>(l, nullptr);
        __syncthreads();
        fetch_inputs(l - 1);
    }

    __device__ __forceinline__ void step(unsigned s) {
        begin_step(s);
        for (unsigned l = 0; l + 1 < DEPTH; l++) {
            forward(l);
            if (l + 2 == DEPTH)
                fetch_inputs(l);
            wait();
        }
        last_layer();
        arrive();
        wait();
        for (unsigned l = DEPTH - 2; l > 0; l--) {
            backward(l);
            if (l == 1)
                fetch_images(s + 1);
            if (l == DEPTH - 2)
                descend_last();
            descend_hidden(l);
            if (l > 1)
                wait();
        }
        if (DEPTH == 2) {
            fetch_images(s + 1);
            descend_last();
        }
        descend<PIXEL_PART>(0, block.w[turn]);
        __syncthreads();
    }
};

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    train_steps(const __grid_constant__ steps_t p) {
    trainer_t trainer(p, *(block_t *)shared_memory);
    trainer.begin();
    for (unsigned s = 0; s < p.steps; s++)
        trainer.step(s);
    trainer.end();
}

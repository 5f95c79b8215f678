// Measures the parts of a step of mlp_train's rungs 08 to 10; docs/on-chip.md has predictions beside the results.
//     nvcc -arch=sm_90a -std=c++17 -O3 -DWIDTH=784 -o build/mlp_probes tests/tools/mlp_probes.cu
//     build/mlp_probes
// Prints the parts of a block alone, and a step; compiled with -DSTAMPED, how long each stage of a step takes.
// -DON_LANES=1: rung 10; -DDTYPE_TF32=1 -DTAKES_TF32: rung 09.
#include "probe.cuh"

#ifndef WIDTH
#define WIDTH 784
#endif
#ifndef DTYPE_TF32
#define DTYPE_TF32 0
#endif
#define DEPTH 4
#define BATCH 64
#include "mlp_workload.cuh"
#ifdef STAMPED
enum { AT_START, AT_PRODUCT, AT_COPIES_CHECKED, AT_SUMS_SENT, AT_SUMS_HERE, AT_RESULTS_SENT, AT_TRANSPOSED_UPDATE,
       AT_ACTIVATIONS_HERE, AT_LOGITS_SENT, AT_LAST_DELTAS_HERE, AT_DELTAS_SPREAD, AT_LAST_UPDATE, AT_COPIES_HERE,
       AT_IMAGES_STARTED, AT_BIAS, AT_UPDATE, AT_DELTAS_HERE, AT_IMAGES_HERE };
#include "stages.cuh"
#endif
#include "../../kernels/mlp_train/08_on_chip_split_tf32.cu"

// us at WIDTH 784 of rungs 08, 09 and 10; where less is multiplied, less.
constexpr double of_rung(double split, double tf32, double lanes) {
    return (ON_LANES ? lanes : DTYPE_TF32 ? tf32 : split) * (WIDTH > 512 ? 1 : 0.4);
}
constexpr double PRODUCT_US = of_rung(1.1, 0.5, 2.3), UPDATE_US = of_rung(1.1, 0.5, 2.4);

enum { MOST_STEPS = 1500 };

// The arguments of train_steps, on zeros.
struct problem_t {
    array_list<float, DEPTH> w, b;
    float *x, *losses, *memory;
    unsigned char *labels, *workspace;
    int *order, step;
    float rate;
    long long epochs, seed, images;
};

static problem_t problem() {
    problem_t p = {};
    p.losses = (float *)zeros(MOST_STEPS * sizeof(float));
    p.memory = (float *)zeros(MEMORY_FLOATS * sizeof(float));
    for (unsigned l = 0; l < DEPTH; l++) {
        const unsigned n_in = l == 0 ? PIXELS : WIDTH, n_out = l + 1 < DEPTH ? WIDTH : CLASSES;
        p.w.address[l] = (float *)zeros(n_in * n_out * sizeof(float));
        p.b.address[l] = (float *)zeros(n_out * sizeof(float));
    }
    p.x = (float *)zeros(BATCH * PIXELS * sizeof(float)), p.labels = (unsigned char *)zeros(BATCH);
    p.order = (int *)zeros(MOST_STEPS * BATCH * sizeof(int));
    p.rate = 0.1f;
    return p;
}

#define ARGUMENTS_OF(p)                                                                                                \
    {&p.x,    &p.labels, &p.order, &p.w,      &p.b,    &p.losses, &p.workspace,                                        \
     &p.rate, &p.epochs, &p.seed,  &p.images, &p.step, &p.memory}

static double us_per_step(const launch_of_probe_t &of, problem_t &p) {
    void *arguments[] = ARGUMENTS_OF(p);
    double us[2];
    for (unsigned i = 0; i < 2; i++) {
        p.epochs = i == 0 ? 200 : 1200, p.images = p.epochs * BATCH;
        us[i] = least_us(of, arguments, [] {});
    }
    return (us[1] - us[0]) / 1000;
}

#ifdef STAMPED
#define FORWARD_ROWS(l) \
    {AT_PRODUCT, l, "product of forward tile " #l, PRODUCT_US}, \
    {AT_COPIES_CHECKED, l, "  copies for the update in the wait, here", 0}, \
    {AT_SUMS_SENT, l, "  sums over groups of warps, sent", 0.1}, \
    {AT_SUMS_HERE, l, "  sums of the cluster, here", 0.4}, \
    {AT_RESULTS_SENT, l, "  their sum, activations sent", 0.1}, \
    {AT_TRANSPOSED_UPDATE, l, "  update of a transposed tile, in the wait", 0}, \
    {AT_ACTIVATIONS_HERE, l, "  activations of all, here", 1.0}
#define BACKWARD_ROWS(tile, l, last) \
    {AT_PRODUCT, tile, "product of backward tile " #l, PRODUCT_US}, \
    {AT_COPIES_CHECKED, tile, "  (nothing)", 0}, \
    {AT_SUMS_SENT, tile, "  sums over groups of warps, sent", 0.1}, \
    {AT_SUMS_HERE, tile, "  sums of the cluster, here", 0.4}, \
    {AT_RESULTS_SENT, tile, "  their sum, deltas sent", 0.1}, \
    {AT_LAST_UPDATE, l, "  update of the last layer (" last "), in the wait", 0}, \
    {AT_COPIES_HERE, l, "  copies for the update, here", 0.4}, \
    {AT_IMAGES_STARTED, l, "  copies of images, started", 0}, \
    {AT_BIAS, l, "  update of the biases", 0}, \
    {AT_UPDATE, l, "  update of layer " #l, UPDATE_US}

static const stage_row_t STAGE_ROWS[] = {
    {AT_START, 0, "", 0},
    FORWARD_ROWS(0),
    FORWARD_ROWS(1),
    FORWARD_ROWS(2),
    {AT_LOGITS_SENT, 0, "last layer: product, logits sent", 0.4},
    {AT_LAST_DELTAS_HERE, 0, "  logits here, softmax, deltas here", 0.9},
    {AT_DELTAS_SPREAD, 0, "  deltas of the layer before, sent", 0.5},
    BACKWARD_ROWS(3, 2, "here"),
    {AT_DELTAS_HERE, 2, "  deltas of layer 1, here", 0.6},
    BACKWARD_ROWS(4, 1, "not here"),
    {AT_DELTAS_HERE, 0, "deltas of layer 0 and images, here", 0.6},
    {AT_IMAGES_STARTED, 0, "  copies of the next images, started", 0},
    {AT_UPDATE, 0, "  update of layer 0", UPDATE_US},
    {AT_BIAS, 0, "  update of its biases", 0},
    {AT_IMAGES_HERE, 0, "  next images, here", 0.2},
};

int main() {
    problem_t p = problem();
    const launch_of_probe_t of = {(const void *)train_steps, BLOCKS, THREADS, sizeof(block_t), CLUSTER, true};
    void *arguments[] = ARGUMENTS_OF(p);
    prepare(of);
    const double us = us_per_step(of, p);
    print_stages(of, arguments, (unsigned)p.epochs, us, STAGE_ROWS, sizeof STAGE_ROWS / sizeof *STAGE_ROWS);
    return 0;
}
#else
enum part { PRODUCT, BACK_PRODUCT, UPDATE, UPDATE_IN_REGISTERS, BIAS, LAST_UPDATE, LAST_WEIGHTS, COPIES, IMAGES };

// One part in one block, again and again, on zeros; clocks of all repetitions.
template <part WHAT>
__global__ void __launch_bounds__(THREADS, 1) alone(const __grid_constant__ problem_t of, long long *clocks, unsigned n) {
    const steps_t p = {of.w, of.b, of.x, (const unsigned *)of.order, of.labels, of.losses, of.memory, BATCH, 1, of.rate};
    trainer_t t(p, *(block_t *)shared_memory);
    for (unsigned i = threadIdx.x; i < sizeof(block_t) / 4; i += THREADS)
        ((unsigned *)&t.block)[i] = 0;
    trainer_t::tile_t w;
    float used = 0;
    __syncthreads();
    t.load(0, w);
    t.store(TILES - 1, w);
    __syncthreads();
    const long long start = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < n; i++) {
        const unsigned tile = WHAT == BACK_PRODUCT || WHAT == UPDATE_IN_REGISTERS ? TILES - 1 : 0;
        if (WHAT == PRODUCT || WHAT == BACK_PRODUCT) {
            partial_t<EIGHTS> partial = {};
            float sums[EIGHTS][4];
            t.each_piece(tile, HIDDEN_PART / 8,
                         [&](unsigned j, operand_t w) { add_terms(partial, w, t.block.factor[0] + 8 * j); });
            combine(sums, partial);
            for (unsigned j = 0; j < EIGHTS; j++)
                used += sums[j][0] + sums[j][1] + sums[j][2] + sums[j][3];
        } else if (WHAT == UPDATE || WHAT == UPDATE_IN_REGISTERS)
            t.template update_tile<HIDDEN_PART>(tile, t.block.own_deltas, t.block.factor[0]);
        else if (WHAT == BIAS)
            t.update_bias(0);
        else if (WHAT == LAST_UPDATE)
            t.update_last_layer(t.block.factor[0], 0);
        else if (WHAT == LAST_WEIGHTS) {
            float4 w[CLASSES];
            t.load_classes(threadIdx.x % (HIDDEN_PART / 4), w);
            for (unsigned k = 0; k < CLASSES; k++)
                used += w[k].x + w[k].y + w[k].z + w[k].w;
        } else if (WHAT == COPIES) {
            t.activations_of_terms(1, 0).start();
            t.own_deltas(0).start();
            wait_for_copies<0>();
            t.activations_of_terms(1, 0).complete(0);
            t.own_deltas(0).complete(0);
        } else {
            t.fetch_images(t.block.factor[0], 0);
            wait_for_copies<0>();
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        clocks[0] = clock64() - start;
    t.load(TILES - 1, w);
    for (unsigned j = 0; j < PIECES_EACH; j++)
        used += w[j][0] + w[j][1] + w[j][2] + w[j][3];
    if (used == 1)
        clocks[1] = 0;
}

template <part WHAT> static void alone_row(problem_t &p, long long *clocks, const char *name) {
    const launch_of_probe_t of = {(const void *)alone<WHAT>, 1, THREADS, sizeof(block_t), 0, false};
    unsigned n = 1000;
    void *arguments[] = {&p, &clocks, &n};
    long long taken;
    prepare(of);
    for (int i = 0; i < 3; i++)
        launch(of, arguments);
    CUDA(cudaMemcpy(&taken, clocks, sizeof taken, cudaMemcpyDeviceToHost));
    row("alone", name, (double)taken / n, "clocks");
}

int main() {
    problem_t p = problem();
    long long *clocks = (long long *)zeros(16);
    printf("predicted, at 1.98 GHz: a product %.0f clocks, an update %.0f\n", PRODUCT_US * 1980, UPDATE_US * 1980);
    alone_row<PRODUCT>(p, clocks, "product of a tile in shared memory");
    alone_row<BACK_PRODUCT>(p, clocks, "product of the last tile (784: in registers)");
    alone_row<UPDATE>(p, clocks, "update of a tile in shared memory");
    alone_row<UPDATE_IN_REGISTERS>(p, clocks, "update of the last tile (784: in registers)");
    alone_row<BIAS>(p, clocks, "update of biases (predicted 400)");
    alone_row<LAST_UPDATE>(p, clocks, "update of the last layer (predicted 800)");
    alone_row<LAST_WEIGHTS>(p, clocks, "loads of the last layer's weights, for deltas (200)");
    alone_row<COPIES>(p, clocks, "copies for an update, all there (predicted 800)");
    alone_row<IMAGES>(p, clocks, "copies of images, from the L2 (predicted 1,200)");
    const launch_of_probe_t of = {(const void *)train_steps, BLOCKS, THREADS, sizeof(block_t), CLUSTER, true};
    prepare(of);
    row("step", "complete", us_per_step(of, p), "us");
    return 0;
}
#endif

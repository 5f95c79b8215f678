// The rungs as those of a described workload (tests/fixtures/examples/mnist): `p` is made from the kernels' parameters,
// and what a kernel has besides them is in the workspace. With dtype mixed weights are split (split_weight.cuh) before
// the first step, and joined after the last.
#pragma once

#ifndef SCRATCH  // rungs that use p.scratch: 1
#define SCRATCH 0
#endif

__host__ __device__ constexpr size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}
constexpr size_t PIXELS_BYTES = aligned(BATCH * PIXELS * sizeof(half)), LAYER_BYTES = aligned(BATCH * HIDDEN * sizeof(half));
constexpr size_t CLASSES_BYTES = aligned(BATCH * PADDED_CLASSES * sizeof(float)), COUNTERS_BYTES = 256;
// Where each part of the workspace begins.
constexpr size_t LOGITS_AT = COUNTERS_BYTES, LAST_DELTA_AT = LOGITS_AT + CLASSES_BYTES,
                 IMAGES_AT = LAST_DELTA_AT + CLASSES_BYTES, LAYERS_AT = IMAGES_AT + PIXELS_BYTES,
                 SPLIT_AT = LAYERS_AT + 2 * (LAYERS - 1) * LAYER_BYTES, SPLIT_BYTES = DTYPE_MIXED * 4 * PARAMETERS,
                 SCRATCH_AT = SPLIT_AT + SPLIT_BYTES;

#define OF_BATCH "batch*(12*hidden+1700)+16384"
#ifdef WORKLOAD_HOST  // library.cuh says what else is in it
WORKSPACE = "4*hidden*(hidden+400)+batch*(13*hidden+1800)+33600000";
#elif SCRATCH
WORKSPACE = "4 * hidden ** 2 + " OF_BATCH;
#elif DTYPE_MIXED
WORKSPACE = "8*hidden*(hidden+400)+" OF_BATCH;
#else
WORKSPACE = OF_BATCH;
#endif
static_assert(LAYERS_AT + 6 * LAYER_BYTES <= BATCH * (12 * HIDDEN + 1700) + 4096, "the workspace");
static_assert(4 * PARAMETERS <= 8ull * HIDDEN * (HIDDEN + 400) + 12288, "the workspace, dtype mixed");

struct arrays_t {
    W *w[LAYERS], *b[LAYERS];
};

__host__ __device__ __forceinline__ mnist_t problem_of(const half *x, const unsigned char *labels, const int *order,
                                              const arrays_t &arrays, unsigned char *workspace, float *loss) {
    mnist_t p = {};
    p.images = x;
    p.labels = labels;
    p.order = (const unsigned *)order;
    for (unsigned l = 0; l < LAYERS; l++) {
        half *const halves = (half *)(workspace + SPLIT_AT);
        p.w[l] = DTYPE_MIXED ? halves + parameter_offset(l, false) : (half *)arrays.w[l];
        p.b[l] = DTYPE_MIXED ? halves + parameter_offset(l, true) : (half *)arrays.b[l];
        p.a[l] = (half *)(workspace + (l == 0 ? IMAGES_AT : LAYERS_AT + (l - 1) * LAYER_BYTES));
        p.delta[l] = (half *)(workspace + (l == LAYERS - 1 ? LAST_DELTA_AT : LAYERS_AT + (LAYERS - 1 + l) * LAYER_BYTES));
    }
    p.low_halves = DTYPE_MIXED ? (unsigned short *)(workspace + SPLIT_AT) + PARAMETERS : nullptr;
    p.scratch = (float *)(workspace + SCRATCH_AT);
    p.counters = (unsigned *)workspace;
    p.logits = (float *)(workspace + LOGITS_AT);
    p.losses = loss;
    p.steps = WORKLOAD_STEPS;
    return p;
}

// In a kernel: the arrays of all layers, and the problem.
#define ARRAYS arrays_t{{w0, w1, w2, w3}, {b0, b1, b2, b3}}
#define PROBLEM(p)                                                                                                     \
    mnist_t p = problem_of(x, labels, order, ARRAYS, workspace, loss);                                                 \
    p.rate = rate, p.images_n = (unsigned)images, p.step = (unsigned)step

#ifdef WORKLOAD_HOST
#define PROBLEM_KERNEL(name, ...) static __global__ void __VA_ARGS__ name(const __grid_constant__ mnist_t p)
#else
#define PROBLEM_KERNEL(name, ...)                                                                                      \
    __device__ __forceinline__ void name##_of(const mnist_t &p);                                                       \
    extern "C" __global__ void __VA_ARGS__ name(KERNEL_ARGUMENTS) {                                                    \
        PROBLEM(p);                                                                                                    \
        name##_of(p);                                                                                                  \
    }                                                                                                                  \
    __device__ __forceinline__ void name##_of(const mnist_t &p)
#endif

#ifndef WORKLOAD_HOST
// ---- launches ---------------------------------------------------------------------------------------------------

__host__ __device__ constexpr described_launch stage(described_text<64> entry, unsigned when, unsigned flags,
                                                     unsigned threads, unsigned blocks, unsigned shared,
                                                     unsigned cluster = 1) {
    described_launch launch = {};
    for (unsigned i = 0; i < sizeof launch.entry; i++)
        launch.entry[i] = entry.text[i];
    launch.grid[0] = {blocks};
    launch.threads[0] = {threads};
    launch.shared = {shared};
    launch.cluster[0] = {cluster};
    launch.cooperative = (flags & STAGE_COOPERATIVE) != 0;
    launch.overlaps = (flags & STAGE_OVERLAPPED) != 0;
    return when == STAGE_TRAINING ? every("steps", launch) : launch;
}
#define BLOCKS_STAGE stage
#define CLUSTERS_STAGE stage
#define IN_CLUSTERS(blocks)
#undef STAGES
#define STAGES LAUNCHES
#undef PLAN
#define PLAN constexpr plan_t plan

// Parameters are split in one launch and read from the one after the next on, as kernels that overlap `begin` may not
// see what it writes.
constexpr unsigned SPLIT_THREADS = 256;
#if DTYPE_MIXED
#define SPLIT_BLOCKS (unsigned)(PARAMETERS / SPLIT_THREADS < 1024 ? PARAMETERS / SPLIT_THREADS : 1024)
#define FIRST_STAGES                                                                                                   \
    BLOCKS_STAGE("split", STAGE_TRAINING, 0, SPLIT_THREADS, SPLIT_BLOCKS, 0),                                          \
        BLOCKS_STAGE("begin", STAGE_TRAINING, 0, 64, 1, 0),
#define LAST_STAGES at_end(BLOCKS_STAGE("join", STAGE_AFTER, 0, SPLIT_THREADS, SPLIT_BLOCKS, 0)),

template <class Use> __device__ __forceinline__ void each_parameter(const mnist_t &p, const arrays_t &arrays, Use use) {
    for (unsigned l = 0; l < LAYERS; l++)
        for (unsigned is_bias = 0; is_bias < 2; is_bias++) {
            const size_t n = is_bias ? fan_out(l) : (size_t)fan_out(l) * fan_in(l);
            float *const values = (float *)(is_bias ? arrays.b : arrays.w)[l];
            half *const halves = (is_bias ? p.b : p.w)[l];
            for (size_t i = (size_t)blockIdx.x * SPLIT_THREADS + threadIdx.x; i < n; i += gridDim.x * SPLIT_THREADS)
                use(values[i], halves[i], p.low_halves[halves - p.w[0] + i]);
        }
}

BOUNDED_KERNEL(split, SPLIT_THREADS) {
    PROBLEM(p);
    each_parameter(p, ARRAYS, [](float value, half &upper, unsigned short &low) {
        upper = __float2half_rn(value);
        low = (unsigned short)low_halves(value, 0);
    });
}

BOUNDED_KERNEL(join, SPLIT_THREADS) {
    PROBLEM(p);
    each_parameter(p, ARRAYS, [](float &value, half upper, unsigned short low) {
        value = joined<false>(__half2float(upper), low);
    });
}
#else
#define FIRST_STAGES BLOCKS_STAGE("begin", STAGE_TRAINING, 0, 64, 1, 0),
#define LAST_STAGES
#endif

BOUNDED_KERNEL(begin, 64) {
    ((unsigned *)workspace)[threadIdx.x] = 0;
}
#endif

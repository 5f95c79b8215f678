/* The loop of mlp_train on the host: a driver that hands out the host's memory, an allocator on it,
 * host_operators.h, a few images, and a record of what the loop asks for. */
#ifndef TESTS_HOST_LOOP_H
#define TESTS_HOST_LOOP_H

#include "allocators/allocator.h"
#include "checks.h"
#include "host_operators.h"

enum { DEPTH = 4, WIDTH = 6, BATCH = 5, IMAGES = 13, TESTS = 7, STEPS = 3, MAX_CALLS = 256 };
static const float RATE = 0.25f;

/* ---- a driver whose device is the host ------------------------------------------------------- */

static size_t taken_bytes, most_bytes = SIZE_MAX;

static cu_result_t host_take(cu_pointer_t *at, size_t bytes) {
    if (taken_bytes + bytes > most_bytes)
        return CU_ERROR_OUT_OF_MEMORY;
    size_t *block = mem_alloc(bytes + 64);
    block[0] = bytes;
    taken_bytes += bytes;
    memset((char *)block + 64, 0xFF, bytes);
    *at = (cu_pointer_t)(uintptr_t)block + 64;
    return CU_SUCCESS;
}

static cu_result_t host_give_back(cu_pointer_t at) {
    size_t *block = (size_t *)(uintptr_t)(at - 64);
    taken_bytes -= block[0];
    free(block);
    return CU_SUCCESS;
}

static cu_result_t host_sync(void) {
    return CU_SUCCESS;
}

static const cuda_api_t DRIVER = {
    .alloc = host_take, .release = host_give_back, .context_sync = host_sync};

/* ---- the loop on it -------------------------------------------------------------------------- */

typedef struct call {
    enum { TAKE, GIVE_BACK, LAUNCH } kind;
    size_t number; /* of the block, or of the operator */
} call_t;

typedef struct world {
    mlpt_loop_t loop;
    allocator_t *allocator;
    dataset_t set;
    mnist_data_t network;
    float *images, *tests, *weights, losses[STEPS], sums[2];
    uint32_t order[IMAGES];
    call_t calls[MAX_CALLS]; /* of the pass that runs, or was last */
    size_t n_calls;
    cu_pointer_t blocks[MAX_CALLS];
    size_t n_blocks;
} world_t;

static status_t begin(void *context, mlpt_pass_t pass, error_t *err) {
    world_t *w = context;
    w->n_calls = w->n_blocks = 0;
    return allocator_begin(w->allocator, pass, err);
}

static status_t end(void *context, error_t *err) {
    world_t *w = context;
    return allocator_end(w->allocator, err);
}

static void record(world_t *w, call_t call) {
    assert_true(w->n_calls < MAX_CALLS);
    w->calls[w->n_calls++] = call;
}

static status_t allocate(void *context, size_t bytes, cu_pointer_t *at, error_t *err) {
    world_t *w = context;
    record(w, (call_t){TAKE, w->n_blocks});
    TRY(allocator_allocate(w->allocator, bytes, NULL, at, err));
    memset(floats(*at), 0xFF, bytes);
    w->blocks[w->n_blocks++] = *at;
    return STATUS_OK;
}

static status_t release(void *context, cu_pointer_t at, error_t *err) {
    world_t *w = context;
    size_t number = w->n_blocks;
    while (number-- > 0 && w->blocks[number] != at)
        continue;
    assert_true(number < w->n_blocks);
    record(w, (call_t){GIVE_BACK, number});
    *floats(at) = NAN;
    return allocator_free(w->allocator, at, NULL, err);
}

static status_t launch(void *context, mlpt_operator_t which, size_t blocks, const void *argument,
                       error_t *err) {
    (void)err;
    world_t *w = context;
    assert_true(w->loop.kernels.has[which]);
    assert_true(blocks >= 1);
    record(w, (call_t){LAUNCH, which});
    host_launch(which, argument, w->loop.layers);
    return STATUS_OK;
}

static double noise(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (1 << 24);
}

static void fill_images(world_t *w) {
    uint64_t state = 1;
    w->set = (dataset_t){.train_images = mem_alloc(IMAGES * MNIST_PIXELS),
                         .train_labels = mem_alloc(IMAGES),
                         .test_labels = mem_alloc(TESTS)};
    w->images = mem_alloc(IMAGES * MNIST_PIXELS * sizeof(float));
    w->tests = mem_alloc(TESTS * MNIST_PIXELS * sizeof(float));
    for (size_t i = 0; i < 256; i++)
        w->network.x[i] = (float)i / 255;
    for (size_t i = 0; i < IMAGES * MNIST_PIXELS; i++) {
        w->set.train_images[i] = (uint8_t)(noise(&state) * noise(&state) * 256);
        w->images[i] = w->network.x[w->set.train_images[i]];
    }
    for (size_t i = 0; i < TESTS * MNIST_PIXELS; i++)
        w->tests[i] = (float)noise(&state);
    for (size_t i = 0; i < IMAGES; i++) {
        w->set.train_labels[i] = (uint8_t)(noise(&state) * MNIST_CLASSES);
        w->order[i] = (uint32_t)((7 * i + 3) % IMAGES);
    }
    for (size_t i = 0; i < TESTS; i++)
        w->set.test_labels[i] = (uint8_t)(noise(&state) * MNIST_CLASSES);
}

/* The same start for the loop and for the oracle, which keeps its weights apart. */
static void fill_network(world_t *w) {
    static const size_t SIZES[] = {MNIST_PIXELS, WIDTH, WIDTH, WIDTH, MNIST_CLASSES};
    uint64_t state = 2;
    w->network.layers = w->loop.layers = DEPTH;
    w->network.batch = BATCH;
    w->network.n_order = IMAGES;
    w->network.order = w->order;
    w->network.images = &w->set;
    memcpy(w->network.sizes, SIZES, sizeof SIZES);
    memcpy(w->loop.sizes, SIZES, sizeof SIZES);
    size_t n = 0;
    for (size_t l = 0; l < DEPTH; l++)
        n += (SIZES[l] + 1) * SIZES[l + 1];
    float *next = w->weights = mem_alloc(2 * n * sizeof *next);
    for (size_t l = 0; l < DEPTH; l++) {
        w->network.w[l] = next;
        w->network.b[l] = next + SIZES[l] * SIZES[l + 1];
        next = w->network.b[l] + SIZES[l + 1];
        w->loop.w[l] = (cu_pointer_t)(uintptr_t)(w->network.w[l] + n);
        w->loop.b[l] = (cu_pointer_t)(uintptr_t)(w->network.b[l] + n);
        for (size_t i = 0; i < (SIZES[l] + 1) * SIZES[l + 1]; i++)
            w->network.w[l][i] = (float)((2 * noise(&state) - 1) / sqrt((double)SIZES[l]));
    }
    memcpy(w->weights + n, w->weights, n * sizeof *w->weights);
}

static cu_pointer_t address(const void *at) {
    return (cu_pointer_t)(uintptr_t)at;
}

static world_t *open_world(const mlpt_operator_t *rung, allocator_kind_t kind) {
    world_t *w = mem_zeroed(1, sizeof *w);
    const allocator_options_t options = {.untimed = true};
    assert_ok(allocator_open(kind, &DRIVER, &options, &w->allocator, &err));
    fill_images(w);
    fill_network(w);
    w->loop.device = (mlpt_device_t){.context = w,
                                     .begin = begin,
                                     .end = end,
                                     .allocate = allocate,
                                     .release = release,
                                     .launch = launch};
    for (; *rung != MLPT_OPERATORS; rung++) {
        w->loop.kernels.has[*rung] = true;
        w->loop.kernels.stage[*rung] = (stage_t){.tile_rows = 4, .tile_columns = 3, .split = 2};
    }
    w->loop.train = (mnist_gpu_images_t){address(w->images), address(w->set.train_labels)};
    w->loop.test = (mnist_gpu_images_t){address(w->tests), address(w->set.test_labels)};
    w->loop.rate = RATE;
    assert_ok(mlpt_kernels_check(&w->loop.kernels, &err));
    return w;
}

static void close_world(world_t *w) {
    allocator_close(w->allocator);
    assert_int_equal(taken_bytes, 0);
    free(w->set.train_images);
    free(w->set.train_labels);
    free(w->set.test_labels);
    free(w->images);
    free(w->tests);
    free(w->weights);
    free(w);
}

static status_t run_step(world_t *w, size_t step, error_t *err) {
    return mlpt_loop_step(&w->loop, mnist_step_images(&w->network, step),
                          address(w->order + step * BATCH), address(&w->losses[step]), err);
}

#endif

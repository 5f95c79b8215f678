#include "workloads/allocate/descriptor.h"

#include "base/rng.h"
#include "workloads/common/workload.h"

/* The cost of a block while many others are in use: a microbenchmark of mlp_train's allocators. */
static const param_spec_t PARAMS[] = {
    {"live", VALUE_INT, 1, 1000000, "100",
     .summary = "blocks in use while one is freed and another allocated", .always_in_id = true},
};

/* The operator outputs of one step of mlp_train with its defaults: 64 images, layers
 * 784-784-784-784-10, float32. */
static const uint32_t OUTPUTS[] = {
    200704,  200704,  200704,  2560,  /* products and biases, forward */
    200704,  200704,  200704,         /* ReLU */
    256,     4,       2560,           /* loss of each row, their mean, gradient of the logits */
    200704,  200704,  200704,         /* gradients after ReLU */
    200704,  200704,  200704,         /* gradients before it */
    2458624, 2458624, 2458624, 31360, /* of the weights */
    3136,    3136,    3136,    40,    /* of the biases */
};
enum { N_OUTPUTS = sizeof OUTPUTS / sizeof *OUTPUTS };

size_t allocate_start_bytes(uint64_t seed, size_t block) {
    return OUTPUTS[rng_word(seed, ALLOCATE_STREAM_START, block) % N_OUTPUTS];
}

allocate_change_t allocate_change(uint64_t seed, size_t n_live, uint64_t index) {
    return (allocate_change_t){
        .block = (uint32_t)(rng_word(seed, ALLOCATE_STREAM_VICTIM, index) % n_live),
        .bytes = OUTPUTS[rng_word(seed, ALLOCATE_STREAM_SIZE, index) % N_OUTPUTS]};
}

double allocate_mean_bytes(void) {
    double sum_bytes = 0;
    for (size_t i = 0; i < N_OUTPUTS; i++)
        sum_bytes += OUTPUTS[i];
    return sum_bytes / N_OUTPUTS;
}

/* It moves no data, so it has no limit. */
static workload_cost_t cost(const case_t *spec) {
    return (workload_cost_t){.device_bytes =
                                 (double)case_param_int(spec, "live", 0) * allocate_mean_bytes()};
}

static void constants(const case_t *spec, text_list_t *defines) {
    (void)spec;
    (void)defines;
}

const workload_t workload_allocate = {
    .name = "allocate",
    .summary = "host cost of allocating and freeing device memory for one operator's output",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .compared_by = "total",
    .caveat = "ours is called from C, a rival's from Python",
    .size_param = "live",
    .size_noun = "blocks in use",
    .size_title = "blocks in use",
    .dtypes = NAMES("f32"),
    .cuda_builtin = NAMES("caching", "malloc", "async", "arena"),
    .cpu_variants = NAMES("caching", "arena"),
    .pytorch_variants = NAMES("caching"),
    .cost = cost,
    .tolerance = workload_exact,
    .constants = constants,
};

/* The parts of kernels/linreg_train that a host can run: Philox and the points of its .cuh files
 * against the C that every other engine is tested against, bit for bit. */
#include "base/rng.h"
#include "checks.h"
#include "made_case.h"
#include "workloads/common/workload.h"
#include "workloads/linreg_train/data.h"

/* What CUDA has and C lacks. A value that passes through memory is rounded on its own. */
#define __device__ static
#define __forceinline__ inline

static inline float rounded(float value) {
    volatile float stored = value;
    return stored;
}

static inline float __fmul_rn(float a, float b) {
    return rounded(a * b);
}

static inline float __fadd_rn(float a, float b) {
    return rounded(a + b);
}

static inline float __fsub_rn(float a, float b) {
    return rounded(a - b);
}

#include "../../kernels/linreg_train/points.cuh"

enum { SEED = 42 };

static void test_philox(void **state) {
    static const uint64_t SEEDS[] = {0, SEED, 0x123456789ABCDEF0},
                          BLOCKS[] = {0, 1, 77, 1ull << 33};
    for (size_t s = 0; s < 3; s++)
        for (size_t b = 0; b < 4; b++) {
            unsigned word[4];
            philox_block(SEEDS[s], 3, BLOCKS[b], word);
            for (unsigned k = 0; k < 4; k++)
                assert_int_equal(word[k], rng_word(SEEDS[s], 3, BLOCKS[b] * 4 + k));
        }
}

static void test_uniform(void **state) {
    float expected[1000];
    rng_fill_uniform(expected, 1000, (rng_position_t){SEED, 5, 0}, -0.3f, 0.7f);
    for (unsigned i = 0; i < 1000; i++) {
        float got = philox_uniform(rng_word(SEED, 5, i), -0.3f, 0.7f);
        assert_memory_equal(&got, &expected[i], sizeof got);
    }
}

static void test_points(void **state) {
    static const int64_t SIZES[] = {1, 4, 5, 6, 4999, 123457};
    for (size_t k = 0; k < COUNT_OF(SIZES); k++) {
        case_t spec = {.engine = mem_text("cpu"), .variant = mem_text("ref")};
        add_integer(&spec, "points", SIZES[k]);
        workload_complete(workload_find("linreg_train"), &spec);
        const linreg_data_t *data = linreg_data_take(&spec, SEED);
        const float step = (float)(10.0 / (double)SIZES[k]);
        for (unsigned i = 0; i < (unsigned)SIZES[k]; i++) {
            const float x = point_x(i, step);
            const float y = point_y(x, rng_word(SEED, NOISE_STREAM, i));
            const unsigned at = index_in_set(i);
            assert_true(at < (in_test_set(i) ? data->n_test : data->n_train));
            assert_memory_equal(&x, (in_test_set(i) ? data->x_test : data->x_train) + at, sizeof x);
            assert_memory_equal(&y, (in_test_set(i) ? data->y_test : data->y_train) + at, sizeof y);
        }
        linreg_data_release(data);
        case_free(&spec);
    }
}

#include "run_tests.h"

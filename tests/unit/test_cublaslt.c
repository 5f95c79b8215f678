/* The door to cuBLASLt: its declarations, where it is looked for, what becomes of one that is not
 * there. */
#include "base/rng.h"
#include "checks.h"
#include "cuda/cublaslt.h"
#include "host_cublaslt.h"
#include "workloads/mnist_train/cublaslt.h"

/* What cuda/cublaslt.h declares, against the toolkit's own where it is installed. */
#if __has_include(<cublasLt.h>) && __has_include(<cuda_runtime_api.h>)
#include <cublasLt.h>
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(CUBLASLT_F32, CUDA_R_32F);
SAME(CUBLASLT_F16, CUDA_R_16F);
SAME(CUBLASLT_COMPUTE_F16, CUBLAS_COMPUTE_16F);
SAME(CUBLASLT_COMPUTE_F32, CUBLAS_COMPUTE_32F);
SAME(CUBLASLT_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(CUBLASLT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(CUBLASLT_TRANSPOSED, CUBLAS_OP_T);
SAME(CUBLASLT_PREFERENCE_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(CUBLASLT_DESC_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(CUBLASLT_DESC_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(CUBLASLT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(CUBLASLT_DESC_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(CUBLASLT_DESC_MASK, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
SAME(CUBLASLT_DESC_MASK_ROWS, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
SAME(CUBLASLT_EPILOGUE_NONE, CUBLASLT_EPILOGUE_DEFAULT);
SAME(CUBLASLT_EPILOGUE_BIAS_RELU, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(CUBLASLT_EPILOGUE_BIAS_RELU_MASK, CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
SAME(CUBLASLT_EPILOGUE_RELU_GRADIENT, CUBLASLT_EPILOGUE_DRELU);
SAME(CUBLASLT_EPILOGUE_BIAS_GRADIENT_B, CUBLASLT_EPILOGUE_BGRADB);
_Static_assert(sizeof(cublaslt_heuristic_t) == sizeof(cublasLtMatmulHeuristicResult_t), "result");
_Static_assert(sizeof(cublaslt_algorithm_t) == sizeof(cublasLtMatmulAlgo_t), "algorithm");
_Static_assert(offsetof(cublaslt_heuristic_t, status) ==
                   offsetof(cublasLtMatmulHeuristicResult_t, state),
               "status");
#endif

static void check_refusal(const char *library, const char *reason) {
    cublaslt_api_t api;
    char *path;
    error_t err = ERROR_INIT;
    setenv("BENCH_CUBLASLT", library, 1);
    assert_int_equal(cublaslt_open(".", &api, &path, &err), STATUS_USAGE);
    assert_null(path);
    assert_non_null(strstr(err.text, "cuBLASLt not found ("));
    assert_has(err.text, "$BENCH_CUBLASLT");
    assert_has(err.text, reason);
    unsetenv("BENCH_CUBLASLT");
}

static void test_door(void **state) {
    check_refusal("/no/such/libcublasLt.so", "/no/such/libcublasLt.so not found");
    check_refusal("libm.so.6", "libm.so.6 has no cublasLtGetVersion");
}

static void test_candidates(void **state) {
    text_list_t paths = {0};
    unsetenv("BENCH_CUBLASLT");
    cublaslt_candidates(".", &paths);
    assert_true(paths.n >= 2);
    assert_string_equal(paths.items[0], "libcublasLt.so.13");
    assert_string_equal(paths.items[1], "libcublasLt.so.12");
    text_list_free(&paths);
}

static const char *status_name(cublaslt_status_t status) {
    return status == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : "another";
}

static void test_check(void **state) {
    const cublaslt_api_t api = {.status_name = status_name};
    assert_ok(cublaslt_check(&api, CUBLASLT_OK, "matmul()", &err));
    assert_fails(cublaslt_check(&api, 15, "matmul()", &err), STATUS_FAILED,
                 "cublasLt matmul(): CUBLAS_STATUS_NOT_SUPPORTED (15)");
}

/* ---- One step's products as workloads/mnist_train/cublaslt.c asks a cuBLASLt for them that
 * computes on the host: operands, leading dimensions and epilogues, against plain loops. And how
 * the block of device memory is laid out. */

/* ---- a step ---------------------------------------------------------------------------------- */

enum { HIDDEN = 24, BATCH = 6, STEPS = 3 };

typedef struct step {
    mnist_library_t library;
    mnist_problem_t problem;
    mnist_layout_t layout;
    unsigned char *block, *masks;
} step_t;

static void fill(cu_pointer_t values, size_t n, unsigned stream) {
    float *random = mem_alloc(n * sizeof *random);
    rng_fill_uniform(random, n, (rng_position_t){1, stream, 0}, -0.5f, 0.5f);
    for (size_t i = 0; i < n; i++)
        ((uint16_t *)values)[i] = half_from_float(random[i]);
    free(random);
}

static void make_step(step_t *step, bool half_sums) {
    *step = (step_t){.library = {.lt.api = FAKE, .hidden = HIDDEN, .batch = BATCH}};
    step->library.half_sums = half_sums;
    step->layout = mnist_layout(HIDDEN, BATCH, STEPS, (mnist_extras_t){.scratch = true});
    step->block = mem_zeroed(step->layout.bytes, 1);
    step->masks = mem_zeroed(mnist_masks_bytes(HIDDEN, BATCH), 1);
    step->library.masks = (cu_pointer_t)step->masks;
    mnist_problem_t *p = &step->problem;
    mnist_place(&step->layout, (cu_pointer_t)step->block, p);
    for (unsigned l = 0; l < MNIST_LAYERS; l++) {
        fill(p->w[l], mnist_fan_in(HIDDEN, l) * mnist_fan_out(HIDDEN, l), 2 * l);
        fill(p->b[l], mnist_fan_out(HIDDEN, l), 2 * l + 1);
    }
    fill(p->a[0], (size_t)BATCH * MNIST_PIXELS, 100);
    for (size_t row = 0; row < BATCH; row++)
        fill(p->delta[3] + row * MNIST_PADDED_CLASSES * 2, MNIST_CLASSES, 101 + (unsigned)row);
    assert_ok(mnist_library_prepare(&step->library, p, &err));
}

static void free_step(step_t *step) {
    mnist_library_close(&step->library);
    free(step->block);
    free(step->masks);
    assert_int_equal(n_alive, 0);
}

static void multiply(step_t *step, mnist_part_t part, size_t layer) {
    assert_ok(mnist_library_multiply(&step->library, part, layer, &step->problem, NULL, &err));
}

/* The tolerance is fp16's rounding of what is compared, and of what it was computed from. */
static void check_near(float got, float expected, const char *what, size_t layer, size_t i) {
    if (!(fabsf(got - expected) <= 2e-3f * (1 + fabsf(expected))))
        fail_msg("%s of layer %zu, element %zu: %g, expected %g", what, layer, i, (double)got,
                 (double)expected);
}

static void check_forward(const step_t *step, size_t l) {
    const mnist_problem_t *p = &step->problem;
    const size_t n_in = mnist_fan_in(HIDDEN, l), n_out = mnist_fan_out(HIDDEN, l);
    const bool last = l == MNIST_LAYERS - 1;
    for (size_t i = 0; i < BATCH * n_out; i++) {
        const size_t row = i / n_out, out = i % n_out;
        float y = last ? 0 : half_at(p->b[l], (int64_t)out);
        for (size_t k = 0; k < n_in; k++)
            y += half_at(p->w[l], (int64_t)(out * n_in + k)) *
                 half_at(p->a[l], (int64_t)(row * n_in + k));
        if (last)
            check_near(((const float *)p->logits)[row * MNIST_PADDED_CLASSES + out], y, "logits", l,
                       i);
        else
            check_near(half_at(p->a[l + 1], (int64_t)i), fmaxf(y, 0), "activations", l, i);
    }
}

static float delta_at(const step_t *step, size_t l, size_t row, size_t out) {
    const size_t columns = l == MNIST_LAYERS - 1 ? MNIST_PADDED_CLASSES : HIDDEN;
    return half_at(step->problem.delta[l], (int64_t)(row * columns + out));
}

/* Of the layer in front; the ReLU's derivative is the caller's where the library lacks it. */
static void check_data(const step_t *step, size_t l, bool without_relu) {
    const mnist_problem_t *p = &step->problem;
    for (size_t i = 0; i < (size_t)BATCH * HIDDEN; i++) {
        const size_t row = i / HIDDEN, in = i % HIDDEN;
        float sum = 0;
        for (size_t out = 0; out < mnist_fan_out(HIDDEN, l); out++)
            sum += delta_at(step, l, row, out) * half_at(p->w[l], (int64_t)(out * HIDDEN + in));
        if (!without_relu && !(half_at(p->a[l], (int64_t)i) > 0))
            sum = 0;
        check_near(half_at(p->delta[l - 1], (int64_t)i), sum, "delta in front", l, i);
    }
}

static void check_weights(const step_t *step, size_t l, bool without_biases) {
    const mnist_problem_t *p = &step->problem;
    const size_t n_in = mnist_fan_in(HIDDEN, l), n_out = mnist_fan_out(HIDDEN, l);
    const cu_pointer_t w = p->scratch + (p->w[l] - p->w[0]), b = p->scratch + (p->b[l] - p->w[0]);
    for (size_t out = 0; out < n_out; out++) {
        float of_bias = 0;
        for (size_t row = 0; row < BATCH; row++)
            of_bias += delta_at(step, l, row, out);
        check_near(half_at(b, (int64_t)out), without_biases ? 0 : of_bias, "db", l, out);
        for (size_t in = 0; in < n_in; in++) {
            float sum = 0;
            for (size_t row = 0; row < BATCH; row++)
                sum += delta_at(step, l, row, out) * half_at(p->a[l], (int64_t)(row * n_in + in));
            check_near(half_at(w, (int64_t)(out * n_in + in)), sum, "dW", l, out * n_in + in);
        }
    }
}

static void check_step(bool half_sums) {
    step_t step;
    make_step(&step, half_sums);
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        multiply(&step, MNIST_FORWARD, l);
        check_forward(&step, l);
        assert_false(mnist_library_lacks(&step.library, MNIST_FORWARD, l));
    }
    const bool no_relu =
        refused == CUBLASLT_EPILOGUE_BIAS_RELU_MASK || refused == CUBLASLT_EPILOGUE_RELU_GRADIENT;
    for (size_t l = MNIST_LAYERS - 1; l > 0; l--) {
        multiply(&step, MNIST_BACKWARD_DATA, l);
        assert_int_equal(mnist_library_lacks(&step.library, MNIST_BACKWARD_DATA, l), no_relu);
        check_data(&step, l, no_relu);
    }
    const bool no_biases = refused == CUBLASLT_EPILOGUE_BIAS_GRADIENT_B;
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        multiply(&step, MNIST_BACKWARD_WEIGHTS, l);
        assert_int_equal(mnist_library_lacks(&step.library, MNIST_BACKWARD_WEIGHTS, l), no_biases);
        check_weights(&step, l, no_biases);
    }
    free_step(&step);
}

static void test_step(void **state) {
    static const int REFUSED[] = {0, CUBLASLT_EPILOGUE_BIAS_RELU_MASK,
                                  CUBLASLT_EPILOGUE_RELU_GRADIENT,
                                  CUBLASLT_EPILOGUE_BIAS_GRADIENT_B};
    for (size_t i = 0; i < COUNT_OF(REFUSED); i++) {
        refused = REFUSED[i];
        check_step(false);
    }
    refused = 0;
    check_step(true);
}

static void test_no_algorithm(void **state) {
    step_t step = {.library = {.lt.api = FAKE, .hidden = HIDDEN, .batch = BATCH}};
    refused = CUBLASLT_EPILOGUE_NONE;
    assert_fails(mnist_library_prepare(&step.library, &step.problem, &err), STATUS_FAILED,
                 "cuBLASLt 130000 has no algorithm for a product of 10 x 6 x 24: "
                 "CUBLAS_STATUS_NOT_SUPPORTED");
    refused = 0;
    free_step(&step);
}

/* ---- the block ------------------------------------------------------------------------------- */

static void test_layout(void **state) {
    const mnist_layout_t layout = mnist_layout(128, 32, 200, (mnist_extras_t){.scratch = true});
    /* 784 · 128, 128, 128 · 128, 128, 128 · 128, 128, 10 · 128 and 10 halves, each up to 256. */
    const size_t w[] = {0, 200960, 233984, 267008}, b[] = {200704, 233728, 266752, 269568};
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        assert_int_equal(layout.w[l], w[l]);
        assert_int_equal(layout.b[l], b[l]);
        assert_int_equal(layout.a[l] % 256, 0);
        assert_int_equal(layout.delta[l] % 256, 0);
    }
    assert_int_equal(layout.parameter_bytes, 269824);
    assert_int_equal(layout.losses, layout.parameter_bytes); /* they come back in one copy */
    assert_int_equal(layout.order, layout.losses + 1024);
    assert_int_equal(layout.counters, layout.order + 200 * 32 * 4);
    assert_int_equal(layout.a[1] - layout.a[0], 32 * 784 * 2 + 32 * 128 * 2);
    assert_int_equal(layout.logits, layout.delta[3] + 32 * 16 * 2);
    assert_int_equal(layout.bytes, layout.scratch + 2 * layout.parameter_bytes);

    const mnist_layout_t without = mnist_layout(128, 32, 200, (mnist_extras_t){0});
    assert_int_equal(without.bytes, layout.scratch);
    mnist_problem_t problem = {0};
    mnist_place(&layout, 4096, &problem);
    assert_int_equal(problem.w[3], 4096 + 267008);
    assert_int_equal(problem.scratch, 4096 + layout.scratch);
    assert_int_equal(problem.low_halves, 0);
    mnist_place(&without, 4096, &problem);
    assert_int_equal(problem.scratch, 0);

    const mnist_layout_t mixed = mnist_layout(128, 32, 200, (mnist_extras_t){.low_halves = true});
    mnist_place(&mixed, 4096, &problem);
    assert_int_equal(problem.low_halves, 4096 + 269824);
    assert_int_equal(mixed.parameter_bytes, 2 * 269824);
    assert_int_equal(mixed.losses, mixed.parameter_bytes);
}

#include "run_tests.h"

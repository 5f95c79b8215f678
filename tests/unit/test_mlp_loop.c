/* The training loop of mlp_train with operators on the host: what it computes, against the oracle's
 * arithmetic, for rungs that have an operator as one kernel and for those that fuse; and what it
 * takes from its allocator, and when it gives it back. */
#include "base/text.h"
#include "checks.h"
#include "host_loop.h"
#include "read_text.h"
#include "workloads/mnist/oracle.h"

#include <ctype.h>

static const mlpt_operator_t UNFUSED[] = {
    MLPT_GATHER,          MLPT_LINEAR,         MLPT_RELU,
    MLPT_SOFTMAX_LOSS,    MLPT_INPUT_GRADIENT, MLPT_RELU_GRADIENT,
    MLPT_WEIGHT_GRADIENT, MLPT_BIAS_GRADIENT,  MLPT_UPDATE,
    MLPT_VALIDATE,        MLPT_OPERATORS};
static const mlpt_operator_t FUSED[] = {
    MLPT_LINEAR,       MLPT_LINEAR_RELU, MLPT_LINEAR_LOSS, MLPT_INPUT_GRADIENT_RELU,
    MLPT_TRAIN_LAYERS, MLPT_VALIDATE,    MLPT_OPERATORS};
/* Images by their numbers, but gradients in memory. */
static const mlpt_operator_t PARTLY[] = {
    MLPT_LINEAR,          MLPT_LINEAR_RELU,   MLPT_SOFTMAX_LOSS, MLPT_INPUT_GRADIENT_RELU,
    MLPT_WEIGHT_GRADIENT, MLPT_BIAS_GRADIENT, MLPT_UPDATE,       MLPT_VALIDATE,
    MLPT_OPERATORS};
static const mlpt_operator_t PERSISTENT[] = {MLPT_LINEAR, MLPT_LINEAR_RELU, MLPT_TRAIN_STEPS,
                                             MLPT_VALIDATE, MLPT_OPERATORS};
static const mlpt_operator_t *const RUNGS[] = {UNFUSED, FUSED, PARTLY, PERSISTENT};

/* ---- what it computes ------------------------------------------------------------------------ */

static void check_losses(world_t *w) {
    mnist_net_t *net = mnist_net_new(&w->network);
    mnist_net_start(net);
    for (size_t step = 0; step < STEPS; step++) {
        assert_ok(run_step(w, step, &err));
        const double expected = mnist_net_step(net, step, (double)RATE, NULL);
        assert_near(w->losses[step], expected, 2e-6);
    }
    mnist_net_free(net);
}

static void test_steps_are_the_oracle_s(void **state) {
    static const allocator_kind_t KINDS[] = {ALLOCATOR_CACHING, ALLOCATOR_MALLOC, ALLOCATOR_ARENA};
    for (size_t i = 0; i < COUNT_OF(RUNGS); i++)
        for (size_t k = 0; k < COUNT_OF(KINDS); k++) {
            world_t *w = open_world(RUNGS[i], KINDS[k]);
            assert_int_equal(mnist_step_images(&w->network, STEPS - 1), IMAGES % BATCH);
            check_losses(w);
            close_world(w);
        }
}

/* All steps of an epoch, the last one with fewer images. */
static void test_steps_in_one_launch(void **state) {
    world_t *w = open_world(PERSISTENT, ALLOCATOR_CACHING);
    assert_ok(
        mlpt_loop_steps(&w->loop, IMAGES, BATCH, address(w->order), address(w->losses), &err));
    assert_int_equal(w->n_calls, 3);
    mnist_net_t *net = mnist_net_new(&w->network);
    mnist_net_start(net);
    for (size_t step = 0; step < STEPS; step++)
        assert_near(w->losses[step], mnist_net_step(net, step, (double)RATE, NULL), 2e-6);
    mnist_net_free(net);
    close_world(w);
}

static void check_gradients(const world_t *w, float *const *expected) {
    for (size_t l = 0; l < DEPTH; l++) {
        const size_t n_in = w->network.sizes[l], n_out = w->network.sizes[l + 1];
        for (size_t o = 0; o < n_out; o++) {
            for (size_t i = 0; i < n_in; i++)
                assert_near(floats(w->loop.gradient_w[l])[o * n_in + i],
                            expected[l][o * (n_in + 1) + i], 1e-6);
            assert_near(floats(w->loop.gradient_b[l])[o], expected[l][o * (n_in + 1) + n_in], 1e-6);
        }
    }
}

static void test_gradients_are_left_where_asked(void **state) {
    for (size_t i = 0; i < COUNT_OF(RUNGS); i++) {
        world_t *w = open_world(RUNGS[i], ALLOCATOR_ARENA);
        float *expected[DEPTH];
        mnist_net_t *net = mnist_net_new(&w->network);
        mnist_net_start(net);
        for (size_t l = 0; l < DEPTH; l++) {
            const size_t n = (w->network.sizes[l] + 1) * w->network.sizes[l + 1];
            expected[l] = mem_zeroed(n, sizeof(float));
            w->loop.gradient_w[l] = address(mem_zeroed(n, sizeof(float)));
            w->loop.gradient_b[l] = address(mem_zeroed(n, sizeof(float)));
        }
        mnist_net_step(net, 0, (double)RATE, expected);
        assert_ok(run_step(w, 0, &err));
        check_gradients(w, expected);
        for (size_t l = 0; l < DEPTH; l++) {
            free(expected[l]);
            free(floats(w->loop.gradient_w[l]));
            free(floats(w->loop.gradient_b[l]));
        }
        mnist_net_free(net);
        close_world(w);
    }
}

static void test_validation(void **state) {
    enum { N_RUNGS = COUNT_OF(RUNGS) };
    float sums[N_RUNGS][2];
    for (size_t i = 0; i < COUNT_OF(RUNGS); i++) {
        world_t *w = open_world(RUNGS[i], ALLOCATOR_CACHING);
        assert_ok(mlpt_loop_validate(&w->loop, TESTS, address(w->sums), &err));
        memcpy(sums[i], w->sums, sizeof w->sums);
        close_world(w);
    }
    /* With weights as they start, each image costs about log 10. */
    assert_near(sums[0][0], TESTS * log(10), 1.5);
    assert_true(sums[0][1] >= 0 && sums[0][1] <= TESTS);
    for (size_t i = 1; i < N_RUNGS; i++) {
        assert_near(sums[i][0], sums[0][0], 1e-5);
        assert_near(sums[i][1], sums[0][1], 0);
    }
}

/* ---- what it takes --------------------------------------------------------------------------- */

static size_t count(const world_t *w, int kind) {
    size_t n = 0;
    for (size_t i = 0; i < w->n_calls; i++)
        n += (int)w->calls[i].kind == kind;
    return n;
}

static void test_each_step_asks_for_the_same(void **state) {
    /* Unfused: gather 1; forward 4, 3 relu; loss 1; backward 3, 3 relu, 4, 4; update 4. */
    static const size_t LAUNCHES[] = {27, DEPTH + 3, 3 + 2 + 3 + 3 * DEPTH, 1};
    for (size_t i = 0; i < COUNT_OF(RUNGS); i++) {
        world_t *w = open_world(RUNGS[i], ALLOCATOR_CACHING);
        assert_ok(run_step(w, 0, &err));
        assert_int_equal(count(w, LAUNCH), LAUNCHES[i]);
        assert_int_equal(count(w, TAKE), count(w, GIVE_BACK));
        call_t *first = mem_alloc(sizeof w->calls);
        const size_t n = w->n_calls;
        memcpy(first, w->calls, sizeof w->calls);
        for (size_t step = 1; step < STEPS; step++) {
            assert_ok(run_step(w, step, &err));
            assert_int_equal(w->n_calls, n);
            for (size_t k = 0; k < n; k++) {
                assert_int_equal(w->calls[k].kind, first[k].kind);
                assert_int_equal(w->calls[k].number, first[k].number);
            }
        }
        free(first);
        close_world(w);
    }
}

static void test_nothing_is_kept_behind_a_step(void **state) {
    const mlpt_shape_t shape = {.layers = DEPTH,
                                .sizes = {MNIST_PIXELS, WIDTH, WIDTH, WIDTH, MNIST_CLASSES}};
    for (size_t i = 0; i < COUNT_OF(RUNGS); i++) {
        world_t *w = open_world(RUNGS[i], ALLOCATOR_MALLOC);
        assert_ok(run_step(w, 0, &err));
        const allocator_stats_t stats = allocator_stats(w->allocator);
        assert_int_equal(stats.allocated_bytes, 0);
        assert_int_equal(stats.driver_calls, 2 * stats.calls);
        const double rounding = (double)(stats.calls * ALLOCATOR_ALIGNMENT);
        assert_true((double)stats.peak_allocated_bytes <=
                    mlpt_step_bytes(&shape, BATCH) + rounding);
        close_world(w);
    }
}

/* The failure is the allocator's own, and the allocator can still be closed. */
static void test_memory_that_runs_out(void **state) {
    for (size_t i = 0; i < COUNT_OF(RUNGS); i++) {
        world_t *w = open_world(RUNGS[i], ALLOCATOR_MALLOC);
        error_t err = ERROR_INIT;
        most_bytes = 2 * ALLOCATOR_ALIGNMENT;
        assert_int_equal(run_step(w, 0, &err), STATUS_FAILED);
        most_bytes = SIZE_MAX;
        assert_has(err.text, "out of device memory");
        close_world(w);
    }
}

/* ---- what a rung must have ------------------------------------------------------------------- */

static void check_without(const mlpt_operator_t *rung, mlpt_operator_t missing, const char *told) {
    mlpt_kernels_t kernels = {.has = {false}};
    for (; *rung != MLPT_OPERATORS; rung++)
        kernels.has[*rung] = *rung != missing;
    assert_fails(mlpt_kernels_check(&kernels, &err), STATUS_FAILED, told);
}

static void test_missing_operators(void **state) {
    check_without(UNFUSED, MLPT_RELU, "its STAGES lack \"relu\" (or \"linear_relu\")");
    check_without(UNFUSED, MLPT_UPDATE, "its STAGES lack \"update\" (or \"train_layers\")");
    check_without(FUSED, MLPT_LINEAR, "its STAGES lack \"linear\"");
    check_without(FUSED, MLPT_VALIDATE, "its STAGES lack \"validate\"");
    check_without(FUSED, MLPT_TRAIN_LAYERS,
                  "its STAGES lack \"weight_gradient\" (or \"train_layers\")");
    check_without(PERSISTENT, MLPT_LINEAR_RELU, "its STAGES lack \"relu\" (or \"linear_relu\")");
    check_without(PERSISTENT, MLPT_TRAIN_STEPS,
                  "its STAGES lack \"softmax_loss\" (or \"linear_loss\")");
}

static void test_blocks(void **state) {
    assert_int_equal(mlpt_blocks(&(stage_t){.tile_rows = 0}, 64, 784), 1);
    assert_int_equal(mlpt_blocks(&(stage_t){.tile_rows = 1}, 64, 784), 64);
    assert_int_equal(
        mlpt_blocks(&(stage_t){.tile_rows = 64, .tile_columns = 28, .split = 4}, 64, 784), 112);
    assert_int_equal(mlpt_blocks(&(stage_t){.tile_rows = 64, .tile_columns = 64}, 785, 1), 13);
}

/* ---- what host and device share -------------------------------------------------------------- */

/* The names that a struct declares, in their order: the last word in front of each `,` or `;`. */
static char *names_of(const char *path, const char *opening) {
    char *text = read_text(path);
    for (char *at = text; (at = strstr(at, "//")) != NULL;)
        memset(at, ' ', strcspn(at, "\n"));
    for (char *at = text; (at = strstr(at, "/*")) != NULL;)
        memset(at, ' ', (size_t)(strstr(at, "*/") + 2 - at));
    const char *at = strstr(text, opening), *end;
    assert_non_null(at);
    end = strstr(at, "\n}");
    text_list_t names = {0};
    for (at = strchr(at, '{'); at < end; at++) {
        if (*at != ',' && *at != ';')
            continue;
        const char *last = at, *first;
        if (last[-1] == ']')
            while (*last != '[')
                last--;
        for (first = last; isalnum((unsigned char)first[-1]) || first[-1] == '_';)
            first--;
        char *name = mem_text_n(first, (size_t)(last - first));
        text_list_add(&names, name);
        free(name);
    }
    char *joined = text_list_join(&names, " ");
    text_list_free(&names);
    free(text);
    return joined;
}

static void test_arguments_are_the_device_s(void **state) {
    const char *const HOST = "bench/workloads/mlp_train/operators.h";
    const char *const DEVICE = "kernels/mlp_train/mlp_train.cuh";
    static const char *const STRUCTS[][2] = {{"typedef struct mlpt_op ", "struct op_t "},
                                             {"typedef struct mlpt_layers ", "struct layers_t "},
                                             {"typedef struct mlpt_steps ", "struct steps_t "}};
    char *of_op = names_of(HOST, STRUCTS[0][0]);
    assert_string_equal(of_op, "x order w b y dy dx dw db labels loss rows n_in n_out flags "
                               "first_block rate");
    free(of_op);
    for (size_t i = 0; i < COUNT_OF(STRUCTS); i++) {
        char *host = names_of(HOST, STRUCTS[i][0]), *device = names_of(DEVICE, STRUCTS[i][1]);
        assert_string_equal(host, device);
        free(host);
        free(device);
    }
}

#include "run_tests.h"

/* Limits and plausibility on times that are chosen for it. */
#include "checks.h"
#include "limits/limits.h"
#include "made_case.h"
#include "timed_result.h"
#include "workloads/described/described.h"

/* Round figures near those of a data-centre GPU: 4 TB/s, 10 TB/s, 50 MB, 50 TFLOP/s in
 * float32, 1000 in float16 by tensor cores, 1 µs. */
static const device_rates_t RATES = {.dram_bytes_per_s = 4e12,
                                     .l2_bytes_per_s = 10e12,
                                     .l2_bytes = 50e6,
                                     .on_chip_bytes = 120e6,
                                     .fp32_flops_per_s = 50e12,
                                     .f16_peak_flops_per_s = 1000e12,
                                     .launch_ns = 1000,
                                     .event_ns = 1300};

static case_result_t judged(const char *engine, int64_t batch, const timed_t *times) {
    case_result_t result = make_result("mlp_infer", engine, batch, times);
    limit_set(&result, workload_find("mlp_infer"), &RATES);
    plausibility_check(&result, &RATES);
    return result;
}

static void assert_limit(const case_result_t *result, const char *bound, double limit_ns,
                         double frac, const char *phase) {
    assert_string_equal(result->limit.bound, bound);
    assert_string_equal(result->limit.phase, phase);
    assert_true(fabs(result->limit.limit_ns / limit_ns - 1) < 1e-12);
    assert_true(fabs(result->limit.frac / frac - 1) < 1e-12);
}

/* 4-5-1: 20 bytes a sample and 124 of weights, and 56 operations; 2^24 samples do not fit into 50 MB. */
static void test_what_binds(void **state) {
    static const struct {
        int64_t batch;
        const char *phase;
        double fp32_flops_per_s, limit_ns;
        const char *bound;
    } TABLE[] = {
        {1 << 24, "kernel_graph", 50e12, (20.0 * (1 << 24) + 124) / 4e12 * 1e9, "dram"},
        {1 << 20, "kernel", 50e12, (20.0 * (1 << 20) + 124) / 10e12 * 1e9, "l2"},
        {64, "kernel_graph", 50e12, 1000, "launch"},
        {1 << 24, "kernel", 1e12, 56.0 * (1 << 24) / 1e12 * 1e9, "fp32"},
    };
    for (size_t i = 0; i < COUNT_OF(TABLE); i++) {
        device_rates_t rates = RATES;
        rates.fp32_flops_per_s = TABLE[i].fp32_flops_per_s;
        const timed_t times[] = {{TABLE[i].phase, 4 * TABLE[i].limit_ns}, {NULL, 0}};
        AUTO(result_free)
        case_result_t result = make_result("mlp_infer", "cuda", TABLE[i].batch, times);
        limit_set(&result, workload_find("mlp_infer"), &rates);
        plausibility_check(&result, &rates);
        assert_limit(&result, TABLE[i].bound, TABLE[i].limit_ns, 0.25, TABLE[i].phase);
        assert_true(result.limit.bytes == 20.0 * (double)TABLE[i].batch + 124);
        assert_true(result.limit.flops == 56.0 * (double)TABLE[i].batch);
        assert_int_equal(result.flags.n, 0);
    }
}

/* The bus bounds it, but no kernel may be faster than a launch. */
static void test_mapped_memory_has_no_limit(void **state) {
    static const struct {
        const char *engine, *variant, *copy;
        bool has_limit;
    } CASES[] = {{"cuda", "v", "mapped", false},
                 {"pytorch", "mapped", NULL, false},
                 {"mine", "mapped", NULL, true}, /* a script of any name */
                 {"cuda", "v", "pinned", true}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const bool ours = strcmp(CASES[i].engine, "cuda") == 0;
        const timed_t times[] = {{ours ? "kernel_graph" : "forward_graph", 500}, {NULL, 0}};
        AUTO(result_free)
        case_result_t result = make_result("mlp_infer", CASES[i].engine, 64, times);
        set_text(&result.spec.device, "cuda");
        set_text(&result.spec.variant, CASES[i].variant);
        case_drop_techniques(&result.spec);
        if (CASES[i].copy != NULL)
            case_add_technique(&result.spec, "copy", CASES[i].copy);
        limit_set(&result, workload_find("mlp_infer"), &RATES);
        plausibility_check(&result, &RATES);
        assert_int_equal(isfinite(result.limit.frac), CASES[i].has_limit);
        assert_int_equal(result.limit.bound != NULL, CASES[i].has_limit);
        assert_int_equal(result.flags.n, 1);
        assert_int_equal(result.flags.items[0].kind, FLAG_OVER_LIMIT);
    }
}

/* The measured rate of products counts in each dtype, in place of the FP32 lanes' peak. */
static void test_matmul_limit(void **state) {
    device_rates_t rates = RATES;
    rates.library_flops_per_s[MATMUL_F32] = 1.1e12;
    rates.library_flops_per_s[MATMUL_TF32] = 4e12;
    rates.library_flops_per_s[MATMUL_F16] = 7e12;
    static const struct {
        const char *workload, *dtype;
        int64_t size;
        double flops_per_s;
    } ROWS[] = {{"mlp_train", "f32", 784, 1.1e12},
                {"mlp_train", "tf32", 784, 4e12},
                {"mnist_train", "f16", 1024, 7e12}};
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        case_result_t result = make_result(ROWS[i].workload, "cuda", ROWS[i].size,
                                           (timed_t[]){{"train_device", 1e12}, {NULL, 0}});
        set_text(&result.spec.dtype, ROWS[i].dtype);
        limit_set(&result, workload_find(ROWS[i].workload), &rates);
        const double least_ns = result.limit.flops / ROWS[i].flops_per_s * 1e9;
        assert_limit(&result, "matmul", least_ns, least_ns / 1e12, "train_device");
        result_free(&result);
    }
    rates.fp32_flops_per_s = 1e12; /* a fit of a line is no product of matrices */
    case_result_t result =
        make_result("linreg_train", "cuda", 5000000, (timed_t[]){{"train_device", 1e9}, {NULL, 0}});
    limit_set(&result, workload_find("linreg_train"), &rates);
    assert_string_equal(result.limit.bound, "fp32");
    result_free(&result);
}

/* Tensor cores are faster than what fp32_flops_per_s tells: 3·W of 281 MB in DRAM are what binds.
 */
static void test_no_arithmetic_limit_in_f16(void **state) {
    const workload_t *workload = workload_find("mnist_train");
    case_result_t result =
        make_result("mnist_train", "cuda", 8192, (timed_t[]){{"train_device", 60e6}, {NULL, 0}});
    limit_set(&result, workload, &RATES);
    double weights = 784.0 * 8192 + 2 * 8192.0 * 8192 + 8192 * 10.0;
    double least_ns = 200 * 3 * 2 * weights / 4e12 * 1e9;
    assert_true(least_ns < result.limit.flops / RATES.fp32_flops_per_s * 1e9);
    assert_limit(&result, "dram", least_ns, least_ns / 60e6, "train_device");
    result_free(&result);
}

/* A training of 200 epochs on 320 MB, of which 120 MB can stay: the rest comes 199 times more. */
static void test_further_passes(void **state) {
    const workload_t *workload = workload_find("linreg_train");
    static const struct {
        int points;
        double bytes; /* that bind; 0: they do not */
    } TABLE[] = {{50000000, 320e6 + 199 * 200e6}, {18750000, 0}};
    for (size_t i = 0; i < COUNT_OF(TABLE); i++) {
        AUTO(result_free)
        case_result_t result = make_result("linreg_train", "cuda", TABLE[i].points,
                                           (timed_t[]){{"train_device", 20e6}, {NULL, 0}});
        limit_set(&result, workload, &RATES);
        double least_ns = TABLE[i].bytes / 4e12 * 1e9, n_train = 0.8 * TABLE[i].points;
        double fp32_ns = n_train * (6 * 200 + 2 * 20) / 50e12 * 1e9;
        if (TABLE[i].bytes > 0)
            assert_limit(&result, "dram", least_ns, least_ns / 20e6, "train_device");
        else /* 120 MB stay, and the arithmetic takes longer than to read them once */
            assert_limit(&result, "fp32", fp32_ns, fp32_ns / 20e6, "train_device");
        assert_true(result.limit.bytes == (TABLE[i].bytes > 0 ? TABLE[i].bytes : 8 * n_train));
    }
    device_rates_t unknown = RATES;
    unknown.on_chip_bytes = NAN;
    AUTO(result_free)
    case_result_t result = make_result("linreg_train", "cuda", 50000000,
                                       (timed_t[]){{"train_device", 20e6}, {NULL, 0}});
    limit_set(&result, workload, &unknown);
    assert_true(result.limit.bytes == 320e6);
}

/* Once more, with another limit: its flag goes or comes, all others stay. */
static void test_judged_again(void **state) {
    case_result_t result =
        judged("cuda", 64, (timed_t[]){{"kernel_graph", 900}, {"kernel_stream", 800}, {NULL, 0}});
    assert_int_equal(result.flags.n, 2);
    AUTO_FREE char *first = flag_text(&result.flags.items[0]),
                   *other = flag_text(&result.flags.items[1]);
    assert_has(first, "faster than the launch limit (111 % of it)");
    device_rates_t rates = RATES;
    rates.launch_ns = 450;
    limit_set_again(&result, workload_find("mlp_infer"), &rates);
    assert_limit(&result, "launch", 450, 0.5, "kernel_graph");
    assert_int_equal(result.flags.n, 1);
    assert_text(flag_text(&result.flags.items[0]), other);
    limit_set_again(&result, workload_find("mlp_infer"), &RATES);
    assert_limit(&result, "launch", 1000, 1000.0 / 900, "kernel_graph");
    assert_int_equal(result.flags.n, 2);
    result_free(&result);
}

/* The least disturbed figure of the computation is the one that is held against the limit. */
static void test_which_phase_is_compared(void **state) {
    case_result_t result =
        judged("cuda", 64,
               (timed_t[]){{"kernel", 5000}, {"kernel_graph", 2000}, {"total", 9000}, {NULL, 0}});
    assert_limit(&result, "launch", 1000, 0.5, "kernel_graph");
    result_free(&result);
    result =
        judged("pytorch", 64, (timed_t[]){{"forward", 8000}, {"forward_device", 4000}, {NULL, 0}});
    assert_limit(&result, "launch", 1000, 0.25, "forward_device");
    result_free(&result);
    result = judged(
        "pytorch", 64,
        (timed_t[]){
            {"forward", 8000}, {"forward_device", 4000}, {"forward_graph", 2000}, {NULL, 0}});
    assert_limit(&result, "launch", 1000, 0.5, "forward_graph");
    result_free(&result);
}

static void assert_no_limit(const case_result_t *result) {
    assert_null(result->limit.bound);
    assert_true(isnan(result->limit.limit_ns));
    assert_true(isnan(result->limit.frac));
}

static void test_no_limit(void **state) {
    AUTO(result_free)
    case_result_t result = judged("cpu", 64, (timed_t[]){{"forward", 100}, {NULL, 0}});
    assert_no_limit(&result); /* of a CPU nothing is known */
    assert_true(result.limit.bytes == 20.0 * 64 + 124);
    result_free(&result);
    result = judged("cuda", 64, (timed_t[]){{"total", 100}, {NULL, 0}});
    assert_no_limit(&result);
    result_free(&result);
    result = make_result("mlp_infer", "cuda", 64, (timed_t[]){{"kernel", 100}, {NULL, 0}});
    result.status = CASE_WRONG;
    limit_set(&result, workload_find("mlp_infer"), &RATES);
    plausibility_check(&result, &RATES);
    assert_no_limit(&result);
    assert_int_equal(result.flags.n, 0);
    result_free(&result);
    result = make_result("mlp_infer", "cuda", 64, (timed_t[]){{"kernel", 100}, {NULL, 0}});
    limit_set(&result, workload_find("mlp_infer"), &DEVICE_RATES_UNKNOWN);
    plausibility_check(&result, &DEVICE_RATES_UNKNOWN);
    assert_no_limit(&result);
    assert_int_equal(result.flags.n, 0);
}

static void test_implausible(void **state) {
    static const struct {
        timed_t times[5];
        const char *flag; /* NULL: nothing to say */
    } TABLE[] = {
        {{{"kernel_graph", 2000}, {"kernel_stream", 3000}, {"kernel", 4000}}, NULL},
        {{{"kernel_graph", 900}}, "implausible: faster than the launch limit"},
        {{{"kernel_graph", 960}}, NULL}, /* within 5 % of it */
        {{{"kernel_graph", 4000}, {"kernel_stream", 3000}},
         "implausible: slower in a graph than back to back"},
        {{{"kernel_graph", 3100}, {"kernel_stream", 3000}}, NULL},
        {{{"kernel_stream", 5000}, {"kernel", 4000}},
         "implausible: slower back to back than alone"},
        {{{"kernel_graph", 5000}, {"kernel_cold", 4000}},
         "implausible: slower with a warm L2 than with a cold one"},
        {{{"kernel_graph", 4000}, {"kernel_cold", 5000}}, NULL},
        {{{"kernel", 5000}, {"kernel_cold", 4000}}, NULL}, /* launched on an idle device */
        {{{"kernel", 1200}, {"kernel_graph", 1200}}, "under the event floor of 1.30 µs"},
        {{{"kernel", 4000}, {"residual", -1}},
         "implausible: the total is less than the sum of its phases"},
        {{{"kernel", 4000}, {"residual", 0}}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(TABLE); i++) {
        AUTO(result_free) case_result_t result = judged("cuda", 64, TABLE[i].times);
        assert_int_equal(result.flags.n, TABLE[i].flag != NULL);
        AUTO_FREE char *text = TABLE[i].flag != NULL ? flag_text(&result.flags.items[0]) : NULL;
        if (text != NULL && strstr(text, TABLE[i].flag) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", text, TABLE[i].flag);
    }
}

typedef struct bound_row {
    const char *workload, *dtype;
    int64_t size;
    const char *phase;
    double least_ns; /* what the chip's peak allows */
    const char *bound;
} bound_row_t;

static case_result_t result_of_row(const bound_row_t *row, double ns, const device_rates_t *rates) {
    case_result_t result =
        make_result(row->workload, "cuda", row->size, (timed_t[]){{row->phase, ns}, {NULL, 0}});
    set_text(&result.spec.dtype, row->dtype);
    limit_set(&result, workload_find(row->workload), rates);
    plausibility_check(&result, rates);
    return result;
}

static double mlp_weights(double width) {
    return 784 * width + 2 * width * width + 10 * width;
}

/* Only what no kernel can do is implausible: float32 in TF32 parts is faster than the FP32 lanes (rung
 * 05 of mlp_train), weights that stay on the chip are not moved again (mnist_train, 4096: 73 MB). */
static void test_least_time(void **state) {
    const double mlp_flops = 60000 * (6 * mlp_weights(784) - 2 * 784.0 * 784);
    const double mnist_flops = 200 * 32 * (6 * mlp_weights(4096) - 2 * 784.0 * 4096);
    const double big_bytes = 2 * mlp_weights(8192);
    const double big_moved = big_bytes - 50e6 + 599 * (big_bytes - 120e6);
    const double points_moved = 320e6 - 50e6 + 199 * (320e6 - 120e6);
    const bound_row_t ROWS[] = {
        {"mlp_train", "f32", 784, "train_device", mlp_flops / 500e12 * 1e9, "arithmetic"},
        {"mlp_train", "tf32", 784, "train_device", mlp_flops / 500e12 * 1e9, "arithmetic"},
        {"mnist_train", "f16", 4096, "train_device", mnist_flops / 1000e12 * 1e9, "arithmetic"},
        {"mnist_train", "f16", 8192, "train_device", big_moved / 4.6e12 * 1e9, "dram"},
        {"linreg_train", "f32", 50000000, "train_device", points_moved / 4.6e12 * 1e9, "dram"},
        {"mlp_infer", "f32", 1 << 24, "kernel_graph",
         (20.0 * (1 << 24) + 124 - 50e6) / 4.6e12 * 1e9, "dram"},
        {"mlp_infer", "f32", 64, "kernel_graph", 1000, "launch"},
    };
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        const bound_row_t *row = &ROWS[i];
        AUTO(result_free) case_result_t result = result_of_row(row, row->least_ns / 1.049, &RATES);
        assert_int_equal(result.flags.n, 0);
        assert_true(result.limit.frac > 1.04);
        result_free(&result);
        result = result_of_row(row, row->least_ns / 1.06, &RATES);
        assert_int_equal(result.flags.n, 1);
        assert_int_equal(result.flags.items[0].kind, FLAG_OVER_LIMIT);
        assert_string_equal(result.flags.items[0].word, row->bound);
        assert_true(fabs(result.flags.items[0].values[0] / 1.06 - 1) < 1e-9);
    }
}

/* The dtypes of a description have any names: what counts is the least precise factor that they allow. */
static void test_least_time_of_type_letters(void **state) {
    static const struct {
        const char *dtype;
        double flops_per_s;
    } ROWS[] = {{"f32", 500e12}, {"tf32", 500e12}, {"mixed", 1000e12}};
    const description_t *added;
    assert_ok(described_add("tests/fixtures/operators/linear", NULL, &added, &err));
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        const double least_ns = 2.0 * 4096 * 8192 * 8192 / ROWS[i].flops_per_s * 1e9;
        AUTO(result_free)
        case_result_t result = make_result("linear", "cuda", 4096,
                                           (timed_t[]){{"kernel_graph", least_ns / 1.06}, {0}});
        for (size_t p = 1; p < result.spec.n_params; p++)
            result.spec.params[p].value.integer = 8192;
        set_text(&result.spec.dtype, ROWS[i].dtype);
        limit_set(&result, workload_find("linear"), &RATES);
        plausibility_check(&result, &RATES);
        assert_int_equal(result.flags.n, 1);
        assert_string_equal(result.flags.items[0].word, "arithmetic");
        assert_true(fabs(result.flags.items[0].values[0] / 1.06 - 1) < 1e-9);
    }
}

/* Those of trainings: 60 TFLOP/s of lanes, 8 MB in a cluster, 0.9 µs a barrier; 1 TFLOP/s of the CPU. */
static device_rates_t training_rates(void) {
    device_rates_t rates = RATES;
    rates.lanes_peak_flops_per_s = 60e12;
    rates.cluster_bytes = 8e6;
    rates.barrier_ns = 900;
    rates.cpu_peak_flops_per_s = 1e12;
    return rates;
}

static double linreg_flops(double points) {
    return 0.8 * points * (6 * 200 + 2 * 20);
}

/* What sums over the points once, and does not say so: 200 epochs over points that no chip works off in that
 * time, wherever it keeps them. */
static void test_least_time_of_passes(void **state) {
    const device_rates_t rates = training_rates();
    const double together = 60e12 + 500e12 / 8, spilled = 0.8 * 8 * 12.5e6 - 70e6;
    const bound_row_t ROWS[] = {
        {"linreg_train", "f32", 500000, "train_device", linreg_flops(5e5) / together * 1e9,
         "arithmetic"},
        {"linreg_train", "f32", 2000000, "train_device", 199 * 900 / 8.0, "exchange"},
        {"linreg_train", "f32", 5000000, "train_device", linreg_flops(5e6) / together * 1e9,
         "arithmetic"},
        {"linreg_train", "f32", 12500000, "train_device", 199 * spilled / (12.5e12 + 4.6e12) * 1e9,
         "l2"},
        {"linreg_train", "f32", 5000000, "train", linreg_flops(5e6) / together * 1e9,
         "arithmetic"}, /* of a script without the device's clock */
    };
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        AUTO(result_free)
        case_result_t result = result_of_row(&ROWS[i], ROWS[i].least_ns / 1.049, &rates);
        assert_int_equal(result.flags.n, 0);
        result_free(&result);
        result = result_of_row(&ROWS[i], ROWS[i].least_ns / 1.06, &rates);
        assert_int_equal(result.flags.n, 1);
        assert_int_equal(result.flags.items[0].kind, FLAG_OVER_LIMIT);
        assert_string_equal(result.flags.items[0].word, ROWS[i].bound);
        assert_true(fabs(result.flags.items[0].values[0] / 1.06 - 1) < 1e-9);
    }
}

/* Of several phases of a training the shortest is its claim. */
static void test_no_phase_of_a_training_is_too_short(void **state) {
    const device_rates_t rates = training_rates();
    static const char *const PHASES[] = {"train", "host_to_host", "total", "forward"};
    for (size_t i = 0; i < COUNT_OF(PHASES); i++) {
        timed_t times[] = {
            {i < 3 ? "train" : "forward", 1e9}, {"host_to_host", 1e9}, {"total", 1e9}, {NULL, 0}};
        times[i % 3].ns = 20e3;
        AUTO(result_free)
        case_result_t result = make_result("linreg_train", "mine", 5000000, times);
        set_text(&result.spec.device, "cuda");
        plausibility_check(&result, &rates);
        assert_non_null(flag_list_find(&result.flags, FLAG_OVER_LIMIT));
    }
}

/* Whoever says that it is another algorithm is not held to the passes. */
static void test_a_declared_algorithm_is_not_bounded(void **state) {
    const device_rates_t rates = training_rates();
    static const char *const PHASES[] = {"train_device", "train"};
    for (size_t i = 0; i < 2; i++) {
        case_result_t result =
            make_result("linreg_train", "cuda", 5000000, (timed_t[]){{PHASES[i], 20e3}, {NULL, 0}});
        result.results_json = mem_text("{\"algorithmic\":true}");
        limit_set(&result, workload_find("linreg_train"), &rates);
        plausibility_check(&result, &rates);
        assert_int_equal(result.flags.n, 0);
        result_free(&result);
    }
}

/* A CPU has no rates of a GPU; one pass over the data can be as fast as it likes. */
static void test_least_time_on_a_cpu(void **state) {
    const device_rates_t rates = training_rates();
    static const struct {
        int64_t points, epochs;
        double ns;
        bool flagged;
    } ROWS[] = {{5000000, 200, 4e6 * 1240 / 1e12 * 1e9 / 1.06, true},
                {5000000, 200, 4e6 * 1240 / 1e12 * 1e9 / 1.049, false},
                {5000000, 1, 1, false}};
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        case_result_t result = make_result("linreg_train", "cpu", ROWS[i].points,
                                           (timed_t[]){{"train", ROWS[i].ns}, {NULL, 0}});
        for (size_t k = 0; k < result.spec.n_params; k++)
            if (strcmp(result.spec.params[k].name, "epochs") == 0)
                result.spec.params[k].value.integer = ROWS[i].epochs;
        plausibility_check(&result, &rates);
        assert_int_equal(flag_list_find(&result.flags, FLAG_OVER_LIMIT) != NULL, ROWS[i].flagged);
        result_free(&result);
    }
    case_result_t result =
        make_result("linreg_train", "cpu", 5000000, (timed_t[]){{"train", 1}, {NULL, 0}});
    plausibility_check(&result, &DEVICE_RATES_UNKNOWN);
    assert_int_equal(result.flags.n, 0);
    result_free(&result);
}

/* Of a chip that is not known nothing is said but that a launch takes its time. */
static void test_least_time_that_is_not_known(void **state) {
    device_rates_t rates = RATES;
    rates.f16_peak_flops_per_s = NAN;
    const bound_row_t rows[] = {{"mlp_train", "f32", 784, "train_device", 1001, NULL},
                                {"mnist_train", "f16", 8192, "train_device", 1001, NULL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(result_free)
        case_result_t result = result_of_row(&rows[i], rows[i].least_ns, &rates);
        assert_int_equal(result.flags.n, 0);
    }
}

/* The event floor is one of CUDA events: a host clock has none. */
static void test_event_floor_is_of_cuda_only(void **state) {
    AUTO(result_free)
    case_result_t result = judged("cpu", 64, (timed_t[]){{"kernel", 100}, {NULL, 0}});
    assert_int_equal(result.flags.n, 0);
}

/* The kernel of 01_read is the mean of its passes over the buffer, which one pair of events spans. */
static void test_a_mean_of_passes_has_no_event_floor(void **state) {
    case_result_t result =
        make_result("device", "cuda", 1 << 20, (timed_t[]){{"kernel", 100}, {NULL, 0}});
    plausibility_check(&result, &RATES);
    assert_int_equal(result.flags.n, 0);
    result_free(&result);
}

#include "run_tests.h"

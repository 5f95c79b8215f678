/* Which part of a call or a step a phase belongs to, and what they add up to. */
#include "analysis/learning.h"
#include "checks.h"
#include "planted_mnist.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"

static case_result_t with_phases(network_phase_t a, network_phase_t b, network_phase_t c) {
    return network_result(&(network_t){
        "cuda", "03_tensor_cores", 128, 1, 1, CASE_OK, NULL, {a, b, c, {"train", 9e6}}});
}

/* Where the medians of `phases` are `ns`. */
static void assert_parts(const char *const phases[3], const char *const *names, const double *ns,
                         size_t n) {
    parts_t parts = {0};
    case_result_t result =
        with_phases((network_phase_t){phases[0], 1e3}, (network_phase_t){phases[1], 2e3},
                    (network_phase_t){phases[2], 4e3});
    parts_add(&parts, &result);
    parts_add(&parts, &result);
    size_t n_timed = 0;
    for (size_t i = 0; i < parts.n; i++)
        n_timed += isfinite(part_ns(&parts, i, &result));
    assert_int_equal(n_timed, n);
    assert_int_equal(has_parts(&result), n > 0);
    for (size_t k = 0; k < n; k++) {
        size_t i = 0;
        while (strcmp(parts.names[i], names[k]) != 0)
            i++;
        assert_near(part_ns(&parts, i, &result), ns[k], 1e-6);
    }
    result_free(&result);
}

static void phases_are_parts_by_name(void **state) {
    static const struct {
        const char *phases[3], *names[3];
        double ns[3];
        size_t n;
    } EXPECTED[] = {
        {{"gather", "forward_0", "backward_3"},
         {"gather", "forward", "backward"},
         {1e3, 2e3, 4e3},
         3},
        {{"loss", "backward_weights", "backward_data"}, {"loss", "backward"}, {1e3, 6e3}, 2},
        {{"fused", "update", "sgd"}, {"fused", "update"}, {1e3, 6e3}, 2},
        /* Another clock of `forward`, another word. */
        {{"forward_device", "losses", "fused"}, {"fused"}, {4e3}, 1},
        /* A call, whose computation is "forward". */
        {{"h2d", "forward", "total"}, {NULL}, {0}, 0},
        {{"forward", "part_scale", "part_shift"}, {"scale", "shift"}, {2e3, 4e3}, 2},
        {{"forward", "part_forward_0", "part_forward_1"},
         {"forward_0", "forward_1"},
         {2e3, 4e3},
         2},
    };
    for (size_t i = 0; i < COUNT_OF(EXPECTED); i++)
        assert_parts(EXPECTED[i].phases, EXPECTED[i].names, EXPECTED[i].ns, EXPECTED[i].n);
}

static void a_case_without_valid_times_has_no_parts(void **state) {
    case_result_t result =
        with_phases((network_phase_t){"forward_0", 1e3}, (network_phase_t){"part_scale", 2e3},
                    (network_phase_t){"backward_1", 4e3});
    assert_true(has_parts(&result) && is_by_operation(&result));
    result.status = CASE_WRONG;
    assert_false(has_parts(&result) || is_by_operation(&result));
    result_free(&result);
}

static void what_is_fused_is_no_part_of_the_sum(void **state) {
    case_result_t result =
        with_phases((network_phase_t){"fused", 5e3}, (network_phase_t){"update", 6e3},
                    (network_phase_t){"h2d", 7e3});
    assert_near(parts_sum_ns(&result), 6e3, 1e-6);
    result_free(&result);
    /* A kernel of that name is a part like any other. */
    result = with_phases((network_phase_t){"part_fused", 5e3},
                         (network_phase_t){"part_update", 6e3}, (network_phase_t){"h2d", 7e3});
    assert_near(parts_sum_ns(&result), 11e3, 1e-6);
    assert_false(is_by_operation(&result));
    result_free(&result);
    result = with_phases((network_phase_t){"step", 5e3}, (network_phase_t){"total", 6e3},
                         (network_phase_t){"h2d", 7e3});
    assert_true(isnan(parts_sum_ns(&result)));
    result_free(&result);
}

static void operations_of_a_step_stand_in_its_order(void **state) {
    parts_t parts = {0};
    case_result_t fused =
                      with_phases((network_phase_t){"fused", 5e3}, (network_phase_t){"total", 6e3},
                                  (network_phase_t){"h2d", 7e3}),
                  split =
                      with_phases((network_phase_t){"update", 5e3}, (network_phase_t){"loss", 6e3},
                                  (network_phase_t){"backward_1", 7e3});
    parts_add(&parts, &fused);
    parts_add(&parts, &split);
    static const char *const NAMES[] = {"gather", "forward", "loss", "backward", "update", "fused"};
    assert_int_equal(parts.n, COUNT_OF(NAMES));
    for (size_t i = 0; i < parts.n; i++)
        assert_string_equal(parts.names[i], NAMES[i]);
    assert_true(part_is_whole(&parts, 5, &fused));
    assert_false(part_is_whole(&parts, 4, &split));
    assert_string_equal(part_phase(&parts, 4, &split)->name, "update");
    assert_null(part_phase(&parts, 3, &split)); /* it is a sum, of one here */
    result_free(&fused);
    result_free(&split);
}

static void what_is_too_much_for_a_table_is_others(void **state) {
    parts_t parts = {0};
    AUTO(result_free)
    case_result_t result = with_phases((network_phase_t){"h2d", 1e3}, (network_phase_t){NULL, 0},
                                       (network_phase_t){NULL, 0});
    for (int i = 0; i < MOST_PARTS + 3; i++) {
        char name[16];
        const double ns = i + 1;
        snprintf(name, sizeof name, PART_PHASE "k%d", i);
        phase_add_round(result_add_phase(&result, name, CLOCK_DEVICE), &ns, 1);
    }
    result_summarise(&result);
    parts_add(&parts, &result);
    parts_add(&parts, &result);
    assert_int_equal(parts.n, MOST_PARTS);
    assert_string_equal(parts.names[MOST_PARTS - 2], "k10");
    assert_string_equal(parts.names[MOST_PARTS - 1], "others");
    assert_near(part_ns(&parts, MOST_PARTS - 2, &result), 11, 1e-9);
    assert_near(part_ns(&parts, MOST_PARTS - 1, &result), 12 + 13 + 14 + 15, 1e-9);
    assert_near(parts_sum_ns(&result), 15 * 16 / 2, 1e-9);
    assert_string_equal(part_phase(&parts, 0, &result)->name, "part_k0");
    assert_null(part_phase(&parts, MOST_PARTS - 1, &result));
}

/* ---- Where an epoch's time goes: sums over made-up records. */

typedef struct interval {
    trace_kind_t kind;
    const char *name;
    int64_t from_ns, to_ns;
} interval_t;

static gpu_split_t split_of(const interval_t *intervals, size_t n) {
    trace_event_t events[16] = {{0}};
    for (size_t i = 0; i < n; i++)
        events[i] = (trace_event_t){.kind = intervals[i].kind,
                                    .name = (char *)intervals[i].name,
                                    .start_ns = intervals[i].from_ns,
                                    .end_ns = intervals[i].to_ns};
    const trace_t trace = {.events = events, .n = n};
    return gpu_split(&trace, 1000, 2000);
}

static void check(const interval_t *intervals, size_t n, int64_t kernels_ns, int64_t driver_ns) {
    const gpu_split_t split = split_of(intervals, n);
    assert_int_equal(split.epoch_ns, 1000);
    assert_int_equal(split.kernels_ns, kernels_ns);
    assert_int_equal(split.driver_ns, driver_ns);
}

static void test_nothing(void **state) {
    check(NULL, 0, 0, 0);
}

static void test_kernels_that_overlap_count_once(void **state) {
    const interval_t KERNELS[] = {{TRACE_KERNEL, "linear", 1100, 1300},
                                  {TRACE_KERNEL, "relu", 1250, 1400},
                                  {TRACE_KERNEL, "update", 1260, 1270},
                                  {TRACE_COPY, "copy", 1500, 1550},
                                  {TRACE_SET, "memset", 1600, 1610}};
    check(KERNELS, 5, 360, 0);
}

/* cuMemFree waits for the kernels: that time is theirs. */
static void test_allocation_counts_where_no_kernel_runs(void **state) {
    const interval_t MIXED[] = {{TRACE_KERNEL, "linear", 1200, 1400},
                                {TRACE_CALL, "cuMemFree_v2", 1300, 1450},
                                {TRACE_CALL, "cuMemAlloc_v2", 1460, 1500},
                                {TRACE_CALL, "cuMemAllocFromPoolAsync", 1500, 1510}};
    check(MIXED, 4, 200, 100);
}

static void test_other_calls_and_ranges_do_not_count(void **state) {
    const interval_t OTHERS[] = {{TRACE_CALL, "cuLaunchKernel", 1100, 1200},
                                 {TRACE_CALL, "cuStreamSynchronize", 1200, 1900},
                                 {TRACE_RANGE, "cuMemAlloc_v2", 1000, 2000}};
    check(OTHERS, 3, 0, 0);
}

static void test_what_lies_outside_is_cut_off(void **state) {
    const interval_t LONG[] = {{TRACE_KERNEL, "earlier", 100, 900},
                               {TRACE_KERNEL, "before", 900, 1010},
                               {TRACE_KERNEL, "behind", 1990, 2500},
                               {TRACE_CALL, "cuMemAlloc_v2", 2100, 2200}};
    check(LONG, 4, 20, 0);
}

/* ---- The phases of a training's sample, over a driver that computes nothing and says 3 ms for
 * every span between two events. */

static const double SPAN_NS = 3e6;
static int n_synchronised;

static cu_result_t stream_sync(cu_stream_t stream) {
    n_synchronised++;
    return CU_SUCCESS;
}

static cu_result_t event_record(cu_event_t event, cu_stream_t stream) {
    (void)event, (void)stream;
    return CU_SUCCESS;
}

static cu_result_t event_elapsed(float *ms, cu_event_t from, cu_event_t to) {
    (void)from, (void)to;
    *ms = (float)(SPAN_NS / 1e6);
    return CU_SUCCESS;
}

/* What a sample called: A, U, T, C, R. */
static char calls[16];
static bool training_fails;

static void called(char letter) {
    calls[strlen(calls)] = letter;
}

static cu_result_t alloc(cu_pointer_t *at, size_t bytes) {
    called('A');
    *at = 1;
    return CU_SUCCESS;
}

static cu_result_t copy_in(cu_pointer_t to, const void *from, size_t bytes, cu_stream_t stream) {
    called('U');
    return CU_SUCCESS;
}

static cu_result_t copy_out(void *to, cu_pointer_t from, size_t bytes, cu_stream_t stream) {
    called('C');
    return CU_SUCCESS;
}

static cu_result_t release(cu_pointer_t at) {
    called('R');
    return CU_SUCCESS;
}

static status_t train(gpu_sample_t *s, error_t *err) {
    called('T');
    return training_fails ? error_set(err, STATUS_FAILED, "it fails") : STATUS_OK;
}

static gpu_t fake_gpu(void) {
    n_synchronised = 0;
    memset(calls, 0, sizeof calls);
    return (gpu_t){.api = {.stream_sync = stream_sync,
                           .event_record = event_record,
                           .event_elapsed = event_elapsed,
                           .alloc = alloc,
                           .release = release,
                           .copy_in_async = copy_in,
                           .copy_out_async = copy_out}};
}

/* A training of eight steps with one array in place. */
static status_t sample_training(gpu_t *gpu, gpu_alloc_t alloc, session_t *session, error_t *err) {
    gpu_array_t array = {.role = ARRAY_IN_PLACE};
    gpu_sample_t sample = {
        .gpu = gpu, .arrays = &array, .n_arrays = 1, .launch = train, .alloc = alloc, .steps = 8};
    *session = (session_t){.state = &sample};
    TRY(gpu_sample_add_probes(session, err));
    return session->probes[0].run(session, &session->recorder, err);
}

static double only_sample(const recorder_t *recorder, const char *name) {
    for (size_t i = 0; i < recorder->n_phases; i++)
        if (strcmp(recorder->phases[i].name, name) == 0) {
            assert_int_equal(recorder->phases[i].n, 1);
            return recorder->phases[i].ns[0];
        }
    return NAN;
}

static void assert_names(const recorder_t *recorder, const char *const *names, size_t n) {
    assert_int_equal(recorder->n_phases, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(recorder->phases[i].name, names[i]);
}

static void parts_and_residual_make_the_total(void **state) {
    static const char *const NAMES[] = {"train_device", "step_device", "malloc", "h2d",
                                        "train",        "d2h",         "free",   "total",
                                        "residual",     "step"};
    gpu_t gpu = fake_gpu();
    session_t session;
    assert_ok(sample_training(&gpu, ALLOC_MALLOC, &session, &err));
    AUTO(recorder_free) recorder_t recorder = session.recorder;
    assert_names(&recorder, NAMES, COUNT_OF(NAMES));
    assert_string_equal(calls, "AUTCR");
    assert_int_equal(n_synchronised, 4); /* at the start, and after each phase that submits work */
    double sum_ns = only_sample(&recorder, "residual");
    for (size_t i = 2; i <= 6; i++) {
        assert_true(only_sample(&recorder, NAMES[i]) >= 0);
        sum_ns += only_sample(&recorder, NAMES[i]);
    }
    assert_near(sum_ns, only_sample(&recorder, "total"), 1e-6);
    assert_near(only_sample(&recorder, "train_device"), SPAN_NS, 1);
    assert_near(only_sample(&recorder, "step_device"), SPAN_NS / 8, 1);
    /* Samples keep a tenth of a nanosecond. */
    assert_true(fabs(only_sample(&recorder, "step") - only_sample(&recorder, "train") / 8) < 0.051);
}

static void an_arena_allocates_nothing_in_a_sample(void **state) {
    static const char *const NAMES[] = {"train_device", "step_device", "h2d",      "train",
                                        "d2h",          "total",       "residual", "step"};
    gpu_t gpu = fake_gpu();
    session_t session;
    assert_ok(sample_training(&gpu, ALLOC_ARENA, &session, &err));
    AUTO(recorder_free) recorder_t recorder = session.recorder;
    assert_names(&recorder, NAMES, COUNT_OF(NAMES));
    assert_string_equal(calls, "UTC");
    double parts_ns = only_sample(&recorder, "h2d") + only_sample(&recorder, "train") +
                      only_sample(&recorder, "d2h") + only_sample(&recorder, "residual");
    assert_near(parts_ns, only_sample(&recorder, "total"), 1e-6);
}

static void a_failure_gives_back_what_was_allocated(void **state) {
    gpu_t gpu = fake_gpu();
    session_t session;
    training_fails = true;
    assert_fails(sample_training(&gpu, ALLOC_MALLOC, &session, &err), STATUS_FAILED, "it fails");
    AUTO(recorder_free) recorder_t recorder = session.recorder;
    assert_string_equal(calls, "AUTR");
    for (size_t i = 0; i < recorder.n_phases; i++)
        assert_int_equal(recorder.phases[i].n, 0);
}

static void pieces_of_a_span_add_up(void **state) {
    gpu_t gpu = fake_gpu();
    device_span_t span = {0};
    assert_ok(device_span_begin(&span, &gpu, &err));
    assert_ok(device_span_end(&span, &gpu, &err));
    const int64_t from_ns = span.from_ns, to_ns = span.to_ns;
    assert_true(from_ns > 0 && to_ns >= from_ns);
    assert_ok(device_span_begin(&span, &gpu, &err));
    assert_ok(device_span_end(&span, &gpu, &err));
    assert_near(span.ns, 2 * SPAN_NS, 1);
    assert_true(span.from_ns == from_ns && span.to_ns >= to_ns);
    assert_int_equal(n_synchronised, 4);
}

#include "run_tests.h"

/* The phases of a training's sample, over a driver that computes nothing and says 3 ms for every
 * span between two events. */
#include "checks.h"
#include "workloads/common/session_parts.h"

static const double SPAN_NS = 3e6;
static int n_synchronised;

static cu_result_t stream_sync(cu_stream_t stream) {
    (void)stream;
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

static gpu_t fake_gpu(void) {
    n_synchronised = 0;
    return (gpu_t){.api = {.stream_sync = stream_sync,
                           .event_record = event_record,
                           .event_elapsed = event_elapsed}};
}

/* What a sample called: A, U, T, C, R. */
typedef struct calls {
    char text[16];
    bool training_fails;
} calls_t;

static status_t called(void *state, char letter) {
    calls_t *calls = state;
    calls->text[strlen(calls->text)] = letter;
    return STATUS_OK;
}

static status_t allocate(void *state, error_t *err) {
    (void)err;
    return called(state, 'A');
}

static status_t upload(void *state, error_t *err) {
    (void)err;
    return called(state, 'U');
}

static status_t train(void *state, error_t *err) {
    const calls_t *calls = state;
    called(state, 'T');
    return calls->training_fails ? error_set(err, STATUS_FAILED, "it fails") : STATUS_OK;
}

static status_t copy_out(void *state, error_t *err) {
    (void)err;
    return called(state, 'C');
}

static status_t release(void *state, error_t *err) {
    (void)err;
    return called(state, 'R');
}

static train_phases_t make_phases(gpu_t *gpu, bool allocates, uint32_t steps) {
    return (train_phases_t){.gpu = gpu,
                            .allocate = allocates ? allocate : NULL,
                            .release = allocates ? release : NULL,
                            .upload = upload,
                            .train = train,
                            .copy_out = copy_out,
                            .steps = steps};
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
    recorder_t recorder = {0};
    calls_t calls = {0};
    train_phases_t phases = make_phases(&gpu, true, 8);
    train_phases_declare(&phases, &recorder);
    assert_names(&recorder, NAMES, COUNT_OF(NAMES));
    assert_ok(train_phases_sample(&phases, &calls, &recorder, &err));
    assert_string_equal(calls.text, "AUTCR");
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
    recorder_free(&recorder);
}

static void a_graph_allocates_nothing_in_a_sample(void **state) {
    static const char *const NAMES[] = {"train_device", "h2d", "train", "d2h", "total", "residual"};
    gpu_t gpu = fake_gpu();
    recorder_t recorder = {0};
    calls_t calls = {0};
    train_phases_t phases = make_phases(&gpu, false, 0);
    train_phases_declare(&phases, &recorder);
    assert_names(&recorder, NAMES, COUNT_OF(NAMES));
    assert_ok(train_phases_sample(&phases, &calls, &recorder, &err));
    assert_string_equal(calls.text, "UTC");
    double parts_ns = only_sample(&recorder, "h2d") + only_sample(&recorder, "train") +
                      only_sample(&recorder, "d2h") + only_sample(&recorder, "residual");
    assert_near(parts_ns, only_sample(&recorder, "total"), 1e-6);
    recorder_free(&recorder);
}

static void a_failure_gives_back_what_was_allocated(void **state) {
    gpu_t gpu = fake_gpu();
    recorder_t recorder = {0};
    calls_t calls = {.training_fails = true};
    error_t err = ERROR_INIT;
    train_phases_t phases = make_phases(&gpu, true, 8);
    train_phases_declare(&phases, &recorder);
    assert_int_equal(train_phases_sample(&phases, &calls, &recorder, &err), STATUS_FAILED);
    assert_string_equal(err.text, "it fails");
    assert_string_equal(calls.text, "AUTR");
    for (size_t i = 0; i < recorder.n_phases; i++)
        assert_int_equal(recorder.phases[i].n, 0);
    recorder_free(&recorder);
}

static void names_of_phases(void **state) {
    assert_true(train_phases_has("step_device"));
    assert_true(train_phases_has("malloc"));
    assert_false(train_phases_has("forward"));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_and_residual_make_the_total),
        cmocka_unit_test(a_graph_allocates_nothing_in_a_sample),
        cmocka_unit_test(a_failure_gives_back_what_was_allocated),
        cmocka_unit_test(names_of_phases),
        cmocka_unit_test(pieces_of_a_span_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

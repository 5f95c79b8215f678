/* Refilled inputs and fresh samples: what a worker's requests do around a session, here one whose output is twice its
 * input, which open cases share. */
#include "checks.h"
#include "io/npy.h"
#include "made_case.h"
#include "temporary_folder.h"
#include "worker/requests.h"
#include "workloads/common/session_parts.h"

enum { N = 64, REFILLED = 5 };

static char *folder;

/* ---- a workload ------------------------------------------------------------------------------ */

static float input[N]; /* of all cases */

typedef struct outputs {
    float y[N], last[N];
} outputs_t;

static status_t refill_input(session_t *session, uint64_t seed, error_t *err) {
    for (size_t i = 0; i < N; i++)
        input[i] = (float)(i + 1 + 100 * seed);
    return STATUS_OK;
}

static status_t fill_output(session_t *session, error_t *err) {
    random_fill(((outputs_t *)session->state)->y, sizeof(float[N]), RANDOM_F32);
    return STATUS_OK;
}

static status_t write_y(const float *y, const char *to, text_list_t *arrays, error_t *err) {
    text_list_add(arrays, "y");
    return output_write("y", y, N, to, err);
}

static void compute(session_t *session) {
    outputs_t *outputs = session->state;
    for (size_t i = 0; i < N; i++)
        outputs->y[i] = 2 * input[i];
}

static status_t write_output(session_t *session, const char *to, text_list_t *arrays,
                             error_t *err) {
    compute(session);
    return write_y(((outputs_t *)session->state)->y, to, arrays, err);
}

static status_t write_last(session_t *session, const char *to, text_list_t *arrays, error_t *err) {
    return write_y(((outputs_t *)session->state)->last, to, arrays, err);
}

static void close_case(session_t *session) {
    free(session->state);
}

static const session_ops_t TWICE = {.workload = "null",
                                    .refill = refill_input,
                                    .fill = fill_output,
                                    .output = write_output,
                                    .last = write_last,
                                    .close = close_case};

/* A probe that computes nothing. */
static status_t write_nothing(session_t *session, recorder_t *recorder, error_t *err) {
    outputs_t *outputs = session->state;
    for (unsigned i = 0; i < session->recorder.n_phases; i++)
        recorder_add(recorder, i, 1);
    memcpy(outputs->last, outputs->y, sizeof outputs->y);
    return STATUS_OK;
}

static status_t sample(session_t *session, recorder_t *recorder, error_t *err) {
    compute(session);
    return write_nothing(session, recorder, err);
}

static session_t *open_session(void) {
    session_t *session = mem_zeroed(1, sizeof *session);
    error_t err = ERROR_INIT;
    session->ops = &TWICE;
    session->spec = made_case("null", "cpu", "cpu", "twice");
    workload_complete(workload_find("null"), &session->spec);
    session->state = mem_zeroed(1, sizeof(outputs_t));
    session_add_phases(session, CLOCK_HOST, NAMES("total"));
    session_add_probe(session, "total", sample);
    refill_input(session, 0, &err);
    return session;
}

static void end_session(session_t *session) {
    close_session(session);
    free(session);
}

/* ---- requests -------------------------------------------------------------------------------- */

typedef json_t *handler_t(session_t *session, const json_t *request, error_t *err);

static json_t *ask(session_t *session, handler_t *handler, json_t *request) {
    error_t err = ERROR_INIT;
    json_t *answer = handler(session, request, &err);
    if (answer == NULL)
        fail_msg("%s: %s", session->spec.id, err.text);
    json_decref(request);
    return answer;
}

static void refill(session_t *session, int seed) {
    json_decref(ask(session, case_refill, json_pack("{s:i}", "seed", seed)));
}

static json_t *sample_request(int most, json_t *fresh) {
    return json_pack("{s:I, s:i, s:i, s:i, s:o}", "budget_ns", (json_int_t)100000000000,
                     "max_samples", most, "warmup_samples", 1, "warmup_ns", 0, "fresh", fresh);
}

/* What output or last writes first. */
static double first_of(session_t *session, handler_t *handler) {
    AUTO(npy_free) npy_t array = {0};
    error_t err = ERROR_INIT;
    json_decref(ask(session, handler, json_pack("{s:s}", "path", folder)));
    AUTO_FREE char *path = mem_format("%s/y.npy", folder);
    if (npy_read(path, &array, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    remove(path);
    assert_int_equal(array.n, N);
    return array.values[0];
}

static double expected_of(int seed) {
    return 2.0 * (1 + 100 * seed);
}

static void assert_no_last(session_t *session) {
    error_t err = ERROR_INIT;
    json_auto_t *request = json_pack("{s:s}", "path", folder);
    assert_null(case_last(session, request, &err));
    assert_string_equal(err.text, "last before sample with \"fresh\"");
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_refill_and_last(void **state) {
    session_t *session = open_session();
    refill(session, REFILLED + 1);
    refill(session, REFILLED);
    assert_true(first_of(session, case_output) == expected_of(REFILLED));
    refill(session, 0);
    assert_true(first_of(session, case_output) == expected_of(0));

    /* A second case has its own inputs, also when it is opened. */
    refill(session, REFILLED);
    session_t *second = open_session();
    assert_true(first_of(second, case_output) == expected_of(0));
    assert_true(first_of(session, case_output) == expected_of(REFILLED));
    refill(second, REFILLED + 1);
    end_session(second);

    assert_no_last(session);
    json_decref(ask(session, case_sample, sample_request(1, json_null())));
    assert_no_last(session);
    json_decref(ask(session, case_sample, sample_request(1, json_integer(REFILLED + 1))));
    assert_true(first_of(session, case_last) == expected_of(REFILLED + 1));
    assert_true(first_of(session, case_output) == expected_of(REFILLED + 1)); /* the inputs stay */
    assert_no_last(session);
    end_session(session);
}

static void test_outputs_are_filled_before_a_fresh_sample(void **state) {
    session_t *session = open_session();
    json_decref(ask(session, case_sample, sample_request(1, json_integer(0))));
    assert_true(first_of(session, case_last) == expected_of(0));
    session->probes[0].run = write_nothing;
    json_decref(ask(session, case_sample, sample_request(1, json_integer(0))));
    const double left = first_of(session, case_last);
    assert_true(left >= -1 && left <= 1);
    end_session(session);
}

static size_t samples_of(json_t *answer, const char *phase) {
    const size_t n = json_array_size(json_object_get(json_object_get(answer, "phases"), phase));
    json_decref(answer);
    return n;
}

static struct run {
    uint64_t seed;
    bool fresh, keep;
} runs[8];
static size_t n_runs;

static status_t note_run(session_t *session, recorder_t *recorder, error_t *err) {
    assert_in_range(n_runs, 0, 7);
    runs[n_runs++] = (struct run){session->seed, session->fresh, session->keep};
    return write_nothing(session, recorder, err);
}

static json_t *fresh_of_total(uint64_t seed) {
    json_t *request = sample_request(1, json_integer((json_int_t)seed));
    json_object_set_new(request, "phase", json_string("total"));
    json_object_set_new(request, "keep", json_true());
    return request;
}

/* A driver and caches went cold while the worker waited for the request, but no run but one may see the inputs. */
static void test_short_runs_on_old_inputs_come_before_a_fresh_one(void **state) {
    for (unsigned is_long = 0; is_long < 2; is_long++) {
        session_t *session = open_session();
        for (size_t p = 0; p < session->n_probes; p++)
            session->probes[p].run = write_nothing;
        refill(session, REFILLED);
        json_decref(ask(session, case_sample, sample_request(1, json_null())));
        for (size_t p = 0; p < session->n_probes; p++) {
            session->probes[p].run = note_run;
            session->probes[p].run_ns = is_long ? 1000000000 : 1000;
        }
        n_runs = 0;
        json_decref(ask(session, case_sample, fresh_of_total(REFILLED + 1)));
        assert_int_equal(n_runs, is_long ? 1 : 4);
        for (size_t i = 0; i < n_runs; i++) {
            const bool is_last = i + 1 == n_runs;
            assert_int_equal(runs[i].seed, is_last ? REFILLED + 1 : REFILLED);
            assert_int_equal(runs[i].fresh, is_last);
            assert_int_equal(runs[i].keep, is_last);
        }
        end_session(session);
    }
}

static void test_number_of_samples(void **state) {
    session_t *session = open_session();
    const size_t each = session->n_probes;
    for (size_t p = 0; p < session->n_probes; p++)
        session->probes[p].run = write_nothing; /* each adds a number to all four phases */
    bool seen[10] = {false};
    for (int i = 0; i < 300; i++) {
        const size_t n = samples_of(
            ask(session, case_sample, sample_request(8, json_integer(REFILLED))), "total");
        assert_in_range(n, each * 6, each * 9);
        seen[n / each] = true;
    }
    for (size_t n = 6; n <= 9; n++)
        assert_true(seen[n]);
    assert_int_equal(samples_of(ask(session, case_sample, sample_request(8, json_null())), "total"),
                     each * 8);
    for (int i = 0; i < 20; i++)
        assert_int_equal(
            samples_of(ask(session, case_sample, sample_request(1, json_integer(0))), "total"),
            each * 2);
    end_session(session);
}

static int open_folder(void **state) {
    folder = temporary_folder();
    return 0;
}

static int close_folder(void **state) {
    fs_remove_temporary(&folder);
    return 0;
}

#define GROUP_SET_UP open_folder
#define GROUP_TEAR_DOWN close_folder
#include "run_tests.h"

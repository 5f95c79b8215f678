/* Refilled inputs and fresh samples of every workload on the CPU: outputs against those of a case
 * that was opened with inputs whose signs were changed here, element by element. */
#include "checks.h"
#include "cpu_sessions.h"

#include <omp.h>

static void assert_no_last(session_t *session) {
    error_t err = ERROR_INIT;
    json_auto_t *request = json_pack("{s:s}", "path", world.folder);
    assert_null(case_last(session, request, &err));
    assert_string_equal(err.text, "last before sample with \"fresh\"");
}

static void assert_equal(const npy_t *found, const npy_t *expected) {
    assert_in_range(found->n, 1, expected->n);
    assert_memory_equal(found->values, expected->values, found->n * sizeof *found->values);
}

static void assert_output(const struct subject *subject, session_t *session,
                          const npy_t *expected) {
    npy_t found = array_of(subject, session, case_output);
    assert_int_equal(found.n, expected->n);
    assert_equal(&found, expected);
    npy_free(&found);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* What a case writes that was opened with flipped inputs. */
static npy_t expected_of(const struct subject *subject, const inputs_t *inputs, uint64_t seed) {
    flip_by_hand(inputs, seed);
    session_t *session = open_session(subject);
    npy_t expected = array_of(subject, session, case_output);
    end_session(session);
    flip_by_hand(inputs, seed);
    return expected;
}

static void check_subject(const struct subject *subject) {
    AUTO(case_free) case_t spec = subject_case(subject);
    const inputs_t inputs = subject->inputs(&spec);
    AUTO(npy_free) npy_t refilled = expected_of(subject, &inputs, REFILLED);
    AUTO(npy_free) npy_t other = expected_of(subject, &inputs, REFILLED + 1);
    session_t *session = open_session(subject);
    AUTO(npy_free) npy_t opened = array_of(subject, session, case_output);
    assert_memory_not_equal(opened.values, refilled.values, opened.n * sizeof *opened.values);
    assert_memory_not_equal(other.values, refilled.values, other.n * sizeof *other.values);
    refill(session, REFILLED + 1);
    refill(session, REFILLED);
    assert_output(subject, session, &refilled);
    refill(session, 0);
    assert_output(subject, session, &opened);

    /* A second case with the same data has its own inputs, also when it is opened. */
    refill(session, REFILLED);
    session_t *second = open_session(subject);
    if (session->results_json != NULL) /* of the training that opening runs */
        assert_string_equal(second->results_json, session->results_json);
    assert_output(subject, second, &opened);
    assert_output(subject, session, &refilled);
    refill(second, REFILLED + 1);
    end_session(second);

    assert_no_last(session);
    json_decref(ask(session, case_sample, sample_request(1, json_null())));
    assert_no_last(session);
    json_decref(ask(session, case_sample, sample_request(1, json_integer(REFILLED + 1))));
    AUTO(npy_free) npy_t last = array_of(subject, session, case_last);
    assert_equal(&last, &other);             /* a sample may have fewer losses than are checked */
    assert_output(subject, session, &other); /* the inputs stay */
    assert_no_last(session);
    end_session(session);
    inputs.release(inputs.data);
}

static void test_refill_and_last(void **state) {
    for (size_t i = 0; i < COUNT_OF(SUBJECTS); i++)
        check_subject(&SUBJECTS[i]);
}

static void test_outputs_are_filled_before_a_fresh_sample(void **state) {
    for (size_t i = 0; i < COUNT_OF(SUBJECTS); i++) {
        if (strcmp(SUBJECTS[i].compared, "test_loss") == 0) /* from w and b, by last */
            continue;
        session_t *session = open_session(&SUBJECTS[i]);
        json_decref(ask(session, case_sample, sample_request(1, json_integer(0))));
        AUTO(npy_free) npy_t right = array_of(&SUBJECTS[i], session, case_last);
        for (size_t p = 0; p < session->n_probes; p++)
            session->probes[p].run = write_nothing;
        json_decref(ask(session, case_sample, sample_request(1, json_integer(0))));
        AUTO(npy_free) npy_t left = array_of(&SUBJECTS[i], session, case_last);
        for (size_t k = 0; k < left.n; k++)
            assert_true(left.values[k] >= -1 && left.values[k] <= 1);
        assert_true(left.values[0] != right.values[0]);
        end_session(session);
    }
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
        session_t *session = open_session(&SUBJECTS[0]);
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
    session_t *session = open_session(&SUBJECTS[0]);
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

static int open_with_one_thread(void **state) {
    omp_set_num_threads(1); /* several would wait for each other */
    return open_all(state);
}

#define GROUP_SET_UP open_with_one_thread
#define GROUP_TEAR_DOWN close_all
#include "run_tests.h"

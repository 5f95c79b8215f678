/* Workers that misbehave (tests/fixtures/workers/fake.py): whatever one does, the supervisor gets
 * an answer or an error that says what happened, in bounded time, and can start the next one. */
#include "base/clock.h"
#include "checks.h"
#include "io/fs.h"
#include "temporary_folder.h"
#include "worker/client.h"

#include <signal.h>

static const char FAKE[] = "tests/fixtures/workers/fake.py";

/* For answers that come: far beyond what they need. And for those that never do. */
static const double PATIENCE_S = 60, HASTE_S = 0.3; /* mood: the second for what never comes */

static worker_link_t make_link(const char *behaviour) {
    text_list_t argv = {0};
    text_list_add(&argv, "python3");
    text_list_add(&argv, FAKE);
    text_list_add(&argv, behaviour);
    worker_link_t link;
    worker_link_init(&link, "fake", argv);
    return link;
}

static worker_link_t start_link(const char *behaviour) {
    worker_link_t link = make_link(behaviour);
    error_t err = ERROR_INIT;
    if (worker_link_start(&link, PATIENCE_S, &err) != STATUS_OK)
        fail_msg("%s: %s", behaviour, err.text);
    assert_true(link.running);
    assert_non_null(link.hello);
    return link;
}

static json_t *sample_request(void) {
    return json_pack("{s:s, s:s}", "op", "sample", "id", "a case");
}

typedef struct fate {
    const char *behaviour;
    const char *message; /* NULL: an answer comes */
    bool hasty;
} fate_t;

static const fate_t FATES[] = {
    {"exit", "worker fake died (exit code 1); stderr: ValueError: no such thing", false},
    {"crash", "worker fake died (signal 11 (Segmentation fault))", false},
    {"rubbish",
     "worker fake printed \"Loading model: 100 %\" instead of an answer: stdout is for "
     "answers only, print to stderr (",
     false},
    {"array", "worker fake printed \"[1, 2]\" instead of an answer", false},
    {"duplicate_keys", "gave an answer that is not JSON: duplicate object key near '\"status\"'",
     false},
    {"nan",
     "worker fake gave an answer that is not JSON: invalid token near 'NaN', at column 44 of "
     "\"{\"status\": \"ok\", \"id\": \"a case\", \"loss\": NaN}\": JSON has no NaN or Infinity, "
     "expected "
     "a number or null",
     false},
    {"two_answers", "printed \"{\"status\": \"ok\", \"id\": \"a case\"}\" after its answer", false},
    {"two_more_lines", "printed \"1 of 2\" after its answer: stdout is for answers only", false},
    {"nul", "printed \"\" after its answer", false},
    {"not_utf8", "gave an answer that is not JSON: unable to decode byte 0xff", false},
    {"other_id", "answered for case \"another case\" when asked for \"a case\"", false},
    {"no_id", "answered for case \"(none)\" when asked for \"a case\"", false},
    {"no_status", "gave an answer without a status", false},
    {"odd_status", "gave an answer without a status", false},
    {"hang", "worker fake did not answer in time (still running, killed)", true},
    {"half_line", "did not answer in time", true},
    {"half_line_exit", "worker fake died (exit code 3)", false},
    {"chatty_exit", "MemoryError: the last words", false},
    {"chatty", NULL, false},
    {"slow_writer", NULL, false},
    {"long_line", NULL, false},
    {"failed", NULL, false},
    {"skipped", NULL, false},
    {"good", NULL, false},
};

static void check_fate(const fate_t *fate) {
    AUTO(worker_link_free) worker_link_t link = start_link(fate->behaviour);
    error_t err = ERROR_INIT;
    json_t *answer;
    pid_t pid = link.child.pid;
    status_t status =
        worker_link_ask(&link, sample_request(), fate->hasty ? HASTE_S : PATIENCE_S, &answer, &err);
    if (fate->message == NULL) {
        if (status != STATUS_OK)
            fail_msg("%s: %s", fate->behaviour, err.text);
        assert_true(json_is_string(json_object_get(answer, "status")));
        assert_true(link.running);
        json_decref(answer);
    } else {
        assert_int_equal(status, STATUS_FAILED);
        assert_null(answer);
        assert_has(err.text, fate->message);
        assert_false(link.running);
        assert_int_equal(link.died, strstr(err.text, " died (") != NULL);
        assert_null(link.hello);
        assert_int_equal(kill(pid, 0), -1); /* killed and reaped */
    }
}

static void test_fates(void **state) {
    for (size_t i = 0; i < COUNT_OF(FATES); i++)
        check_fate(&FATES[i]);
}

static void check_failure(const char *behaviour, const char *expected) {
    AUTO(worker_link_free) worker_link_t link = start_link(behaviour);
    json_auto_t *answer;
    assert_ok(worker_link_ask(&link, sample_request(), PATIENCE_S, &answer, &err));
    assert_text(worker_failure(&link, answer), expected);
}

/* What was printed before the request, or is in the reason, is not quoted. */
static void test_stderr_of_an_answer(void **state) {
    check_failure("failed", "does not fit");
    check_failure("failed_and_printed", "'x'; stderr: Traceback (most recent call last):\n"
                                        "  File \"w.py\", line 3\nKeyError: 'x'");
    check_failure("failed_as_printed", "KeyError: 'x' (line 3)");
}

/* A new process takes over, and its generation tells that open cases are gone. */
static void test_restart(void **state) {
    AUTO(worker_link_free) worker_link_t link = start_link("crash");
    error_t err = ERROR_INIT;
    json_t *answer;
    assert_int_equal(link.generation, 1);
    assert_int_equal(worker_link_ask(&link, sample_request(), PATIENCE_S, &answer, &err),
                     STATUS_FAILED);
    error_clear(&err);
    assert_int_equal(worker_link_ask(&link, sample_request(), PATIENCE_S, &answer, &err),
                     STATUS_FAILED);
    assert_string_equal(err.text, "worker fake is not running");
    error_clear(&err);
    assert_int_equal(worker_link_start(&link, PATIENCE_S, &err), STATUS_OK);
    assert_int_equal(link.generation, 2);
    assert_null(link.cannot);
    assert_int_equal(worker_link_start(&link, PATIENCE_S, &err), STATUS_OK); /* it runs already */
    assert_int_equal(link.generation, 2);
}

/* A second passes from one reading to the next, and none while an answer is awaited. */
static int64_t running_unless_asked(void *link) {
    static int64_t now_ns;
    return now_ns += ((const worker_link_t *)link)->line_bytes > 0 ? 1000000000 : 0;
}

/* However it ends when it is asked to, a new one can be had. */
static void check_leave(const char *behaviour, bool hasty) {
    AUTO(worker_link_free) worker_link_t link = start_link(behaviour);
    clock_inject(hasty ? running_unless_asked : NULL, &link);
    worker_link_stop(&link);
    clock_inject(NULL, NULL);
    assert_false(link.running);
    assert_null(link.hello);
    assert_ok(worker_link_start(&link, PATIENCE_S, &err));
    assert_int_equal(link.generation, 2);
}

static void test_leave(void **state) {
    check_leave("well", false);
    check_leave("leaves_late", false);
    check_leave("leaves_badly", false);
    check_leave("stays", true);
}

/* One that says what is missing has declined; one that says nothing of the kind is broken. */
static void check_cannot(const char *behaviour, bool declined, double timeout_s,
                         const char *message) {
    worker_link_t link = make_link(behaviour);
    for (int turn = 0; turn < 2; turn++) { /* the second time from memory */
        error_t err = ERROR_INIT;
        assert_int_equal(worker_link_start(&link, timeout_s, &err), STATUS_FAILED);
        assert_has(err.text, message);
        assert_string_equal(link.cannot, err.text);
        assert_int_equal(link.declined, declined);
        assert_int_equal(link.generation, 1);
        assert_false(link.running);
    }
    worker_link_free(&link);
}

static void test_workers_that_cannot_be_had(void **state) {
    check_cannot("refuses", true, PATIENCE_S, "no CUDA device");
    check_cannot("passes", true, PATIENCE_S, "no CUDA device");
    check_cannot("stillborn", false, PATIENCE_S, "No module named 'torch'");
    check_cannot("babbles", false, PATIENCE_S, "printed \"Hello!\" instead of an answer");
    check_cannot("foreign", false, PATIENCE_S,
                 "worker fake speaks protocol 7, expected 2: add refill, last and the key fresh of "
                 "sample (docs/worker-protocol.md)");
    check_cannot("mute", false, HASTE_S, "did not answer in time");
}

/* Before its first hello `kills` processes are killed from outside. */
static worker_link_t make_killed(unsigned kills, char **folder) {
    assert_ok(fs_temporary_folder(folder, &err));
    AUTO_FREE char *path = fs_join(*folder, "kills");
    assert_ok(fs_write_atomic(path, "x\nx\nx\n", 2 * kills, &err));
    worker_link_t link = make_link(path);
    return link;
}

static void test_killed_at_its_first_start(void **state) {
    char *folder;
    error_t err = ERROR_INIT;
    AUTO(worker_link_free) worker_link_t link = make_killed(1, &folder);
    assert_int_equal(worker_link_start(&link, PATIENCE_S, &err), STATUS_OK);
    assert_int_equal(link.generation, 2);
    assert_null(link.cannot);
    worker_link_free(&link);
    fs_remove_temporary(&folder);

    link = make_killed(2, &folder);
    assert_int_equal(worker_link_start(&link, PATIENCE_S, &err), STATUS_FAILED);
    assert_string_equal(err.text, "worker fake died (signal 9 (Killed))");
    assert_string_equal(link.cannot, err.text);
    assert_false(link.declined);
    fs_remove_temporary(&folder);
}

static void test_no_such_program(void **state) {
    text_list_t argv = {0};
    text_list_add(&argv, "no/such/python");
    AUTO(worker_link_free) worker_link_t link;
    worker_link_init(&link, "fake", argv);
    assert_fails_with(worker_link_start(&link, PATIENCE_S, &err), STATUS_FAILED, "no/such/python");
    assert_non_null(link.cannot);
}

/* More than the pipe holds, to a worker that does not read. */
static void test_deaf_worker(void **state) {
    AUTO(worker_link_free) worker_link_t link = start_link("deaf");
    json_t *answer;
    AUTO_FREE char *much = mem_zeroed(1 << 20, 1);
    memset(much, 'x', (1 << 20) - 1);
    json_t *request = json_pack("{s:s, s:s}", "op", "sample", "id", much);
    assert_fails_with(worker_link_ask(&link, request, HASTE_S, &answer, &err), STATUS_FAILED,
                      "does not read its requests");
}

/* Requests larger than a pipe arrive whole. */
static void test_long_request(void **state) {
    AUTO(worker_link_free) worker_link_t link = start_link("good");
    json_auto_t *answer;
    AUTO_FREE char *much = mem_zeroed(1 << 20, 1);
    memset(much, 'x', (1 << 20) - 1);
    json_t *request = json_pack("{s:s, s:s}", "op", "open", "note", much);
    assert_ok(worker_link_ask(&link, request, PATIENCE_S, &answer, &err));
    assert_true(json_integer_value(json_object_get(answer, "size")) > 1 << 20);
}

/* Only the end of what it prints is kept: the message must not be 1.5 MB. */
static void test_message_is_short(void **state) {
    AUTO(worker_link_free) worker_link_t link = start_link("chatty_exit");
    error_t err = ERROR_INIT;
    json_t *answer;
    assert_int_equal(worker_link_ask(&link, sample_request(), PATIENCE_S, &answer, &err),
                     STATUS_FAILED);
    assert_true(strlen(err.text) < 1000);
    assert_has(err.text, "line 39999");
    assert_lacks(err.text, "line 39900 ");
}

#include "run_tests.h"

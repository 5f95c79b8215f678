/* Requests of the worker protocol, as data: what is taken, and what is said about the rest. */
#include "checks.h"
#include "worker/requests.h"

typedef struct good {
    const char *line;
    protocol_op_t op;
} good_t;

static const good_t GOOD[] = {
    {"{\"op\":\"hello\",\"protocol\":2}", OP_HELLO},
    {"{\"op\":\"hello\",\"protocol\":1}", OP_HELLO}, /* the handler's matter, with both numbers */
    {"{\"op\":\"open\",\"case\":{},\"seed\":0}", OP_OPEN},
    {"{\"op\":\"open\",\"case\":{},\"seed\":9223372036854775807,\"program\":null,"
     "\"profile\":false}",
     OP_OPEN},
    {"{\"op\":\"open\",\"case\":{},\"seed\":1,\"program\":{\"cubin\":\"x\"},\"profile\":true}",
     OP_OPEN},
    {"{\"op\":\"output\",\"id\":\"a\",\"path\":\"/tmp\"}", OP_OUTPUT},
    {"{\"op\":\"sample\",\"id\":\"a\",\"round\":0,\"budget_ns\":0,\"max_samples\":0,"
     "\"warmup_samples\":0,\"warmup_ns\":0}",
     OP_SAMPLE},
    {"{\"op\":\"sample\",\"id\":\"a\",\"budget_ns\":0,\"max_samples\":0,\"warmup_samples\":0,"
     "\"warmup_ns\":0,\"fresh\":null}",
     OP_SAMPLE},
    {"{\"op\":\"sample\",\"id\":\"a\",\"budget_ns\":0,\"max_samples\":0,\"warmup_samples\":0,"
     "\"warmup_ns\":0,\"fresh\":9223372036854775807}",
     OP_SAMPLE},
    {"{\"op\":\"refill\",\"id\":\"a\",\"seed\":0}", OP_REFILL},
    {"{\"op\":\"audit\",\"id\":\"a\",\"runs\":16,\"phase\":\"forward\"}", OP_AUDIT},
    {"{\"op\":\"last\",\"id\":\"a\",\"path\":\"/tmp\"}", OP_LAST},
    {"{\"op\":\"trace_start\"}", OP_TRACE_START},
    {"{\"op\":\"trace\",\"id\":\"a\",\"path\":\"/tmp/t.json\",\"origin_ns\":0}", OP_TRACE},
    {" {\"id\":\"a\", \"op\":\"close\"} \n", OP_CLOSE},
    {"{\"op\":\"bye\"}\n", OP_BYE},
};

typedef struct bad {
    const char *line, *message;
} bad_t;

static const bad_t BAD[] = {
    {"", "not JSON: column 0"},
    {"\n", "not JSON"},
    {"hello", "not JSON: column 5"},
    {"{\"op\":\"bye\"", "not JSON"},
    {"{\"op\":\"bye\"} x", "not JSON"},
    {"{\"op\":\"bye\",\"op\":\"bye\"}", "duplicate object key"},
    {"{\"op\":\"hello\",\"protocol\":1,\"protocol\":1}", "duplicate object key"},
    {"{\"op\":\"hello\",\"protocol\":99999999999999999999}", "too big integer"},
    {"{\"op\":\"clos\xff\"}", "not JSON"},
    {"[]", "a request is one JSON object on one line"},
    {"[{\"op\":\"bye\"}]", "a request is one JSON object on one line"},
    {"{}", "a request needs \"op\", a string"},
    {"{\"op\":null}", "a request needs \"op\", a string"},
    {"{\"op\":1}", "a request needs \"op\", a string"},
    {"{\"op\":[\"bye\"]}", "a request needs \"op\", a string"},
    {"{\"op\":\"Bye\"}", "unknown op \"Bye\"; did you mean \"bye\"?"},
    {"{\"op\":\"samples\"}", "unknown op \"samples\"; did you mean \"sample\"?"},
    {"{\"op\":\"terminate\"}", "unknown op \"terminate\""},
    {"{\"op\":\"\"}", "unknown op \"\""},
    {"{\"op\":\"hello\"}", "hello needs \"protocol\""},
    {"{\"op\":\"hello\",\"protocol\":\"1\"}", "hello: \"protocol\" must be a non-negative integer"},
    {"{\"op\":\"hello\",\"protocol\":1.0}", "hello: \"protocol\" must be a non-negative integer"},
    {"{\"op\":\"hello\",\"protocol\":-1}", "hello: \"protocol\" must be a non-negative integer"},
    {"{\"op\":\"hello\",\"protocol\":true}", "hello: \"protocol\" must be a non-negative integer"},
    {"{\"op\":\"hello\",\"protocol\":1,\"x\":1}", "hello has no key \"x\""},
    {"{\"op\":\"bye\",\"id\":\"a\"}", "bye has no key \"id\""},
    {"{\"op\":\"open\",\"seed\":1}", "open needs \"case\""},
    {"{\"op\":\"open\",\"case\":{}}", "open needs \"seed\""},
    {"{\"op\":\"open\",\"case\":null,\"seed\":1}", "open: \"case\" must be an object"},
    {"{\"op\":\"open\",\"case\":[],\"seed\":1}", "open: \"case\" must be an object"},
    {"{\"op\":\"open\",\"case\":{},\"seed\":1,\"program\":\"x\"}",
     "open: \"program\" must be an object"},
    {"{\"op\":\"open\",\"case\":{},\"seed\":1,\"profile\":1}",
     "open: \"profile\" must be true or false"},
    {"{\"op\":\"open\",\"case\":{},\"seed\":null}",
     "open: \"seed\" must be a non-negative integer"},
    {"{\"op\":\"output\",\"id\":\"a\"}", "output needs \"path\""},
    {"{\"op\":\"output\",\"id\":1,\"path\":\"/tmp\"}", "output: \"id\" must be a string"},
    {"{\"op\":\"output\",\"id\":\"a\",\"path\":null}", "output: \"path\" must be a string"},
    {"{\"op\":\"sample\",\"id\":\"a\",\"budget_ns\":1,\"max_samples\":1,\"warmup_samples\":0}",
     "sample needs \"warmup_ns\""},
    {"{\"op\":\"sample\",\"id\":\"a\",\"budget_ns\":3e7,\"max_samples\":1,\"warmup_samples\":0,"
     "\"warmup_ns\":0}",
     "sample: \"budget_ns\" must be a non-negative integer"},
    {"{\"op\":\"sample\",\"id\":\"a\",\"budget_ns\":0,\"max_samples\":0,\"warmup_samples\":0,"
     "\"warmup_ns\":0,\"fresh\":true}",
     "sample: \"fresh\" must be a non-negative integer"},
    {"{\"op\":\"refill\",\"id\":\"a\"}", "refill needs \"seed\""},
    {"{\"op\":\"refill\",\"id\":\"a\",\"seed\":null}",
     "refill: \"seed\" must be a non-negative integer"},
    {"{\"op\":\"last\",\"id\":\"a\"}", "last needs \"path\""},
    {"{\"op\":\"close\"}", "close needs \"id\""},
    {"{\"op\":\"close\",\"id\":\"a\",\"ID\":\"a\"}", "close has no key \"ID\""},
};

static void test_good_requests(void **state) {
    bool seen[OP_BYE + 1] = {false};
    for (size_t i = 0; i < COUNT_OF(GOOD); i++) {
        protocol_op_t op;
        error_t err = ERROR_INIT;
        json_auto_t *request = protocol_parse_request(GOOD[i].line, &op, &err);
        if (request == NULL)
            fail_msg("%s: %s", GOOD[i].line, err.text);
        assert_int_equal(op, GOOD[i].op);
        seen[op] = true;
    }
    for (int op = 0; op <= OP_BYE; op++)
        assert_true(seen[op]);
}

static void test_bad_requests(void **state) {
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        protocol_op_t op;
        error_t err = ERROR_INIT;
        if (protocol_parse_request(BAD[i].line, &op, &err) != NULL)
            fail_msg("%s: was taken", BAD[i].line);
        assert_int_equal(err.status, STATUS_FAILED);
        assert_has(err.text, BAD[i].message);
    }
}

/* Nesting to exhaust the stack is refused, not followed. */
static void test_deep_nesting(void **state) {
    enum { DEPTH = 100000 };
    AUTO_FREE char *line = mem_zeroed(DEPTH + 1, 1);
    memset(line, '[', DEPTH);
    protocol_op_t op;
    error_t err = ERROR_INIT;
    assert_null(protocol_parse_request(line, &op, &err));
    assert_has(err.text, "not JSON");
}

#include "run_tests.h"

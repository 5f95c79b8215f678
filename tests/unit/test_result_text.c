/* model/result_text: the fast reader gives what the plain one gives, whatever the line looks like.
 */
#include "checks.h"
#include "model/result_json.h"

#define CASE(phases)                                                                               \
    "{\"schema\":1,\"id\":\"null/null/x\",\"workload\":\"null\",\"engine\":\"null\",\"variant\":"  \
    "\"x\",\"dtype\":\"f32\",\"on\":\"cpu\",\"params\":{},\"techniques\":{},\"status\":\"ok\","    \
    "\"reason\":\"a \\\"samples\\\":[1,2] and \\\"phases\\\":{ in a text\",\"phases\":{" phases    \
    "},\"rounds\":2,\"stop\":\"precise\"}"
#define PHASE(name, starts, samples)                                                               \
    "\"" name "\":{\"clock\":\"host\",\"round_starts\":" starts ",\"samples\":" samples "}"

/* As text: every sample, bit by bit. */
static char *text_of(const case_result_t *result) {
    json_t *json = result_to_json(result);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(json);
    return text;
}

static char *slowly(const char *line) {
    case_result_t result;
    error_t err = ERROR_INIT;
    json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    if (json == NULL || result_from_json(json, &result, &err) != STATUS_OK) {
        json_decref(json);
        return NULL;
    }
    json_decref(json);
    char *text = text_of(&result);
    result_free(&result);
    return text;
}

static void same_as_the_parser(void **state) {
    static const char *const LINES[] = {
        CASE(""),
        CASE(PHASE("total", "[0,2,4]", "[1,2,3,4]")),
        CASE(PHASE("total", "[0,2,4]", "[1.5,0.1,173921.3,4]")),
        CASE(PHASE("total", "[0,4]", "[1e3,-2,3.25E-2,4]")),
        CASE(PHASE("total", "[0,2,4]", "[0.30000000000000004,123456789012345678,0,0.0]")),
        CASE(PHASE("total", "[0, 2, 4]", "[ 1, 2,3 ,4 ]")),
        CASE(PHASE("total", "[]", "[]")),
        CASE(PHASE("total", "[0]", "[7]")),
        CASE(PHASE("total", "[0,2,2,4]", "[1,2,3,4]")),
        CASE(PHASE("total", "[1,3]", "[1,2,3,4]")),
        CASE(PHASE("total", "[0,2]", "[1,2,3,4]")),
        CASE(PHASE("a", "[0,2,4]", "[1,2,3,4]") "," PHASE("b", "[0,2,4]", "[5,6,7,8]")),
        CASE(PHASE("a", "3", "0") "," PHASE("b", "[0,2,4]", "[5,6,7,8]")),
        CASE("\"total\":{\"clock\":\"host\",\"n\":4,\"pass_starts\":[0,1,2],"
             "\"round_starts\":[0,2,4],\"samples\":[1,2,3,4]}"),
        CASE(PHASE("a", "null", "\"x\"")),
        CASE(PHASE("a", "[0,2,4]", "[1,\"]\",3,4]")),
        CASE(PHASE("a", "[0,2,4]", "[[1],[2]]")),
    };
    for (size_t i = 0; i < COUNT_OF(LINES); i++) {
        case_result_t result;
        error_t err = ERROR_INIT;
        char *expected = slowly(LINES[i]);
        status_t status = result_from_text(LINES[i], strlen(LINES[i]), NULL, &result, &err);
        if (expected == NULL) {
            assert_int_not_equal(status, STATUS_OK);
            continue;
        }
        assert_int_equal(status, STATUS_OK);
        char *found = text_of(&result);
        assert_string_equal(found, expected);
        result_free(&result);
        free(found);
        free(expected);
    }
}

static void bad_lines_are_refused(void **state) {
    static const struct {
        const char *line, *message;
    } BAD[] = {
        {"", "not a JSON object"},
        {"{\"samples\":[1,2", "not a JSON object"},
        {"{\"samples\":", "not a JSON object"},
        {CASE(PHASE("a", "[0,4]", "[1,2,,4]")), "not a JSON object"},
        {CASE(PHASE("a", "[0,4]", "[1,2,3,4,]")), "not a JSON object"},
        {CASE(PHASE("a", "[0,4]", "[01,2,3,4]")), "not a JSON object"},
        {CASE(PHASE("a", "[0,4]", "[1.,2,3,4]")), "not a JSON object"},
        {CASE(PHASE("a", "[0,9]", "[1,2,3,4]")), "round_starts[0]: 0 … 9 of 4 samples"},
        {CASE(PHASE("a", "[3,1]", "[1,2,3,4]")), "round_starts[0]: 3 … 1 of 4 samples"},
        {CASE("\"a\":{\"samples\":[1,2,3],\"samples\":[4]}"), "duplicate"},
    };
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        case_result_t result;
        error_t err = ERROR_INIT;
        assert_int_equal(result_from_text(BAD[i].line, strlen(BAD[i].line), NULL, &result, &err),
                         STATUS_USAGE);
        if (strstr(err.text, BAD[i].message) == NULL)
            fail_msg("line %zu: \"%s\" does not say \"%s\"", i, err.text, BAD[i].message);
    }
}

static void only_some_phases(void **state) {
    static const char LINE[] = CASE(PHASE("a", "[0,2,4]", "[1,2,3,4]") "," PHASE(
        "b", "[0,2,4]", "[5,6,7,8]") "," PHASE("c", "[0,4]", "[9,9,9,9]"));
    static const char *const WANTED[] = {"a", "b", "c", "nothing"};
    for (size_t i = 0; i < 4; i++) {
        text_list_t phases = {0};
        case_result_t result;
        text_list_add(&phases, WANTED[i]);
        assert_ok(result_from_text(LINE, strlen(LINE), &phases, &result, &err));
        assert_int_equal(result.n_phases, i < 3 ? 1 : 0);
        if (i < 3) {
            assert_string_equal(result.phases[0].name, WANTED[i]);
            assert_int_equal(result.phases[0].n_samples, 4);
        }
        assert_string_equal(result.spec.id, "null/null/x");
        assert_int_equal(result.rounds, 2);
        result_free(&result);
        text_list_free(&phases);
    }
}

#include "run_tests.h"

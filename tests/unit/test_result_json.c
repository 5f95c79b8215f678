/* Results as lines of cases.jsonl: nothing is lost on the way there and back, and a line that is
 * not what it should be is refused with its reason. */
#include "checks.h"
#include "made_case.h"
#include "model/result.h"
#include "run/state.h"
#include "timed_result.h"
#include "workloads/common/workload.h"

#include <jansson.h>

#define CASE_KEYS                                                                                  \
    "\"schema\": 1, \"id\": \"w/cpu/v\", \"workload\": \"w\", \"engine\": \"cpu\", \"variant\": "  \
    "\"v\""

#define OF_PASSES(starts)                                                                          \
    "\"status\": \"ok\", \"phases\": {\"total\": {\"clock\": \"host\", \"samples\": [1, 2], "      \
    "\"round_starts\": [0, 1, 2], \"pass_starts\": " starts "}}}"

/* A result in which nothing has its initial value. */
static case_result_t full_result(void) {
    AUTO(case_free)
    case_t spec = {.engine = mem_text("cuda"), .variant = mem_text("03_vectorized")};
    case_add_technique(&spec, "copy", "pinned");
    add_integer(&spec, "batch", 65537);
    case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = 0.1});
    workload_complete(workload_find("mlp_infer"), &spec);
    case_result_t r;
    result_init(&r, &spec);
    r.pass = 3;
    r.seed = 7;
    r.status = CASE_WRONG;
    r.reason = mem_text("only 3 samples at full clocks (\"SW power cap\"; 5 °C)");
    flag_list_add_text(&r.flags, "implausible: faster than the dram limit");
    r.before = (check_t){.done = true,
                         .ok = true,
                         .rel_l2 = 1.5e-7,
                         .max_abs = 2e-6,
                         .tolerance = 1e-5,
                         .row_rel_l2 = 3e-7,
                         .column_rel_l2 = 2e-7};
    r.after = (check_t){.done = true,
                        .rel_l2 = NAN,
                        .max_abs = NAN,
                        .tolerance = 1e-5,
                        .row_rel_l2 = NAN,
                        .column_rel_l2 = NAN};
    result_add_once(&r, "context", 3.1e8);
    result_add_once(&r, "first_run", 1234.5);
    r.resources = (resources_t){.arch = mem_text("sm_90"),
                                .registers = 40,
                                .shared_bytes = 1024,
                                .spill_bytes = 16,
                                .code_hash = mem_text("00ff"),
                                .peak_device_bytes = 1 << 20,
                                .occupancy_frac = 0.75};
    text_list_add(&r.resources.flags, "-DBATCH=64");
    r.sanitize.version = mem_text("2025.3.0");
    r.sanitize.example = mem_text("mlp_infer/cuda/03_vectorized/batch=1");
    text_list_add(&r.sanitize.tools, "memcheck");
    text_list_add(&r.sanitize.verdicts, "3 errors");
    text_list_add(&r.sanitize.tools, "racecheck");
    text_list_add(&r.sanitize.verdicts, "not run: over 120 s");
    phase_t *kernel = result_add_phase(&r, "kernel", CLOCK_DEVICE);
    phase_add_round(kernel, (double[]){1000, 1001.25, 999}, 3);
    phase_add_round(kernel, (double[]){1002, 998, 1000, 1003}, 4);
    kernel->n_throttled = 5;
    phase_summarise(kernel);
    result_add_phase(&r, "total", CLOCK_HOST); /* without samples: null in its summary */
    r.results_json = mem_text("{\"loss\":[[0,2.5]],\"accuracy\":0.75}");
    r.limit = (limit_t){1e6, 2e6, mem_text("dram"), 930, 0.93, mem_text("kernel")};
    r.device.name = mem_text("NVIDIA H200");
    r.device.sm_mhz[0] = 1500, r.device.sm_mhz[1] = 1980;
    r.device.power_w[0] = 100.5, r.device.power_w[1] = 650;
    text_list_add(&r.device.throttle, "SW power cap");
    r.rounds = 2;
    r.stop = STOP_TIME_LIMIT;
    r.warmup_ns = 5.5e7;
    r.worker_ns = 2.5e8;
    r.cpu_taken_frac = 0.125;
    return r;
}

static case_result_t read_back(const json_t *json) {
    case_result_t result;
    assert_ok(result_from_json(json, &result, &err));
    return result;
}

/* As text, the way of cases.jsonl. */
static json_t *through_text(json_t *json) {
    AUTO_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(json);
    assert_non_null(text);
    json_t *again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(again);
    return again;
}

static void test_round_trip(void **state) {
    AUTO(result_free) case_result_t result = full_result();
    json_auto_t *first = through_text(result_to_json(&result));
    AUTO(result_free) case_result_t again = read_back(first);
    json_auto_t *second = through_text(result_to_json(&again));
    assert_true(json_equal(first, second));

    assert_string_equal(again.spec.id, result.spec.id);
    assert_string_equal(again.spec.device, "cuda");
    assert_string_equal(case_technique(&again.spec, "copy"), "pinned");
    assert_true(case_param(&again.spec, "rate")->real == 0.1);
    assert_int_equal(again.pass, 3);
    assert_int_equal(again.seed, 7);
    assert_int_equal(again.status, CASE_WRONG);
    assert_string_equal(again.reason, result.reason);
    assert_true(again.before.done && again.before.ok && again.before.rel_l2 == 1.5e-7);
    assert_true(again.before.row_rel_l2 == 3e-7 && again.before.column_rel_l2 == 2e-7);
    assert_true(isnan(again.after.row_rel_l2) && isnan(again.after.column_rel_l2));
    assert_true(again.after.done && !again.after.ok && isnan(again.after.rel_l2));
    const phase_t *kernel = result_phase(&again, "kernel");
    assert_int_equal(kernel->n_rounds, 2);
    assert_int_equal(kernel->round_starts[1], 3);
    assert_true(kernel->samples[1] == 1001.25);
    assert_true(kernel->summary.median == 1000);
    assert_int_equal(kernel->n_throttled, 5);
    assert_int_equal(result_phase(&again, "total")->n_samples, 0);
    assert_true(isnan(result_phase(&again, "total")->summary.median));
    assert_true(isnan(again.device.temperature_c[0]));
    assert_int_equal(again.stop, STOP_TIME_LIMIT);
    assert_true(again.cpu_taken_frac == 0.125);
    assert_string_equal(again.results_json, result.results_json);
    assert_string_equal(again.resources.flags.items[0], "-DBATCH=64");
    assert_string_equal(again.sanitize.version, "2025.3.0");
    assert_int_equal(again.sanitize.tools.n, 2);
    assert_true(sanitize_is_finding(again.sanitize.verdicts.items[0]));
    assert_false(sanitize_is_finding(again.sanitize.verdicts.items[1]));
}

/* What every reader of cases.jsonl counts on. */
static void test_keys_are_the_contract(void **state) {
    static const char *const KEYS[] = {
        "schema", "pass",      "draw",      "seed",   "id",      "workload",
        "engine", "on",        "variant",   "params", "dtype",   "techniques",
        "status", "reason",    "flags",     "check",  "once_ns", "limit",
        "device", "resources", "sanitize",  "phases", "results", "rounds",
        "stop",   "warmup_ns", "worker_ns", "trust",  "claims",  "cpu_taken_frac"};
    static const char *const PHASE_KEYS[] = {
        "clock",       "unit",        "n",           "median",       "ci95",
        "q25",         "q75",         "p5",          "p95",          "p99",
        "min",         "max",         "mad",         "error_frac",   "bimodal",
        "n_throttled", "n_slow_core", "pass_starts", "round_starts", "samples"};
    AUTO(result_free) case_result_t result = full_result();
    json_auto_t *json = result_to_json(&result);
    for (size_t i = 0; i < COUNT_OF(KEYS); i++)
        if (json_object_get(json, KEYS[i]) == NULL)
            fail_msg("no key \"%s\"", KEYS[i]);
    json_t *kernel = json_object_get(json_object_get(json, "phases"), "kernel");
    for (size_t i = 0; i < COUNT_OF(PHASE_KEYS); i++)
        if (json_object_get(kernel, PHASE_KEYS[i]) == NULL)
            fail_msg("no key \"phases.kernel.%s\"", PHASE_KEYS[i]);
    assert_int_equal(json_integer_value(json_object_get(json, "schema")), 2);
    assert_int_equal(json_object_size(json), COUNT_OF(KEYS));
    assert_int_equal(json_object_size(kernel), COUNT_OF(PHASE_KEYS));
    assert_string_equal(json_string_value(json_object_get(kernel, "unit")), "ns");
    /* Whole nanoseconds are integers in the file. */
    assert_true(json_is_integer(json_array_get(json_object_get(kernel, "samples"), 0)));
    assert_true(json_is_real(json_array_get(json_object_get(kernel, "samples"), 1)));
}

static const json_t *phase_of(const json_t *json) {
    return json_object_get(json_object_get(json, "phases"), "kernel");
}

/* A line says what its pass knows; what only several passes know is null, and the other way round. */
static void test_what_passes_know(void **state) {
    AUTO(result_free) case_result_t result = full_result();
    json_auto_t *one = through_text(result_to_json(&result));
    const json_t *kernel = phase_of(one);
    assert_int_equal(json_integer_value(json_object_get(one, "pass")), 3);
    assert_near(json_real_value(json_object_get(kernel, "error_frac")),
                sqrt(phase_pass(&result.phases[0], 0).variance_log), 1e-12);
    assert_true(json_is_null(json_array_get(json_object_get(kernel, "ci95"), 0)));
    assert_true(json_is_null(json_object_get(kernel, "bimodal")));

    AUTO(result_free) case_result_t more = full_result();
    for (int i = 1; i < 5; i++)
        result_add_passes(&result, &more);
    result_summarise(&result);
    result.phases[0].bimodal = (bimodal_t){true, 900, 1100, 0.25};
    json_auto_t *five = through_text(result_to_json(&result));
    kernel = phase_of(five);
    assert_true(json_is_null(json_object_get(five, "pass")));
    assert_true(json_is_null(json_object_get(kernel, "error_frac")));
    assert_int_equal(json_array_size(json_object_get(kernel, "pass_starts")), 6);
    assert_true(json_number_value(json_array_get(json_object_get(kernel, "ci95"), 0)) < 1000);
    assert_true(json_number_value(json_array_get(json_object_get(kernel, "ci95"), 1)) > 1000);
    const json_t *two = json_object_get(kernel, "bimodal");
    assert_int_equal(json_integer_value(json_object_get(two, "low")), 900);
    assert_int_equal(json_integer_value(json_object_get(two, "high")), 1100);
    assert_true(json_real_value(json_object_get(two, "share_high")) == 0.25);
}

/* A line of several processes, as an older bench wrote them. */
static void test_passes_in_a_line(void **state) {
    json_auto_t *json = json_loads("{" CASE_KEYS ", " OF_PASSES("[0, 1, 2]"), 0, NULL);
    AUTO(result_free) case_result_t result = read_back(json);
    const phase_t *total = &result.phases[0];
    assert_int_equal(result.pass, 1); /* schema 1 */
    assert_int_equal(total->n_passes, 2);
    assert_true(phase_rounds(total, 1).values[phase_rounds(total, 1).starts[0]] == 2);
    assert_true(fabs(total->summary.median - sqrt(2)) < 1e-12);
}

/* Schema 1 has an interval over samples, which does not hold for the next run. */
static void test_schema_1(void **state) {
    json_auto_t *json = json_loads(
        "{" CASE_KEYS ", \"status\": \"ok\", \"stop\": \"noise_floor\", \"phases\": {\"total\": "
        "{\"clock\": \"host\", \"n\": 2, \"median\": 1.5, \"ci95\": [1, 2], \"samples\": [1, 2], "
        "\"round_starts\": [0, 1, 2]}}}",
        0, NULL);
    AUTO(result_free) case_result_t result = read_back(json);
    const phase_t *total = &result.phases[0];
    assert_int_equal(result.pass, 1);
    assert_int_equal(result.stop, STOP_NOISE_FLOOR);
    assert_int_equal(total->n_passes, 1);
    assert_true(total->summary.median == 1.5);
    assert_true(isnan(total->summary.ci95[0]) && isnan(total->summary.ci95[1]));
}

/* Bytes that are no UTF-8 come from a dying worker's stderr, or from a message cut in the middle of
 * a character: the line must be written all the same. */
static void test_text_that_is_not_utf8(void **state) {
    AUTO(result_free) case_result_t result = full_result();
    set_text(&result.reason, "worker died; it said: caf\xc3\xa9 \xff\xfe caf\xc3");
    flag_list_add_text(&result.flags, "odd \x80");
    json_auto_t *json = result_to_json(&result);
    assert_non_null(json);
    AUTO(result_free) case_result_t again = read_back(json);
    assert_string_equal(again.reason, "worker died; it said: caf\xc3\xa9 ?? caf?");
    assert_string_equal(again.flags.items[1].word, "odd ?");
}

typedef struct hostile {
    const char *json, *message;
} hostile_t;

static const hostile_t HOSTILE[] = {
    {"[]", "not a JSON object"},
    {"{}", "\"schema\" is 0, this program reads schemas 1 to 2"},
    {"{\"schema\": 3}", "\"schema\" is 3"},
    {"{\"schema\": 2}", "\"pass\" is 0, expected a number from 1 to 64"},
    {"{\"schema\": 2, \"pass\": 65}", "\"pass\" is 65"},
    {"{\"schema\": 2, \"pass\": null}", "\"pass\" is 0"},
    {"{\"schema\": \"1\"}", "\"schema\" is 0"},
    {"{\"schema\": 1}", "\"id\" is missing or not a string"},
    {"{\"schema\": 1, \"id\": 7}", "\"id\" is missing or not a string"},
    {"{\"schema\": 1, \"id\": \"x\", \"workload\": \"w\", \"engine\": null, \"variant\": \"v\"}",
     "\"engine\" is missing or not a string"},
    {"{" CASE_KEYS "}", "\"status\" is \"missing\""},
    {"{" CASE_KEYS ", \"status\": \"great\"}", "\"status\" is \"great\", expected ok, skipped"},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"stop\": \"bored\"}", "\"stop\" is \"bored\""},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"params\": [1]}", "\"params\" is not an object"},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"params\": {\"batch\": null}}",
     "\"params.batch\": found an object, true, false or null"},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"params\": {\"layers\": [4, \"5\"]}}",
     "\"params.layers\": element 1 of a list is not an integer"},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"techniques\": {\"copy\": 3}}",
     "\"techniques.copy\" is not a string"},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"phases\": {\"total\": {}}}",
     "\"phases.total.clock\" is \"missing\", expected host or device"},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"phases\": {\"total\": 5}}",
     "\"phases.total.clock\" is \"missing\""},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"phases\": {\"total\": {\"clock\": \"wall\"}}}",
     "\"phases.total.clock\" is \"wall\""},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"phases\": {\"total\": {\"clock\": \"host\", "
     "\"samples\": [1, 2], \"round_starts\": [0, 3]}}}",
     "\"phases.total\": round_starts[0]: 0 … 3 of 2 samples"},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"phases\": {\"total\": {\"clock\": \"host\", "
     "\"samples\": [1, 2], \"round_starts\": [2, 0]}}}",
     "round_starts[0]: 2 … 0 of 2 samples"},
    {"{" CASE_KEYS ", \"status\": \"ok\", \"phases\": {\"total\": {\"clock\": \"host\", "
     "\"samples\": [1, 2], \"round_starts\": [-1, 2]}}}",
     "round_starts[0]: -1 … 2 of 2 samples"},
    {"{" CASE_KEYS ", " OF_PASSES("[0, 1, 3]"), "\"phases.total\": pass_starts[2]: 3 of 2 rounds"},
    {"{" CASE_KEYS ", " OF_PASSES("[0, 1, 1]"), "pass_starts[2]: 1 of 2 rounds"},
    {"{" CASE_KEYS ", " OF_PASSES("[1, 1, 2]"), "pass_starts[0]: 1 of 2 rounds"},
    {"{" CASE_KEYS ", " OF_PASSES("[0, 2, 1, 2]"), "pass_starts[2]: 1 of 2 rounds"},
    {"{" CASE_KEYS ", " OF_PASSES("[0, -1, 2]"), "pass_starts[1]: -1 of 2 rounds"},
};

static void test_hostile_lines(void **state) {
    for (size_t i = 0; i < COUNT_OF(HOSTILE); i++) {
        json_auto_t *json = json_loads(HOSTILE[i].json, 0, NULL);
        assert_non_null(json);
        case_result_t result;
        error_t err = ERROR_INIT;
        if (result_from_json(json, &result, &err) == STATUS_OK)
            fail_msg("%s: was taken", HOSTILE[i].json);
        assert_int_equal(err.status, STATUS_USAGE);
        assert_has(err.text, HOSTILE[i].message);
    }
}

/* Only identity and status are needed: other programs write such lines, and older versions. */
static void test_least_line(void **state) {
    json_auto_t *json =
        json_loads("{" CASE_KEYS ", \"status\": \"skipped\", \"news\": [{}]}", 0, NULL);
    AUTO(result_free) case_result_t result = read_back(json);
    assert_int_equal(result.status, CASE_SKIPPED);
    assert_string_equal(result.spec.device, "cpu");
    assert_string_equal(result.spec.dtype, "f32");
    assert_null(result.reason);
    assert_false(result.before.done);
    assert_true(isnan(result.limit.frac));
    assert_int_equal(result.n_phases, 0);
}

/* ---- Which of several compilations the passes run. */

/* A draw of a training, which is compared by its steps; NaN: it failed. */
static case_result_t make(unsigned draw, double total_ns, double step_ns) {
    const bool failed = isnan(total_ns);
    const timed_t times[] = {{failed ? NULL : "total", total_ns}, {"step", step_ns}, {NULL, 0}};
    case_result_t result = make_result("mnist_train", "pytorch", 128, times);
    result.status = failed ? CASE_FAILED : CASE_OK;
    result.pass = 0;
    result.draw = draw;
    return result;
}

static void the_phase_that_is_compared_chooses(void **state) {
    case_result_t draws[] = {make(1, NAN, NAN), make(2, 100, 7), make(3, 90, 8)};
    case_state_t chosen = {0};
    for (size_t i = 0; i < 3; i++)
        case_note(&chosen, &draws[i]);
    assert_int_equal(chosen.drawn, 7);
    assert_int_equal(chosen.draw, 2);
    assert_true(chosen.draw_ns == 7);
    for (size_t i = 0; i < 3; i++)
        result_free(&draws[i]);
}

static void all_phases_of_a_draw_are_kept(void **state) {
    case_result_t draws[] = {make(1, NAN, NAN), make(3, 90, 8)}, joined = make(3, 91, 9);
    joined.pass = 1;
    result_add_draw(&joined, &draws[1]);
    result_add_draw(&joined, &draws[1]); /* a later line of the same draw */
    result_add_draw(&joined, &draws[0]);
    assert_int_equal(joined.n_draws, 3);
    assert_true(draw_median(&joined.draws[2], "step") == 8);
    assert_true(isnan(draw_median(&joined.draws[2], "kernel")));
    assert_true(isnan(draw_median(&joined.draws[1], "step")));
    json_auto_t *json = result_to_json(&joined);
    json_t *draw = json_array_get(json_object_get(json, "draws"), 2);
    assert_true(json_number_value(json_object_get(draw, "median_ns")) == 90);
    assert_true(json_number_value(json_object_get(json_object_get(draw, "medians_ns"), "step")) ==
                8);
    result_free(&joined);
    for (size_t i = 0; i < 2; i++)
        result_free(&draws[i]);
}

/* ---- lines ------------------------------------------------------------------------------------- */

#define LINE_OF(phases)                                                                            \
    "{\"schema\":1,\"id\":\"null/null/x\",\"workload\":\"null\",\"engine\":\"null\",\"variant\":"  \
    "\"x\",\"dtype\":\"f32\",\"on\":\"cpu\",\"params\":{},\"techniques\":{},\"status\":\"ok\","    \
    "\"reason\":\"a \\\"samples\\\":[1,2] and \\\"phases\\\":{ in a text\",\"phases\":{" phases    \
    "},\"rounds\":2,\"stop\":\"precise\"}"
#define PHASE(name, starts, samples)                                                               \
    "\"" name "\":{\"clock\":\"host\",\"round_starts\":" starts ",\"samples\":" samples "}"

static void bad_lines_are_refused(void **state) {
    static const struct {
        const char *line, *message;
    } BAD[] = {
        {"", "not a JSON object"},
        {LINE_OF(PHASE("a", "[0,4]", "[1,2,,4]")), "not a JSON object"},
        {LINE_OF(PHASE("a", "[0,4]", "[1,2,3,4,]")), "not a JSON object"},
        {LINE_OF(PHASE("a", "[0,4]", "[01,2,3,4]")), "not a JSON object"},
        {LINE_OF(PHASE("a", "[0,4]", "[1.,2,3,4]")), "not a JSON object"},
        {LINE_OF(PHASE("a", "[0,9]", "[1,2,3,4]")), "round_starts[0]: 0 … 9 of 4 samples"},
        {LINE_OF(PHASE("a", "[3,1]", "[1,2,3,4]")), "round_starts[0]: 3 … 1 of 4 samples"},
        {LINE_OF("\"a\":{\"samples\":[1,2,3],\"samples\":[4]}"), "duplicate"},
    };
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        case_result_t result;
        assert_fails_with(result_from_text(BAD[i].line, strlen(BAD[i].line), &result, &err),
                          STATUS_USAGE, BAD[i].message);
    }
}

#include "run_tests.h"

/* sweeps/schema.json says for editors what the tables in C say for the program: the two must agree.
 */
#include "checks.h"
#include "made_case.h"
#include "model/chart_kinds.h"
#include "sweep/sweep.h"

#include <jansson.h>
#include <regex.h>

static int read_schema(void **state) {
    *state = read_json("sweeps/schema.json");
    return 0;
}

static int free_schema(void **state) {
    json_decref(*state);
    return 0;
}

/* Follow keys, ended by NULL, from the top of the schema. */
static json_t *at(void **state, ...) {
    json_t *json = *state;
    va_list keys;
    va_start(keys, state);
    for (const char *key; (key = va_arg(keys, const char *)) != NULL;) {
        json = json_object_get(json, key);
        if (json == NULL)
            fail_msg("sweeps/schema.json: no key \"%s\"", key);
    }
    va_end(keys);
    return json;
}

static void check_names(const json_t *list, const char *const *names, size_t n) {
    assert_int_equal(json_array_size(list), n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(json_string_value(json_array_get(list, i)), names[i]);
}

static size_t count(const char *const *names) {
    size_t n = 0;
    while (names[n] != NULL)
        n++;
    return n;
}

static void check_text(const json_t *object, const char *key, const char *expected) {
    assert_string_equal(json_string_value(json_object_get(object, key)), expected);
}

static void check_range(const json_t *object, double min, double max) {
    assert_near(json_number_value(json_object_get(object, "minimum")), min, 0);
    assert_near(json_number_value(json_object_get(object, "maximum")), max, 0);
}

/* Those of this program are first; of others a description says what a sweep may have. */
static const workload_t *compiled_in(size_t i) {
    const workload_t *workload = workload_at(i);
    return workload == NULL || workload->folder != NULL ? NULL : workload;
}

static void test_workloads_are_the_tables(void **state) {
    size_t n = 0;
    while (compiled_in(n) != NULL)
        n++;
    const json_t *kinds = at(state, "properties", "workload", "anyOf", NULL);
    const json_t *names = json_object_get(json_array_get(kinds, 0), "enum");
    const json_t *rules = at(state, "allOf", NULL);
    assert_int_equal(json_array_size(names), n);
    assert_int_equal(json_array_size(rules), n);
    for (size_t i = 0; i < n; i++) {
        const workload_t *workload = workload_at(i);
        assert_string_equal(json_string_value(json_array_get(names, i)), workload->name);
        AUTO_FREE char *rule = json_dumps(json_array_get(rules, i), JSON_COMPACT);
        AUTO_FREE char *when = mem_format("{\"workload\":{\"const\":\"%s\"}}", workload->name);
        AUTO_FREE char *axes = mem_format("#/$defs/%s_axes", workload->name);
        AUTO_FREE char *techniques = mem_format("#/$defs/%s_techniques", workload->name);
        assert_has(rule, when);
        assert_has(rule, axes);
        assert_has(rule, techniques);
    }
}

/* An operator's name is any that a description may have. */
static void test_a_workload_may_be_an_operator(void **state) {
    const json_t *kinds = at(state, "properties", "workload", "anyOf", NULL);
    const json_t *pattern = json_object_get(json_array_get(kinds, 1), "pattern");
    const json_t *name = at(state, "properties", "name", "pattern", NULL);
    assert_int_equal(json_array_size(kinds), 2);
    assert_string_equal(json_string_value(pattern), json_string_value(name));
}

static void check_param(const json_t *axis, const param_spec_t *param) {
    check_text(axis, "description", param->summary);
    json_auto_t *by_default = json_loads(param->default_json, JSON_DECODE_ANY, NULL);
    json_t *list = json_object_get(axis, "default");
    assert_int_equal(json_array_size(list), 1);
    assert_true(json_equal(json_array_get(list, 0), by_default));
    const json_t *element = json_object_get(axis, "items");
    if (param->kind == VALUE_INTS) {
        check_text(element, "type", "array");
        assert_int_equal(json_integer_value(json_object_get(element, "minItems")),
                         param->min_items);
        assert_int_equal(json_integer_value(json_object_get(element, "maxItems")),
                         param->max_items);
        element = json_object_get(element, "items");
    }
    check_text(element, "type", param->kind == VALUE_REAL ? "number" : "integer");
    check_range(element, param->min, param->max);
}

static void test_axes_are_the_params(void **state) {
    const workload_t *workload;
    for (size_t i = 0; (workload = compiled_in(i)) != NULL; i++) {
        AUTO_FREE char *key = mem_format("%s_axes", workload->name);
        const json_t *axes = at(state, "$defs", key, "properties", NULL);
        assert_int_equal(json_object_size(axes), workload->n_params + 1);
        for (size_t p = 0; p < workload->n_params; p++)
            check_param(json_object_get(axes, workload->params[p].name), &workload->params[p]);
        const json_t *dtype = json_object_get(axes, "dtype");
        check_names(json_object_get(json_object_get(dtype, "items"), "enum"), workload->dtypes,
                    count(workload->dtypes));
        check_names(json_object_get(dtype, "default"), workload->dtypes, 1);
    }
}

static void test_techniques_are_the_tables(void **state) {
    const workload_t *workload;
    for (size_t i = 0; (workload = compiled_in(i)) != NULL; i++) {
        AUTO_FREE char *key = mem_format("%s_techniques", workload->name);
        const json_t *techniques = at(state, "$defs", key, "properties", NULL);
        assert_int_equal(json_object_size(techniques), workload->n_techniques);
        for (size_t t = 0; t < workload->n_techniques; t++) {
            const technique_spec_t *spec = &workload->techniques[t];
            const json_t *technique = json_object_get(techniques, spec->name);
            check_text(technique, "description", spec->summary);
            check_names(json_object_get(json_object_get(technique, "items"), "enum"), spec->choices,
                        count(spec->choices));
            check_names(json_object_get(technique, "default"), spec->choices, 1);
        }
    }
}

static void test_engines_and_charts(void **state) {
    size_t n;
    const char *const *engines = workload_engines(&n);
    const json_t *choices = at(state, "$defs", "contender", "properties", "engine", "anyOf", NULL);
    check_names(json_object_get(json_array_get(choices, 0), "enum"), engines, n);
    /* The other choice is an engine of the user's own, reference_NAME/worker.py. */
    const json_t *name = at(state, "properties", "name", "pattern", NULL);
    check_text(json_array_get(choices, 1), "pattern", json_string_value(name));
    AUTO(text_list_free) text_list_t charts = chart_families();
    check_names(at(state, "properties", "charts", "items", "enum", NULL),
                (const char *const *)charts.items, charts.n);
}

static void test_measure_keys(void **state) {
    const measure_options_t by_default = MEASURE_DEFAULTS;
    const double defaults[] = {by_default.draws,          by_default.interval_frac,
                               by_default.precision_frac, by_default.device_precision_frac,
                               by_default.time_limit_s,   by_default.round_s,
                               by_default.min_rounds,     by_default.min_samples};
    size_t n;
    const measure_key_t *keys = sweep_measure_keys(&n);
    assert_int_equal(n, COUNT_OF(defaults));
    const json_t *properties = at(state, "$defs", "measure", "properties", NULL);
    assert_int_equal(json_object_size(properties), n + 1);
    const json_t *passes = json_object_get(json_object_get(properties, "passes"), "default");
    assert_int_equal(json_integer_value(json_object_get(passes, "least")), by_default.least_passes);
    assert_int_equal(json_integer_value(json_object_get(passes, "most")), by_default.passes);
    for (size_t i = 0; i < n; i++) {
        const json_t *key = json_object_get(properties, keys[i].name);
        check_text(key, "type", keys[i].kind == VALUE_INT ? "integer" : "number");
        check_range(key, keys[i].min, keys[i].max);
        assert_near(json_number_value(json_object_get(key, "default")), defaults[i], 0);
    }
}

static bool matches(const json_t *pattern, const char *text) {
    regex_t regex;
    assert_int_equal(regcomp(&regex, json_string_value(pattern), REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static void test_patterns_are_the_functions(void **state) {
    const json_t *arch = at(state, "properties", "arch", "items", "pattern", NULL);
    static const char *const ARCHS[] = {
        "native", "sm_75",  "sm_74", "sm_80",  "sm_90",   "sm_90a", "sm_100f", "sm_120", "sm_70",
        "sm_7",   "sm_075", "sm_",   "sm_90x", "sm_1000", "hopper", "native ", "",       "SM_90"};
    size_t n_valid = 0;
    for (size_t i = 0; i < COUNT_OF(ARCHS); i++) {
        assert_int_equal(matches(arch, ARCHS[i]), sweep_arch_is_valid(ARCHS[i]));
        n_valid += sweep_arch_is_valid(ARCHS[i]);
    }
    assert_int_equal(n_valid, 7);

    const json_t *name = at(state, "properties", "name", "pattern", NULL);
    static const char *const NAMES[] = {"mlp_infer", "a.b+c-d", "_x", "7",  "a/b",
                                        ".a",        "-a",      "",   "a b"};
    for (size_t i = 0; i < COUNT_OF(NAMES); i++)
        assert_int_equal(matches(name, NAMES[i]), text_is_name(NAMES[i]));
}

/* What is not listed is an error, at every level. */
static void check_strict(const json_t *schema) {
    const char *key;
    json_t *value;
    if (json_object_get(schema, "type") != NULL && json_object_get(schema, "properties") != NULL)
        assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    json_object_foreach((json_t *)schema, key, value) {
        if (json_is_object(value))
            check_strict(value);
    }
}

static void test_schema_is_strict(void **state) {
    check_strict(*state);
}

#define GROUP_SET_UP read_schema
#define GROUP_TEAR_DOWN free_schema
#include "run_tests.h"

/* kernels/workload.schema.json says for editors what the reader of workload.json does: the two must agree. The reader
 * says what it knows when it is given something unknown. */
#include "base/text.h"
#include "checks.h"
#include "io/json.h"
#include "made_case.h"
#include "workloads/described/description.h"

#include <regex.h>
#include <stdio.h>

#define SCHEMA "kernels/workload.schema.json"

typedef struct files {
    json_t *schema, *valid; /* a description that has every key */
} files_t;

static int read_files(void **state) {
    static files_t files;
    files.schema = read_json(SCHEMA);
    files.valid = read_json("tests/fixtures/operators/everything/workload.json");
    *state = &files;
    return 0;
}

static int free_files(void **state) {
    files_t *files = *state;
    json_decref(files->schema);
    json_decref(files->valid);
    return 0;
}

/* Follow "a/b/0" from the top. */
static json_t *at(json_t *json, const char *path) {
    AUTO(text_list_free) text_list_t keys = text_split(path, '/');
    for (size_t i = 0; i < keys.n; i++) {
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(keys.items[i]))
                                   : json_object_get(json, keys.items[i]);
        if (json == NULL)
            fail_msg("%s: no \"%s\"", path, keys.items[i]);
    }
    return json;
}

/* What the reader says of the description; "" if nothing. The caller frees it. */
static char *complaint(const json_t *json) {
    description_t description;
    error_t err = ERROR_INIT;
    if (description_parse("workload.json", json, &description, &err) == STATUS_OK)
        description_free(&description);
    return mem_text(err.text);
}

/* What it says with `key` of the object at `path` set to `value`, or removed; takes `value`. */
static char *complaint_with(const files_t *files, const char *path, const char *key,
                            json_t *value) {
    json_t *copy = json_deep_copy(files->valid), *object = at(copy, path);
    if (value != NULL)
        json_object_set_new(object, key, value);
    else
        json_object_del(object, key);
    char *text = complaint(copy);
    json_decref(copy);
    return text;
}

/* "(known: a, b)" at the end of the complaint has just these names, in order. Frees it. */
static void check_known(char *text, text_list_t *names) {
    AUTO_FREE char *list = text_list_join(names, ", "), *known = mem_format("(known: %s)", list);
    if (!text_ends(text, known))
        fail_msg("%s\n%s: %s", text, SCHEMA, known);
    free(text);
    text_list_free(names);
}

static text_list_t keys_of(const json_t *object) {
    text_list_t names = {0};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        text_list_add(&names, key);
    }
    return names;
}

static text_list_t texts_of(const json_t *array) {
    text_list_t names = {0};
    for (size_t i = 0; i < json_array_size(array); i++)
        text_list_add(&names, json_string_value(json_array_get(array, i)));
    return names;
}

/* Objects of the schema, and where a description has one. */
static const struct {
    const char *schema, *description;
} OBJECTS[] = {
    {"", ""},
    {"$defs/param", "params/rows"},
    {"$defs/input", "inputs/2"},
    {"$defs/output", "outputs/0"},
    {"$defs/fill/anyOf/1", "inputs/0/fill"},
    {"$defs/bounds", "outputs/0/tolerance/f32"},
    {"$defs/scalar", "scalars/0"},
    {"$defs/cost", "cost"},
    {"properties/sweep", "sweep"},
    {"properties/size/anyOf/1", "size"},
    {"properties/study", "study"},
    {"$defs/log", "study/logs/0"},
};
enum { N_OBJECTS = COUNT_OF(OBJECTS) };

static void test_keys(void **state) {
    const files_t *files = *state;
    for (size_t i = 0; i < N_OBJECTS; i++) {
        const json_t *object = at(files->schema, OBJECTS[i].schema);
        assert_true(json_is_false(json_object_get(object, "additionalProperties")));
        text_list_t names = keys_of(json_object_get(object, "properties"));
        check_known(complaint_with(files, OBJECTS[i].description, "not_a_key", json_null()),
                    &names);
    }
}

static void test_required_keys(void **state) {
    const files_t *files = *state;
    for (size_t i = 0; i < N_OBJECTS; i++) {
        const json_t *object = at(files->schema, OBJECTS[i].schema);
        AUTO(text_list_free) text_list_t required = texts_of(json_object_get(object, "required"));
        AUTO(text_list_free) text_list_t keys = keys_of(at(files->valid, OBJECTS[i].description));
        for (size_t k = 0; k < keys.n; k++) {
            AUTO_FREE char *text =
                complaint_with(files, OBJECTS[i].description, keys.items[k], NULL);
            const bool missing = text_ends(text, ": missing");
            if (missing != text_list_has(&required, keys.items[k]))
                fail_msg("%s without \"%s\": %s", OBJECTS[i].schema, keys.items[k], text);
        }
    }
}

static void test_choices(void **state) {
    const files_t *files = *state;
    static const struct {
        const char *schema, *description, *key;
    } CHOICES[] = {
        {"$defs/scalar/properties/dtype/enum", "scalars/0", "dtype"},
        {"$defs/fill/anyOf/0/enum", "inputs/0", "fill"},
        {"$defs/dtype/properties/math/enum", "dtypes/f16", "math"},
        {"$defs/dtype/patternProperties/^[A-Z]$/enum", "dtypes/f16", "T"},
    };
    for (size_t i = 0; i < COUNT_OF(CHOICES); i++) {
        text_list_t names = texts_of(at(files->schema, CHOICES[i].schema));
        check_known(complaint_with(files, CHOICES[i].description, CHOICES[i].key,
                                   json_string("not a choice")),
                    &names);
    }
    AUTO(text_list_free)
    text_list_t elements = texts_of(at(files->schema, "properties/dtypes/anyOf/0/items/enum"));
    check_known(complaint_with(files, "", "dtypes", json_pack("[s]", "not a choice")), &elements);
    text_list_t types = {0};
    text_list_add(&types, "T");
    elements = texts_of(at(files->schema, "$defs/type/anyOf/0/enum"));
    for (size_t i = 0; i < elements.n; i++)
        text_list_add(&types, elements.items[i]);
    check_known(complaint_with(files, "inputs/0", "dtype", json_string("not a choice")), &types);
    const json_t *deterministic = at(files->schema, "properties/deterministic/enum");
    for (size_t i = 0; i < json_array_size(deterministic); i++) {
        AUTO_FREE char *text = complaint_with(files, "", "deterministic",
                                              json_incref(json_array_get(deterministic, i)));
        assert_string_equal(text, "");
    }
}

static void test_ranges(void **state) {
    const files_t *files = *state;
    static const struct {
        const char *schema, *description, *key, *outside, *format;
    } RANGES[] = {
        {"$defs/param/properties/min", "params/rows", "min", "1e300", "an integer %.0f…%.0f"},
        {"$defs/input/properties/shape/items", "inputs/0", "shape", "[0]", "an integer %.0f…%.0f"},
        {"$defs/output/properties/shape/items", "outputs/0", "shape", "[0]",
         "an integer %.0f…%.0f"},
        {"$defs/expression", "", "where", "-1", "an integer %.0f…%.0f"},
        {"$defs/bounds/properties/rel_l2", "outputs/0/tolerance/f32", "rel_l2", "-1",
         "a number %g…%g"},
        {"$defs/bounds/properties/max_abs", "outputs/0/tolerance/f32", "max_abs", "-1",
         "a number %g…%g"},
    };
    for (size_t i = 0; i < COUNT_OF(RANGES); i++) {
        const json_t *schema = at(files->schema, RANGES[i].schema);
        char range[80];
        snprintf(range, sizeof range, RANGES[i].format,
                 json_number_value(json_object_get(schema, "minimum")),
                 json_number_value(json_object_get(schema, "maximum")));
        json_t *outside = json_loads(RANGES[i].outside, JSON_DECODE_ANY, NULL);
        AUTO_FREE char *text = complaint_with(files, RANGES[i].description, RANGES[i].key, outside);
        if (!text_ends(text, range))
            fail_msg("%s\n%s: %s", text, SCHEMA, range);
    }
}

static void test_limits(void **state) {
    const files_t *files = *state;
    static const struct {
        const char *schema;
        int limit;
    } LIMITS[] = {
        {"properties/params/maxProperties", DESCRIBED_PARAMS},
        {"properties/dtypes/anyOf/1/maxProperties", DESCRIBED_DTYPES},
        {"properties/inputs/maxItems", DESCRIBED_ARRAYS},
        {"properties/outputs/maxItems", DESCRIBED_ARRAYS},
        {"properties/scalars/maxItems", DESCRIBED_ARRAYS},
        {"$defs/input/properties/shape/maxItems", DESCRIBED_DIMENSIONS},
        {"$defs/output/properties/shape/maxItems", DESCRIBED_DIMENSIONS},
        {"$defs/expression/maxLength", EXPRESSION_LONGEST},
    };
    for (size_t i = 0; i < COUNT_OF(LIMITS); i++)
        assert_int_equal(json_integer_value(at(files->schema, LIMITS[i].schema)), LIMITS[i].limit);
}

static void test_names_of_dtypes(void **state) {
    const files_t *files = *state;
    static const char *const NAMES[] = {"mixed", "m_9", "Mixed", "_m", "9m", "m-m", ""};
    static const char *const PATTERNS[] = {"properties/dtypes/anyOf/1/propertyNames/pattern",
                                           "$defs/tolerance/anyOf/1/propertyNames/pattern",
                                           "$defs/axes/properties/dtype/items/pattern"};
    for (size_t p = 0; p < COUNT_OF(PATTERNS); p++) {
        regex_t regex;
        const char *pattern = json_string_value(at(files->schema, PATTERNS[p]));
        assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
        for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
            AUTO_FREE char *text =
                complaint_with(files, "dtypes", NAMES[i], json_pack("{ss}", "T", "f32"));
            if ((regexec(&regex, NAMES[i], 0, NULL, 0) == 0) != (text[0] == '\0'))
                fail_msg("%s: %s", NAMES[i], text);
        }
        regfree(&regex);
    }
}

static void test_names(void **state) {
    const files_t *files = *state;
    static const char *const NAMES[] = {"n", "aB_9", "_n", "9n", "a-b", "a.b", "", "é", NULL};
    static const char *const PATTERNS[] = {"properties/params/propertyNames/pattern",
                                           "$defs/input/properties/name/pattern",
                                           "$defs/output/properties/name/pattern",
                                           "$defs/scalar/properties/name/pattern",
                                           "$defs/size_param/pattern",
                                           "$defs/axes/propertyNames/pattern"};
    for (size_t p = 0; p < COUNT_OF(PATTERNS); p++) {
        regex_t regex;
        const char *pattern = json_string_value(at(files->schema, PATTERNS[p]));
        assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
        for (size_t i = 0; NAMES[i] != NULL; i++) {
            AUTO_FREE char *text =
                complaint_with(files, "params", NAMES[i], json_pack("{si}", "default", 1));
            assert_int_equal(regexec(&regex, NAMES[i], 0, NULL, 0) == 0, text[0] == '\0');
        }
        regfree(&regex);
    }
}

#define GROUP_SET_UP read_files
#define GROUP_TEAR_DOWN free_files
#include "run_tests.h"

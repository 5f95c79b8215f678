/* Reading and writing run.json. */
#include "base/memory.h"
#include "io/fs.h"
#include "io/json.h"
#include "results/record.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *fact_to_json(const fact_t *fact) {
    if (fact->kind == FACT_FLAG)
        return json_boolean(strcmp(fact->value, "true") == 0);
    if (fact->kind == FACT_TEXT)
        return json_text(fact->value);
    double number = strtod(fact->value, NULL);
    if (!isfinite(number))
        return json_null();
    if (number == floor(number) && fabs(number) < 0x1p53)
        return json_integer((json_int_t)number);
    return json_real(number);
}

/* "gpu.name" becomes {"gpu": {"name": …}}. */
static void nest_fact(json_t *object, const fact_t *fact) {
    const char *key = fact->key;
    for (const char *dot = strchr(key, '.'); dot != NULL; dot = strchr(key, '.')) {
        AUTO_FREE char *part = mem_text_n(key, (size_t)(dot - key));
        json_t *inner = json_object_get(object, part);
        if (!json_is_object(inner)) {
            inner = json_object();
            json_object_set_new(object, part, inner);
        }
        object = inner;
        key = dot + 1;
    }
    json_object_set_new(object, key, fact_to_json(fact));
}

static json_t *environment_to_json(const environment_t *env) {
    json_t *object = json_object();
    for (size_t i = 0; i < env->n; i++)
        nest_fact(object, &env->facts[i]);
    return object;
}

static status_t flatten(const json_t *object, const char *prefix, environment_t *env,
                        error_t *err) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        AUTO_FREE char *path = *prefix != '\0' ? mem_format("%s.%s", prefix, key) : mem_text(key);
        if (json_is_object(value))
            TRY(flatten(value, path, env, err));
        else if (json_is_string(value))
            environment_set(env, path, json_string_value(value));
        else if (json_is_boolean(value))
            environment_set_flag(env, path, json_is_true(value));
        else if (json_is_number(value))
            environment_set_number(env, path, json_number_value(value));
        else if (!json_is_null(value))
            return error_set(err, STATUS_USAGE,
                             "environment.%s: expected text, a number, a flag or an object", path);
    }
    return STATUS_OK;
}

static json_t *sweeps_to_json(const record_t *run) {
    json_t *list = json_array();
    for (size_t i = 0; i < run->n_sweeps; i++) {
        const sweep_text_t *sweep = &run->sweeps[i];
        json_t *item = json_pack("{s:o, s:s}", "path", json_text(sweep->path), "text", sweep->text);
        if (sweep->passes > 0)
            json_object_set_new(item, "passes", json_integer(sweep->passes));
        if (sweep->least_passes < sweep->passes) {
            json_object_set_new(item, "least_passes", json_integer(sweep->least_passes));
            json_object_set_new(item, "interval", json_real(sweep->interval_frac));
        }
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *passes_to_json(const record_t *run) {
    json_t *list = json_array();
    for (size_t i = 0; i < run->n_passes; i++)
        json_array_append_new(list, environment_to_json(&run->passes[i]));
    return list;
}

status_t record_write_header(const record_t *run, error_t *err) {
    json_t *json =
        json_pack("{s:i, s:s?, s:s?, s:o, s:I, s:o, s:o, s:o}", "schema", RESULT_SCHEMA, "started",
                  run->started, "finished", run->finished, "argv", json_texts(&run->argv), "seed",
                  (json_int_t)run->seed, "environment", environment_to_json(&run->environment),
                  "passes", passes_to_json(run), "sweeps", sweeps_to_json(run));
    if (run->shard != NULL)
        json_object_set_new(json, "shard", json_text(run->shard));
    if (run->left_out.n > 0)
        json_object_set_new(json, "left_out", json_texts(&run->left_out));
    if (run->operators != NULL)
        json_object_set(json, "operators", run->operators);
    if (run->knows_algorithmic)
        json_object_set_new(json, "algorithmic", json_texts(&run->algorithmic));
    if (run->digest != NULL)
        json_object_set(json, "digest", run->digest);
    AUTO_FREE char *path = fs_join(run->folder, HEADER);
    return json_save(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15), path, err);
}

/* A key of run.json. */
typedef struct key {
    const char *name;
    json_type type;
    const char *kind; /* for messages */
    bool required;
} json_key_t;

static const json_key_t SCHEMA = {"schema", JSON_INTEGER, "a whole number", true};

static status_t expect(const json_t *json, const json_key_t *key, const json_t **value,
                       error_t *err) {
    *value = json_object_get(json, key->name);
    if (json_is_null(*value))
        *value = NULL;
    if (*value == NULL && key->required)
        return error_set(err, STATUS_USAGE, "key '%s' is missing, expected %s", key->name,
                         key->kind);
    if (*value != NULL && json_typeof(*value) != key->type)
        return error_set(err, STATUS_USAGE, "key '%s': expected %s", key->name, key->kind);
    return STATUS_OK;
}

/* Shown in lists and charts. */
static char *shown_text(const json_t *json) {
    return text_plain(json_string_value(json));
}

static status_t read_texts(const char *key, const json_t *list, text_list_t *texts, error_t *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_string(item))
            return error_set(err, STATUS_USAGE, "%s[%zu]: expected text", key, i);
        text_list_take(texts, shown_text(item));
    }
    return STATUS_OK;
}

static status_t read_sweeps(const json_t *list, record_t *run, error_t *err) {
    size_t n = json_array_size(list);
    run->sweeps = mem_zeroed(n + 1, sizeof *run->sweeps);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *path = json_object_get(item, "path");
        const char *text = json_string_value(json_object_get(item, "text"));
        if (!json_is_string(path) || text == NULL)
            return error_set(err, STATUS_USAGE,
                             "sweeps[%zu]: expected an object with the texts 'path' and 'text'", i);
        const json_t *passes = json_object_get(item, "passes");
        const json_int_t n_passes = json_integer_value(passes);
        if (passes != NULL && (n_passes < 1 || n_passes > STATS_MOST_PASSES))
            return error_set(err, STATUS_USAGE, "sweeps[%zu].passes: expected 1 to %d", i,
                             STATS_MOST_PASSES);
        const json_t *least = json_object_get(item, "least_passes");
        const json_int_t n_least = least != NULL ? json_integer_value(least) : n_passes;
        if (n_least < (least != NULL) || n_least > n_passes)
            return error_set(err, STATUS_USAGE,
                             "sweeps[%zu].least_passes: expected 1 to its \"passes\"", i);
        const json_t *interval = json_object_get(item, "interval");
        if (interval != NULL && !(json_number_value(interval) > 0))
            return error_set(err, STATUS_USAGE, "sweeps[%zu].interval: expected a number above 0",
                             i);
        run->sweeps[run->n_sweeps++] = (sweep_text_t){
            .path = shown_text(path),
            .text = mem_text(text),
            .passes = (unsigned)n_passes,
            .least_passes = (unsigned)n_least,
            .interval_frac = interval != NULL ? json_number_value(interval) : (double)NAN};
    }
    return STATUS_OK;
}

static status_t read_passes(const json_t *list, record_t *run, error_t *err) {
    const size_t n = json_array_size(list);
    run->passes = mem_zeroed(n + 1, sizeof *run->passes);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_integer(json_object_get(item, "pass")))
            return error_set(err, STATUS_USAGE,
                             "passes[%zu]: expected an object with the number 'pass'", i);
        run->n_passes++;
        TRY(flatten(item, "", &run->passes[i], err));
    }
    return STATUS_OK;
}

unsigned record_pass_number(const environment_t *facts) {
    return (unsigned)strtoul(environment_get(facts, "pass"), NULL, 10);
}

static bool agrees(const environment_t *facts, const char *key, const char *value) {
    const char *known = environment_get(facts, key);
    return known == NULL || value == NULL || strcmp(known, value) == 0;
}

bool record_pass_is_on(const environment_t *facts, const char *host, const char *gpu) {
    return agrees(facts, "host", host) && agrees(facts, "gpu", gpu);
}

environment_t *record_pass(record_t *run, unsigned pass, const char *host, const char *gpu) {
    for (size_t i = 0; i < run->n_passes; i++)
        if (record_pass_number(&run->passes[i]) == pass &&
            record_pass_is_on(&run->passes[i], host, gpu))
            return &run->passes[i];
    run->passes = mem_resize(run->passes, run->n_passes + 1, sizeof *run->passes);
    environment_t *added = &run->passes[run->n_passes++];
    *added = (environment_t){0};
    environment_set_number(added, "pass", pass);
    return added;
}

status_t (*record_on_described)(const char *file, const json_t *description, error_t *err);

static status_t read_described(const json_t *operators, record_t *run, error_t *err) {
    const char *name;
    json_t *description;
    if (operators == NULL)
        return STATUS_OK;
    run->operators = json_deep_copy(operators);
    json_object_foreach(run->operators, name, description) {
        AUTO_FREE char *key = mem_format("operators.%s", name);
        if (record_on_described != NULL)
            TRY(record_on_described(key, description, err));
    }
    return STATUS_OK;
}

static status_t read_fields(const json_t *json, void *into, error_t *err) {
    record_t *run = into;
    const json_t *schema, *started, *finished, *seed, *argv, *sweeps, *left_out, *shard, *passes,
        *operators, *algorithmic, *digest, *environment;
    const struct {
        json_key_t key;
        const json_t **value;
    } KEYS[] = {{{"started", JSON_STRING, "text", false}, &started},
                {{"finished", JSON_STRING, "text", false}, &finished},
                {{"seed", JSON_INTEGER, "a whole number", true}, &seed},
                {{"argv", JSON_ARRAY, "a list", false}, &argv},
                {{"sweeps", JSON_ARRAY, "a list", false}, &sweeps},
                {{"left_out", JSON_ARRAY, "a list", false}, &left_out},
                {{"shard", JSON_STRING, "text", false}, &shard},
                {{"passes", JSON_ARRAY, "a list", false}, &passes},
                {{"operators", JSON_OBJECT, "an object", false}, &operators},
                {{"algorithmic", JSON_ARRAY, "a list", false}, &algorithmic},
                {{"digest", JSON_OBJECT, "an object", false}, &digest},
                {{"environment", JSON_OBJECT, "an object", true}, &environment}};
    TRY(expect(json, &SCHEMA, &schema, err));
    const json_int_t number = json_integer_value(schema);
    if (number < RESULT_OLDEST_SCHEMA || number > RESULT_SCHEMA)
        return error_set(err, STATUS_USAGE,
                         "found schema %lld, expected %d to %d: made by a different version",
                         (long long)number, RESULT_OLDEST_SCHEMA, RESULT_SCHEMA);
    run->schema = (int)number;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        TRY(expect(json, &KEYS[i].key, KEYS[i].value, err));
    run->started = shown_text(started);
    run->finished = shown_text(finished);
    run->seed = (uint64_t)json_integer_value(seed);
    run->shard = shown_text(shard);
    TRY(read_texts("argv", argv, &run->argv, err));
    TRY(read_texts("left_out", left_out, &run->left_out, err));
    TRY(read_sweeps(sweeps, run, err));
    TRY(read_passes(passes, run, err));
    TRY(read_described(operators, run, err));
    TRY(read_texts("algorithmic", algorithmic, &run->algorithmic, err));
    run->knows_algorithmic = algorithmic != NULL;
    run->digest = json_deep_copy(digest);
    return flatten(environment, "", &run->environment, err);
}

static char *last_part(const char *folder) {
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && folder[start - 1] != '/')
        start--;
    return mem_text_n(folder + start, end - start);
}

/* Read <folder>/run.json with `read`; its messages get the path in front. */
static status_t read_header(const char *folder,
                            status_t (*read)(const json_t *json, void *into, error_t *err),
                            void *into, error_t *err) {
    AUTO_FREE char *path = fs_join(folder, HEADER), *text = NULL;
    size_t size;
    json_error_t where;
    TRY(fs_read(path, &text, &size, err));
    json_auto_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (json == NULL)
        return error_set(err, STATUS_USAGE, "%s:%d: not JSON: %s", path, where.line, where.text);
    const status_t status = read(json, into, err);
    return status == STATUS_OK ? STATUS_OK : error_within(err, "%s", path);
}

static status_t read_schema(const json_t *json, void *schema, error_t *err) {
    const json_t *value;
    TRY(expect(json, &SCHEMA, &value, err));
    *(long long *)schema = json_integer_value(value);
    return STATUS_OK;
}

status_t record_read_schema(const char *folder, long long *schema, error_t *err) {
    return read_header(folder, read_schema, schema, err);
}

status_t record_read_header(const char *folder, record_t *run, error_t *err) {
    run->folder = mem_text(folder);
    run->name = last_part(folder);
    return read_header(folder, read_fields, run, err);
}

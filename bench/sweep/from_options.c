#include "base/memory.h"
#include "io/json.h"
#include "sweep/plan.h"
#include "workloads/described/described.h"

#include <stdlib.h>
#include <string.h>

/* The file name in messages. */
static const char SOURCE[] = "(command line)";

/* "(command line): $.axes.batch[0]: found …" -> "--set batch: found …": the options were made a sweep, which the user has
 * not seen. */
static void name_the_option(error_t *err) {
    static const struct {
        const char *path, *option;
    } OPTIONS[] = {{"$.axes.", "--set "},
                   {"$.contenders[0].variants", "--variant"},
                   {"$.contenders[0].engine", "--engine"},
                   {"$.contenders[0].device", "--set device"},
                   {"$.contenders[0].techniques", "--set"},
                   {"$: ", ""}};
    const status_t status = err->status;
    const char *path = err->text + sizeof SOURCE + 1, *rest = strstr(path, ": ");
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS && rest != NULL; i++) {
        if (!text_starts(err->text, SOURCE) || !text_starts(path, OPTIONS[i].path))
            continue;
        const char *name = path + strlen(OPTIONS[i].path);
        const int length = i == 0 ? (int)strcspn(name, "[:") : 0;
        const bool whole = OPTIONS[i].option[0] == '\0';
        AUTO_FREE char *text =
            mem_format("%s%.*s%s", OPTIONS[i].option, length, name, whole ? rest + 2 : rest);
        error_clear(err);
        error_set(err, status, "%s", text);
        break;
    }
}

static status_t check_utf8(const char *option, const char *text, error_t *err) {
    json_auto_t *json = text != NULL ? json_string(text) : json_null();
    return json != NULL
               ? STATUS_OK
               : error_set(err, STATUS_USAGE, "%s: found bytes that are not UTF-8", option);
}

static status_t check_options(const sweep_options_t *options, error_t *err) {
    TRY(check_utf8("--workload", options->workload, err));
    TRY(check_utf8("--variant", options->variant, err));
    TRY(check_utf8("--engine", options->engine, err));
    for (size_t i = 0; i < options->n_sets; i++)
        TRY(check_utf8("--set", options->sets[i], err));
    return STATUS_OK;
}

/* "--set: unknown key "x" of softmax (known: …)". Frees `known`. */
static status_t unknown(const char *option, const char *what, const workload_t *workload,
                        text_list_t *known, const char *word, error_t *err) {
    AUTO_FREE char *where = mem_format(" of %s", workload->name);
    const vocabulary_t names = {what, where, (const char *const *)known->items, known->n};
    AUTO_FREE char *complaint = vocabulary_complaint(&names, word);
    error_set(err, STATUS_USAGE, "%s: %s", option, complaint);
    text_list_free(known);
    return STATUS_USAGE;
}

static status_t find_workload(const char *name, const workload_t **workload, error_t *err) {
    if (name == NULL)
        return error_set(err, STATUS_USAGE, "--workload is missing");
    *workload = workload_find(name);
    if (*workload != NULL)
        return STATUS_OK;
    AUTO_FREE char *complaint = sweep_unknown_workload(name);
    return error_set(err, STATUS_USAGE, "--workload: %s", complaint);
}

static json_t *integers_json(const char *text) {
    json_t *list = json_array();
    AUTO(text_list_free) text_list_t parts = text_split(text, '-');
    for (size_t i = 0; i < parts.n; i++) {
        json_auto_t *number = json_loads(parts.items[i], JSON_DECODE_ANY, NULL);
        json_array_append_new(list, json_is_number(number) ? json_incref(number)
                                                           : json_string(parts.items[i]));
    }
    return list;
}

/* A number if the text is one; other texts stay, and the sweep's checks refuse them. */
static json_t *value_json(const char *text, value_kind_t kind) {
    if (kind == VALUE_INTS)
        return integers_json(text);
    json_t *number = kind == VALUE_TEXT ? NULL : json_loads(text, JSON_DECODE_ANY, NULL);
    if (json_is_number(number))
        return number;
    json_decref(number);
    return json_string(text);
}

static json_t *values_json(const char *text, value_kind_t kind) {
    json_t *list = json_array();
    AUTO(text_list_free) text_list_t parts = text_split(text, ',');
    for (size_t i = 0; i < parts.n; i++)
        json_array_append_new(list, value_json(parts.items[i], kind));
    return list;
}

/* The parts of the sweep that --set fills. */
typedef struct settings {
    json_t *axes, *techniques; /* objects */
    json_t *device;            /* NULL until set */
} settings_t;

static status_t unknown_key(const workload_t *workload, const char *key, error_t *err) {
    text_list_t known = {0};
    for (size_t i = 0; i < workload->n_params; i++)
        text_list_add(&known, workload->params[i].name);
    text_list_add(&known, "dtype");
    for (size_t i = 0; i < workload->n_techniques; i++)
        text_list_add(&known, workload->techniques[i].name);
    text_list_add(&known, "device");
    return unknown("--set", "key", workload, &known, key, err);
}

static status_t apply_set(const workload_t *workload, const char *key, const char *text,
                          settings_t *settings, error_t *err) {
    const param_spec_t *param = workload_param(workload, key);
    json_t *part = NULL;
    if (param != NULL || strcmp(key, "dtype") == 0)
        part = settings->axes;
    else if (workload_technique(workload, key) != NULL)
        part = settings->techniques;
    else if (strcmp(key, "device") != 0)
        return unknown_key(workload, key, err);

    json_t *already = part != NULL ? json_object_get(part, key) : settings->device;
    if (already != NULL)
        return error_set(err, STATUS_USAGE,
                         "--set: \"%s\" is set twice; give several values as %s=a,b", key, key);
    json_t *values = values_json(text, param != NULL ? param->kind : VALUE_TEXT);
    if (part != NULL)
        json_object_set_new(part, key, values);
    else
        settings->device = values;
    return STATUS_OK;
}

static status_t apply_sets(const workload_t *workload, const sweep_options_t *options,
                           settings_t *settings, error_t *err) {
    for (size_t i = 0; i < options->n_sets; i++) {
        const char *set = options->sets[i], *equals = strchr(set, '=');
        if (equals == NULL)
            return error_set(err, STATUS_USAGE, "--set: found \"%s\", expected key=value", set);
        AUTO_FREE char *key = mem_text_n(set, (size_t)(equals - set));
        TRY(apply_set(workload, key, equals + 1, settings, err));
    }
    return STATUS_OK;
}

/* Names of `wanted` that are known; "*" is, unless `known` is empty. */
static json_t *select_variants(const text_list_t *wanted, const text_list_t *known) {
    json_t *list = json_array();
    for (size_t i = 0; i < wanted->n; i++) {
        const char *name = wanted->items[i];
        if (strcmp(name, "*") == 0 ? known->n > 0 : text_list_has(known, name))
            json_array_append_new(list, json_string(name));
    }
    return list;
}

/* Rungs of a described workload are launched one by one, which has times of all phases, and in a graph, as
 * PyTorch's best modes, unless its description says how. */
static void add_launches(const workload_t *workload, json_t *techniques) {
    const description_t *description = described_find(workload->name);
    json_auto_t *launches = json_pack("{s:[s, s]}", "launch", "stream", "graph");
    if (description != NULL && json_object_get(description->json, "techniques") == NULL)
        json_object_update_missing(techniques, launches);
}

static json_t *contender_json(const workload_t *workload, const char *engine, json_t *variants,
                              const settings_t *settings) {
    json_t *contender = json_pack("{s:s, s:o}", "engine", engine, "variants", variants);
    json_auto_t *techniques =
        settings->techniques != NULL ? json_copy(settings->techniques) : json_object();
    if (strcmp(engine, "cuda") == 0)
        add_launches(workload, techniques);
    if (json_object_size(techniques) > 0)
        json_object_set(contender, "techniques", techniques);
    if (settings->device != NULL)
        json_object_set(contender, "device", settings->device);
    return contender;
}

/* Only their workers know the variants of the user's own engines. */
static void add_engines_hint(const char *root, error_t *err) {
    AUTO(text_list_free) text_list_t engines = {0};
    own_engines(root, &engines, NULL);
    if (engines.n > 0) {
        AUTO_FREE char *text = mem_text(err->text), *names = text_list_join(&engines, ", ");
        error_clear(err);
        error_set(err, STATUS_USAGE, "%s; those of %s need --engine", text, names);
    }
}

/* Of all variants, those that run on a device that was not asked for are left out. */
static bool is_asked_for(const char *engine, const text_list_t *wanted,
                         const settings_t *settings) {
    const char *device = strcmp(engine, "cuda") == 0 ? "cuda" : "cpu";
    if (settings->device == NULL || !case_engine_is_built_in(engine) || !text_list_has(wanted, "*"))
        return true;
    for (size_t i = 0; i < json_array_size(settings->device); i++)
        if (strcmp(json_string_value(json_array_get(settings->device, i)), device) == 0)
            return true;
    return false;
}

/* One contender per engine that has any of the wanted variants. */
static status_t add_every_engine(const workload_t *workload, const char *root,
                                 const text_list_t *wanted, const settings_t *settings,
                                 json_t *contenders, error_t *err) {
    size_t n_engines;
    const char *const *engines = workload_engines(&n_engines);
    AUTO(text_list_free) text_list_t all = {0};
    for (size_t e = 0; e < n_engines; e++) {
        AUTO(text_list_free) text_list_t known = {0};
        TRY(workload_variants(workload, engines[e], root, &known, err));
        json_t *variants = select_variants(wanted, &known);
        const settings_t own = {
            .techniques = strcmp(engines[e], "cuda") == 0 ? settings->techniques : NULL,
            .device = case_engine_is_built_in(engines[e]) ? NULL : settings->device};
        if (json_array_size(variants) > 0 && is_asked_for(engines[e], wanted, settings))
            json_array_append_new(contenders, contender_json(workload, engines[e], variants, &own));
        else
            json_decref(variants);
        for (size_t i = 0; i < known.n; i++)
            text_list_add_new(&all, known.items[i]);
    }
    for (size_t i = 0; i < wanted->n; i++)
        if (strcmp(wanted->items[i], "*") != 0 && !text_list_has(&all, wanted->items[i])) {
            unknown("--variant", "variant", workload, &all, wanted->items[i], err);
            add_engines_hint(root, err);
            return STATUS_USAGE;
        }
    return STATUS_OK;
}

static bool uses_engine(const json_t *contenders, const char *engine) {
    for (size_t i = 0; i < json_array_size(contenders); i++) {
        json_t *name = json_object_get(json_array_get(contenders, i), "engine");
        if (strcmp(json_string_value(name), engine) == 0)
            return true;
    }
    return false;
}

/* A setting that applies to no contender must not be ignored silently. */
static status_t check_settings_used(const settings_t *settings, const json_t *contenders,
                                    error_t *err) {
    if (json_object_size(settings->techniques) > 0 && !uses_engine(contenders, "cuda"))
        return error_set(err, STATUS_USAGE,
                         "--set: \"%s\" applies to engine cuda only, which is not in this run",
                         json_object_iter_key(json_object_iter(settings->techniques)));
    if (settings->device != NULL && !uses_engine(contenders, "pytorch") &&
        !uses_engine(contenders, "jax") && !uses_engine(contenders, "python"))
        return error_set(err, STATUS_USAGE,
                         "--set: \"device\" applies to pytorch, jax and python only, which are not "
                         "in this run");
    return STATUS_OK;
}

/* What the sweep's checks would say of a place in a sweep that nobody wrote. */
static status_t check_engine(const sweep_options_t *options, const char *root, error_t *err) {
    const char *engine = options->engine, *variant = options->variant;
    if (strchr(engine, ',') != NULL)
        return error_set(err, STATUS_USAGE,
                         "--engine: found \"%s\", expected one; without --engine all that have the "
                         "variants are run, and a sweep may name several",
                         engine);
    if ((variant == NULL || strcmp(variant, "*") == 0) && is_own_engine(root, engine))
        return error_set(err, STATUS_USAGE,
                         "--variant is needed with --engine %s: `bench list variants` names them",
                         engine);
    return STATUS_OK;
}

static status_t make_contenders(const workload_t *workload, const sweep_options_t *options,
                                const char *root, const settings_t *settings, json_t *contenders,
                                error_t *err) {
    if (options->engine != NULL)
        TRY(check_engine(options, root, err));
    AUTO(text_list_free)
    text_list_t wanted = text_split(options->variant != NULL ? options->variant : "*", ',');
    status_t status = STATUS_OK;
    if (options->engine != NULL) { /* the sweep's checks refuse settings that do not apply to it */
        json_array_append_new(
            contenders, contender_json(workload, options->engine, json_texts(&wanted), settings));
    } else {
        status = add_every_engine(workload, root, &wanted, settings, contenders, err);
        if (status == STATUS_OK)
            status = check_settings_used(settings, contenders, err);
    }
    return status;
}

/* What a workload's description gives for axes that are not set. */
static void add_default_axes(const workload_t *workload, bool quick, json_t *axes) {
    const description_t *description = described_find(workload->name);
    if (description == NULL)
        return;
    const json_t *sweep = json_object_get(description->json, "sweep");
    json_object_update_missing(axes, json_object_get(sweep, quick ? "quick" : "full"));
}

status_t sweep_from_options(const sweep_options_t *options, const char *root, sweep_t *sweep,
                            error_t *err) {
    *sweep = (sweep_t){0};
    const workload_t *workload = NULL;
    TRY(check_options(options, err));
    TRY(find_workload(options->workload, &workload, err));
    settings_t settings = {.axes = json_object(), .techniques = json_object()};
    json_auto_t *contenders = json_array();
    status_t status = apply_sets(workload, options, &settings, err);
    add_default_axes(workload, options->quick, settings.axes);
    if (status == STATUS_OK)
        status = make_contenders(workload, options, root, &settings, contenders, err);
    if (status == STATUS_OK) {
        json_auto_t *json = json_pack("{s:i, s:s, s:s, s:O}", "schema", 1, "name", workload->name,
                                      "workload", workload->name, "contenders", contenders);
        if (json_object_size(settings.axes) > 0)
            json_object_set(json, "axes", settings.axes);
        if (options->quick && options->engine == NULL && settings.device == NULL &&
            described_find(workload->name) != NULL)
            json_object_set_new(json, "cpu", json_string("without_gpu"));
        AUTO_FREE char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        status = sweep_parse(SOURCE, text, root, sweep, err);
        if (status != STATUS_OK)
            name_the_option(err);
    }
    json_decref(settings.axes);
    json_decref(settings.techniques);
    json_decref(settings.device);
    return status;
}

status_t sweep_of_folder(const char *folder, bool quick, const char *root, sweep_t *sweep,
                         error_t *err) {
    const workload_t *workload;
    AUTO_FREE char *resolved = realpath(folder, NULL);
    *sweep = (sweep_t){0};
    TRY(workload_add_described(resolved != NULL ? resolved : folder, &workload, err));
    const sweep_options_t options = {.workload = workload->name, .quick = quick};
    TRY(sweep_from_options(&options, root, sweep, err));
    free(sweep->path);
    sweep->path = mem_text(folder);
    return STATUS_OK;
}

#include "base/memory.h"
#include "base/text.h"
#include "io/folders.h"
#include "io/fs.h"
#include "model/result.h"
#include "results/study_csv.h"
#include "workloads/common/workload.h"
#include "workloads/described/described.h"

#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ==== ways of a described workload's Python file ======================================================= */

/* The ways in which a described workload's Python file NAME.py is run, as far as its text tells; its worker, which
 * imports it, has the last word (reference_python/ways.py). */

static const char GRAPH[] = "+graph", COMPILE[] = "+compile";

typedef enum setting { UNSET, IS_FALSE, IS_TRUE } setting_t;

typedef struct script {
    setting_t graph, compile; /* GRAPH = …, COMPILE = … at the start of a line */
    bool is_plain;            /* imports nothing but PyTorch and what computes nothing */
    bool is_imported;         /* written by `bench workload import` */
} script_t;

/* Beside torch: modules whose functions torch.compile traces, or that a forward pass does not call. */
static const char *const PLAIN[] = {
    "torch",     "math",     "__future__", "typing",      "functools",   "numpy",  "random", "os",
    "sys",       "warnings", "abc",        "collections", "dataclasses", "einops", "enum",   "copy",
    "itertools", "operator", "numbers",    "time",        "logging",     "string"};
/* Kernels of one's own by way of torch. */
static const char *const NOT_PLAIN[] = {"cpp_extension", "torch.library", "torch.ops",
                                        "torch.cuda._"};

static void read_script(const char *folder, const char *stem, text_list_t *seen, script_t *script);

/* The module after `at`; "" for a relative one. The caller frees it. */
static char *module_at(const char *at) {
    at += strspn(at, " \t");
    return mem_text_n(at, strcspn(at, " \t.,;#"));
}

static void read_module(const char *folder, const char *module, text_list_t *seen,
                        script_t *script) {
    AUTO_FREE char *beside = mem_format("%s/%s.py", folder, module);
    script->is_imported = script->is_imported || strcmp(module, "imported") == 0;
    bool known = strcmp(module, "imported") == 0 ||
                 text_is_one_of(module, PLAIN, sizeof PLAIN / sizeof *PLAIN);
    if (!known && fs_exists(beside)) {
        script_t other = {.is_plain = true};
        if (!text_list_has(seen, module))
            read_script(folder, module, seen, &other);
        known = other.is_plain;
    }
    script->is_plain = script->is_plain && known;
}

/* "import a.b as c, d" or "from a.b import c". */
static void read_import(const char *folder, const char *line, text_list_t *seen, script_t *script) {
    const bool from = text_starts(line, "from ");
    if (!from && !text_starts(line, "import "))
        return;
    const char *at = line + strlen(from ? "from" : "import");
    do {
        AUTO_FREE char *module = module_at(at);
        read_module(folder, module, seen, script);
        at = strchr(at, ',');
    } while (!from && at++ != NULL);
}

static void read_setting(const char *line, const char *name, setting_t *setting) {
    if (!text_starts(line, name))
        return;
    const char *at = line + strlen(name);
    at += strspn(at, " \t");
    if (*at != '=')
        return;
    at++;
    at += strspn(at, " \t");
    *setting = text_starts(at, "True") ? IS_TRUE : text_starts(at, "False") ? IS_FALSE : *setting;
}

/* How often the line opens or closes a text of several lines. */
static size_t count_quotes(const char *line) {
    size_t n = 0;
    for (; *line != '\0'; line++)
        if (text_starts(line, "\"\"\"") || text_starts(line, "'''")) {
            n++;
            line += 2;
        }
    return n;
}

static void read_script(const char *folder, const char *stem, text_list_t *seen, script_t *script) {
    AUTO_FREE char *path = mem_format("%s/%s.py", folder, stem), *text = NULL;
    size_t size;
    text_list_add(seen, stem);
    /* Its worker will say what is wrong. */
    *script = (script_t){.is_plain = fs_read(path, &text, &size, NULL) == STATUS_OK};
    if (!script->is_plain)
        return;
    for (size_t i = 0; i < sizeof NOT_PLAIN / sizeof *NOT_PLAIN; i++)
        script->is_plain = script->is_plain && strstr(text, NOT_PLAIN[i]) == NULL;
    AUTO(text_list_free) text_list_t lines = text_split(text, '\n');
    bool quoted = false;
    for (size_t i = 0; i < lines.n; i++) {
        const char *line = lines.items[i];
        if (!quoted) {
            read_setting(line, "GRAPH", &script->graph);
            read_setting(line, "COMPILE", &script->compile);
            read_import(folder, line + strspn(line, " \t"), seen, script);
        }
        quoted = quoted != (count_quotes(line) % 2 == 1);
    }
}

static script_t script_of(const char *folder, const char *stem) {
    script_t script;
    AUTO(text_list_free) text_list_t seen = {0};
    read_script(folder, stem, &seen, &script);
    return script;
}

static void add_way(const char *stem, const char *way, text_list_t *variants) {
    AUTO_FREE char *variant = mem_format("%s%s", stem, way);
    text_list_add_new(variants, variant); /* a file may have this name */
}

/* Append the file's variants:
 *   NAME          called as it is; with GRAPH = True in the file captured in a CUDA graph;
 *   NAME+graph    captured by the harness, unless the file sets GRAPH;
 *   NAME+compile  compiled by torch.compile, if the file has COMPILE = True, or is plain PyTorch and
 *                 sets neither COMPILE nor GRAPH. */
static void script_add_variants(const char *folder, const char *stem, text_list_t *variants) {
    const script_t script = script_of(folder, stem);
    const bool is_free = script.graph == UNSET && script.compile == UNSET;
    add_way(stem, "", variants);
    if (script.graph == UNSET)
        add_way(stem, GRAPH, variants);
    if (script.compile == IS_TRUE || (is_free && script.is_plain))
        add_way(stem, COMPILE, variants);
}

/* Does "*" leave out the variant on the CPU? Graphs need a GPU; there, compiling takes longer than
 * measuring, so only imported problems and files with COMPILE = True are compiled. */
static bool script_variant_is_for_gpu(const char *folder, const char *variant) {
    if (text_ends(variant, GRAPH))
        return true;
    if (!text_ends(variant, COMPILE))
        return false;
    AUTO_FREE char *stem = mem_text_n(variant, strlen(variant) - strlen(COMPILE));
    const script_t script = script_of(folder, stem);
    return script.compile != IS_TRUE && !script.is_imported;
}

static const workload_t *const TABLE[] = {&workload_null, &workload_device, &workload_allocate};

enum { N_WORKLOADS = sizeof TABLE / sizeof TABLE[0] };

static const struct {
    const char *engine;
    const session_ops_t *ops;
} SESSIONS[] = {
    {"null", &null_synthetic},   {"cuda", &null_cuda},       {"cpu", &device_copy_cpu},
    {"cuda", &device_copy_cuda}, {"cpu", &allocate_session}, {"cuda", &allocate_session},
    {"cpu", &described_c},       {"cuda", &described_cuda},
};

const session_ops_t *workload_session(const char *engine, size_t index) {
    for (size_t i = 0; i < sizeof SESSIONS / sizeof *SESSIONS; i++)
        if (strcmp(SESSIONS[i].engine, engine) == 0 && index-- == 0)
            return SESSIONS[i].ops;
    return NULL;
}

static const char *const ENGINES[] = {"cuda", "cpu", "null", "pytorch", "jax", "python"};

static const workload_t *find_built_in(const char *name) {
    for (size_t i = 0; i < N_WORKLOADS; i++)
        if (strcmp(TABLE[i]->name, name) == 0)
            return TABLE[i];
    return NULL;
}

static bool is_built_in(const char *name) {
    return find_built_in(name) != NULL;
}

const workload_t *workload_find(const char *name) {
    const workload_t *built_in = find_built_in(name);
    return built_in != NULL ? built_in : described_find_workload(name);
}

/* ==== the list ================================================================================ */

status_t workload_add_described(const char *folder, const workload_t **added, error_t *err) {
    const description_t *description;
    TRY(described_add(folder, is_built_in, &description, err));
    *added = workload_find(description->name);
    return STATUS_OK;
}

void workload_search_described(const char *root, void (*left_out)(const char *why)) {
    AUTO_FREE char *project = folders_project(root);
    described_search(root, is_built_in, left_out);
    if (strcmp(project, root) != 0)
        described_search(project, is_built_in, left_out);
}

const param_spec_t *workload_param(const workload_t *workload, const char *name) {
    for (size_t i = 0; i < workload->n_params; i++)
        if (strcmp(workload->params[i].name, name) == 0)
            return &workload->params[i];
    return NULL;
}

const technique_spec_t *workload_technique(const workload_t *workload, const char *name) {
    for (size_t i = 0; i < workload->n_techniques; i++)
        if (strcmp(workload->techniques[i].name, name) == 0)
            return &workload->techniques[i];
    return NULL;
}

const workload_t *workload_at(size_t index) {
    return index < N_WORKLOADS ? TABLE[index] : described_workload(index - N_WORKLOADS);
}

const study_t *workload_study(const record_t *run) {
    const workload_t *workload;
    for (size_t i = 0; run == NULL && (workload = workload_at(i)) != NULL; i++)
        if (workload->study != NULL)
            return workload->study;
    for (size_t i = 0; run != NULL && i < run->n_cases; i++)
        if ((workload = workload_find(run->cases[i].spec.workload)) != NULL &&
            workload->study != NULL)
            return workload->study;
    return NULL;
}

const char *const *workload_engines(size_t *n) {
    *n = sizeof ENGINES / sizeof ENGINES[0];
    return ENGINES;
}

/* Asserts, because defaults are constants of this program; a test reads those of every workload. */
static value_t default_value(const param_spec_t *param) {
    json_auto_t *json = json_loads(param->default_json, JSON_DECODE_ANY, NULL);
    value_t value = {0};
    status_t status = value_from_json(json, &value, NULL);
    assert(status == STATUS_OK);
    (void)status;
    if (param->kind == VALUE_REAL && value.kind == VALUE_INT)
        value = (value_t){.kind = VALUE_REAL, .real = (double)value.integer};
    assert(value.kind == param->kind);
    return value;
}

case_t workload_defaults(const workload_t *workload) {
    case_t spec = {
        .workload = mem_text(workload->name),
        .engine = mem_text("cpu"),
        .device = mem_text("cpu"),
        .variant = mem_text(""),
        .dtype = mem_text(workload->dtypes[0]),
    };
    for (size_t i = 0; i < workload->n_params; i++) {
        AUTO(value_free) value_t value = default_value(&workload->params[i]);
        case_add_param(&spec, workload->params[i].name, &value);
    }
    for (size_t i = 0; i < workload->n_techniques; i++)
        case_add_technique(&spec, workload->techniques[i].name, workload->techniques[i].choices[0]);
    return spec;
}

static named_value_t *list_find(named_value_t *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

/* Put `*list` into the order of `defaults` and add what it lacks. Entries that are not in the
 * defaults move to the end, so that they appear in the id. */
static void complete_list(named_value_t **list, size_t *n, const named_value_t *defaults,
                          size_t n_defaults) {
    named_value_t *merged = mem_zeroed(n_defaults + *n + 1, sizeof *merged);
    size_t n_merged = 0;
    for (size_t i = 0; i < n_defaults; i++) {
        named_value_t *given = list_find(*list, *n, defaults[i].name);
        if (given != NULL) {
            merged[n_merged++] = *given;
            *given = (*list)[--*n];
        } else {
            merged[n_merged++] = (named_value_t){.name = mem_text(defaults[i].name),
                                                 .value = value_copy(&defaults[i].value)};
        }
    }
    for (size_t i = 0; i < *n; i++)
        merged[n_merged++] = (*list)[i];
    free(*list);
    *list = merged;
    *n = n_merged;
}

bool workload_engine_uses_cuda(const char *engine) {
    return strcmp(engine, "cuda") == 0 || strcmp(engine, "pytorch") == 0 ||
           strcmp(engine, "jax") == 0 || strcmp(engine, "python") == 0;
}

void workload_complete(const workload_t *workload, case_t *spec) {
    AUTO(case_free) case_t defaults = workload_defaults(workload);
    bool cuda = strcmp(spec->engine, "cuda") == 0;
    complete_list(&spec->params, &spec->n_params, defaults.params, defaults.n_params);
    complete_list(&spec->techniques, &spec->n_techniques, defaults.techniques,
                  cuda ? defaults.n_techniques : 0);
    if (spec->workload == NULL)
        spec->workload = mem_text(workload->name);
    if (spec->device == NULL)
        spec->device = mem_text(workload_engine_uses_cuda(spec->engine) ? "cuda" : "cpu");
    if (spec->dtype == NULL)
        spec->dtype = mem_text(workload->dtypes[0]);

    AUTO_FREE const char **always = mem_zeroed(workload->n_params + 1, sizeof *always);
    size_t n_always = 0;
    for (size_t i = 0; i < workload->n_params; i++)
        if (workload->params[i].always_in_id)
            always[n_always++] = workload->params[i].name;
    case_set_id(spec, &defaults, always, n_always);
}

static bool in_range(const param_spec_t *param, const value_t *value) {
    if (value->kind == VALUE_INT)
        return (double)value->integer >= param->min && (double)value->integer <= param->max;
    if (value->kind == VALUE_REAL)
        return value->real >= param->min && value->real <= param->max;
    bool good = value->n_ints >= param->min_items && value->n_ints <= param->max_items;
    for (size_t i = 0; i < value->n_ints; i++)
        good = good && (double)value->ints[i] >= param->min && (double)value->ints[i] <= param->max;
    return good;
}

status_t workload_check(const workload_t *workload, const case_t *spec, error_t *err) {
    for (size_t i = 0; i < workload->n_params; i++) {
        const param_spec_t *param = &workload->params[i];
        const value_t *value = case_param(spec, param->name);
        if (value == NULL || value->kind != param->kind)
            return error_set(err, STATUS_FAILED, "\"params.%s\" is missing or of the wrong type",
                             param->name);
        if (!in_range(param, value))
            return error_set(err, STATUS_FAILED, "\"params.%s\" is out of range", param->name);
    }
    for (size_t i = 0; workload->dtypes[i] != NULL; i++)
        if (strcmp(workload->dtypes[i], spec->dtype) == 0)
            return workload->validate != NULL ? workload->validate(spec, err) : STATUS_OK;
    return error_set(err, STATUS_FAILED, "%s has no dtype \"%s\"", workload->name, spec->dtype);
}

char *workload_group(const workload_t *workload, const case_t *spec) {
    AUTO(case_free) case_t defaults = workload_defaults(workload);
    return case_group(spec, &defaults);
}

char *workload_folder(const char *root, const workload_t *workload) {
    AUTO_FREE char *of_root = mem_format("%s/kernels/%s", root, workload->name);
    const bool is_there = workload->is_of_project && fs_is_folder(of_root);
    return mem_text(workload->folder == NULL || is_there ? of_root : workload->folder);
}

/* Stems of the files that end in `ending`. */
static status_t list_stems(const char *root, const workload_t *workload, const char *ending,
                           text_list_t *stems, error_t *err) {
    AUTO_FREE char *folder = workload_folder(root, workload);
    AUTO(text_list_free) text_list_t files = {0};
    if (fs_is_folder(folder))
        TRY(fs_list(folder, ending, &files, err));
    for (size_t i = 0; i < files.n; i++) {
        AUTO_FREE char *stem = fs_stem(files.items[i]);
        if (text_is_name(stem)) /* not an editor's ".#01_study.cu" */
            text_list_add(stems, stem);
    }
    return STATUS_OK;
}

/* Of an operator, beside its rungs. */
static status_t list_implementations(const char *root, const workload_t *workload,
                                     const char *ending, text_list_t *stems, error_t *err) {
    AUTO(text_list_free) text_list_t all = {0};
    if (workload->pytorch_oracle != NULL)
        TRY(list_stems(root, workload, ending, &all, err));
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.items[i], "reference") != 0 && all.items[i][0] != '_')
            text_list_add(stems, all.items[i]);
    return STATUS_OK;
}

status_t workload_scripts(const workload_t *workload, const char *root, text_list_t *stems,
                          error_t *err) {
    return list_implementations(root, workload, ".py", stems, err);
}

static status_t list_script_variants(const char *root, const workload_t *workload,
                                     text_list_t *variants, error_t *err) {
    AUTO(text_list_free) text_list_t stems = {0};
    TRY(workload_scripts(workload, root, &stems, err));
    AUTO_FREE char *folder = workload_folder(root, workload);
    for (size_t i = 0; i < stems.n; i++)
        script_add_variants(folder, stems.items[i], variants);
    return STATUS_OK;
}

bool workload_variant_is_for_gpu(const workload_t *workload, const char *engine, const char *root,
                                 const char *variant) {
    if (strcmp(engine, "python") != 0)
        return false;
    AUTO_FREE char *folder = workload_folder(root, workload);
    return script_variant_is_for_gpu(folder, variant);
}

bool workload_is_in_c(const workload_t *workload, const char *engine) {
    return workload->pytorch_oracle != NULL && strcmp(engine, "cpu") == 0;
}

bool workload_is_cuda_builtin(const workload_t *workload, const char *variant) {
    for (const char *const *name = workload->cuda_builtin; name != NULL && *name != NULL; name++)
        if (strcmp(*name, variant) == 0)
            return true;
    return false;
}

status_t workload_variants(const workload_t *workload, const char *engine, const char *root,
                           text_list_t *variants, error_t *err) {
    const char *const *names = NULL;
    if (strcmp(engine, "cuda") == 0) {
        TRY(list_stems(root, workload, ".cu", variants, err));
        names = workload->cuda_builtin;
    } else if (strcmp(engine, "cpu") == 0) {
        if (workload_is_in_c(workload, engine))
            TRY(list_implementations(root, workload, ".c", variants, err));
        names = workload->cpu_variants;
    } else if (strcmp(engine, "null") == 0) {
        names = workload->null_variants;
    } else if (strcmp(engine, "pytorch") == 0) {
        names = workload->pytorch_variants;
    } else if (strcmp(engine, "jax") == 0) {
        names = workload->jax_variants;
    } else if (strcmp(engine, "python") == 0) {
        TRY(list_script_variants(root, workload, variants, err));
    }
    for (; names != NULL && *names != NULL; names++)
        text_list_add(variants, *names);
    return STATUS_OK;
}

#include "workloads/described/description_read.h"

#include "base/memory.h"
#include "base/text.h"
#include "results/study_csv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ==== names =================================================================================== */

/* Names that mean something else in kernels, in expressions or in a case's id. */
static const char *const RESERVED[] = {
    /* C++20 */
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return",
    "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
    /* CUDA */
    "blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize",
    /* expressions, and kernels/common */
    "T", "dtype", "sm_count", "workspace", "itemsize", "ceil_div", "min", "max", "array_list",
    "by_value", "by_value_list"};

static bool is_reserved(const char *name) {
    return text_is_one_of(name, RESERVED, sizeof RESERVED / sizeof RESERVED[0]);
}

bool is_item_of(const char *list, const char *name) {
    const size_t length = strlen(list);
    return strncasecmp(name, list, length) == 0 && name[length] == '_' &&
           name[length + 1] != '\0' &&
           strspn(name + length + 1, "0123456789") == strlen(name + length + 1);
}

/* The list whose macros or files have this name; NULL: none. */
static const char *list_with(const description_t *description, const char *name) {
    for (size_t i = 0; i < description->params.n; i++) {
        const char *list = description->params.items[i];
        const bool is_length = strncasecmp(name, "n_", 2) == 0 && strcasecmp(name + 2, list) == 0;
        if (description->lists[i].n > 0 && (is_length || is_item_of(list, name)))
            return list;
    }
    for (size_t i = 0; i < description->n_arrays; i++)
        if (description->arrays[i].repeat != NULL && is_item_of(description->arrays[i].name, name))
            return description->arrays[i].name;
    return NULL;
}

static const char *taken_by(const description_t *description, const char *name) {
    if (text_list_has(&description->params, name))
        return "a param";
    for (size_t i = 0; i < description->n_arrays; i++)
        if (strcmp(description->arrays[i].name, name) == 0)
            return "an array";
    for (size_t i = 0; i < description->n_scalars; i++)
        if (strcmp(description->scalars[i].name, name) == 0)
            return "a scalar";
    for (size_t i = 0; i < description->n_own; i++)
        if (strcmp(description->own[i].name, name) == 0)
            return "a technique";
    return NULL;
}

status_t check_identifier(const node_t *node, const char *name, const description_t *description,
                          error_t *err) {
    if (!text_is_identifier(name, DESCRIBED_WORD))
        return node_error(node, err,
                          "found the name \"%s\", expected a letter, then letters, digits and "
                          "\"_\", at most %d",
                          name, DESCRIBED_WORD);
    if (is_reserved(name))
        return node_error(node, err, "found the name \"%s\", which is reserved", name);
    for (size_t i = 0; i < description->params.n; i++)
        if (strcasecmp(description->params.items[i], name) == 0 &&
            strcmp(description->params.items[i], name) != 0)
            return node_error(node, err,
                              "found the name \"%s\", which differs from \"%s\" in upper and "
                              "lower case only: programs have constants in upper case",
                              name, description->params.items[i]);
    if (name[1] == '\0' && name[0] >= 'A' && name[0] <= 'Z' &&
        description->types[0].itemsizes[name[0] - 'A'] > 0)
        return node_error(node, err, "found the name \"%s\", which is a type letter", name);
    if (description->steps != NULL && strcmp(name, DESCRIBED_STEP) == 0)
        return node_error(node, err, "found the name \"%s\", which a training has for its steps",
                          name);
    const char *other = taken_by(description, name), *list = list_with(description, name);
    if (other != NULL)
        return node_error(node, err, "found the name \"%s\", which is that of %s", name, other);
    if (list != NULL)
        return node_error(
            node, err, "found the name \"%s\", which is that of a part of the list %s", name, list);
    return STATUS_OK;
}

/* ==== params ================================================================================== */

status_t check_param_name(const node_t *node, const char *name, const description_t *description,
                          error_t *err) {
    static const char *const TAKEN[] = {"alloc",  "allocator", "copy", "device",  "engine",
                                        "launch", "variant",   "wait", "weights", "workload"};
    for (size_t i = 0; i < sizeof TAKEN / sizeof TAKEN[0]; i++)
        if (strcmp(name, TAKEN[i]) == 0)
            return node_error(node, err,
                              "found the name \"%s\", which is an option of every run: choose "
                              "another",
                              name);
    return check_identifier(node, name, description, err);
}

/* The items of a list, as a default or in a sweep; NULL: only checked. */
static status_t read_items(const node_t *node, const description_t *description, size_t param,
                           int64_t *items, error_t *err) {
    const size_t n = node_length(node), least = description->least_items[param];
    const size_t most = description->most_items[param];
    if (!json_is_array(node->json) || n < least || n > most) {
        char what[80];
        snprintf(what, sizeof what, "an array of %zu…%zu integers", least, most);
        return node_expected(node, err, what);
    }
    for (size_t i = 0; i < n; i++) {
        node_t item = node_item(node, i);
        int64_t value;
        TRY(node_integer(&item, (double)description->least[param], (double)description->most[param],
                         &value, err));
        if (items != NULL)
            items[i] = value;
    }
    return STATUS_OK;
}

/* A param is a list because its default is one. */
static status_t read_list(const node_t *node, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"min_items", "max_items"};
    const size_t p = description->params.n;
    size_t *const bounds[] = {&description->least_items[p], &description->most_items[p]};
    const node_t constant = node_member(node, "constant"),
                 by_default = node_member(node, "default");
    const bool is_list = json_is_array(by_default.json);
    description->least_items[p] = 1;
    description->most_items[p] = DESCRIBED_ITEMS;
    for (size_t i = 0; i < 2; i++) {
        const node_t bound = node_member(node, KEYS[i]);
        int64_t value = (int64_t)*bounds[i];
        if (node_exists(&bound) && !is_list)
            return node_error(&bound, err, "only for a list: its default is an array");
        if (node_exists(&bound))
            TRY(node_integer(&bound, (double)description->least_items[p], DESCRIBED_ITEMS, &value,
                             err));
        *bounds[i] = (size_t)value;
    }
    if (!is_list)
        return STATUS_OK;
    if (node_exists(&constant))
        return node_error(&constant, err, "a list is always compiled in: leave it out");
    int64_t items[DESCRIBED_ITEMS];
    TRY(read_items(&by_default, description, p, items, err));
    const size_t n = node_length(&by_default);
    int64_t *kept = mem_alloc(n * sizeof *kept);
    memcpy(kept, items, n * sizeof *kept);
    description->lists[p] = (scope_list_t){kept, n};
    description->constant[p] = true;
    return STATUS_OK;
}

/* Macros of a list have names that other params may have, too. */
static status_t check_list_name(const node_t *node, const char *name,
                                const description_t *description, error_t *err) {
    for (size_t i = 0; i < description->params.n; i++) {
        const char *other = description->params.items[i];
        const bool is_length = strncasecmp(other, "n_", 2) == 0 && strcasecmp(other + 2, name) == 0;
        if (is_length || is_item_of(name, other))
            return node_error(node, err,
                              "found the list \"%s\", whose part has the name of the param %s",
                              name, other);
    }
    return STATUS_OK;
}

/* An argument in capitals would be replaced by the macro of the same name. */
static status_t read_constant(const node_t *constant, const char *name, description_t *description,
                              error_t *err) {
    const size_t p = description->params.n;
    const char *text = json_is_string(constant->json) ? json_string_value(constant->json) : "";
    description->constant[p] = json_is_true(constant->json);
    description->offered[p] = strcmp(text, "optional") == 0;
    if (node_exists(constant) && !json_is_boolean(constant->json) && !description->offered[p])
        return node_expected(constant, err, "true, false or \"optional\"");
    if (description->offered[p] && strpbrk(name, "abcdefghijklmnopqrstuvwxyz") == NULL)
        return node_error(
            constant, err,
            "\"optional\" needs a name that is not all in capitals: the constant's is");
    return STATUS_OK;
}

status_t read_flag(const node_t *object, const char *key, bool *flag, error_t *err) {
    const node_t node = node_member(object, key);
    if (node_exists(&node) && !json_is_boolean(node.json))
        return node_expected(&node, err, "true or false");
    *flag = json_is_true(node.json);
    return STATUS_OK;
}

static status_t read_param(const node_t *node, const char *name, description_t *description,
                           error_t *err) {
    static const char *const KEYS[] = {"default",   "min",       "max",         "constant",
                                       "min_items", "max_items", "omit_default"};
    const size_t p = description->params.n;
    TRY(check_param_name(node, name, description, err));
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], 1, err));
    node_t by_default = node_member(node, "default"), constant = node_member(node, "constant");
    node_t least = node_member(node, "min"), most = node_member(node, "max");
    TRY(read_flag(node, "omit_default", &description->omits_default[p], err));
    description->least[p] = 1;
    description->most[p] = (int64_t)DESCRIBED_LARGEST;
    if (node_exists(&least))
        TRY(node_integer(&least, -DESCRIBED_LARGEST, DESCRIBED_LARGEST, &description->least[p],
                         err));
    if (node_exists(&most))
        TRY(node_integer(&most, (double)description->least[p], DESCRIBED_LARGEST,
                         &description->most[p], err));
    TRY(read_constant(&constant, name, description, err));
    TRY(read_list(node, description, err));
    if (description->lists[p].n == 0)
        TRY(node_integer(&by_default, (double)description->least[p], (double)description->most[p],
                         &description->defaults[p], err));
    else
        TRY(check_list_name(node, name, description, err));
    text_list_add(&description->params, name);
    return STATUS_OK;
}

status_t read_params(const node_t *top, description_t *description, error_t *err) {
    node_t params = node_member(top, "params");
    const size_t n = json_object_size(params.json);
    if (!json_is_object(params.json) || n == 0 || n > DESCRIBED_PARAMS)
        return node_expected(&params, err, "an object of 1…16 params");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)params.json, name, value) {
        node_t param = node_member(&params, name);
        TRY(read_param(&param, name, description, err));
    }
    return STATUS_OK;
}

static vocabulary_t param_names(const description_t *description) {
    return (vocabulary_t){"param", "", (const char *const *)description->params.items,
                          description->params.n};
}

/* The name of a param, or an object with what texts and charts say of it; `param`: its name. */
static status_t read_size_texts(const node_t *size, description_t *description, node_t *param,
                                error_t *err) {
    static const char *const KEYS[] = {"param", "name", "unit", "reference", "before"};
    *param = *size;
    if (!json_is_object(size->json))
        return STATUS_OK;
    TRY(node_object(size, KEYS, 5, 1, err));
    *param = node_member(size, "param");
    const node_t name = node_member(size, "name"), unit = node_member(size, "unit"),
                 reference = node_member(size, "reference"), before = node_member(size, "before");
    if (node_exists(&name))
        TRY(node_text(&name, &description->workload.size_noun, err));
    if (node_exists(&before))
        TRY(node_text(&before, &description->workload.size_before, err));
    if (node_exists(&reference))
        TRY(node_integer(&reference, 1, DESCRIBED_LARGEST, &description->workload.reference_size,
                         err));
    return node_exists(&unit) ? node_text(&unit, &description->workload.size_label, err)
                              : STATUS_OK;
}

/* As a word of its own? */
static bool begins_with(const char *text, const char *name) {
    const char next = text_starts(text, name) ? text[strlen(name)] : 'a';
    return next != '_' && !isalnum((unsigned char)next);
}

status_t read_size(const node_t *top, description_t *description, error_t *err) {
    const vocabulary_t params = param_names(description);
    node_t size = node_member(top, "size"), param;
    size_t index = params.n - 1;
    while (index > 0 && description->lists[index].n > 0)
        index--;
    TRY(read_size_texts(&size, description, &param, err));
    if (node_exists(&param))
        TRY(node_choice(&param, &params, &index, err));
    if (description->lists[index].n > 0)
        return node_error(&param, err, "found the list %s, expected a param that is one integer",
                          params.names[index]);
    const char *name = params.names[index], *unit = description->workload.size_label;
    const bool says_param = unit != NULL && begins_with(unit, name);
    description->workload.size_param = name;
    if (!says_param)
        description->workload.size_label =
            unit != NULL ? arena_format(&description->texts, "%s, %s", name, unit) : name;
    else if (description->workload.size_before == NULL)
        description->workload.size_after = arena_format(&description->texts, " %s", name);
    if (description->workload.size_noun == NULL)
        description->workload.size_noun = description->workload.size_param;
    return STATUS_OK;
}

/* ---- a study that it reproduces ---------------------------------------------------------------- */

static status_t read_log(const node_t *log, study_side_t *side, arena_t *texts, error_t *err) {
    static const char *const KEYS[] = {"file", "engine", "variant", "columns"};
    static const char *const ENGINES[] = {"cuda", "pytorch"};
    const vocabulary_t engines = {"engine", "", ENGINES, 2};
    size_t engine;
    TRY(node_object(log, KEYS, 4, 4, err));
    const node_t names[] = {node_member(log, "file"), node_member(log, "variant"),
                            node_member(log, "engine"), node_member(log, "columns")};
    TRY(node_name(&names[0], &side->file, err));
    if (!text_ends(side->file, ".csv") || strcmp(side->file, "timings.csv") == 0) /* of the run */
        return node_expected(&names[0], err, "NAME.csv, but not timings.csv");
    TRY(node_name(&names[1], &side->variant, err));
    TRY(node_choice(&names[2], &engines, &engine, err));
    TRY(node_set(&names[3], err));
    if (node_length(&names[3]) < 2 || node_length(&names[3]) > STUDY_MOST_COLUMNS)
        return node_expected(&names[3], err, "2 to 8 names: the size, phases and Total");
    side->engine = ENGINES[engine];
    for (; side->n < node_length(&names[3]); side->n++) {
        const node_t column = node_item(&names[3], side->n);
        const char *text;
        TRY(node_name(&column, &text, err));
        char *lower = arena_buffer(texts, strlen(text) + 1);
        for (size_t i = 0; text[i] != '\0'; i++)
            lower[i] = (char)tolower((unsigned char)text[i]);
        side->columns[side->n] = text;
        side->phases[side->n] = lower;
    }
    return STATUS_OK;
}

status_t read_study(const node_t *top, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"logs"};
    const node_t node = node_member(top, "study");
    if (!node_exists(&node))
        return STATUS_OK;
    TRY(node_object(&node, KEYS, 1, 1, err));
    const node_t logs = node_member(&node, "logs");
    if (!json_is_array(logs.json) || node_length(&logs) != STUDY_SIDES)
        return node_expected(&logs, err, "an array of two logs: ours, and PyTorch's");
    study_t *study = mem_zeroed(1, sizeof *study);
    description->workload.study = study;
    *study = (study_t){.workload = description->name,
                       .size_param = description->workload.size_param,
                       .dtype = description->dtypes.items[0]};
    for (size_t i = 0; i < STUDY_SIDES; i++) {
        const node_t log = node_item(&logs, i);
        TRY(read_log(&log, &study->sides[i], &description->texts, err));
    }
    return STATUS_OK;
}

static status_t check_axis(const node_t *axis, const description_t *description, size_t param,
                           error_t *err) {
    TRY(node_set(axis, err));
    for (size_t i = 0; i < node_length(axis); i++) {
        node_t value = node_item(axis, i);
        int64_t integer;
        if (description->lists[param].n > 0) {
            TRY(read_items(&value, description, param, NULL, err));
            continue;
        }
        TRY(node_integer(&value, (double)description->least[param],
                         (double)description->most[param], &integer, err));
    }
    return STATUS_OK;
}

static status_t check_axes(const node_t *axes, const description_t *description, error_t *err) {
    const text_list_t *params = &description->params, *dtypes = &description->dtypes;
    const vocabulary_t known_dtypes = {"dtype", "", (const char *const *)dtypes->items, dtypes->n};
    const char *names[DESCRIBED_PARAMS + 1];
    for (size_t i = 0; i < params->n; i++)
        names[i] = params->items[i];
    names[params->n] = "dtype";
    TRY(node_object(axes, names, params->n + 1, 0, err));
    for (size_t i = 0; i < params->n; i++) {
        node_t axis = node_member(axes, params->items[i]);
        if (node_exists(&axis))
            TRY(check_axis(&axis, description, i, err));
    }
    node_t dtype = node_member(axes, "dtype");
    AUTO(text_list_free) text_list_t chosen = {0};
    return node_exists(&dtype) ? node_choices(&dtype, &known_dtypes, &chosen, err) : STATUS_OK;
}

status_t check_sweep(const node_t *top, const description_t *description, error_t *err) {
    static const char *const KEYS[] = {"quick", "full"};
    node_t sweep = node_member(top, "sweep");
    if (!node_exists(&sweep))
        return STATUS_OK;
    TRY(node_object(&sweep, KEYS, 2, 0, err));
    for (size_t i = 0; i < 2; i++) {
        node_t axes = node_member(&sweep, KEYS[i]);
        if (node_exists(&axes))
            TRY(check_axes(&axes, description, err));
    }
    return STATUS_OK;
}

/* ==== techniques ============================================================================== */

/* By default a rung gets what PyTorch's best modes have: memory that is there, pinned where it is copied. */
static const technique_spec_t TECHNIQUES[DESCRIBED_TECHNIQUES] = {
    {TECHNIQUE_ALLOC,
     "source of device memory in each sample (async, caching: freed memory is reused)",
     NAMES("malloc", "async", "arena", "caching")},
    {"copy",
     "type of host memory to copy from and to (overlapped: pinned, in chunks on three streams)",
     NAMES("pageable", "pinned", "mapped", "overlapped")},
    {"weights", "copy weights in each sample, or once", NAMES("upload", "resident")},
    {"launch", "submit work call by call, or as a captured graph", NAMES("stream", "graph")},
    {"wait", "synchronise, or poll the mapped output", NAMES("sync", "poll")},
};

/* What PyTorch's best modes have: see docs/your-kernel.md. */
static const char *const DEFAULTS[DESCRIBED_TECHNIQUES] = {"arena", "pinned", "resident", "stream",
                                                           "sync"};

/* One of its own: [first, …], the first its default. */
static status_t read_own(const node_t *node, const char *name, description_t *description,
                         error_t *err) {
    const size_t n = node_length(node);
    if (description->n_own == DESCRIBED_OWN || n < 2 || n > DESCRIBED_CHOICES) {
        char what[80];
        snprintf(what, sizeof what, "2…%d choices, of at most %d techniques", DESCRIBED_CHOICES,
                 DESCRIBED_OWN);
        return node_expected(node, err, what);
    }
    TRY(check_param_name(node, name, description, err));
    const char **choices = description->choices[DESCRIBED_TECHNIQUES + description->n_own];
    for (size_t i = 0; i < n; i++) {
        const node_t item = node_item(node, i);
        TRY(node_text(&item, &choices[i], err));
        if (!text_is_identifier(choices[i], DESCRIBED_WORD))
            return node_expected(&item, err, "a letter, then letters, digits and \"_\"");
    }
    description->own[description->n_own++] = (technique_spec_t){name, "of its rungs", choices};
    return STATUS_OK;
}

/* The description's default is the first choice, so that ids leave it out. */
static status_t read_default(const node_t *choice, const char *name, size_t technique,
                             description_t *description, error_t *err) {
    const technique_spec_t *spec = &TECHNIQUES[technique];
    vocabulary_t known = {"choice", "", spec->choices, 0};
    const char **choices = description->choices[technique];
    size_t index, n = 0;
    while (known.names[known.n] != NULL)
        known.n++;
    choices[n++] = DEFAULTS[technique];
    if (node_exists(choice)) {
        TRY(node_choice(choice, &known, &index, err));
        choices[0] = known.names[index];
    }
    for (size_t i = 0; i < known.n; i++)
        if (strcmp(known.names[i], choices[0]) != 0)
            choices[n++] = known.names[i];
    description->techniques[technique] = (technique_spec_t){name, spec->summary, choices};
    return STATUS_OK;
}

/* Names and choices of its own stay those of its JSON. */
status_t read_techniques(const node_t *top, description_t *description, error_t *err) {
    const node_t techniques = node_member(top, "techniques");
    const char *names[DESCRIBED_TECHNIQUES + DESCRIBED_OWN], *name;
    size_t n = DESCRIBED_TECHNIQUES;
    json_t *value;
    const node_t allocator = node_member(&techniques, TECHNIQUE_ALLOCATOR);
    description->own = &description->techniques[DESCRIBED_TECHNIQUES];
    for (size_t i = 0; i < DESCRIBED_TECHNIQUES; i++)
        names[i] = TECHNIQUES[i].name;
    if (node_exists(&allocator))
        names[0] = TECHNIQUE_ALLOCATOR; /* so its cases spell `alloc` */
    json_object_foreach((json_t *)techniques.json, name, value) {
        const node_t own = node_member(&techniques, name);
        if (json_is_array(value) && !text_is_one_of(name, names, DESCRIBED_TECHNIQUES)) {
            TRY(read_own(&own, name, description, err));
            names[n++] = name;
        }
    }
    if (node_exists(&techniques))
        TRY(node_object(&techniques, names, n, 0, err));
    for (size_t i = 0; i < DESCRIBED_TECHNIQUES; i++) {
        const node_t choice = node_member(&techniques, names[i]);
        TRY(read_default(&choice, names[i], i, description, err));
    }
    return STATUS_OK;
}

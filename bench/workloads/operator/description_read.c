#include "workloads/operator/description_read.h"

#include "base/memory.h"

#include <string.h>

enum { OPERATOR_SCHEMA = 1, LONGEST_SUMMARY = 200 };

/* Of multiply-adds, and of tensor cores with factors of this type. */
static const char *const MATHS[] = {"fp32", "tf32", "f16", "bf16"};
enum { N_MATHS = sizeof MATHS / sizeof MATHS[0] };

const char *const *description_maths(size_t *n) {
    *n = N_MATHS;
    return MATHS;
}

/* ---- params and dtypes ------------------------------------------------------------------------ */

/* A case's id and --set have params beside these. */
static status_t check_param_name(const node_t *node, const char *name,
                                 const operator_description_t *description, error_t *err) {
    static const char *const TAKEN[] = {"alloc",  "copy",   "launch",  "wait",    "weights",
                                        "device", "engine", "variant", "workload"};
    for (size_t i = 0; i < sizeof TAKEN / sizeof TAKEN[0]; i++)
        if (strcmp(name, TAKEN[i]) == 0)
            return node_error(node, err,
                              "found the name \"%s\", which is an option of every run: choose "
                              "another",
                              name);
    return check_identifier(node, name, description, err);
}

static status_t read_param(const node_t *node, const char *name,
                           operator_description_t *description, error_t *err) {
    static const char *const KEYS[] = {"default", "min", "max", "constant"};
    const size_t p = description->params.n;
    TRY(check_param_name(node, name, description, err));
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], 1, err));
    node_t by_default = node_member(node, "default"), constant = node_member(node, "constant");
    node_t least = node_member(node, "min"), most = node_member(node, "max");
    description->least[p] = 1;
    description->most[p] = (int64_t)OPERATOR_LARGEST;
    if (node_exists(&least))
        TRY(node_integer(&least, -OPERATOR_LARGEST, OPERATOR_LARGEST, &description->least[p], err));
    if (node_exists(&most))
        TRY(node_integer(&most, (double)description->least[p], OPERATOR_LARGEST,
                         &description->most[p], err));
    TRY(node_integer(&by_default, (double)description->least[p], (double)description->most[p],
                     &description->defaults[p], err));
    if (node_exists(&constant) && !json_is_boolean(constant.json))
        return node_expected(&constant, err, "true or false");
    description->constant[p] = json_is_true(constant.json);
    text_list_add(&description->params, name);
    return STATUS_OK;
}

static status_t read_params(const node_t *top, operator_description_t *description, error_t *err) {
    node_t params = node_member(top, "params");
    const size_t n = json_object_size(params.json);
    if (!json_is_object(params.json) || n == 0 || n > OPERATOR_PARAMS)
        return node_expected(&params, err, "an object of 1…16 params");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)params.json, name, value) {
        node_t param = node_member(&params, name);
        TRY(read_param(&param, name, description, err));
    }
    return STATUS_OK;
}

static vocabulary_t param_names(const operator_description_t *description) {
    return (vocabulary_t){"param", "", (const char *const *)description->params.items,
                          description->params.n};
}

static status_t read_size(const node_t *top, operator_description_t *description, error_t *err) {
    const vocabulary_t params = param_names(description);
    node_t size = node_member(top, "size");
    size_t index = params.n - 1;
    if (node_exists(&size))
        TRY(node_choice(&size, &params, &index, err));
    description->size_param = mem_text(params.names[index]);
    return STATUS_OK;
}

/* ---- scalars ---------------------------------------------------------------------------------- */

static status_t read_scalar(const node_t *node, operator_description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name", "dtype", "value"};
    static const char *const DTYPES[] = {"f32", "f64", "i32", "i64"};
    const vocabulary_t dtypes = {"dtype", " of a scalar", DTYPES, 4};
    operator_scalar_t *scalar = &description->scalars[description->n_scalars];
    TRY(node_object(node, KEYS, 3, 3, err));
    node_t name = node_member(node, "name"), dtype = node_member(node, "dtype");
    node_t value = node_member(node, "value");
    const char *text;
    size_t index;
    int64_t integer;
    TRY(node_text(&name, &text, err));
    TRY(check_identifier(&name, text, description, err));
    TRY(node_choice(&dtype, &dtypes, &index, err));
    element_find(DTYPES[index], &scalar->element);
    const element_range_t range = element_range(scalar->element);
    if (json_is_string(value.json)) {
        TRY(read_expression(&value, description, 0, &scalar->expression, err));
    } else if (element_is_float(scalar->element)) {
        TRY(node_number(&value, range.least, range.most, &scalar->value, err));
    } else {
        TRY(node_integer(&value, range.least, range.most, &integer, err));
        scalar->value = (double)integer;
    }
    scalar->name = mem_text(text);
    description->n_scalars++;
    return STATUS_OK;
}

static status_t read_scalars(const node_t *top, operator_description_t *description, error_t *err) {
    node_t scalars = node_member(top, "scalars");
    if (!node_exists(&scalars))
        return STATUS_OK;
    TRY(node_set(&scalars, err));
    if (node_length(&scalars) > OPERATOR_ARRAYS)
        return node_error(&scalars, err, "found %zu scalars, expected at most %d",
                          node_length(&scalars), OPERATOR_ARRAYS);
    for (size_t i = 0; i < node_length(&scalars); i++) {
        node_t scalar = node_item(&scalars, i);
        TRY(read_scalar(&scalar, description, err));
    }
    return STATUS_OK;
}

/* ---- cost and sweep --------------------------------------------------------------------------- */

static status_t read_math(const node_t *math, operator_description_t *description, error_t *err) {
    const text_list_t *dtypes = &description->dtypes;
    const vocabulary_t rates = {"rate", "", MATHS, N_MATHS};
    if (!node_exists(math))
        return STATUS_OK;
    TRY(node_object(math, (const char *const *)dtypes->items, dtypes->n, 0, err));
    for (size_t i = 0; i < dtypes->n; i++) {
        node_t rate = node_member(math, dtypes->items[i]);
        element_t element = ELEMENT_F32;
        size_t index;
        if (!node_exists(&rate))
            continue;
        TRY(node_choice(&rate, &rates, &index, err));
        element_find(dtypes->items[i], &element);
        description->math[element] = MATHS[index];
    }
    return STATUS_OK;
}

static status_t read_cost(const node_t *top, operator_description_t *description, error_t *err) {
    static const char *const KEYS[] = {"bytes", "flops", "math"};
    node_t cost = node_member(top, "cost");
    if (!node_exists(&cost))
        return STATUS_OK;
    TRY(node_object(&cost, KEYS, 3, 0, err));
    node_t bytes = node_member(&cost, "bytes"), flops = node_member(&cost, "flops");
    node_t math = node_member(&cost, "math");
    if (node_exists(&bytes))
        TRY(read_expression(&bytes, description, 0, &description->cost.bytes, err));
    if (node_exists(&flops))
        TRY(read_expression(&flops, description, 0, &description->cost.flops, err));
    else if (node_exists(&math))
        return node_error(&flops, err, "missing: \"math\" is the rate of \"flops\"");
    return read_math(&math, description, err);
}

static status_t check_axis(const node_t *axis, const operator_description_t *description,
                           size_t param, error_t *err) {
    TRY(node_set(axis, err));
    for (size_t i = 0; i < node_length(axis); i++) {
        node_t value = node_item(axis, i);
        int64_t integer;
        TRY(node_integer(&value, (double)description->least[param],
                         (double)description->most[param], &integer, err));
    }
    return STATUS_OK;
}

static status_t check_axes(const node_t *axes, const operator_description_t *description,
                           error_t *err) {
    const text_list_t *params = &description->params, *dtypes = &description->dtypes;
    const vocabulary_t known_dtypes = {"dtype", "", (const char *const *)dtypes->items, dtypes->n};
    const char *names[OPERATOR_PARAMS + 1];
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
    text_list_t chosen = {0};
    status_t status =
        node_exists(&dtype) ? node_choices(&dtype, &known_dtypes, &chosen, err) : STATUS_OK;
    text_list_free(&chosen);
    return status;
}

static status_t check_sweep(const node_t *top, const operator_description_t *description,
                            error_t *err) {
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

/* ---- the whole -------------------------------------------------------------------------------- */

static status_t read_deterministic(const node_t *top, operator_description_t *description,
                                   error_t *err) {
    node_t node = node_member(top, "deterministic");
    description->deterministic = !json_is_false(node.json);
    description->needs_deterministic =
        json_is_string(node.json) && strcmp(json_string_value(node.json), "required") == 0;
    if (node_exists(&node) && !json_is_boolean(node.json) && !description->needs_deterministic)
        return node_expected(&node, err, "true, false or \"required\"");
    return STATUS_OK;
}

static status_t read_head(const node_t *top, operator_description_t *description, error_t *err) {
    node_t schema = node_member(top, "schema"), name = node_member(top, "name");
    node_t dollar_schema = node_member(top, "$schema"), summary = node_member(top, "summary");
    int64_t version;
    const char *text = "";
    TRY(node_integer(&schema, OPERATOR_SCHEMA, OPERATOR_SCHEMA, &version, err));
    if (node_exists(&dollar_schema))
        TRY(node_text(&dollar_schema, &text, err));
    TRY(node_name(&name, &text, err));
    description->name = mem_text(text);
    text = "";
    if (node_exists(&summary))
        TRY(node_text(&summary, &text, err));
    if (!text_is_plain(text) || strlen(text) > LONGEST_SUMMARY)
        return node_expected(&summary, err, "one line of at most 200 bytes");
    description->summary = mem_text(text);
    return STATUS_OK;
}

status_t read_description(const node_t *top, operator_description_t *description, error_t *err) {
    static const char *const KEYS[] = {"schema",  "name",          "params",  "dtypes",  "inputs",
                                       "$schema", "summary",       "outputs", "scalars", "where",
                                       "cost",    "deterministic", "size",    "sweep"};
    const vocabulary_t known = {"dtype", "", element_names() + 1, ELEMENT_KINDS};
    TRY(node_object(top, KEYS, sizeof KEYS / sizeof KEYS[0], 5, err));
    TRY(read_head(top, description, err));
    TRY(read_params(top, description, err));
    TRY(read_size(top, description, err));
    node_t dtypes = node_member(top, "dtypes"), where = node_member(top, "where");
    TRY(node_choices(&dtypes, &known, &description->dtypes, err));
    TRY(read_arrays(top, description, err));
    TRY(read_scalars(top, description, err));
    if (node_exists(&where))
        TRY(read_expression(&where, description, 0, &description->where, err));
    TRY(read_cost(top, description, err));
    TRY(read_deterministic(top, description, err));
    return check_sweep(top, description, err);
}

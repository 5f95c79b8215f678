#include "sweep/plan.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "workloads/common/workload.h"
#include "workloads/described/described.h"

#include <stdlib.h>
#include <string.h>

/* ==== params ================================================================================== */

static status_t read_integers(const node_t *node, const param_spec_t *param, value_t *value,
                              error_t *err) {
    size_t n = node_length(node);
    if (!json_is_array(node->json) || n < param->min_items || n > param->max_items) {
        char what[80];
        snprintf(what, sizeof what, "an array of %zu…%zu integers", param->min_items,
                 param->max_items);
        return node_expected(node, err, what);
    }
    *value = (value_t){.kind = VALUE_INTS, .ints = mem_zeroed(n, sizeof *value->ints), .n_ints = n};
    for (size_t i = 0; i < n; i++) {
        node_t item = node_item(node, i);
        if (node_integer(&item, param->min, param->max, &value->ints[i], err) != STATUS_OK) {
            value_free(value);
            return STATUS_USAGE;
        }
    }
    return STATUS_OK;
}

status_t node_param(const node_t *node, const param_spec_t *param, value_t *value, error_t *err) {
    *value = (value_t){.kind = param->kind};
    const char *name = NULL;
    switch (param->kind) {
    case VALUE_INT:
        return node_integer(node, param->min, param->max, &value->integer, err);
    case VALUE_REAL:
        return node_number(node, param->min, param->max, &value->real, err);
    case VALUE_INTS:
        return read_integers(node, param, value, err);
    case VALUE_TEXT:
        TRY(node_name(node, &name, err));
        value->text = mem_text(name);
        break;
    }
    return STATUS_OK;
}

/* ==== own engines ============================================================================= */

bool is_own_engine(const char *root, const char *name) {
    size_t n;
    const char *const *engines = workload_engines(&n);
    AUTO_FREE char *script = folders_worker(root, name);
    return !text_is_one_of(name, engines, n) && text_is_name(name) && fs_exists(script);
}

static status_t add_engines_in(const char *folder, const char *root, text_list_t *names,
                               error_t *err) {
    static const char PREFIX[] = "reference_";
    AUTO(text_list_free) text_list_t folders = {0};
    const status_t status = fs_list(folder, "", &folders, err);
    for (size_t i = 0; i < folders.n; i++) {
        const char *name = folders.items[i] + strlen(PREFIX);
        if (text_starts(folders.items[i], PREFIX) && is_own_engine(root, name))
            text_list_add_new(names, name);
    }
    return status;
}

status_t own_engines(const char *root, text_list_t *names, error_t *err) {
    AUTO_FREE char *project = folders_project(root);
    TRY(add_engines_in(root, root, names, err));
    if (strcmp(project, root) != 0)
        TRY(add_engines_in(project, root, names, err));
    return STATUS_OK;
}

/* ==== axes and contenders ===================================================================== */

static void axis_add(axis_t *axis, value_t value) {
    mem_grow(&axis->values, axis->n, &axis->capacity, sizeof *axis->values);
    axis->values[axis->n++] = value;
}

static void axis_add_text(axis_t *axis, const char *text) {
    axis_add(axis, (value_t){.kind = VALUE_TEXT, .text = mem_text(text)});
}

static void axes_free(axis_t *axes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < axes[i].n; k++)
            value_free(&axes[i].values[k]);
        free(axes[i].values);
    }
    free(axes);
}

static size_t count_names(const char *const *names) {
    size_t n = 0;
    while (names[n] != NULL)
        n++;
    return n;
}

static status_t read_choices(const node_t *list, const vocabulary_t *names, axis_t *axis,
                             error_t *err) {
    AUTO(text_list_free) text_list_t chosen = {0};
    status_t status = node_choices(list, names, &chosen, err);
    for (size_t i = 0; i < chosen.n; i++)
        axis_add_text(axis, chosen.items[i]);
    return status;
}

/* Values of axis `a` of the workload: a parameter; the axis after the last parameter is dtype. */
static status_t read_axis(const node_t *list, const workload_t *workload, size_t a, axis_t *axis,
                          error_t *err) {
    if (a == workload->n_params) {
        AUTO_FREE char *where = mem_format(" of %s", workload->name);
        const vocabulary_t names = {"dtype", where, workload->dtypes,
                                    count_names(workload->dtypes)};
        return read_choices(list, &names, axis, err);
    }
    TRY(node_set(list, err));
    for (size_t i = 0; i < node_length(list); i++) {
        node_t item = node_item(list, i);
        value_t value;
        TRY(node_param(&item, &workload->params[a], &value, err));
        axis_add(axis, value);
    }
    return STATUS_OK;
}

static const char *axis_name(const workload_t *workload, size_t a) {
    return a < workload->n_params ? workload->params[a].name : "dtype";
}

static status_t check_axis_names(const node_t *axes, const workload_t *workload, error_t *err) {
    size_t n = workload->n_params + 1;
    AUTO_FREE const char **names = mem_zeroed(n, sizeof *names);
    for (size_t a = 0; a < n; a++)
        names[a] = axis_name(workload, a);
    TRY(node_object(axes, names, n, 0, err));
    if (json_object_size(axes->json) == 0)
        TRY(node_error(axes, err, "empty; leave it out to use every default"));
    return STATUS_OK;
}

bool axis_has(const axis_t *axis, const value_t *value) {
    for (size_t i = 0; i < axis->n; i++)
        if (value_equal(&axis->values[i], value))
            return true;
    return false;
}

static char *axis_text(const axis_t *axis) {
    enum { SHOWN = 12 };
    AUTO(text_list_free) text_list_t texts = {0};
    for (size_t i = 0; i < axis->n && i < SHOWN; i++)
        text_list_take(&texts, value_text(&axis->values[i]));
    if (axis->n > SHOWN)
        text_list_add(&texts, "…");
    return text_list_join(&texts, ", ");
}

/* A value outside the sweep's axis is a point that no other contender has: most likely a typo. */
static status_t check_subset(const node_t *list, const axis_t *part, const axis_t *whole,
                             error_t *err) {
    for (size_t i = 0; i < part->n; i++) {
        if (axis_has(whole, &part->values[i]))
            continue;
        node_t item = node_item(list, i);
        AUTO_FREE char *value = value_text(&part->values[i]), *all = axis_text(whole);
        node_error(&item, err, "%s is not in the sweep's axis %s (%s)", value, whole->name, all);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

/* "axes" of `node`. Those of a contender are subsets of `whole`, the sweep's (NULL), and missing ones are these; else the
 * defaults. */
static status_t read_axes(const node_t *node, const workload_t *workload, const axis_t *whole,
                          axis_t *axes, error_t *err) {
    node_t members = node_member(node, "axes");
    AUTO(case_free) case_t defaults = workload_defaults(workload);
    if (node_exists(&members))
        TRY(check_axis_names(&members, workload, err));
    for (size_t a = 0; a <= workload->n_params; a++) {
        axes[a].name = axis_name(workload, a);
        node_t list = node_member(&members, axes[a].name);
        if (node_exists(&list)) {
            TRY(read_axis(&list, workload, a, &axes[a], err));
            if (whole != NULL)
                TRY(check_subset(&list, &axes[a], &whole[a], err));
        } else if (whole != NULL) {
            for (size_t i = 0; i < whole[a].n; i++)
                axis_add(&axes[a], value_copy(&whole[a].values[i]));
        } else if (a < workload->n_params) {
            axis_add(&axes[a], value_copy(&defaults.params[a].value));
        } else {
            axis_add_text(&axes[a], defaults.dtype);
        }
    }
    return STATUS_OK;
}

static status_t read_techniques(const node_t *node, const workload_t *workload,
                                contender_t *contender, error_t *err) {
    node_t techniques = node_member(node, "techniques");
    bool cuda = strcmp(contender->engine, "cuda") == 0;
    const char *first = json_object_iter_key(json_object_iter((json_t *)techniques.json));
    if (node_exists(&techniques) && !cuda)
        return node_error(&techniques, err, "%s applies to engine cuda only, not to %s",
                          first != NULL ? first : "it", contender->engine);
    if (!cuda)
        return STATUS_OK;
    size_t n = workload->n_techniques;
    if (node_exists(&techniques)) {
        AUTO_FREE const char **names = mem_zeroed(n + 1, sizeof *names);
        for (size_t t = 0; t < n; t++)
            names[t] = workload->techniques[t].name;
        TRY(node_object(&techniques, names, n, 0, err));
    }
    contender->n_techniques = n;
    contender->techniques = mem_zeroed(n + 1, sizeof *contender->techniques);
    for (size_t t = 0; t < n; t++) {
        const technique_spec_t *spec = &workload->techniques[t];
        axis_t *axis = &contender->techniques[t];
        axis->name = spec->name;
        node_t list = node_member(&techniques, spec->name);
        const vocabulary_t names = {"choice", "", spec->choices, count_names(spec->choices)};
        if (node_exists(&list))
            TRY(read_choices(&list, &names, axis, err));
        else
            axis_add_text(axis, spec->choices[0]);
    }
    return STATUS_OK;
}

static status_t add_variant(const node_t *item, const vocabulary_t *known, contender_t *contender,
                            error_t *err) {
    const char *name;
    TRY(node_text(item, &name, err));
    if (strcmp(name, "*") != 0) {
        size_t index;
        TRY(node_choice(item, known, &index, err));
        text_list_add(&contender->named, name);
        text_list_add_new(&contender->variants, name);
        return STATUS_OK;
    }
    if (known->n == 0)
        return node_error(item, err, "no %s%s", known->what, known->where);
    for (size_t i = 0; i < known->n; i++)
        text_list_add_new(&contender->variants, known->names[i]);
    return STATUS_OK;
}

/* Only its worker knows the variants of an external engine. */
static status_t read_external_variants(const node_t *list, contender_t *contender, error_t *err) {
    for (size_t i = 0; i < node_length(list); i++) {
        node_t item = node_item(list, i);
        const char *name;
        TRY(node_text(&item, &name, err));
        if (strcmp(name, "*") == 0)
            return node_error(&item, err, "\"*\" is not supported for engine %s: name its variants",
                              contender->engine);
        TRY(node_name(&item, &name, err));
        text_list_add(&contender->named, name);
        text_list_add(&contender->variants, name);
    }
    return STATUS_OK;
}

/* For an engine without variants. */
static const char *what_to_write(const workload_t *workload, const char *engine) {
    if (strcmp(engine, "cuda") == 0)
        return ": its folder has no NN_NAME.cu, NAME of letters, digits and _ . + -";
    const bool of_jax = strcmp(engine, "jax") == 0 && workload->pytorch_oracle != NULL;
    if (of_jax && described_find(workload->name)->steps != NULL)
        return ": its reference.py has no function jax_step, which is called as step, with arrays "
               "of JAX";
    return of_jax ? ": its reference.py has no function jax_reference, which is called as "
                    "reference, with arrays of JAX"
                  : "";
}

static status_t read_variants(const node_t *node, const workload_t *workload, const char *root,
                              contender_t *contender, error_t *err) {
    node_t list = node_member(node, "variants");
    TRY(node_set(&list, err));
    if (contender->external)
        return read_external_variants(&list, contender, err);
    AUTO(text_list_free) text_list_t known = {0};
    status_t status = workload_variants(workload, contender->engine, root, &known, err);
    AUTO_FREE char *where =
        mem_format(" of %s for engine %s%s", workload->name, contender->engine,
                   known.n == 0 ? what_to_write(workload, contender->engine) : "");
    const vocabulary_t names = {"variant", where, (const char *const *)known.items, known.n};
    for (size_t i = 0; i < node_length(&list) && status == STATUS_OK; i++) {
        node_t item = node_item(&list, i);
        status = add_variant(&item, &names, contender, err);
    }
    for (size_t i = 0; i < contender->variants.n; i++)
        if (workload_variant_is_for_gpu(workload, contender->engine, root,
                                        contender->variants.items[i]))
            text_list_add(&contender->for_gpu, contender->variants.items[i]);
    return status;
}

static status_t read_devices(const node_t *node, contender_t *contender, error_t *err) {
    static const char *const DEVICES[] = {"cuda", "cpu"};
    node_t list = node_member(node, "device");
    bool both = !case_engine_is_built_in(contender->engine);
    if (!node_exists(&list)) {
        if (both || strcmp(contender->engine, "cuda") == 0)
            text_list_add(&contender->devices, "cuda");
        if (strcmp(contender->engine, "cuda") != 0)
            text_list_add(&contender->devices, "cpu");
        return STATUS_OK;
    }
    if (!both)
        return node_error(&list, err,
                          "applies to engines with a worker script (pytorch, jax), not to %s",
                          contender->engine);
    return node_choices(&list, &(vocabulary_t){"device", "", DEVICES, 2}, &contender->devices, err);
}

/* One of workload_engines(), or one of the user's own. */
static status_t read_engine(const node_t *node, const char *root, contender_t *contender,
                            error_t *err) {
    vocabulary_t known = {.what = "engine", .where = ""};
    known.names = workload_engines(&known.n);
    node_t item = node_member(node, "engine");
    TRY(node_text(&item, &contender->engine, err));
    contender->external = is_own_engine(root, contender->engine);
    if (contender->external || text_is_one_of(contender->engine, known.names, known.n))
        return STATUS_OK;
    if (!text_is_name(contender->engine))
        return node_refuse(&item, vocabulary_complaint(&known, contender->engine), err);
    AUTO_FREE char *complaint = vocabulary_complaint(&known, contender->engine);
    return node_error(&item, err, "%s, and reference_%s/worker.py does not exist", complaint,
                      contender->engine);
}

static status_t read_contender(const node_t *node, const char *root, const sweep_plan_t *plan,
                               contender_t *contender, error_t *err) {
    static const char *const KEYS[] = {"engine", "variants", "device", "axes", "techniques"};
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], 2, err));
    TRY(read_engine(node, root, contender, err));
    TRY(read_variants(node, plan->workload, root, contender, err));
    TRY(read_devices(node, contender, err));
    contender->n_axes = plan->n_axes;
    contender->axes = mem_zeroed(plan->n_axes, sizeof *contender->axes);
    TRY(read_axes(node, plan->workload, plan->axes, contender->axes, err));
    return read_techniques(node, plan->workload, contender, err);
}

status_t sweep_plan_read(const node_t *top, const workload_t *workload, const char *root,
                         sweep_plan_t *plan, error_t *err) {
    const size_t n_axes = workload->n_params + 1;
    *plan = (sweep_plan_t){
        .workload = workload, .axes = mem_zeroed(n_axes, sizeof *plan->axes), .n_axes = n_axes};
    TRY(read_axes(top, workload, NULL, plan->axes, err));
    node_t contenders = node_member(top, "contenders");
    TRY(node_set(&contenders, err));
    plan->contenders = mem_zeroed(node_length(&contenders), sizeof *plan->contenders);
    for (size_t i = 0; i < node_length(&contenders); i++) {
        node_t node = node_item(&contenders, i);
        plan->n_contenders++;
        TRY(read_contender(&node, root, plan, &plan->contenders[i], err));
    }
    return STATUS_OK;
}

void sweep_plan_free(sweep_plan_t *plan) {
    for (size_t i = 0; i < plan->n_contenders; i++) {
        contender_t *contender = &plan->contenders[i];
        text_list_free(&contender->devices);
        text_list_free(&contender->variants);
        text_list_free(&contender->named);
        text_list_free(&contender->for_gpu);
        axes_free(contender->axes, contender->n_axes);
        axes_free(contender->techniques, contender->n_techniques);
    }
    free(plan->contenders);
    axes_free(plan->axes, plan->n_axes);
    *plan = (sweep_plan_t){0};
}

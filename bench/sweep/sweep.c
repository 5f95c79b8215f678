#include "sweep/sweep.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/chart_kinds.h"
#include "model/result.h"
#include "sweep/plan.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_SCHEMA = 1, OLDEST_ARCH = 75 };

/* The ranges are wide, but catch wrong units (a precision in percent, a time limit in ms). */
#define FIELD(member) offsetof(measure_options_t, member)
static const measure_key_t MEASURE_KEYS[] = {
    {"draws", VALUE_INT, 1, MOST_DRAWS, FIELD(draws)},
    {"interval", VALUE_REAL, 1e-4, 0.5, FIELD(interval_frac)},
    {"precision", VALUE_REAL, 1e-6, 0.5, FIELD(precision_frac)},
    {"device_precision", VALUE_REAL, 1e-6, 0.5, FIELD(device_precision_frac)},
    {"time_limit_s", VALUE_REAL, 0.01, 86400, FIELD(time_limit_s)},
    {"round_s", VALUE_REAL, 0.0001, 60, FIELD(round_s)},
    {"min_rounds", VALUE_INT, 1, 10000, FIELD(min_rounds)},
    {"min_samples", VALUE_INT, 1, 10000000, FIELD(min_samples)},
};
enum { N_MEASURE_KEYS = sizeof MEASURE_KEYS / sizeof MEASURE_KEYS[0] };

const measure_key_t *sweep_measure_keys(size_t *n) {
    *n = N_MEASURE_KEYS;
    return MEASURE_KEYS;
}

/* 6, or {"least": 5, "most": 12}. */
static status_t read_passes(const node_t *measure, measure_options_t *options, error_t *err) {
    static const char *const KEYS[] = {"least", "most"};
    node_t node = node_member(measure, "passes");
    int64_t least, most;
    if (!node_exists(&node))
        return STATUS_OK;
    if (!json_is_object(node.json)) {
        TRY(node_integer(&node, 1, STATS_MOST_PASSES, &most, err));
        least = most;
    } else {
        TRY(node_object(&node, KEYS, 2, 2, err));
        node_t first = node_member(&node, "least"), last = node_member(&node, "most");
        TRY(node_integer(&first, STATS_FEWEST_PASSES, STATS_MOST_PASSES, &least, err));
        TRY(node_integer(&last, (double)least, STATS_MOST_PASSES, &most, err));
    }
    options->least_passes = (unsigned)least;
    options->passes = (unsigned)most;
    return STATUS_OK;
}

static status_t read_measure(const node_t *top, measure_options_t *measure, error_t *err) {
    node_t node = node_member(top, "measure");
    if (!node_exists(&node))
        return STATUS_OK;
    const char *names[N_MEASURE_KEYS + 1] = {"passes"};
    for (size_t i = 0; i < N_MEASURE_KEYS; i++)
        names[i + 1] = MEASURE_KEYS[i].name;
    TRY(node_object(&node, names, N_MEASURE_KEYS + 1, 0, err));
    TRY(read_passes(&node, measure, err));

    for (size_t i = 0; i < N_MEASURE_KEYS; i++) {
        const measure_key_t *key = &MEASURE_KEYS[i];
        node_t value = node_member(&node, key->name);
        void *field = (char *)measure + key->field;
        int64_t integer;
        if (!node_exists(&value))
            continue;
        if (key->kind == VALUE_REAL) {
            TRY(node_number(&value, key->min, key->max, field, err));
        } else {
            TRY(node_integer(&value, key->min, key->max, &integer, err));
            *(unsigned *)field = (unsigned)integer;
        }
    }
    return STATUS_OK;
}

bool sweep_arch_is_valid(const char *arch) {
    if (strcmp(arch, "native") == 0)
        return true;
    if (!text_starts(arch, "sm_"))
        return false;
    const char *digits = arch + strlen("sm_");
    size_t n_digits = strspn(digits, "0123456789");
    const char *suffix = digits + n_digits;
    bool suffix_ok =
        strcmp(suffix, "") == 0 || strcmp(suffix, "a") == 0 || strcmp(suffix, "f") == 0;
    return (n_digits == 2 || n_digits == 3) && digits[0] != '0' && suffix_ok &&
           atoi(digits) >= OLDEST_ARCH;
}

static status_t read_arch(const node_t *top, text_list_t *arch, error_t *err) {
    node_t list = node_member(top, "arch");
    if (!node_exists(&list)) {
        text_list_add(arch, "native");
        return STATUS_OK;
    }
    TRY(node_set(&list, err));
    for (size_t i = 0; i < node_length(&list); i++) {
        node_t item = node_item(&list, i);
        const char *name;
        TRY(node_text(&item, &name, err));
        if (!sweep_arch_is_valid(name))
            return node_expected(&item, err, "\"native\" or \"sm_75\" and up");
        text_list_add(arch, name);
    }
    return STATUS_OK;
}

static status_t read_charts(const node_t *top, text_list_t *charts, error_t *err) {
    node_t list = node_member(top, "charts");
    if (!node_exists(&list))
        return STATUS_OK;
    text_list_t families = chart_families();
    const vocabulary_t known = {"chart", "", (const char *const *)families.items, families.n};
    status_t status = node_choices(&list, &known, charts, err);
    text_list_free(&families);
    return status;
}

static status_t read_cpu(const node_t *top, bool *leaves_cpu, error_t *err) {
    static const char *const NAMES[] = {"always", "without_gpu"};
    const vocabulary_t known = {"value", "", NAMES, sizeof NAMES / sizeof *NAMES};
    node_t when = node_member(top, "cpu");
    size_t chosen = 0;
    if (node_exists(&when))
        TRY(node_choice(&when, &known, &chosen, err));
    *leaves_cpu = chosen == 1;
    return STATUS_OK;
}

char *sweep_unknown_workload(const char *name) {
    text_list_t names = {0};
    const workload_t *workload;
    for (size_t i = 0; (workload = workload_at(i)) != NULL; i++)
        text_list_add(&names, workload->name);
    const vocabulary_t known = {"workload", "", (const char *const *)names.items, names.n};
    char *complaint = vocabulary_complaint(&known, name);
    text_list_free(&names);
    return complaint;
}

static status_t read_workload(const node_t *top, const workload_t **workload, error_t *err) {
    node_t node = node_member(top, "workload");
    const char *name;
    TRY(node_text(&node, &name, err));
    *workload = workload_find(name);
    return *workload != NULL ? STATUS_OK : node_refuse(&node, sweep_unknown_workload(name), err);
}

static status_t read_sweep(const node_t *top, const char *root, sweep_t *sweep, error_t *err) {
    static const char *const KEYS[] = {"schema", "name",    "workload", "contenders", "$schema",
                                       "axes",   "measure", "arch",     "charts",     "cpu"};
    TRY(node_object(top, KEYS, sizeof KEYS / sizeof KEYS[0], 4, err));
    node_t schema = node_member(top, "schema"), name = node_member(top, "name");
    node_t dollar_schema = node_member(top, "$schema");
    int64_t version;
    TRY(node_integer(&schema, SWEEP_SCHEMA, SWEEP_SCHEMA, &version, err));
    const char *text;
    if (node_exists(&dollar_schema))
        TRY(node_text(&dollar_schema, &text, err));
    TRY(node_name(&name, &text, err));
    sweep->name = mem_text(text);
    TRY(read_workload(top, &sweep->workload, err));
    TRY(read_measure(top, &sweep->measure, err));
    TRY(read_arch(top, &sweep->arch, err));
    TRY(read_charts(top, &sweep->charts, err));
    TRY(read_cpu(top, &sweep->leaves_cpu, err));

    sweep_plan_t plan;
    status_t status = sweep_plan_read(top, sweep->workload, root, &plan, err);
    if (status == STATUS_OK)
        status = sweep_expand(&plan, top, sweep, err);
    sweep_plan_free(&plan);
    return status;
}

status_t sweep_parse(const char *path, const char *text, const char *root, sweep_t *sweep,
                     error_t *err) {
    *sweep = (sweep_t){.path = mem_text(path), .text = mem_text(text), .measure = MEASURE_DEFAULTS};
    json_t *json = NULL;
    status_t status = node_parse(path, text, &json, err);
    if (status == STATUS_OK) {
        node_t top = node_root(path, json);
        status = read_sweep(&top, root, sweep, err);
        json_decref(json);
    }
    if (status != STATUS_OK)
        sweep_free(sweep);
    return status;
}

status_t sweep_load(const char *path, const char *root, sweep_t *sweep, error_t *err) {
    *sweep = (sweep_t){0};
    char *text = NULL, *in_data = path[0] != '/' && !fs_exists(path) ? fs_join(root, path) : NULL;
    const bool is_in_data = in_data != NULL && fs_exists(in_data);
    status_t status = node_read(is_in_data ? in_data : path, &text, err);
    if (status == STATUS_OK)
        status = sweep_parse(path, text, root, sweep, err);
    free(in_data);
    free(text);
    return status;
}

void sweep_free(sweep_t *sweep) {
    free(sweep->path);
    free(sweep->text);
    free(sweep->name);
    for (size_t i = 0; i < sweep->n_cases; i++)
        case_free(&sweep->cases[i]);
    free(sweep->cases);
    text_list_free(&sweep->arch);
    text_list_free(&sweep->charts);
    *sweep = (sweep_t){0};
}

void sweep_keep_cases(sweep_t *sweep, case_filter_t *keep, const void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < sweep->n_cases; i++) {
        if (keep(sweep, &sweep->cases[i], context))
            sweep->cases[kept++] = sweep->cases[i];
        else
            case_free(&sweep->cases[i]);
    }
    sweep->n_cases = kept;
}

#include "workloads/described/described.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/result.h"
#include "workloads/described/description_read.h"
#include "workloads/described/launches.h"
#include "workloads/described/signature.h"
#include "workloads/described/temporaries.h"
#include "workloads/described/tensor_maps.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== as a workload =========================================================================== */

enum { MODES_MOST = 8 };

/* Lives as long as the process: cases point at their workload. */
typedef struct described_entry {
    description_t description;
    param_spec_t params[DESCRIBED_PARAMS + DESCRIBED_ARRAYS]; /* and scalars */
    const char *modes[MODES_MOST + 1];                        /* of PyTorch, of a training */
} described_entry_t;

static described_entry_t **entries;
static size_t n_entries;

/* With "splits", without, and of a training. */
static const char *const MODES[] = {"eager",           "inference",     "compile",
                                    "graph",           "compile_graph", "overlap",
                                    "compile_overlap", "mapped",        NULL};
static const char *const MODES_OF_ALL[] = {"eager",         "inference", "compile", "graph",
                                           "compile_graph", "mapped",    NULL};
static const char *const MODES_OF_TRAININGS[] = {"eager",         "inference",   "compile", "graph",
                                                 "compile_graph", "combo_graph", NULL};
static const char *const JAX_MODES[] = {"jit", "aot", "overlap", NULL};
static const char *const JAX_MODES_OF_ALL[] = {"jit", "aot", NULL};
static const char *const JAX_MODES_OF_TRAININGS[] = {"jit", "scan", NULL};

/* ---- as a workload --------------------------------------------------------------------------- */

static bool allows(const case_t *spec) {
    bool allowed = true;
    /* validate() reports errors. */
    description_where(described_find(spec->workload), spec, &allowed, NULL);
    return allowed;
}

bool described_is_by_step(const description_t *description) {
    const char *by = description->workload.compared_by;
    return by != NULL && (strcmp(by, PHASE_STEP) == 0 || strcmp(by, PHASE_TRAIN) == 0);
}

status_t described_whole(const case_t *spec, size_t *calls, uint64_t *seed, error_t *err) {
    const description_t *d = described_find(spec->workload);
    described_values_t values;
    int64_t whole = 0, of_seed = 1;
    size_t steps;
    *calls = 0;
    if (d == NULL || d->whole == NULL)
        return STATUS_OK;
    description_values(d, spec, 0, &values);
    TRY(description_steps(d, spec, &steps, err));
    if (expression_value(d->whole, &values.scope, &whole, err) != STATUS_OK)
        return error_within(err, "training.whole");
    if (d->seed != NULL && expression_value(d->seed, &values.scope, &of_seed, err) != STATUS_OK)
        return error_within(err, "training.seed");
    if (whole < 1 || whole % (int64_t)steps != 0)
        return error_set(err, STATUS_FAILED,
                         "training.whole: %" PRId64
                         ", expected a multiple of the %zu steps of a call",
                         whole, steps);
    *calls = (size_t)whole / steps;
    *seed = (uint64_t)of_seed;
    return STATUS_OK;
}

static status_t validate(const case_t *spec, error_t *err) {
    const description_t *d = described_find(spec->workload);
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n;
    bool allowed;
    size_t steps;
    TRY(description_where(d, spec, &allowed, err));
    TRY(description_steps(d, spec, &steps, err));
    TRY(described_whole(spec, &(size_t){0}, &(uint64_t){0}, err));
    TRY(description_arrays(d, spec, shapes, &n, err));
    for (size_t i = 0; i < d->n_scalars; i++) {
        double value;
        TRY(description_scalar(d, i, spec, &value, err));
    }
    return description_techniques(d, spec, err);
}

/* Copied by any implementation, from host to host. (What a training copies is nothing beside its steps.) */
static bool crosses_bus(const described_array_t *array) {
    return array->is_input && !array->is_weight && !array->is_resident;
}

workload_cost_t described_cost(const case_t *spec) {
    const description_t *d = described_find(spec->workload);
    workload_cost_t sum = {0};
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n;
    description_arrays(d, spec, shapes, &n, NULL); /* validate() has reported it */
    for (size_t i = 0; i < n; i++) {
        const double bytes = (double)shapes[i].bytes;
        sum.device_bytes += bytes;
        sum.bus_in_bytes += d->steps == NULL && crosses_bus(shapes[i].array) ? bytes : 0;
        sum.bus_out_bytes += d->steps == NULL && shapes[i].array->is_output ? bytes : 0;
    }
    description_cost(d, spec, &sum, NULL);
    /* What is not given bounds nothing. */
    sum.bytes = isfinite(sum.bytes) ? sum.bytes : 0;
    sum.flops = isfinite(sum.flops) ? sum.flops : 0;
    if (isnan(sum.working_set_bytes))
        sum.working_set_bytes = fmin(sum.bytes, sum.device_bytes);
    sum.further_passes =
        d->workload.bounded_by == BOUNDED_BY_PASSES ? (double)description_steps_of(d, spec) - 1 : 0;
    return sum;
}

double described_host_bytes(const described_shape_t shapes[], size_t n) {
    double bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += (double)shapes[i].bytes * (shapes[i].array->is_input + shapes[i].array->is_output);
    return bytes;
}

static const char *arithmetic(const case_t *spec) {
    const description_t *d = described_find(spec->workload);
    return d->types[description_dtype(d, spec)].math;
}

static size_t steps_of(const case_t *spec) {
    return description_steps_of(described_find(spec->workload), spec);
}

static const char *factors(const case_t *spec) {
    const description_t *d = described_find(spec->workload);
    return description_factors(d, description_dtype(d, spec));
}

static bounds_t bounds(const case_t *spec, const char *array) {
    const description_t *d = described_find(spec->workload);
    bounds_t bounds = {0};
    for (size_t i = 0; i < d->n_arrays; i++)
        if (strcmp(d->arrays[i].name, array) == 0)
            description_bounds_of(d, i, 0, spec, &bounds, NULL); /* validate() has reported it */
        else if (d->arrays[i].repeat != NULL && is_item_of(d->arrays[i].name, array))
            description_bounds_of(d, i, strtoul(strrchr(array, '_') + 1, NULL, 10), spec, &bounds,
                                  NULL);
    return bounds;
}

static double tolerance(const case_t *spec) {
    const description_t *d = described_find(spec->workload);
    size_t i = 0;
    while (!d->arrays[i].is_output)
        i++;
    return bounds(spec, d->arrays[i].name).rel_l2;
}

/* ---- constants of a program ------------------------------------------------------------------ */

static char *upper_case(const char *name) {
    char *upper = mem_text(name);
    for (char *c = upper; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return upper;
}

static void add_upper(text_list_t *defines, const char *name, int64_t value) {
    AUTO_FREE char *upper = upper_case(name);
    text_list_add_format(defines, "%s=%" PRId64, upper, value);
}

/* LAYERS=4,5,1, for an array's values; N_LAYERS=3; LAYERS_0=4, …, for #if. */
static void add_list(text_list_t *defines, const char *name, const value_t *list) {
    AUTO(text_list_free) text_list_t items = {0};
    AUTO_FREE char *upper = upper_case(name);
    text_list_add_format(defines, "N_%s=%zu", upper, list->n_ints);
    for (size_t i = 0; i < list->n_ints; i++) {
        text_list_add_format(&items, "%" PRId64, list->ints[i]);
        text_list_add_format(defines, "%s_%zu=%" PRId64, upper, i, list->ints[i]);
    }
    AUTO_FREE char *joined = text_list_join(&items, ",");
    text_list_add_format(defines, "%s=%s", upper, joined);
}

/* Is it that of a letter or an array? */
static bool uses(const description_t *d, size_t dtype, element_t element) {
    const described_dtype_t *type = &d->types[dtype];
    bool any = false;
    for (size_t i = 0; i < ELEMENT_LETTERS; i++)
        any |= type->itemsizes[i] > 0 && type->elements[i] == element;
    for (size_t i = 0; i < d->n_arrays; i++)
        any |= description_element_of(d, &d->arrays[i], dtype) == element;
    return any;
}

/* Is a kernel launched for parts of this param? */
static bool is_in_parts(const description_t *d, size_t param, const case_t *spec) {
    const char *copy = case_technique(spec, "copy");
    return copy != NULL && strcmp(copy, "overlapped") == 0 &&
           strcmp(d->params.items[param], d->workload.size_param) == 0;
}

static void add_refused(text_list_t *defines, const char *name) {
    AUTO_FREE char *upper = upper_case(name);
    text_list_add_format(defines,
                         "%s=" WORKLOAD_SKIPS
                         "copy=overlapped launches kernels for parts of %s, and this one is "
                         "compiled for all of it: it mentions %s",
                         upper, name, upper);
}

static void constants(const case_t *spec, text_list_t *defines) {
    const description_t *d = described_find(spec->workload);
    const size_t dtype = description_dtype(d, spec);
    for (size_t i = 0; i < d->dtypes.n; i++) {
        AUTO_FREE char *name = mem_format("DTYPE_%s", d->dtypes.items[i]);
        add_upper(defines, name, i == dtype);
    }
    const bool narrow = !signature_is_wide(spec);
    text_list_add_format(defines, "WORKLOAD_F16=%d", narrow && uses(d, dtype, ELEMENT_F16));
    text_list_add_format(defines, "WORKLOAD_BF16=%d", narrow && uses(d, dtype, ELEMENT_BF16));
    text_list_add_format(defines, "WORKLOAD_FP8=%d",
                         narrow && (uses(d, dtype, ELEMENT_E4M3) || uses(d, dtype, ELEMENT_E5M2)));
    signature_add(d, spec, defines);
    for (size_t i = 0; i < d->n_own; i++)
        for (size_t k = 0; d->own[i].choices[k] != NULL; k++) {
            AUTO_FREE char *name = mem_format("%s_%s", d->own[i].name, d->own[i].choices[k]);
            add_upper(defines, name, description_choice(d, spec, i) == k);
        }
    for (size_t i = 0; i < d->params.n; i++)
        if (d->lists[i].n > 0)
            add_list(defines, d->params.items[i], case_param(spec, d->params.items[i]));
        else if (d->constant[i] || (d->offered[i] && !is_in_parts(d, i, spec)))
            add_upper(defines, d->params.items[i], case_param_int(spec, d->params.items[i], 0));
        else if (d->offered[i])
            add_refused(defines, d->params.items[i]);
}

static status_t check_program(const workload_t *workload, const cubin_t *cubin, error_t *err) {
    const description_t *description = (const description_t *)workload;
    TRY(launches_check(description, cubin, err));
    TRY(temporaries_check(description, cubin, err));
    return tensor_maps_check(description, cubin, err);
}

/* ---- for workers in other languages ----------------------------------------------------------- */

static const char *const FILLS[] = {
    [FILL_UNIFORM] = "uniform",   [FILL_NORMAL] = "normal",
    [FILL_INTEGERS] = "integers", [FILL_PERMUTATION] = "permutation",
    [FILL_CONSTANT] = "constant", [FILL_FUNCTION] = "function",
    [FILL_DATA] = "data"};

static json_t *fill_to_json(const fill_t *fill) {
    json_t *json = json_pack("{s:s, s:f, s:f}", "kind", FILLS[fill->kind], "low", fill->low, "high",
                             fill->high);
    if (fill->times != 0)
        json_object_update_new(json,
                               json_pack("{s:f, s:s, s:f, s:f, s:i}", "times", fill->times,
                                         "of_kind", FILLS[fill->of_kind], "of_low", fill->of_low,
                                         "of_high", fill->of_high, "of", (int)fill->of));
    return json;
}

static json_t *array_to_json(const described_shape_t *shape) {
    const described_array_t *array = shape->array;
    json_t *sizes = json_array();
    for (unsigned i = 0; i < array->n_dimensions; i++)
        json_array_append_new(sizes, json_integer((json_int_t)shape->sizes[i]));
    json_t *json = json_pack("{s:s, s:o, s:s, s:b, s:b}", "name", shape->name, "shape", sizes,
                             "dtype", element_name(shape->element), "input", array->is_input,
                             "output", array->is_output);
    if (array->repeat != NULL)
        json_object_set_new(json, "list", json_string(array->name));
    if (array->is_input && !crosses_bus(array))
        json_object_set_new(json, "stays", json_true());
    if (array->is_curve)
        json_object_set_new(json, "every", json_integer((json_int_t)shape->every));
    if (array->is_cut)
        json_object_set_new(json, "cut", json_true());
    if (array->is_input)
        json_object_set_new(json, "fill", fill_to_json(&shape->fill));
    return json;
}

static json_t *scalars_to_json(const description_t *d, const case_t *spec) {
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_scalars; i++) {
        double value = 0;
        description_scalar(d, i, spec, &value, NULL); /* validate() reports it */
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:f}", "name", d->scalars[i].name, "dtype",
                                        element_name(d->scalars[i].element), "value", value));
    }
    return list;
}

static json_t *types_to_json(const description_t *d, size_t dtype) {
    const described_dtype_t *type = &d->types[dtype];
    json_t *types = json_object();
    for (int i = 0; i < ELEMENT_LETTERS; i++)
        if (type->itemsizes[i] > 0)
            json_object_set_new(types, (char[]){(char)('A' + i), '\0'},
                                json_string(element_name(type->elements[i])));
    return types;
}

status_t described_request(const description_t *d, const case_t *spec, json_t **request,
                           error_t *err) {
    const size_t dtype = description_dtype(d, spec);
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n;
    *request = NULL;
    TRY(description_arrays(d, spec, shapes, &n, err));
    json_t *arrays = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(arrays, array_to_json(&shapes[i]));
    *request = json_pack("{s:s?, s:s, s:s, s:o, s:o, s:b, s:o, s:b}", "folder", d->folder, "hash",
                         d->hash, "name", d->name, "arrays", arrays, "scalars",
                         scalars_to_json(d, spec), "deterministic", d->deterministic, "types",
                         types_to_json(d, dtype), "tf32", description_allows_tf32(d, dtype));
    if (d->steps != NULL)
        json_object_set_new(*request, "steps",
                            json_integer((json_int_t)description_steps_of(d, spec)));
    if (described_is_by_step(d))
        json_object_set_new(*request, "by_step", json_true());
    if (d->splits)
        json_object_set_new(*request, "splits", json_string(d->workload.size_param));
    return STATUS_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Its values, and what kernels have it as: "1 or more; compiled in as COLS". */
static char *param_summary(const description_t *d, size_t i) {
    const char *name = d->params.items[i];
    AUTO_FREE char *upper = upper_case(name),
                   *values = d->most[i] < (int64_t)DESCRIBED_LARGEST
                                 ? mem_format("%" PRId64 "…%" PRId64, d->least[i], d->most[i])
                                 : mem_format("%" PRId64 " or more", d->least[i]);
    return d->lists[i].n > 0 ? mem_format("%zu…%zu of %s; compiled in as %s", d->least_items[i],
                                          d->most_items[i], values, upper)
           : d->offered[i]
               ? mem_format("%s; argument long long %s, or compiled in as %s", values, name, upper)
           : d->constant[i] ? mem_format("%s; compiled in as %s", values, upper)
                            : mem_format("%s; argument long long %s", values, name);
}

static bool has_loss(const description_t *d) {
    for (size_t i = 0; i < d->n_arrays; i++)
        if (d->arrays[i].is_curve && strcmp(d->arrays[i].name, "loss") == 0)
            return true;
    return false;
}

static char *default_json(const description_t *d, size_t i) {
    const json_t *params = json_object_get(d->json, "params");
    const json_t *param = json_object_get(params, d->params.items[i]);
    return json_dumps(json_object_get(param, "default"), JSON_ENCODE_ANY | JSON_COMPACT);
}

/* Scalars that a case may set, from number `n` on; returns how many params there are in all. */
static size_t add_scalars(described_entry_t *entry, size_t n) {
    const description_t *d = &entry->description;
    for (size_t i = 0; i < d->n_scalars; i++) {
        const described_scalar_t *scalar = &d->scalars[i];
        if (!scalar->is_param)
            continue;
        json_auto_t *value = json_real(scalar->value);
        entry->params[n++] =
            (param_spec_t){.name = scalar->name,
                           .kind = VALUE_REAL,
                           .min = scalar->least,
                           .max = scalar->most,
                           .default_json = json_dumps(value, JSON_ENCODE_ANY),
                           .summary = mem_format("%g…%g; argument %s", scalar->least, scalar->most,
                                                 element_name(scalar->element))};
    }
    return n;
}

static void list_modes(described_entry_t *entry) {
    size_t n = 0;
    for (const char *const *mode = MODES_OF_TRAININGS; *mode != NULL; mode++)
        entry->modes[n++] = *mode;
    if (entry->description.has_manual_training)
        entry->modes[n++] = "manual_graph";
    if (entry->description.has_dataloader)
        entry->modes[n++] = "dataloader";
}

static void make_workload(described_entry_t *entry) {
    description_t *d = &entry->description;
    workload_t *workload = &d->workload;
    list_modes(entry);
    for (size_t i = 0; i < d->params.n; i++)
        entry->params[i] =
            (param_spec_t){.name = d->params.items[i],
                           .kind = d->lists[i].n > 0 ? VALUE_INTS : VALUE_INT,
                           .min = (double)d->least[i],
                           .max = (double)d->most[i],
                           .min_items = d->least_items[i],
                           .max_items = d->most_items[i],
                           .default_json = default_json(d, i),
                           .summary = param_summary(d, i),
                           .always_in_id = d->lists[i].n == 0 && !d->omits_default[i]};
    workload->name = d->name;
    workload->folder = d->folder;
    workload->params = entry->params;
    workload->n_params = add_scalars(entry, d->params.n);
    workload->sample_steps = steps_of;
    workload->steps_are_epochs =
        d->steps != NULL && strcmp(expression_text(d->steps), "epochs") == 0;
    workload->has_loss = has_loss(d);
    workload->techniques = d->techniques;
    workload->n_techniques = DESCRIBED_TECHNIQUES + d->n_own;
    workload->dtypes = text_list_argv(&d->dtypes);
    workload->pytorch_variants = d->splits ? MODES : d->steps != NULL ? entry->modes : MODES_OF_ALL;
    workload->jax_variants = !d->has_jax        ? NULL
                             : d->splits        ? JAX_MODES
                             : d->steps != NULL ? JAX_MODES_OF_TRAININGS
                                                : JAX_MODES_OF_ALL;
    workload->repeats = d->needs_deterministic ? REPEATS_MUST_BE_EQUAL : REPEATS_ARE_COMPARED;
    workload->pytorch_oracle = "oracle";
    workload->c_oracle = d->has_c_reference ? C_REFERENCE : NULL;
    workload->allows = allows;
    workload->condition = d->where != NULL ? expression_text(d->where) : NULL;
    workload->validate = validate;
    workload->cost = described_cost;
    workload->arithmetic = arithmetic;
    workload->factors = factors;
    workload->tolerance = tolerance;
    workload->bounds = bounds;
    workload->constants = constants;
    workload->check_program = check_program;
}

static void add_entry(described_entry_t *entry) {
    make_workload(entry);
    entries = mem_resize(entries, n_entries + 1, sizeof *entries);
    entries[n_entries++] = entry;
}

static described_entry_t *find_added(const char *name) {
    for (size_t i = 0; i < n_entries; i++)
        if (strcmp(entries[i]->description.name, name) == 0)
            return entries[i];
    return NULL;
}

void (*described_tell)(const char *sentence);

/* Is the name free? One folder may be added again. */
static status_t check_name(const char *folder, const description_t *d,
                           bool (*is_taken)(const char *name), error_t *err) {
    const described_entry_t *entry = find_added(d->name);
    const description_t *other = entry != NULL ? &entry->description : NULL;
    const char *of = is_taken != NULL && is_taken(d->name) ? "a workload of this program"
                     : other == NULL                       ? NULL
                     : other->folder == NULL               ? "a workload of this run"
                                                           : other->folder;
    if (of == NULL)
        return STATUS_OK;
    if (other != NULL && other->folder != NULL && strcmp(other->folder, d->folder) == 0)
        return strcmp(other->hash, d->hash) == 0
                   ? STATUS_OK
                   : error_set(err, STATUS_USAGE,
                               "%s: a file of the workload \"%s\" was changed while it was in use",
                               folder, d->name);
    AUTO_FREE char *path = description_path(folder);
    return error_set(err, STATUS_USAGE, "%s: $.name: \"%s\" is the name of %s: choose another",
                     path, d->name, of);
}

/* NULL: its description is wrong. */
static described_entry_t *load_entry(const char *folder, error_t *err) {
    described_entry_t *entry = mem_zeroed(1, sizeof *entry);
    if (description_load(folder, &entry->description, err) == STATUS_OK)
        return entry;
    free(entry);
    return NULL;
}

static status_t add_folder(const char *folder, described_entry_t *entry,
                           bool (*is_taken)(const char *name), error_t *err) {
    status_t status = check_name(folder, &entry->description, is_taken, err);
    if (status == STATUS_OK && find_added(entry->description.name) == NULL) {
        AUTO_FREE char *advice = description_advice(&entry->description);
        if (advice != NULL && described_tell != NULL)
            described_tell(advice);
        add_entry(entry);
        return STATUS_OK;
    }
    description_free(&entry->description);
    free(entry);
    return status;
}

/* ---- those of kernels/ ------------------------------------------------------------------------ */

/* Where described workloads may be that nobody has asked for yet. */
static struct {
    text_list_t folders; /* …/kernels */
    text_list_t read;    /* …/kernels/NAME: those tried */
    bool has_read_all;
    bool (*is_taken)(const char *name);
    void (*left_out)(const char *why);
} search;

void described_search(const char *root, bool (*is_taken)(const char *name),
                      void (*left_out)(const char *why)) {
    AUTO_FREE char *kernels = fs_join(root, "kernels");
    text_list_add_new(&search.folders, kernels);
    search.has_read_all = false;
    search.is_taken = is_taken;
    search.left_out = left_out;
}

/* A wrong description must not keep other workloads from running. */
static void read_folder(const char *folder) {
    AUTO_FREE char *file = description_path(folder);
    error_t why = ERROR_INIT;
    if (text_list_has(&search.read, folder) || !fs_exists(file))
        return;
    text_list_add(&search.read, folder);
    described_entry_t *entry = load_entry(folder, &why);
    if (entry != NULL)
        entry->description.workload.is_of_project = true;
    if ((entry == NULL || add_folder(folder, entry, search.is_taken, &why) != STATUS_OK) &&
        search.left_out != NULL)
        search.left_out(why.text);
}

/* Let the described workload of this folder be number `at`. Returns 1, or 0 if there is none. */
static size_t place(const char *folder, size_t at) {
    AUTO_FREE char *path = realpath(folder, NULL);
    size_t i = at;
    while (i < n_entries && (path == NULL || entries[i]->description.folder == NULL ||
                             strcmp(entries[i]->description.folder, path) != 0))
        i++;
    if (i >= n_entries)
        return 0;
    described_entry_t *entry = entries[i];
    memmove(&entries[at + 1], &entries[at], (i - at) * sizeof(described_entry_t *));
    entries[at] = entry;
    return 1;
}

/* Their order is that of the folders, whichever was asked for first. */
static void read_all(void) {
    size_t n_placed = 0;
    if (search.has_read_all)
        return;
    search.has_read_all = true;
    for (size_t i = 0; i < search.folders.n; i++) {
        AUTO(text_list_free) text_list_t names = {0};
        fs_list(search.folders.items[i], "", &names, NULL); /* without the folder there are none */
        for (size_t k = 0; k < names.n; k++) {
            AUTO_FREE char *folder = fs_join(search.folders.items[i], names.items[k]);
            read_folder(folder);
            n_placed += place(folder, n_placed);
        }
    }
}

/* Of all descriptions only that in the folder of this name is read, unless there is none. */
static const described_entry_t *find(const char *name) {
    if (find_added(name) != NULL || search.folders.n == 0 || search.is_taken(name) ||
        !text_is_name(name))
        return find_added(name);
    for (size_t i = 0; i < search.folders.n; i++) {
        AUTO_FREE char *folder = fs_join(search.folders.items[i], name);
        read_folder(folder);
    }
    if (find_added(name) == NULL)
        read_all();
    return find_added(name);
}

const description_t *described_find(const char *name) {
    const described_entry_t *entry = find(name);
    return entry != NULL ? &entry->description : NULL;
}

const workload_t *described_find_workload(const char *name) {
    const described_entry_t *entry = find(name);
    return entry != NULL ? &entry->description.workload : NULL;
}

const workload_t *described_workload(size_t index) {
    read_all();
    return index < n_entries ? &entries[index]->description.workload : NULL;
}

status_t described_add(const char *folder, bool (*is_taken)(const char *name),
                       const description_t **added, error_t *err) {
    described_entry_t *entry = load_entry(folder, err);
    if (entry == NULL)
        return STATUS_USAGE;
    AUTO_FREE char *name = mem_text(entry->description.name);
    find(name);
    const status_t status = add_folder(folder, entry, is_taken, err);
    *added = described_find(name);
    return status;
}

status_t described_add_saved(const char *file, const json_t *description, error_t *err) {
    described_entry_t *entry = mem_zeroed(1, sizeof *entry);
    const status_t status = description_parse(file, description, &entry->description, err);
    if (status == STATUS_OK && find(entry->description.name) == NULL) {
        add_entry(entry);
        return STATUS_OK;
    }
    description_free(&entry->description);
    free(entry);
    return status;
}

#include "workloads/described/described.h"

#include "base/half.h"
#include "base/memory.h"
#include "io/fs.h"
#include "io/npy.h"
#include "model/result.h"
#include "workloads/described/launches.h"
#include "workloads/described/signature.h"
#include "workloads/described/tensor_maps.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== data that cases share =================================================================== */

static bool same(const void *data, const void *shape) {
    const described_data_t *a = data, *b = shape;
    return a->description == b->description && a->seed == b->seed && strcmp(a->key, b->key) == 0;
}

/* ---- inputs that a function makes ------------------------------------------------------------- */

static status_t read_exactly(const char *path, void *values, size_t bytes, error_t *err) {
    int fd;
    size_t size, n = 0;
    ssize_t part = 1;
    TRY(fs_open_file(path, &fd, &size, err));
    while (size == bytes && n < bytes && part > 0)
        n += (size_t)((part = read(fd, (char *)values + n, bytes - n)) > 0 ? part : 0);
    close(fd);
    return n == bytes
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%s: %zu bytes, expected %zu", path, size, bytes);
}

/* The values stay if they cannot be read: described_data_check() says so. */
static void read_made(const described_data_t *data, size_t i, void *values, uint64_t refill) {
    if (data->made == NULL) {
        error_set(data->lost, STATUS_FAILED, "%s: a function makes it, and no file was handed over",
                  data->description->arrays[i].name);
        return;
    }
    char *path =
        mem_format("%s/%" PRIu64 "/%s", data->made, refill, data->description->arrays[i].name);
    read_exactly(path, values, data->shapes[i].bytes, data->lost);
    free(path);
}

status_t described_data_check(const described_data_t *data, error_t *err) {
    return data->lost->text[0] == '\0'
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "an input: %s", data->lost->text);
}

static void *make(const void *shape) {
    described_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const described_data_t *)shape;
    data->key = mem_text(data->key);
    data->made = mem_text(data->made);
    data->lost = mem_zeroed(1, sizeof *data->lost);
    for (size_t i = 0; i < data->description->n_arrays; i++) {
        const described_shape_t *size = &data->shapes[i];
        if (!data->description->arrays[i].is_input)
            continue;
        data->values[i] = mem_alloc(size->bytes);
        if (size->fill.kind == FILL_FUNCTION)
            read_made(data, i, data->values[i], 0);
        else
            fill_array(data->values[i], size->n, size->element, &size->fill, data->seed,
                       (uint32_t)i);
    }
    return data;
}

static void free_data(void *dead) {
    described_data_t *data = dead;
    for (size_t i = 0; i < data->description->n_arrays; i++)
        free(data->values[i]);
    free(data->key);
    free(data->made);
    free(data->lost);
    free(data);
}

void described_data_fill(const described_data_t *data, size_t i, void *values, uint64_t refill) {
    const described_shape_t *size = &data->shapes[i];
    if (size->fill.kind == FILL_FUNCTION)
        read_made(data, i, values, refill);
    else
        fill_again(values, size->n, size->element, &size->fill, fill_key(data->seed, refill),
                   (uint32_t)i);
}

static void refill(void *refilled, uint64_t from, uint64_t to) {
    const described_data_t *data = refilled;
    (void)from; /* nothing of it is left */
    for (size_t i = 0; i < data->description->n_arrays; i++)
        if (data->values[i] != NULL)
            described_data_fill(data, i, data->values[i], to);
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data, .refill = refill};

const described_data_t *described_data_take(const description_t *description, const case_t *spec,
                                            uint64_t seed, const char *made) {
    described_data_t shape = {.description = description, .seed = seed, .made = (char *)made};
    text_list_t parts = {0};
    error_t impossible = ERROR_INIT; /* the case has passed workload_check() */
    text_list_add(&parts, spec->dtype);
    for (size_t i = 0; i < description->params.n; i++)
        text_list_add_format(&parts, "%lld",
                             (long long)case_param_int(spec, description->params.items[i], 0));
    for (size_t i = 0; i < description->n_arrays; i++)
        description_shape(description, i, spec, &shape.shapes[i], &impossible);
    shape.key = text_list_join(&parts, " ");
    const described_data_t *data = shared_data_take(&open_data, &shape);
    free(shape.key);
    text_list_free(&parts);
    return data;
}

void described_data_refill(const described_data_t *data, uint64_t seed) {
    shared_data_refill(&open_data, data, seed);
}

void described_data_release(const described_data_t *data) {
    shared_data_release(&open_data, data);
}

/* ---- outputs --------------------------------------------------------------------------------- */

random_kind_t described_random_kind(element_t element) {
    static const random_kind_t KINDS[ELEMENT_KINDS] = {
        [ELEMENT_F32] = RANDOM_F32,    [ELEMENT_F16] = RANDOM_F16,    [ELEMENT_BF16] = RANDOM_BF16,
        [ELEMENT_F64] = RANDOM_F64,    [ELEMENT_I32] = RANDOM_BYTES,  [ELEMENT_I64] = RANDOM_BYTES,
        [ELEMENT_U8] = RANDOM_BYTES,   [ELEMENT_BOOL] = RANDOM_BYTES, [ELEMENT_I8] = RANDOM_BYTES,
        [ELEMENT_E4M3] = RANDOM_BYTES, [ELEMENT_E5M2] = RANDOM_BYTES};
    return KINDS[element];
}

static const char *const NPY_TYPES[ELEMENT_KINDS] = {
    [ELEMENT_F32] = "f4", [ELEMENT_F16] = "f2",  [ELEMENT_BF16] = "f4", [ELEMENT_F64] = "f8",
    [ELEMENT_I32] = "i4", [ELEMENT_I64] = "i8",  [ELEMENT_U8] = "u1",   [ELEMENT_BOOL] = "b1",
    [ELEMENT_I8] = "i1",  [ELEMENT_E4M3] = "f4", [ELEMENT_E5M2] = "f4"};

/* Of types that files have not; NULL for others. */
static float *widened(const void *values, size_t n, element_t element) {
    const uint8_t *bytes = values;
    float *wide = NULL;
    if (element == ELEMENT_BF16 || element == ELEMENT_E4M3 || element == ELEMENT_E5M2)
        wide = mem_zeroed(n, sizeof *wide);
    for (size_t i = 0; wide != NULL && i < n; i++)
        wide[i] = element == ELEMENT_BF16   ? bfloat16_to_float(((const uint16_t *)values)[i])
                  : element == ELEMENT_E4M3 ? e4m3_to_float(bytes[i])
                                            : e5m2_to_float(bytes[i]);
    return wide;
}

status_t described_data_write(const described_data_t *data, size_t i, const void *values,
                              const char *folder, error_t *err) {
    const described_shape_t *shape = &data->shapes[i];
    const described_array_t *array = &data->description->arrays[i];
    float *wide = widened(values, shape->n, shape->element);
    char *path = mem_format("%s/%s.npy", folder, array->name);
    const status_t status = npy_write(path, NPY_TYPES[shape->element], wide != NULL ? wide : values,
                                      shape->sizes, array->n_dimensions, err);
    free(path);
    free(wide);
    return status;
}

/* ==== as a workload =========================================================================== */

/* Lives as long as the process: cases point at their workload. */
typedef struct described_entry {
    workload_t workload;
    description_t description;
    param_spec_t params[DESCRIBED_PARAMS];
    const char *dtypes[ELEMENT_KINDS + 1];
} described_entry_t;

static described_entry_t **entries;
static size_t n_entries;

/* By default a rung gets what PyTorch's best modes have: memory that is there, pinned where it is copied. */
static const technique_spec_t TECHNIQUES[] = {
    {"alloc", "source of device memory in each sample (async: a pool that keeps freed memory)",
     NAMES("arena", "malloc", "async")},
    {"copy",
     "type of host memory to copy from and to (overlapped: pinned, in chunks on three streams)",
     NAMES("pinned", "pageable", "mapped", "overlapped")},
    {"weights", "copy weights once, or in each sample", NAMES("resident", "upload")},
    {"launch", "submit work call by call, or as a captured graph", NAMES("stream", "graph")},
    {"wait", "synchronise, or poll the mapped output", NAMES("sync", "poll")},
};

static const char *const MODES[] = {"eager", "inference",     "compile",
                                    "graph", "compile_graph", NULL};
static const char *const JAX_MODES[] = {"jit", "aot", NULL};

/* ---- as a workload --------------------------------------------------------------------------- */

static bool allows(const case_t *spec) {
    bool allowed = true;
    error_t ignored = ERROR_INIT; /* validate() reports it */
    description_where(described_find(spec->workload), spec, &allowed, &ignored);
    return allowed;
}

static status_t validate(const case_t *spec, error_t *err) {
    const description_t *d = described_find(spec->workload);
    bool allowed;
    TRY(description_where(d, spec, &allowed, err));
    for (size_t i = 0; i < d->n_arrays; i++) {
        described_shape_t shape;
        TRY(description_shape(d, i, spec, &shape, err));
    }
    for (size_t i = 0; i < d->n_scalars; i++) {
        double value;
        TRY(description_scalar(d, i, spec, &value, err));
    }
    TRY(description_by_value(d, spec, err));
    return description_techniques(d, spec, err);
}

/* Copied by any implementation, from host to host. */
static bool crosses_bus(const described_array_t *array) {
    return array->is_input && !array->is_weight && !array->is_by_value && !array->is_resident;
}

workload_cost_t described_cost(const case_t *spec) {
    const description_t *d = described_find(spec->workload);
    workload_cost_t sum = {0};
    error_t ignored = ERROR_INIT; /* validate() has reported it */
    for (size_t i = 0; i < d->n_arrays; i++) {
        described_shape_t shape = {0};
        description_shape(d, i, spec, &shape, &ignored);
        sum.device_bytes += d->arrays[i].is_by_value ? 0 : (double)shape.bytes;
        sum.bus_in_bytes += crosses_bus(&d->arrays[i]) ? (double)shape.bytes : 0;
        sum.bus_out_bytes += d->arrays[i].is_output ? (double)shape.bytes : 0;
    }
    description_cost(d, spec, &sum.bytes, &sum.flops, &ignored);
    /* What is not given bounds nothing. */
    sum.bytes = isfinite(sum.bytes) ? sum.bytes : 0;
    sum.flops = isfinite(sum.flops) ? sum.flops : 0;
    sum.working_set_bytes = fmin(sum.bytes, sum.device_bytes);
    return sum;
}

static const char *arithmetic(const case_t *spec) {
    element_t dtype = ELEMENT_F32;
    element_find(spec->dtype, &dtype);
    return described_find(spec->workload)->math[dtype];
}

static bounds_t bounds(const case_t *spec, const char *array) {
    const description_t *d = described_find(spec->workload);
    element_t dtype = ELEMENT_F32;
    element_find(spec->dtype, &dtype);
    for (size_t i = 0; i < d->n_arrays; i++)
        if (strcmp(d->arrays[i].name, array) == 0)
            return d->arrays[i].bounds[dtype];
    return (bounds_t){0, 0};
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
    char *upper = upper_case(name);
    text_list_add_format(defines, "%s=%" PRId64, upper, value);
    free(upper);
}

static bool uses(const description_t *d, element_t dtype, element_t element) {
    bool any = dtype == element;
    for (size_t i = 0; i < d->n_arrays; i++)
        any |= !d->arrays[i].of_case && d->arrays[i].element == element;
    return any;
}

static void constants(const case_t *spec, text_list_t *defines) {
    const description_t *d = described_find(spec->workload);
    element_t dtype = ELEMENT_F32;
    element_find(spec->dtype, &dtype);
    for (int i = 0; i < ELEMENT_KINDS; i++) {
        char *name = mem_format("DTYPE_%s", element_name((element_t)i));
        add_upper(defines, name, dtype == (element_t)i);
        free(name);
    }
    text_list_add_format(defines, "WORKLOAD_F16=%d", uses(d, dtype, ELEMENT_F16));
    text_list_add_format(defines, "WORKLOAD_BF16=%d", uses(d, dtype, ELEMENT_BF16));
    signature_add(d, spec, strcmp(spec->engine, ENGINE_C) == 0, defines);
    text_list_add_format(defines, "WORKLOAD_FP8=%d",
                         uses(d, dtype, ELEMENT_E4M3) || uses(d, dtype, ELEMENT_E5M2));
    for (size_t i = 0; i < d->params.n; i++)
        if (d->constant[i])
            add_upper(defines, d->params.items[i], case_param_int(spec, d->params.items[i], 0));
}

static status_t check_program(const workload_t *workload, const cubin_t *cubin, error_t *err) {
    const description_t *description = &((const described_entry_t *)workload)->description;
    TRY(launches_check(description, cubin, err));
    return tensor_maps_check(description, cubin, err);
}

/* ---- for workers in other languages ----------------------------------------------------------- */

static const char *const FILLS[] = {
    [FILL_UNIFORM] = "uniform",         [FILL_NORMAL] = "normal",     [FILL_INTEGERS] = "integers",
    [FILL_PERMUTATION] = "permutation", [FILL_CONSTANT] = "constant", [FILL_FUNCTION] = "function"};

static json_t *array_to_json(const described_array_t *array, const described_shape_t *shape) {
    json_t *sizes = json_array();
    for (unsigned i = 0; i < array->n_dimensions; i++)
        json_array_append_new(sizes, json_integer((json_int_t)shape->sizes[i]));
    json_t *json = json_pack("{s:s, s:o, s:s, s:b, s:b}", "name", array->name, "shape", sizes,
                             "dtype", element_name(shape->element), "input", array->is_input,
                             "output", array->is_output);
    if (array->is_weight || array->is_resident)
        json_object_set_new(json, "stays", json_true());
    if (array->is_input)
        json_object_set_new(json, "fill",
                            json_pack("{s:s, s:f, s:f}", "kind", FILLS[shape->fill.kind], "low",
                                      shape->fill.low, "high", shape->fill.high));
    return json;
}

static json_t *scalars_to_json(const description_t *d, const case_t *spec) {
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_scalars; i++) {
        error_t ignored = ERROR_INIT; /* validate() reports it */
        double value = 0;
        description_scalar(d, i, spec, &value, &ignored);
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:f}", "name", d->scalars[i].name, "dtype",
                                        element_name(d->scalars[i].element), "value", value));
    }
    return list;
}

status_t described_request(const description_t *d, const case_t *spec, json_t **request,
                           error_t *err) {
    json_t *arrays = json_array();
    *request = NULL;
    for (size_t i = 0; i < d->n_arrays; i++) {
        described_shape_t shape;
        if (description_shape(d, i, spec, &shape, err) != STATUS_OK) {
            json_decref(arrays);
            return STATUS_FAILED;
        }
        json_array_append_new(arrays, array_to_json(&d->arrays[i], &shape));
    }
    *request = json_pack("{s:s?, s:s, s:s, s:o, s:o, s:b}", "folder", d->folder, "hash", d->hash,
                         "name", d->name, "arrays", arrays, "scalars", scalars_to_json(d, spec),
                         "deterministic", d->deterministic);
    return STATUS_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Its values, and what kernels have it as: "1 or more; compiled in as COLS". */
static char *param_summary(const description_t *d, size_t i) {
    const char *name = d->params.items[i];
    char *values = d->most[i] < (int64_t)DESCRIBED_LARGEST
                       ? mem_format("%" PRId64 "…%" PRId64, d->least[i], d->most[i])
                       : mem_format("%" PRId64 " or more", d->least[i]);
    char *upper = upper_case(name);
    char *text = d->constant[i] ? mem_format("%s; compiled in as %s", values, upper)
                                : mem_format("%s; argument long long %s", values, name);
    free(upper);
    free(values);
    return text;
}

static void make_workload(described_entry_t *entry) {
    const description_t *d = &entry->description;
    for (size_t i = 0; i < d->params.n; i++)
        entry->params[i] = (param_spec_t){.name = d->params.items[i],
                                          .kind = VALUE_INT,
                                          .min = (double)d->least[i],
                                          .max = (double)d->most[i],
                                          .default_json = mem_format("%" PRId64, d->defaults[i]),
                                          .summary = param_summary(d, i),
                                          .always_in_id = true};
    for (size_t i = 0; i < d->dtypes.n; i++)
        entry->dtypes[i] = d->dtypes.items[i];
    entry->workload = (workload_t){
        .name = d->name,
        .summary = d->summary,
        .folder = d->folder,
        .params = entry->params,
        .n_params = d->params.n,
        .size_param = d->size_param,
        .size_noun = d->size_param,
        .size_label = d->size_param,
        .compared_by = COMPUTATION,
        .host_to_host = "from inputs in host memory to outputs in host memory",
        .techniques = TECHNIQUES,
        .n_techniques = sizeof TECHNIQUES / sizeof *TECHNIQUES,
        .dtypes = entry->dtypes,
        .pytorch_variants = MODES,
        .jax_variants = d->has_jax ? JAX_MODES : NULL,
        .repeats = d->needs_deterministic ? REPEATS_MUST_BE_EQUAL : REPEATS_ARE_COMPARED,
        .pytorch_oracle = "oracle",
        .allows = allows,
        .condition = d->where != NULL ? expression_text(d->where) : NULL,
        .validate = validate,
        .cost = described_cost,
        .arithmetic = arithmetic,
        .tolerance = tolerance,
        .bounds = bounds,
        .constants = constants,
        .check_program = check_program};
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
    char *path = description_path(folder);
    error_set(err, STATUS_USAGE, "%s: $.name: \"%s\" is the name of %s: choose another", path,
              d->name, of);
    free(path);
    return STATUS_USAGE;
}

static status_t add_folder(const char *folder, described_entry_t *entry,
                           bool (*is_taken)(const char *name), error_t *err) {
    status_t status = check_name(folder, &entry->description, is_taken, err);
    if (status == STATUS_OK && find_added(entry->description.name) == NULL) {
        char *advice = description_advice(&entry->description);
        if (advice != NULL && described_tell != NULL)
            described_tell(advice);
        free(advice);
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
    char *kernels = fs_join(root, "kernels");
    text_list_add_new(&search.folders, kernels);
    search.has_read_all = false;
    search.is_taken = is_taken;
    search.left_out = left_out;
    free(kernels);
}

/* A wrong description must not keep other workloads from running. */
static void read_folder(const char *folder) {
    char *file = description_path(folder);
    if (!text_list_has(&search.read, folder) && fs_exists(file)) {
        described_entry_t *entry = mem_zeroed(1, sizeof *entry);
        error_t why = ERROR_INIT;
        text_list_add(&search.read, folder);
        status_t status = description_load(folder, &entry->description, &why);
        if (status == STATUS_OK)
            status = add_folder(folder, entry, search.is_taken, &why);
        else
            free(entry);
        if (status != STATUS_OK && search.left_out != NULL)
            search.left_out(why.text);
    }
    free(file);
}

/* Let the described workload of this folder be number `at`. Returns 1, or 0 if there is none. */
static size_t place(const char *folder, size_t at) {
    char *path = realpath(folder, NULL);
    size_t i = at;
    while (i < n_entries && (path == NULL || entries[i]->description.folder == NULL ||
                             strcmp(entries[i]->description.folder, path) != 0))
        i++;
    free(path);
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
        text_list_t names = {0};
        error_t ignored = ERROR_INIT; /* without the folder there are none */
        fs_list(search.folders.items[i], "", &names, &ignored);
        for (size_t k = 0; k < names.n; k++) {
            char *folder = fs_join(search.folders.items[i], names.items[k]);
            read_folder(folder);
            n_placed += place(folder, n_placed);
            free(folder);
        }
        text_list_free(&names);
    }
}

/* Of all descriptions only that in the folder of this name is read, unless there is none. */
static const described_entry_t *find(const char *name) {
    if (find_added(name) != NULL || search.folders.n == 0 || search.is_taken(name) ||
        !text_is_name(name))
        return find_added(name);
    for (size_t i = 0; i < search.folders.n; i++) {
        char *folder = fs_join(search.folders.items[i], name);
        read_folder(folder);
        free(folder);
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
    return entry != NULL ? &entry->workload : NULL;
}

const workload_t *described_workload(size_t index) {
    read_all();
    return index < n_entries ? &entries[index]->workload : NULL;
}

status_t described_add(const char *folder, bool (*is_taken)(const char *name),
                       const description_t **added, error_t *err) {
    described_entry_t *entry = mem_zeroed(1, sizeof *entry);
    if (description_load(folder, &entry->description, err) != STATUS_OK) {
        free(entry);
        return STATUS_USAGE;
    }
    char *name = mem_text(entry->description.name);
    find(name);
    const status_t status = add_folder(folder, entry, is_taken, err);
    *added = described_find(name);
    free(name);
    return status;
}

status_t described_add_saved(const char *file, const json_t *description, error_t *err) {
    described_entry_t *entry = mem_zeroed(1, sizeof *entry);
    const status_t status = description_parse(file, description, &entry->description, err);
    if (status == STATUS_OK && find(entry->description.name) == NULL) {
        add_entry(entry);
        return STATUS_OK;
    }
    if (status == STATUS_OK)
        description_free(&entry->description);
    free(entry);
    return status;
}

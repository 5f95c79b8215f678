#include "sweep/sweep.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/chart_kinds.h"
#include "model/result.h"
#include "sweep/plan.h"

#include <math.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 4 };

static bool is(const case_t *spec, const char *engine, const char *variant) {
    return strcmp(spec->engine, engine) == 0 &&
           (variant == NULL || strcmp(spec->variant, variant) == 0);
}

/* Compilations take seconds, JAX's too; and on a GPU PyTorch has a faster mode than eager. */
static bool comes_later(const case_t *spec, bool on_cpu) {
    return case_compiles(spec) || is(spec, "jax", NULL) ||
           (!on_cpu && is(spec, "pytorch", "eager"));
}

unsigned case_turn(const case_t *spec, bool quick) {
    const bool on_cpu = strcmp(spec->device, "cpu") == 0;
    return (on_cpu ? 2 : 0) + (quick && comes_later(spec, on_cpu) ? 1 : 0);
}

/* ==== order =================================================================================== */

void sweep_order(sweep_t *sweep, bool quick) {
    AUTO_FREE case_t *ordered = mem_alloc((sweep->n_cases + 1) * sizeof *ordered);
    size_t n = 0;
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < sweep->n_cases; i++)
            if (case_turn(&sweep->cases[i], quick) == turn)
                ordered[n++] = sweep->cases[i];
    memcpy(sweep->cases, ordered, n * sizeof *ordered);
}

/* ==== cases =================================================================================== */

/* Modes of PyTorch that capture CUDA graphs (CAPTURING in reference_pytorch/session.py). */
static const char *const CAPTURING[] = {"graph",   "compile_graph",   "combo_graph", "manual_graph",
                                        "overlap", "compile_overlap", "mapped"};

/* Modes of PyTorch and JAX that hide copies, and the technique `copy` of rungs that do the same. */
static const struct {
    const char *mode, *copy;
} HIDING[] = {{"overlap", "overlapped"}, {"compile_overlap", "overlapped"}, {"mapped", "mapped"}};

static bool any_rung_copies(const sweep_plan_t *plan, const char *copy) {
    const value_t chosen = {.kind = VALUE_TEXT, .text = (char *)copy};
    for (size_t c = 0; c < plan->n_contenders; c++)
        for (size_t t = 0; t < plan->contenders[c].n_techniques; t++)
            if (strcmp(plan->contenders[c].techniques[t].name, "copy") == 0 &&
                axis_has(&plan->contenders[c].techniques[t], &chosen))
                return true;
    return false;
}

/* They compute as others do: where computation is compared, "*" has them only beside rungs that hide their copies. */
static bool adds_nothing(const sweep_plan_t *plan, const char *engine, const char *variant) {
    const char *by = plan->workload->compared_by;
    if (by == NULL || strcmp(by, COMPUTATION) != 0 ||
        (strcmp(engine, "pytorch") != 0 && strcmp(engine, "jax") != 0))
        return false;
    for (size_t i = 0; i < sizeof HIDING / sizeof *HIDING; i++)
        if (strcmp(variant, HIDING[i].mode) == 0)
            return !any_rung_copies(plan, HIDING[i].copy);
    return false;
}

/* CUDA graphs need a CUDA device: "*" leaves out these modes on the CPU; if the sweep names one, the
 * worker skips it with the reason. */
static bool is_offered(const sweep_plan_t *plan, const contender_t *contender, const char *variant,
                       const char *device) {
    if (text_list_has(&contender->named, variant))
        return true;
    if (adds_nothing(plan, contender->engine, variant))
        return false;
    if (strcmp(device, "cpu") != 0)
        return true;
    return strcmp(contender->engine, "pytorch") == 0
               ? !text_is_one_of(variant, CAPTURING, sizeof CAPTURING / sizeof *CAPTURING)
               : !text_list_has(&contender->for_gpu, variant);
}

/* A double, since the product may overflow an integer. */
static double product_size(const axis_t *axes, size_t n) {
    double size = 1;
    for (size_t i = 0; i < n; i++)
        size *= (double)axes[i].n;
    return size;
}

static double contender_size(const sweep_plan_t *plan, const contender_t *contender) {
    double runs = 0;
    for (size_t d = 0; d < contender->devices.n; d++)
        for (size_t v = 0; v < contender->variants.n; v++)
            runs += is_offered(plan, contender, contender->variants.items[v],
                               contender->devices.items[d]);
    return runs * product_size(contender->axes, contender->n_axes) *
           product_size(contender->techniques, contender->n_techniques);
}

static status_t check_size(const sweep_plan_t *plan, const node_t *top, error_t *err) {
    double n_points = product_size(plan->axes, plan->n_axes), n_cases = 0;
    if (n_points > SWEEP_CASE_LIMIT)
        return node_error(top, err, "the axes multiply to %.0f points, expected at most %d",
                          n_points, SWEEP_CASE_LIMIT);
    for (size_t i = 0; i < plan->n_contenders; i++)
        n_cases += contender_size(plan, &plan->contenders[i]);
    if (n_cases > SWEEP_CASE_LIMIT)
        return node_error(top, err, "expands to %.0f cases, expected at most %d", n_cases,
                          SWEEP_CASE_LIMIT);
    return STATUS_OK;
}

/* Step to the next combination, the last axis fastest; false after the last combination. */
static bool next_combination(size_t *index, const axis_t *axes, size_t n) {
    for (size_t i = n; i-- > 0;) {
        if (++index[i] < axes[i].n)
            return true;
        index[i] = 0;
    }
    return false;
}

static bool runs_at(const contender_t *contender, const axis_t *axes, const size_t *point) {
    for (size_t a = 0; a < contender->n_axes; a++)
        if (!axis_has(&contender->axes[a], &axes[a].values[point[a]]))
            return false;
    return true;
}

typedef struct expansion {
    const sweep_plan_t *plan;
    const node_t *top;
    sweep_t *sweep;
    const size_t *point; /* index into each axis of the plan */
    void *ids;           /* tsearch() tree; its strings belong to the cases */
} expansion_t;

static int compare_ids(const void *a, const void *b) {
    return strcmp(a, b);
}

static status_t add_case(expansion_t *to, case_t spec, error_t *err) {
    const workload_t *workload = to->plan->workload;
    workload_complete(workload, &spec);
    if (workload->allows != NULL && !workload->allows(&spec)) {
        case_free(&spec);
        return STATUS_OK;
    }
    error_t reason = ERROR_INIT;
    if (workload->validate != NULL && workload->validate(&spec, &reason) != STATUS_OK) {
        node_error(to->top, err, "%s: %s", spec.id, reason.text);
        case_free(&spec);
        return STATUS_USAGE;
    }
    const char **entry = tsearch(spec.id, &to->ids, compare_ids);
    if (entry == NULL)
        abort(); /* out of memory, as everywhere in mem_*() */
    if (*entry != spec.id) {
        case_free(&spec);
        return STATUS_OK;
    }
    sweep_t *sweep = to->sweep;
    mem_grow(&sweep->cases, sweep->n_cases, &sweep->cases_capacity, sizeof *sweep->cases);
    sweep->cases[sweep->n_cases++] = spec;
    return STATUS_OK;
}

/* One case per combination of techniques. */
static status_t add_cases(expansion_t *to, const contender_t *contender, const char *device,
                          const char *variant, error_t *err) {
    const sweep_plan_t *plan = to->plan;
    AUTO_FREE size_t *choice = mem_zeroed(contender->n_techniques + 1, sizeof *choice);
    status_t status = STATUS_OK;
    do {
        case_t spec = {.engine = mem_text(contender->engine),
                       .device = mem_text(device),
                       .variant = mem_text(variant)};
        size_t n_params = plan->workload->n_params;
        for (size_t a = 0; a < n_params; a++)
            case_add_param(&spec, plan->axes[a].name, &plan->axes[a].values[to->point[a]]);
        spec.dtype = mem_text(plan->axes[n_params].values[to->point[n_params]].text);
        for (size_t t = 0; t < contender->n_techniques; t++) {
            const axis_t *technique = &contender->techniques[t];
            case_add_technique(&spec, technique->name, technique->values[choice[t]].text);
        }
        status = add_case(to, spec, err);
    } while (status == STATUS_OK &&
             next_combination(choice, contender->techniques, contender->n_techniques));
    return status;
}

static status_t add_contender(expansion_t *to, const contender_t *contender, error_t *err) {
    for (size_t d = 0; d < contender->devices.n; d++)
        for (size_t v = 0; v < contender->variants.n; v++) {
            const char *device = contender->devices.items[d];
            const char *variant = contender->variants.items[v];
            if (is_offered(to->plan, contender, variant, device))
                TRY(add_cases(to, contender, device, variant, err));
        }
    return STATUS_OK;
}

static void keep_string(void *id) {
    (void)id;
}

/* Append the plan's cases to the sweep: for each point of the axes (the first axis slowest), all
 * contenders. A case of two contenders is added once. */
static status_t sweep_expand(const sweep_plan_t *plan, const node_t *top, sweep_t *sweep,
                             error_t *err) {
    TRY(check_size(plan, top, err));
    AUTO_FREE size_t *point = mem_zeroed(plan->n_axes, sizeof *point);
    expansion_t to = {.plan = plan, .top = top, .sweep = sweep, .point = point};
    status_t status = STATUS_OK;
    do {
        for (size_t i = 0; i < plan->n_contenders && status == STATUS_OK; i++)
            if (runs_at(&plan->contenders[i], plan->axes, point))
                status = add_contender(&to, &plan->contenders[i], err);
    } while (status == STATUS_OK && next_combination(point, plan->axes, plan->n_axes));
    tdestroy(to.ids, keep_string);
    const workload_t *workload = plan->workload;
    if (status != STATUS_OK || sweep->n_cases > 0)
        return status;
    if (workload->condition != NULL)
        return node_error(top, err, "no case is left: %s needs %s", workload->name,
                          workload->condition);
    return node_error(top, err, "no case is left: %s does not allow these parameters",
                      workload->name);
}

/* ==== reading a sweep ========================================================================= */

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
    AUTO(text_list_free) text_list_t families = chart_families();
    const vocabulary_t known = {"chart", "", (const char *const *)families.items, families.n};
    return node_choices(&list, &known, charts, err);
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
    AUTO(text_list_free) text_list_t names = {0};
    const workload_t *workload;
    for (size_t i = 0; (workload = workload_at(i)) != NULL; i++)
        text_list_add(&names, workload->name);
    const vocabulary_t known = {"workload", "", (const char *const *)names.items, names.n};
    return vocabulary_complaint(&known, name);
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
    json_auto_t *json = NULL;
    status_t status = node_parse(path, text, &json, err);
    const node_t top = node_root(path, json);
    if (status == STATUS_OK)
        status = read_sweep(&top, root, sweep, err);
    if (status != STATUS_OK)
        sweep_free(sweep);
    return status;
}

status_t sweep_load(const char *path, const char *root, sweep_t *sweep, error_t *err) {
    *sweep = (sweep_t){0};
    AUTO_FREE char *text = NULL,
                   *in_data = path[0] != '/' && !fs_exists(path) ? fs_join(root, path) : NULL;
    const bool is_in_data = in_data != NULL && fs_exists(in_data);
    TRY(node_read(is_in_data ? in_data : path, &text, err));
    return sweep_parse(path, text, root, sweep, err);
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

/* ==== shards ==================================================================================== */

/* Which shard measures which groups. Every shard finds the same answer from the same sweeps. */

/* What a case takes in a pass, besides half of the time limit, at most MOST_MEASURED_S. On an H100 a script
 * of the two smallest workloads took 0.2 to 2 s where built-in engines took 0.1 to 0.2, and for the largest
 * sizes, of 320 MB, 3 to 5 s where they took 0.7 to 0.8; 37 to 47 cases of operators together, with a limit
 * of 0.8 s, took 43 to 84 s on an H200. Draws are not counted: only a running worker tells what it tunes. */
static const struct takes {
    double opening_s, bytes_per_s;
} BUILT_IN = {0.15, 270e6}, SCRIPT = {1, 90e6};
static const double MOST_MEASURED_S = 1; /* most cases are precise before a longer limit */
/* Of a group's reference: a step of mnist_train at width 8192, of 27e9, took 0.13 to 0.16 s on the 16 cores of an H200's
 * host. */
static const double REFERENCE_FLOPS_PER_S = 2e11;

typedef struct sharded_group {
    char *name;
    size_t number; /* in the order of the sweeps */
    double weight; /* what it takes in a pass, in s */
    unsigned shard;
} sharded_group_t;

typedef struct assignment {
    void *by_name; /* tsearch() tree of the groups */
    sharded_group_t **groups;
    size_t n_groups;
    unsigned shard; /* to keep */
} assignment_t;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const sharded_group_t *)a)->name, ((const sharded_group_t *)b)->name);
}

/* The heaviest first, equal ones in the order of the sweeps. */
static int compare_weights(const void *a, const void *b) {
    const sharded_group_t *x = *(sharded_group_t *const *)a, *y = *(sharded_group_t *const *)b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static sharded_group_t *find_group(assignment_t *assignment, const workload_t *workload,
                                   const case_t *spec) {
    sharded_group_t key = {.name = workload_group(workload, spec)};
    sharded_group_t **found = tfind(&key, &assignment->by_name, compare_names);
    if (found != NULL) {
        free(key.name);
        return *found;
    }
    sharded_group_t *group = mem_alloc(sizeof *group);
    *group = (sharded_group_t){.name = key.name, .number = assignment->n_groups};
    if (tsearch(group, &assignment->by_name, compare_names) == NULL)
        abort(); /* out of memory, as everywhere in mem_*() */
    assignment->groups =
        mem_resize(assignment->groups, assignment->n_groups + 1, sizeof *assignment->groups);
    assignment->groups[assignment->n_groups++] = group;
    return group;
}

static void weigh(assignment_t *assignment, const sweep_t *sweep) {
    const workload_t *workload = sweep->workload;
    const double measured_s = fmin(sweep->measure.time_limit_s / 2, MOST_MEASURED_S);
    for (size_t i = 0; i < sweep->n_cases; i++) {
        const case_t *spec = &sweep->cases[i];
        const struct takes *takes = case_engine_is_built_in(spec->engine) ? &BUILT_IN : &SCRIPT;
        /* Not what is only allocated: no time is spent on that. */
        const workload_cost_t cost = workload->cost(spec);
        sharded_group_t *group = find_group(assignment, workload, spec);
        if (group->weight == 0)
            group->weight = cost.flops / REFERENCE_FLOPS_PER_S;
        group->weight +=
            takes->opening_s + measured_s + cost.working_set_bytes / takes->bytes_per_s;
    }
}

/* Graham's rule of the longest processing time ("Bounds on multiprocessing timing anomalies", SIAM J.
 * Appl. Math. 17, 1969): the heaviest group that is left goes to the shard that has least. Equal
 * shards take turns to and fro, as sizes ascend in sweeps. */
static void assign(assignment_t *assignment, unsigned n_shards) {
    AUTO_FREE double *loads = mem_zeroed(n_shards, sizeof *loads);
    if (assignment->n_groups > 0)
        qsort(assignment->groups, assignment->n_groups, sizeof *assignment->groups,
              compare_weights);
    for (size_t g = 0; g < assignment->n_groups; g++) {
        const bool fro = g / n_shards % 2 != 0;
        unsigned least = fro ? n_shards - 1 : 0;
        for (unsigned k = 1; k < n_shards; k++) {
            const unsigned shard = fro ? n_shards - 1 - k : k;
            least = loads[shard] < loads[least] ? shard : least;
        }
        assignment->groups[g]->shard = least + 1;
        loads[least] += assignment->groups[g]->weight;
    }
}

static bool is_in_shard(const sweep_t *sweep, const case_t *spec, const void *context) {
    assignment_t *assignment = *(assignment_t *const *)context;
    return find_group(assignment, sweep->workload, spec)->shard == assignment->shard;
}

static void free_group(void *group) {
    free(((sharded_group_t *)group)->name);
    free(group);
}

size_t sweeps_keep_shard(sweep_t *sweeps, size_t n, const shard_t *shard) {
    assignment_t assignment = {.shard = shard->number}, *context = &assignment;
    for (size_t s = 0; s < n; s++)
        weigh(&assignment, &sweeps[s]);
    assign(&assignment, shard->n);
    for (size_t s = 0; s < n; s++)
        sweep_keep_cases(&sweeps[s], is_in_shard, &context);
    tdestroy(assignment.by_name, free_group);
    free(assignment.groups);
    return assignment.n_groups;
}

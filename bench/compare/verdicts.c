#include "analysis/contenders.h"
#include "base/memory.h"
#include "compare/comparison.h"
#include "io/fs.h"
#include "io/json.h"
#include "results/conditions.h"

#include <math.h>
#include <string.h>

/* ==== may the runs be compared? =============================================================== */

/* Which runs and cases are comparable, by results/conditions.h, as messages: see comparison.h. */

status_t guard_check_allow(const text_list_t *allow, error_t *err) {
    AUTO(text_list_free) text_list_t all = conditions_names();
    for (size_t i = 0; i < allow->n; i++) {
        if (text_list_has(&all, allow->items[i]))
            continue;
        AUTO_FREE char *hint = text_hint(allow->items[i], (const char *const *)all.items, all.n);
        AUTO_FREE char *list = text_list_join(&all, ", ");
        return error_set(err, STATUS_USAGE, "--allow %s: expected one of %s%s", allow->items[i],
                         list, hint);
    }
    return STATUS_OK;
}

static bool has_engine(const record_t *run, const char *engine) {
    for (size_t i = 0; i < run->n_cases; i++)
        if (strcmp(run->cases[i].spec.engine, engine) == 0)
            return true;
    return false;
}

/* Runs may have different engines, but need one in common. */
static bool share_engine(const record_t *base, const record_t *candidate) {
    const char *last = "";
    for (size_t i = 0; i < base->n_cases; i++) {
        const char *engine = base->cases[i].spec.engine;
        if (strcmp(engine, last) != 0 && has_engine(candidate, engine))
            return true;
        last = engine;
    }
    return base->n_cases == 0 || candidate->n_cases == 0;
}

status_t guard_runs(const record_t *base, const record_t *candidate, const text_list_t *allow,
                    text_list_t *allowed, error_t *err) {
    AUTO(text_list_free) text_list_t refused = {0}, names = {0};
    if (base->schema != candidate->schema)
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s and %s cannot be compared: schema %d (one pass) in one, %d in the "
                         "other: measure both with the same version",
                         base->folder, candidate->folder, base->schema, candidate->schema);
    AUTO(conditions_free)
    run_differences_t list =
        conditions_broken(&base->environment, &candidate->environment, COMPARED);
    for (size_t i = 0; i < list.n; i++) {
        const run_difference_t *one = &list.items[i];
        const bool may = text_list_has(allow, one->allow);
        text_list_add_format(may ? allowed : &refused, "%s: %s in BASE, %s in CANDIDATE",
                             one->allow, one->first != NULL ? one->first : "none",
                             one->other != NULL ? one->other : "none");
        if (!may)
            text_list_add_format(&names, "--allow %s", one->allow);
    }
    AUTO_FREE char *reasons = text_list_join(&refused, "; "),
                   *options = text_list_join(&names, " ");
    if (refused.n > 0)
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s and %s cannot be compared: %s. To compare them anyway: %s",
                         base->folder, candidate->folder, reasons, options);
    if (!share_engine(base, candidate))
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s and %s cannot be compared: no engine is in both (%s in BASE, %s in "
                         "CANDIDATE)",
                         base->folder, candidate->folder, base->cases[0].spec.engine,
                         candidate->cases[0].spec.engine);
    return STATUS_OK;
}

char *guard_pair(const case_result_t *base, const case_result_t *candidate,
                 const text_list_t *phases, const text_list_t *allow) {
    static const char *const NAMES[] = {"BASE", "CANDIDATE"};
    return conditions_of_pair(base, candidate, phases, allow, NAMES);
}

/* ==== noise floors ============================================================================ */

#define FLOOR_FILE "floor.json"

enum { FLOOR_SCHEMA = 1 };

void floors_free(floors_t *floors) {
    json_decref(floors->cells);
    json_decref(floors->groups);
    *floors = (floors_t){0};
}

/* 0 if unknown. */
static double look_up(const json_t *table, const char *name, const char *phase) {
    return json_number_value(json_object_get(json_object_get(table, name), phase));
}

/* ---- learning -------------------------------------------------------------------------------- */

static status_t check_build(const record_t *base, const record_t *run, error_t *err) {
    static const text_list_t NOTHING;
    AUTO(text_list_free) text_list_t allowed = {0};
    TRY(guard_runs(base, run, &NOTHING, &allowed, err));
    const char *a = environment_get(&base->environment, "git.revision");
    const char *b = environment_get(&run->environment, "git.revision");
    if (a != NULL && b != NULL && strcmp(a, b) != 0)
        return error_set(
            err, STATUS_INCOMPARABLE,
            "--floor %s: found revision %s, expected %s as in %s: noise floors need runs "
            "of one build",
            run->folder, b, a, base->folder);
    return STATUS_OK;
}

static bool same_code(const case_result_t *a, const case_result_t *b) {
    const char *x = a->resources.code_hash, *y = b->resources.code_hash;
    return x == NULL || y == NULL || strcmp(x, y) == 0;
}

stats_side_t phase_side(const phase_t *phase) {
    const stats_rounds_t rounds = {phase->samples, phase->round_starts, phase->n_rounds};
    return stats_side_of(&rounds, phase->pass_starts, phase->n_passes, &phase->bimodal);
}

static double learn_cell(const record_t *runs, size_t n_runs, const case_result_t *base,
                         const phase_t *phase) {
    AUTO_FREE stats_side_t *sides = mem_zeroed(n_runs + 1, sizeof *sides);
    size_t n = 0;
    sides[n++] = phase_side(phase);
    for (size_t i = 0; i < n_runs; i++) {
        const case_result_t *other = record_find(&runs[i], base->spec.id);
        if (other == NULL || other->status != CASE_OK || !same_code(base, other))
            continue;
        const phase_t *same = result_phase(other, phase->name);
        if (same != NULL)
            sides[n++] = phase_side(same);
    }
    return gate_floor_of_runs(sides, n);
}

/* Takes over `phases`; a case without phases is left out. */
static void add_case(json_t *cells, const char *id, json_t *phases) {
    if (json_object_size(phases) > 0)
        json_object_set(cells, id, phases);
    json_decref(phases);
}

static json_t *learn(const record_t *base, const record_t *runs, size_t n_runs) {
    json_t *cells = json_object();
    for (size_t i = 0; i < base->n_cases; i++) {
        const case_result_t *result = &base->cases[i];
        json_t *phases = json_object();
        for (size_t p = 0; p < result->n_phases && result->status == CASE_OK; p++) {
            double floor_frac = learn_cell(runs, n_runs, result, &result->phases[p]);
            if (floor_frac > 0)
                json_object_set_new(phases, result->phases[p].name, json_real(floor_frac));
        }
        add_case(cells, result->spec.id, phases);
    }
    return cells;
}

void floors_add_groups(floors_t *floors, const comparison_t *comparison) {
    for (size_t g = 0; g < comparison->n_groups; g++) {
        const cell_group_t *group = &comparison->groups[g];
        const double floor_frac = fmax(group->test.high, 1 / group->test.low) - 1;
        json_t *groups = floors->groups;
        if (!isfinite(group->test.low) ||
            !(floor_frac > look_up(groups, group->engine, group->phase)))
            continue;
        json_t *phases = json_object_get(groups, group->engine);
        if (phases == NULL)
            json_object_set_new(groups, group->engine, phases = json_object());
        json_object_set_new(phases, group->phase, json_real(floor_frac));
    }
}

/* ---- floor.json ------------------------------------------------------------------------------ */

static status_t check_table(const json_t *table, const char *key, error_t *err) {
    const char *name, *phase;
    json_t *phases, *value;
    json_object_foreach((json_t *)table, name, phases) {
        if (!json_is_object(phases))
            return error_set(err, STATUS_USAGE, "%s.%s: expected an object", key, name);
        json_object_foreach(phases, phase, value) {
            if (!json_is_number(value) || !(json_number_value(value) >= 0))
                return error_set(err, STATUS_USAGE, "%s.%s.%s: expected a fraction of at least 0",
                                 key, name, phase);
        }
    }
    return STATUS_OK;
}

static status_t parse_floors(const char *text, size_t size, floors_t *floors, error_t *err) {
    json_error_t where;
    json_auto_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (json == NULL)
        return error_set(err, STATUS_USAGE, "line %d: not JSON: %s", where.line, where.text);
    json_t *cells = json_object_get(json, "floors"), *groups = json_object_get(json, "groups");
    json_int_t schema = json_integer_value(json_object_get(json, "schema"));
    json_int_t runs = json_integer_value(json_object_get(json, "runs"));
    if (schema != FLOOR_SCHEMA)
        return error_set(err, STATUS_USAGE, "key 'schema': found %lld, expected %d",
                         (long long)schema, FLOOR_SCHEMA);
    if (!json_is_object(cells) || runs < 2)
        return error_set(err, STATUS_USAGE,
                         "expected the keys 'runs' (at least 2) and 'floors' (an object)");
    TRY(check_table(cells, "floors", err));
    if (groups != NULL && !json_is_object(groups)) /* older versions wrote none */
        return error_set(err, STATUS_USAGE, "key 'groups': expected an object");
    if (groups != NULL)
        TRY(check_table(groups, "groups", err));
    *floors = (floors_t){json_incref(cells), json_incref(groups), (size_t)runs};
    return STATUS_OK;
}

status_t floors_load(const char *folder, floors_t *floors, error_t *err) {
    AUTO_FREE char *path = fs_join(folder, FLOOR_FILE), *text = NULL;
    size_t size;
    *floors = (floors_t){0};
    if (!fs_exists(path))
        return STATUS_OK;
    TRY(fs_read(path, &text, &size, err));
    return parse_floors(text, size, floors, err) == STATUS_OK ? STATUS_OK
                                                              : error_within(err, "%s", path);
}

status_t floors_learn(const record_t *base, const record_t *runs, size_t n_runs, floors_t *floors,
                      error_t *err) {
    for (size_t i = 0; i < n_runs; i++)
        TRY(check_build(base, &runs[i], err));
    *floors = (floors_t){learn(base, runs, n_runs), json_object(), n_runs + 1};
    return STATUS_OK;
}

floors_t floors_of_pair(const comparison_t *comparison) {
    json_t *cells = json_object();
    for (size_t i = 0; i < comparison->n_pairs; i++) {
        const pair_t *pair = &comparison->pairs[i];
        json_t *phases = json_object();
        for (size_t c = 0; c < pair->n_cells; c++) {
            const gate_cell_t *gate = &pair->cells[c].test->gate;
            if (!isnan(gate->low))
                json_object_set_new(phases, pair->cells[c].base->name,
                                    json_real(fmax(gate->high, 1 / gate->low) - 1));
        }
        add_case(cells, pair->id, phases);
    }
    floors_t floors = {cells, json_object(), 2};
    floors_add_groups(&floors, comparison);
    return floors;
}

status_t floors_save(const floors_t *floors, const char *folder, error_t *err) {
    json_t *json =
        json_pack("{s:i, s:I, s:O, s:O*}", "schema", FLOOR_SCHEMA, "runs",
                  (json_int_t)floors->n_runs, "floors", floors->cells, "groups", floors->groups);
    AUTO_FREE char *path = fs_join(folder, FLOOR_FILE);
    return json_save(json, JSON_INDENT(1) | JSON_REAL_PRECISION(6) | JSON_SORT_KEYS, path, err);
}

/* ==== likely causes =========================================================================== */

/* Add `what` and the items, if any; frees `items`. */
static void add_joined(text_list_t *parts, const char *what, text_list_t *items) {
    AUTO_FREE char *list = text_list_join(items, ", ");
    if (items->n > 0)
        text_list_add_format(parts, "%s%s", what, list);
    text_list_free(items);
}

static void add_count(text_list_t *list, const char *what, const char *unit, int64_t a, int64_t b) {
    if (a != b)
        text_list_add_format(list, "%s %lld → %lld%s", what, (long long)a, (long long)b, unit);
}

static void add_reading(text_list_t *list, const char *what, const char *unit, const double a[2],
                        const double b[2]) {
    double before = (a[0] + a[1]) / 2, after = (b[0] + b[1]) / 2;
    if (condition_is_notable(before, after)) /* NaN: not read */
        text_list_add_format(list, "%s %.0f → %.0f %s", what, before, after, unit);
}

static void add_code(text_list_t *list, const resources_t *a, const resources_t *b) {
    add_count(list, "registers", "", a->registers, b->registers);
    add_count(list, "spills", " B", a->spill_bytes, b->spill_bytes);
    add_count(list, "shared memory", " B", a->shared_bytes, b->shared_bytes);
    if (fabs(a->occupancy_frac - b->occupancy_frac) > 0.005)
        text_list_add_format(list, "occupancy %.0f → %.0f %%", a->occupancy_frac * 100,
                             b->occupancy_frac * 100);
    if (list->n == 0)
        text_list_add(list, "different instructions, same registers, spills and shared memory");
}

static bool has_change(const comparison_t *comparison, const char *key) {
    for (size_t i = 0; i < comparison->differing.n; i++)
        if (strcmp(comparison->differing.items[i].key, key) == 0)
            return true;
    return false;
}

/* Flags that `others` lack. */
static void add_flags(text_list_t *list, const text_list_t *flags, const text_list_t *others,
                      const char *what) {
    for (size_t i = 0; i < flags->n; i++)
        if (!text_list_has(others, flags->items[i]))
            text_list_add_format(list, "%s %s", flags->items[i], what);
}

/* Older runs did not record compiler flags. */
static void add_compiler(text_list_t *parts, const comparison_t *comparison,
                         const text_list_t *base, const text_list_t *candidate) {
    text_list_t differ = {0};
    if (base->n > 0 && candidate->n > 0) {
        add_flags(&differ, candidate, base, "added");
        add_flags(&differ, base, candidate, "removed");
    }
    add_joined(parts, "flags differ: ", &differ);
    if (has_change(comparison, "versions.cuda_compiler"))
        text_list_add(parts, "different CUDA compiler");
}

/* Is the fact one of a worker, and not of the case's? "workers.cpu.openmp_threads" says nothing about PyTorch. */
static bool is_of_other_worker(const char *key, const case_t *spec) {
    static const char WORKERS[] = "workers.";
    char text[32];
    if (!text_starts(key, WORKERS))
        return false;
    const char *worker = key + strlen(WORKERS), *label = case_engine_label(spec, text);
    const size_t n = strlen(label), n_variant = strlen(spec->variant);
    if (!text_starts(worker, label))
        return true;
    return worker[n] != '.' && !(worker[n] == '-' && text_starts(worker + n + 1, spec->variant) &&
                                 worker[n + 1 + n_variant] == '.');
}

/* Code that a sentence of its own tells of; versions besides that are where the case's worker runs. */
static bool is_shown_as_code(const comparison_t *comparison, const run_difference_t *one,
                             const case_t *spec) {
    if (!condition_is_of_code(one->key) || !text_starts(one->key, "workers."))
        return condition_is_of_code(one->key);
    const char *version =
        engine_is_rival(spec->engine) ? rival_version(&comparison->base->environment, spec) : NULL;
    return version != NULL && one->first != NULL && strcmp(version, one->first) == 0;
}

/* What differs between the runs, besides the code, and concerns the case. */
static void add_names(text_list_t *names, const comparison_t *comparison, const case_t *spec) {
    for (size_t i = 0; i < comparison->allowed.n; i++) { /* "driver: a in BASE, b in CANDIDATE" */
        const char *text = comparison->allowed.items[i];
        text_list_take(names, mem_text_n(text, strcspn(text, ":")));
    }
    for (size_t i = 0; i < comparison->differing.n; i++) {
        const run_difference_t *one = &comparison->differing.items[i];
        if (!is_shown_as_code(comparison, one, spec) && !is_of_other_worker(one->key, spec))
            text_list_add(names, one->key);
    }
}

static bool differ_notably(double base, double candidate) {
    static const double NOTABLE = 1.1; /* copies spread by a tenth from pass to pass */
    return fmax(base, candidate) > NOTABLE * fmin(base, candidate); /* NaN: unknown */
}

void add_host_speeds(text_list_t *to, const comparison_t *comparison) {
    const record_t *base = comparison->base, *candidate = comparison->candidate;
    if (comparison->paired) /* in turns: one host at the same time */
        return;
    const double loops_us[] = {record_pass_median(base, RECORD_HOST_LOOP) / 1e3,
                               record_pass_median(candidate, RECORD_HOST_LOOP) / 1e3};
    const double copies[] = {record_pass_median(base, RECORD_HOST_COPY) / 1e9,
                             record_pass_median(candidate, RECORD_HOST_COPY) / 1e9};
    if (differ_notably(loops_us[0], loops_us[1]))
        text_list_add_format(to, "a loop on the host takes %.3g → %.3g µs", loops_us[0],
                             loops_us[1]);
    if (differ_notably(copies[0], copies[1]))
        text_list_add_format(to, "the host copies %.3g → %.3g GB/s", copies[0], copies[1]);
}

/* Readings during the case, and facts that differ between the runs. */
static void add_environment(text_list_t *parts, const comparison_t *comparison,
                            const case_result_t *base, const case_result_t *candidate) {
    const device_state_t *a = &base->device, *b = &candidate->device;
    add_reading(parts, "SM clock", "MHz", a->sm_mhz, b->sm_mhz);
    add_reading(parts, "power", "W", a->power_w, b->power_w);
    for (size_t i = 0; i < b->throttle.n; i++)
        if (!text_list_has(&a->throttle, b->throttle.items[i]))
            text_list_add_format(parts, "throttled now: %s", b->throttle.items[i]);
    if (fabs(candidate->cpu_taken_frac - base->cpu_taken_frac) > BUSY_FRAC) /* NaN: unknown */
        text_list_add_format(parts, "other programs took %.0f → %.0f %% of its CPU time",
                             base->cpu_taken_frac * 100, candidate->cpu_taken_frac * 100);
    add_host_speeds(parts, comparison);
    text_list_t names = {0};
    add_names(&names, comparison, &base->spec);
    add_joined(parts, "the runs differ in ", &names);
}

/* Of a source tree that both runs were measured from. */
static const char *same_revision(const environment_t *before, const environment_t *after) {
    static const char *const TREES[][2] = {{"git.dirty", "git.changes"},
                                           {"git.folder.dirty", "git.folder.changes"}};
    const char *said = "same revision";
    for (size_t i = 0; i < sizeof TREES / sizeof *TREES; i++) {
        const char *dirty = environment_get(after, TREES[i][0]);
        if (dirty == NULL || strcmp(dirty, "true") != 0)
            continue;
        if (environment_get(before, TREES[i][1]) == NULL ||
            environment_get(after, TREES[i][1]) == NULL) /* older runs do not tell which */
            return "code may have changed: uncommitted changes";
        said = "same revision, and the same uncommitted changes";
    }
    return said;
}

/* A case without a CUDA program of this project: its code is the worker's. */
static void add_worker_code(text_list_t *parts, const comparison_t *comparison,
                            const case_t *spec) {
    const environment_t *before = &comparison->base->environment;
    const environment_t *after = &comparison->candidate->environment;
    const bool rival = engine_is_rival(spec->engine);
    const char *old = rival ? rival_version(before, spec) : NULL;
    const char *new = rival ? rival_version(after, spec) : NULL;
    AUTO_FREE char *files = mem_format("operators.%s", spec->workload);
    if (old != NULL && new != NULL && strcmp(old, new) != 0)
        text_list_add_format(parts, "code: different %s", engine_name(spec->engine));
    else if (!rival && has_change(comparison, "versions.compiler"))
        text_list_add(parts, "code: different C compiler");
    else if (has_change(comparison, "git.revision") ||
             has_change(comparison, "git.folder.revision"))
        text_list_add(parts, "code may have changed: different revision");
    else if (has_change(comparison, files))
        text_list_add(parts, "code may have changed: different files of the workload");
    else if (has_change(comparison, "git.dirty") || has_change(comparison, "git.changes") ||
             has_change(comparison, "git.folder.dirty") ||
             has_change(comparison, "git.folder.changes"))
        text_list_add(parts, "code may have changed: different uncommitted changes");
    else
        text_list_add(parts, same_revision(before, after));
}

char *cause_of_pair(const comparison_t *comparison, const case_result_t *base,
                    const case_result_t *candidate) {
    const resources_t *a = &base->resources, *b = &candidate->resources;
    text_list_t code = {0};
    AUTO(text_list_free) text_list_t parts = {0}, around = {0};
    add_environment(&around, comparison, base, candidate);
    if (a->code_hash == NULL || b->code_hash == NULL) {
        add_worker_code(&parts, comparison, &base->spec);
    } else if (strcmp(a->code_hash, b->code_hash) == 0) {
        text_list_add(&parts, "same machine code");
        if (around.n == 0)
            text_list_add(&around, "environment: no recorded fact differs");
    } else {
        add_code(&code, a, b);
        add_joined(&parts, "code: ", &code);
        add_compiler(&parts, comparison, &a->flags, &b->flags);
    }
    text_list_add_all(&parts, &around);
    return text_list_join(&parts, "; ");
}

/* ==== verdicts ================================================================================ */

static bool is_ours_on_gpu(const case_t *spec) {
    return !engine_is_rival(spec->engine) && strcmp(spec->device, "cuda") == 0;
}

/* The index of the group of an engine's phase, which is added if it is new. */
static size_t group_of(comparison_t *comparison, const floors_t *floors, const case_t *spec,
                       const char *phase) {
    char label[32];
    const char *engine = case_engine_label(spec, label);
    size_t g = 0;
    while (g < comparison->n_groups && (strcmp(comparison->groups[g].engine, engine) != 0 ||
                                        strcmp(comparison->groups[g].phase, phase) != 0))
        g++;
    if (g == comparison->n_groups) {
        mem_grow(&comparison->groups, g, &comparison->groups_capacity, sizeof *comparison->groups);
        comparison->groups[comparison->n_groups++] = (cell_group_t){
            .engine = arena_format(&comparison->texts, "%s", engine),
            .phase = phase,
            .test = {.spread = is_ours_on_gpu(spec) ? SWEEP_SPREAD_OURS : SWEEP_SPREAD_OTHERS,
                     .floor_frac = look_up(floors->groups, engine, phase)}};
    }
    return g;
}

/* The phase's times by each program that a compiler made, as parts of the one that was timed. */
static void find_choices(const case_result_t *result, const phase_t *phase, double choices[2]) {
    for (size_t d = 0; d < result->n_draws; d++)
        for (size_t m = 0; m < result->draws[d].n_medians; m++) {
            const named_ns_t *median = &result->draws[d].medians[m];
            const double part = log(median->ns / phase->summary.median);
            if (strcmp(median->name, phase->name) != 0 || !isfinite(part))
                continue;
            choices[0] = fmin(choices[0], part);
            choices[1] = fmax(choices[1], part);
        }
}

static void open_cells(comparison_t *comparison, const floors_t *floors) {
    sweep_cell_t *next = comparison->tests;
    for (size_t i = 0; i < comparison->n_pairs; i++)
        for (size_t c = 0; c < comparison->pairs[i].n_cells; c++) {
            const pair_t *pair = &comparison->pairs[i];
            cell_t *cell = &pair->cells[c];
            sweep_cell_t *test = cell->test = next++;
            test->group = group_of(comparison, floors, &pair->base->spec, cell->base->name);
            test->gate.floor_frac = look_up(floors->cells, pair->id, cell->base->name);
            find_choices(pair->base, cell->base, test->choices[0]);
            find_choices(pair->candidate, cell->candidate, test->choices[1]);
        }
}

static void measure_cells(const comparison_t *comparison, stats_side_t *sides) {
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < comparison->n_pairs; i++)
        for (size_t c = 0; c < comparison->pairs[i].n_cells; c++) {
            const cell_t *cell = &comparison->pairs[i].cells[c];
            stats_side_t *own = &sides[2 * (cell->test - comparison->tests)];
            own[0] = phase_side(cell->base);
            own[1] = phase_side(cell->candidate);
            cell->test->sides[0] = &own[0];
            cell->test->sides[1] = &own[1];
            cell->test->gate.change = comparison->paired ? stats_change_paired(&own[0], &own[1])
                                                         : stats_change(&own[0], &own[1]);
        }
}

void comparison_decide(comparison_t *comparison, const floors_t *floors) {
    comparison->n_cells = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++)
        comparison->n_cells += comparison->pairs[i].n_cells;
    comparison->tests = mem_zeroed(comparison->n_cells + 1, sizeof *comparison->tests);
    AUTO_FREE stats_side_t *sides = mem_zeroed(2 * comparison->n_cells + 1, sizeof *sides);
    open_cells(comparison, floors);
    measure_cells(comparison, sides);
    AUTO_FREE sweep_group_t *groups = mem_zeroed(comparison->n_groups + 1, sizeof *groups);
    for (size_t g = 0; g < comparison->n_groups; g++)
        groups[g] = comparison->groups[g].test;
    tested_sweep_t sweep = {.cells = comparison->tests,
                            .n_cells = comparison->n_cells,
                            .groups = groups,
                            .n_groups = comparison->n_groups,
                            .threshold_frac = comparison->threshold_frac,
                            .alarm_rate_frac = GATE_ALARM_RATE,
                            .paired = comparison->paired};
    sweep_decide(&sweep);
    for (size_t g = 0; g < comparison->n_groups; g++) {
        comparison->groups[g].test = groups[g];
        comparison->n_regressed_groups += groups[g].verdict == GATE_REGRESSED;
    }
}

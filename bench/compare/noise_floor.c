/* Noise floors: how far runs of one build differ, by cell. See comparison.h. */
#include "compare/comparison.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOOR_FILE "floor.json"

enum { FLOOR_SCHEMA = 1 };

/* { id: { phase: fraction } }, and { engine: { phase: fraction } } */
struct floors {
    json_t *cells, *groups;
    size_t n_runs;
};

static floors_t *floors_new(json_t *cells, json_t *groups, size_t n_runs) {
    floors_t *floors = mem_zeroed(1, sizeof *floors);
    *floors = (floors_t){cells, groups, n_runs};
    return floors;
}

void floors_free(floors_t *floors) {
    if (floors != NULL) {
        json_decref(floors->cells);
        json_decref(floors->groups);
    }
    free(floors);
}

static double look_up(const json_t *table, const char *name, const char *phase) {
    return json_number_value(json_object_get(json_object_get(table, name), phase));
}

double floors_of(const floors_t *floors, const char *id, const char *phase) {
    return floors != NULL ? look_up(floors->cells, id, phase) : 0;
}

double floors_of_group(const floors_t *floors, const char *engine, const char *phase) {
    return floors != NULL ? look_up(floors->groups, engine, phase) : 0;
}

size_t floors_runs(const floors_t *floors) {
    return floors != NULL ? floors->n_runs : 0;
}

/* ---- learning -------------------------------------------------------------------------------- */

static status_t check_build(const record_t *base, const record_t *run, error_t *err) {
    static const text_list_t NOTHING;
    text_list_t allowed = {0};
    status_t status = guard_runs(base, run, &NOTHING, &allowed, err);
    text_list_free(&allowed);
    TRY(status);
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

typedef struct learning {
    const record_index_t *indexes;
    size_t n_runs;
} learning_t;

static double learn_cell(const learning_t *learning, const case_result_t *base,
                         const phase_t *phase) {
    stats_side_t *sides = mem_zeroed(learning->n_runs + 1, sizeof *sides);
    size_t n = 0;
    sides[n++] = phase_side(phase);
    for (size_t i = 0; i < learning->n_runs; i++) {
        const case_result_t *other = record_index_find(&learning->indexes[i], base->spec.id);
        if (other == NULL || other->status != CASE_OK || !same_code(base, other))
            continue;
        const phase_t *same = result_phase(other, phase->name);
        if (same != NULL)
            sides[n++] = phase_side(same);
    }
    double floor_frac = gate_floor_of_runs(sides, n);
    free(sides);
    return floor_frac;
}

/* Takes over `phases`; a case without phases is left out. */
static void add_case(json_t *cells, const char *id, json_t *phases) {
    if (json_object_size(phases) > 0)
        json_object_set(cells, id, phases);
    json_decref(phases);
}

static json_t *learn(const learning_t *learning, const record_t *base) {
    json_t *cells = json_object();
    for (size_t i = 0; i < base->n_cases; i++) {
        const case_result_t *result = &base->cases[i];
        json_t *phases = json_object();
        for (size_t p = 0; p < result->n_phases && result->status == CASE_OK; p++) {
            double floor_frac = learn_cell(learning, result, &result->phases[p]);
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

static status_t parse_floors(const char *text, size_t size, floors_t **floors, error_t *err) {
    json_error_t where;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (json == NULL)
        return error_set(err, STATUS_USAGE, "line %d: not JSON: %s", where.line, where.text);
    json_t *cells = json_object_get(json, "floors"), *groups = json_object_get(json, "groups");
    json_int_t schema = json_integer_value(json_object_get(json, "schema"));
    json_int_t runs = json_integer_value(json_object_get(json, "runs"));
    status_t status = STATUS_OK;
    if (schema != FLOOR_SCHEMA)
        status = error_set(err, STATUS_USAGE, "key 'schema': found %lld, expected %d",
                           (long long)schema, FLOOR_SCHEMA);
    else if (!json_is_object(cells) || runs < 2)
        status = error_set(err, STATUS_USAGE,
                           "expected the keys 'runs' (at least 2) and 'floors' (an object)");
    else
        status = check_table(cells, "floors", err);
    if (status == STATUS_OK && groups != NULL) /* older versions wrote none */
        status = json_is_object(groups)
                     ? check_table(groups, "groups", err)
                     : error_set(err, STATUS_USAGE, "key 'groups': expected an object");
    if (status == STATUS_OK)
        *floors = floors_new(json_incref(cells), json_incref(groups), (size_t)runs);
    json_decref(json);
    return status;
}

status_t floors_load(const char *folder, floors_t **floors, error_t *err) {
    char *path = fs_join(folder, FLOOR_FILE), *text = NULL;
    size_t size;
    status_t status = STATUS_OK;
    *floors = NULL;
    if (fs_exists(path) && (status = fs_read(path, &text, &size, err)) == STATUS_OK &&
        (status = parse_floors(text, size, floors, err)) != STATUS_OK)
        error_within(err, "%s", path);
    free(text);
    free(path);
    return status;
}

status_t floors_learn(const record_t *base, const record_t *runs, size_t n_runs, floors_t **floors,
                      error_t *err) {
    *floors = NULL;
    for (size_t i = 0; i < n_runs; i++)
        TRY(check_build(base, &runs[i], err));
    record_index_t *indexes = mem_zeroed(n_runs, sizeof *indexes);
    for (size_t i = 0; i < n_runs; i++)
        indexes[i] = record_index_make(&runs[i]);
    const learning_t learning = {indexes, n_runs};
    *floors = floors_new(learn(&learning, base), json_object(), n_runs + 1);
    for (size_t i = 0; i < n_runs; i++)
        record_index_free(&indexes[i]);
    free(indexes);
    return STATUS_OK;
}

floors_t *floors_of_pair(const comparison_t *comparison) {
    json_t *cells = json_object();
    for (size_t i = 0; i < comparison->n_pairs; i++) {
        const pair_t *pair = &comparison->pairs[i];
        json_t *phases = json_object();
        for (size_t c = 0; c < pair->n_cells; c++) {
            const gate_cell_t *gate = &pair->cells[c].gate;
            if (!isnan(gate->low))
                json_object_set_new(phases, pair->cells[c].base->name,
                                    json_real(fmax(gate->high, 1 / gate->low) - 1));
        }
        add_case(cells, pair->id, phases);
    }
    floors_t *floors = floors_new(cells, json_object(), 2);
    floors_add_groups(floors, comparison);
    return floors;
}

status_t floors_save(const floors_t *floors, const char *folder, error_t *err) {
    json_t *json =
        json_pack("{s:i, s:I, s:O, s:O*}", "schema", FLOOR_SCHEMA, "runs",
                  (json_int_t)floors->n_runs, "floors", floors->cells, "groups", floors->groups);
    char *path = fs_join(folder, FLOOR_FILE);
    status_t status =
        json_save(json, JSON_INDENT(1) | JSON_REAL_PRECISION(6) | JSON_SORT_KEYS, path, err);
    free(path);
    return status;
}

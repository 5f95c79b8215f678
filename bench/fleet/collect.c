/* The cells of a fleet from the runs of its machines: see fleet.h. */
#include "fleet/fleet.h"

#include "base/memory.h"
#include "compare/comparison.h"
#include "results/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shown of a UUID, if it tells the GPUs apart: "GPU-1a2b3c4d", which CUDA_VISIBLE_DEVICES takes. */
enum { SHORT_UUID = 12 };

/* A case on all machines. */
typedef struct row {
    const char *id;
    const case_result_t **results; /* by machine; NULL: the run lacks it, or it is left out */
    size_t n;
} row_t;

/* ---- machines -------------------------------------------------------------------------------- */

static const char *uuid_of(const record_t *run) {
    return environment_get(&run->environment, "gpu.uuid");
}

static bool is_unique(const fleet_t *fleet, const char *uuid) {
    size_t n = 0;
    for (size_t m = 0; m < fleet->evidence.n_machines; m++) {
        const char *other = uuid_of(&fleet->runs[m]);
        n += other != NULL && strncmp(uuid, other, SHORT_UUID) == 0;
    }
    return n == 1;
}

static const char *name_of(fleet_t *fleet, const record_t *run) {
    const char *host = environment_get(&run->environment, "host.name"), *uuid = uuid_of(run);
    const char *shown = host != NULL ? host : "unknown host";
    char *name = uuid == NULL
                     ? mem_text(shown)
                     : mem_format("%s %.*s", shown,
                                  is_unique(fleet, uuid) ? SHORT_UUID : (int)strlen(uuid), uuid);
    text_make_plain(name);
    return arena_keep(&fleet->texts, name);
}

static bool was_throttled(const case_result_t *result) {
    bool throttled = result->status == CASE_THROTTLED;
    for (size_t p = 0; p < result->n_phases; p++)
        throttled |= result->phases[p].n_throttled > 0;
    return throttled;
}

static void note_clocks(fleet_machine_t *machine, const case_result_t *result) {
    machine->lowest_sm_mhz = fmin(machine->lowest_sm_mhz, result->device.sm_mhz[0]);
    for (size_t i = 0; i < result->flags.n; i++)
        machine->n_power_limited += result->flags.items[i].kind == FLAG_POWER_LIMIT;
}

static void count_throttled(fleet_machine_t *machine, const case_result_t *result) {
    if (!was_throttled(result))
        return;
    machine->n_throttled++;
    for (size_t i = 0; i < result->device.throttle.n; i++)
        text_list_add_new(&machine->throttle_reasons, result->device.throttle.items[i]);
}

/* ---- what only one machine could not measure ------------------------------------------------- */

static bool is_of_most(const row_t *row) {
    size_t n_ok = 0;
    for (size_t m = 0; m < row->n; m++)
        n_ok += row->results[m] != NULL && row->results[m]->status == CASE_OK;
    return 2 * n_ok > row->n;
}

/* Skipped is no fault of the machine: a rival that is not installed. */
static bool is_odd(const row_t *row, size_t machine, case_status_t status) {
    return row->results[machine] != NULL && row->results[machine]->status == status &&
           is_of_most(row);
}

/* "3 cases throttled (ID and 2 more)" */
static void tell_odd(fleet_machine_t *machine, const row_t *rows, size_t n_rows, size_t index,
                     case_status_t status) {
    const char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (is_odd(&rows[i], index, status)) {
            first = first != NULL ? first : rows[i].id;
            n++;
        }
    if (n == 1)
        text_list_add_format(&machine->odd, "1 case %s (%s)", case_status_name(status), first);
    else if (n > 1)
        text_list_add_format(&machine->odd, "%zu cases %s (%s and %zu more)", n,
                             case_status_name(status), first, n - 1);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static const char *bound_of(const row_t *row) {
    for (size_t m = 0; m < row->n; m++)
        if (row->results[m] != NULL && row->results[m]->limit.bound != NULL)
            return row->results[m]->limit.bound;
    return "no bound";
}

static size_t group_of(fleet_evidence_t *evidence, const row_t *row, const case_result_t *result,
                       const phase_t *phase) {
    const char *name = phase->clock == CLOCK_DEVICE               ? bound_of(row)
                       : strcmp(result->spec.device, "cuda") == 0 ? "host"
                                                                  : "cpu";
    size_t g = 0;
    while (g < evidence->n_groups && (evidence->groups[g].clock != phase->clock ||
                                      strcmp(evidence->groups[g].name, name) != 0))
        g++;
    if (g == evidence->n_groups) {
        evidence->groups =
            mem_resize(evidence->groups, evidence->n_groups + 1, sizeof *evidence->groups);
        evidence->groups[evidence->n_groups++] = (fleet_group_t){
            .name = name, .clock = phase->clock, .of = deviation_make(evidence->n_machines)};
    }
    return g;
}

static const phase_t *timed_phase(const row_t *row, size_t machine, const char *name) {
    const case_result_t *result = row->results[machine];
    const phase_t *phase =
        result != NULL && result->status == CASE_OK ? result_phase(result, name) : NULL;
    return phase != NULL && phase->summary.n > 0 ? phase : NULL;
}

/* A cell with times on fewer than FLEET_FEWEST machines is left out. */
static void add_cell(fleet_t *fleet, const row_t *row, const case_result_t *like,
                     const char *phase) {
    fleet_evidence_t *evidence = &fleet->evidence;
    size_t n = 0;
    for (size_t m = 0; m < row->n; m++)
        n += timed_phase(row, m, phase) != NULL;
    if (n < FLEET_FEWEST)
        return;
    const phase_t *of_like = result_phase(like, phase);
    fleet_cell_t cell = {.id = row->id,
                         .phase = of_like->name,
                         .group = group_of(evidence, row, like, of_like),
                         .of = deviation_make(row->n)};
    for (size_t m = 0; m < row->n; m++)
        if (timed_phase(row, m, phase) != NULL)
            cell.of.sides[m] = phase_side(timed_phase(row, m, phase));
    evidence->groups[cell.group].n_cells++;
    evidence->cells = mem_resize(evidence->cells, evidence->n_cells + 1, sizeof *evidence->cells);
    evidence->cells[evidence->n_cells++] = cell;
}

static void add_cells(fleet_t *fleet, const row_t *row) {
    text_list_t done = {0};
    for (size_t m = 0; m < row->n; m++) {
        const case_result_t *result = row->results[m];
        if (result == NULL || result->status != CASE_OK)
            continue;
        text_list_t names = comparison_common_phases(result, NULL, &fleet->options->phases);
        for (size_t i = 0; i < names.n; i++)
            if (!text_list_has(&done, names.items[i])) {
                text_list_add(&done, names.items[i]);
                add_cell(fleet, row, result, names.items[i]);
            }
        text_list_free(&names);
    }
    text_list_free(&done);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Times that may not be compared with any, as self-reported ones, are left out. */
static void leave_out(fleet_t *fleet, row_t *row) {
    for (size_t m = 0; m < row->n; m++) {
        const case_result_t *result = row->results[m];
        if (result == NULL)
            continue;
        text_list_t names = comparison_common_phases(result, NULL, &fleet->options->phases);
        char *why = conditions_of_case(result, &names, &fleet->options->allow);
        text_list_free(&names);
        if (why == NULL)
            continue;
        text_list_add_format(&fleet->machines[m].left_out, "%s: %s", row->id, why);
        free(why);
        row->results[m] = NULL;
    }
}

static status_t check_row(const fleet_t *fleet, const row_t *row, error_t *err) {
    size_t first = 0;
    while (first < row->n && row->results[first] == NULL)
        first++;
    for (size_t m = first + 1; m < row->n; m++) {
        if (row->results[m] == NULL)
            continue;
        text_list_t names =
            comparison_common_phases(row->results[first], row->results[m], &fleet->options->phases);
        char *obstacle =
            guard_pair(row->results[first], row->results[m], &names, &fleet->options->allow);
        text_list_free(&names);
        if (obstacle == NULL)
            continue;
        error_set(err, STATUS_INCOMPARABLE, "%s and %s cannot be compared: %s: %s",
                  fleet->runs[first].folder, fleet->runs[m].folder, row->id, obstacle);
        free(obstacle);
        return STATUS_INCOMPARABLE;
    }
    return STATUS_OK;
}

static void count_case(fleet_t *fleet, const row_t *row) {
    for (size_t m = 0; m < row->n; m++) {
        fleet_machine_t *machine = &fleet->machines[m];
        machine->n_missing += row->results[m] == NULL && is_of_most(row);
        if (row->results[m] == NULL)
            continue;
        machine->n_cases += row->results[m]->status == CASE_OK;
        count_throttled(machine, row->results[m]);
        note_clocks(machine, row->results[m]);
    }
}

/* The cases of run `first` that no earlier run has: each case once. */
static size_t add_rows(const fleet_t *fleet, const record_index_t *indexes, size_t first,
                       row_t *rows) {
    const size_t n_machines = fleet->evidence.n_machines;
    size_t n = 0;
    for (size_t i = 0; i < fleet->runs[first].n_cases; i++) {
        const case_result_t *result = &fleet->runs[first].cases[i];
        bool known = is_calibration(&result->spec);
        for (size_t m = 0; m < first && !known; m++)
            known = record_index_find(&indexes[m], result->spec.id) != NULL;
        if (known)
            continue;
        row_t *row = &rows[n++];
        *row = (row_t){result->spec.id, mem_zeroed(n_machines, sizeof *row->results), n_machines};
        for (size_t m = first; m < n_machines; m++)
            row->results[m] = record_index_find(&indexes[m], row->id);
    }
    return n;
}

static status_t collect_rows(fleet_t *fleet, row_t *rows, size_t n_rows, error_t *err) {
    for (size_t i = 0; i < n_rows; i++) {
        count_case(fleet, &rows[i]);
        leave_out(fleet, &rows[i]);
        TRY(check_row(fleet, &rows[i], err));
        add_cells(fleet, &rows[i]);
    }
    static const case_status_t ODD[] = {CASE_THROTTLED, CASE_WRONG, CASE_IMPLAUSIBLE, CASE_FAILED};
    for (size_t m = 0; m < fleet->evidence.n_machines; m++)
        for (size_t s = 0; s < sizeof ODD / sizeof *ODD; s++)
            tell_odd(&fleet->machines[m], rows, n_rows, m, ODD[s]);
    if (fleet->evidence.n_cells > 0)
        return STATUS_OK;
    const char *why = NULL;
    for (size_t m = 0; m < fleet->evidence.n_machines && why == NULL; m++)
        why = fleet->machines[m].left_out.n > 0 ? fleet->machines[m].left_out.items[0] : NULL;
    return error_set(err, STATUS_INCOMPARABLE,
                     "these runs have nothing to compare: no case has times on %d machines%s%s%s",
                     FLEET_FEWEST, why != NULL ? " (" : "", why != NULL ? why : "",
                     why != NULL ? ")" : "");
}

status_t fleet_collect(fleet_t *fleet, error_t *err) {
    const size_t n_machines = fleet->evidence.n_machines;
    size_t most = 0, n_rows = 0;
    record_index_t *indexes = mem_zeroed(n_machines, sizeof *indexes);
    fleet->machines = mem_zeroed(n_machines, sizeof *fleet->machines);
    for (size_t m = 0; m < n_machines; m++) {
        const record_t *run = &fleet->runs[m];
        indexes[m] = record_index_make(run);
        fleet->machines[m] =
            (fleet_machine_t){.run = run, .name = name_of(fleet, run), .lowest_sm_mhz = NAN};
        most += run->n_cases;
    }
    row_t *rows = mem_zeroed(most + 1, sizeof *rows);
    for (size_t m = 0; m < n_machines; m++)
        n_rows += add_rows(fleet, indexes, m, rows + n_rows);
    const status_t status = collect_rows(fleet, rows, n_rows, err);
    for (size_t i = 0; i < n_rows; i++)
        free(rows[i].results);
    free(rows);
    for (size_t m = 0; m < n_machines; m++)
        record_index_free(&indexes[m]);
    free(indexes);
    return status;
}

bool fleet_is_outlier(const fleet_t *fleet, size_t machine) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    bool found = fleet->machines[machine].odd.n > 0;
    for (size_t g = 0; g < evidence->n_groups; g++)
        found |= deviation_is_outlier(&evidence->groups[g].of, machine);
    for (size_t c = 0; c < evidence->n_cells; c++)
        found |= deviation_is_outlier(&evidence->cells[c].of, machine);
    return found;
}

/* The cells of a fleet from the runs of its machines: see fleet.h. */

#include "base/memory.h"
#include "compare/comparison.h"
#include "fleet/fleet.h"
#include "results/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== deviations ============================================================================== */

deviation_t deviation_make(size_t n_machines) {
    return (deviation_t){.sides = mem_zeroed(n_machines + 1, sizeof(stats_side_t)),
                         .gates = mem_zeroed(n_machines + 1, sizeof(gate_cell_t))};
}

void deviation_free(deviation_t *deviation) {
    free(deviation->sides);
    free(deviation->gates);
    *deviation = (deviation_t){0};
}

/* ---- against the median machine -------------------------------------------------------------- */

static double log_centre_of(const stats_side_t *side) {
    return log(stats_interval_of(side->units, side->n).centre);
}

/* The faster of the two in the middle if their number is even, so that of four machines two slow
 * ones are found. */
static void find_reference(deviation_t *deviation, size_t n_machines) {
    double *logs = mem_alloc((2 * n_machines + 1) * sizeof *logs), *sorted = logs + n_machines;
    size_t n = 0;
    for (size_t m = 0; m < n_machines; m++) {
        logs[m] = log_centre_of(&deviation->sides[m]);
        if (isfinite(logs[m]))
            sorted[n++] = logs[m];
    }
    stats_sort(sorted, n);
    for (size_t m = 0; n >= FLEET_FEWEST && m < n_machines; m++)
        if (logs[m] == sorted[(n - 1) / 2])
            deviation->reference = m;
    deviation->log_centre = n >= FLEET_FEWEST ? logs[deviation->reference] : (double)NAN;
    free(logs);
}

static void compare_machines(deviation_t *deviation, size_t n_machines) {
    find_reference(deviation, n_machines);
    const stats_side_t *base = &deviation->sides[deviation->reference];
    for (size_t m = 0; m < n_machines; m++) {
        gate_cell_t *gate = &deviation->gates[m];
        *gate = (gate_cell_t){.change = {.log_ratio = NAN}, .verdict = GATE_UNDECIDED};
        gate->low = gate->high = NAN;
        if (isfinite(deviation->log_centre) && deviation->sides[m].n > 0)
            gate->change = stats_change(base, &deviation->sides[m]);
    }
}

bool deviation_is_known(const deviation_t *deviation, size_t machine) {
    return !isnan(deviation->gates[machine].change.log_ratio);
}

bool deviation_is_outlier(const deviation_t *deviation, size_t machine) {
    const gate_verdict_t verdict = deviation->gates[machine].verdict;
    return verdict == GATE_REGRESSED || verdict == GATE_IMPROVED;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Two values have no median that another run would repeat. */
static bool is_usable(const stats_side_t *side, bool of_passes) {
    return side->n > 0 && side->are_passes == of_passes && !side->bimodal.found;
}

static bool has_passes(const fleet_evidence_t *fleet, size_t group, size_t machine) {
    for (size_t c = 0; c < fleet->n_cells; c++)
        if (fleet->cells[c].group == group && is_usable(&fleet->cells[c].of.sides[machine], true) &&
            deviation_is_known(&fleet->cells[c].of, machine))
            return true;
    return false;
}

/* The median of the cells' deviations in a pass. Without passes, of the centres. */
static stats_pass_t unit_of(const fleet_evidence_t *fleet, size_t group, size_t machine,
                            size_t pass, bool of_passes) {
    static const double PI_HALF = 1.57079632679489661923; /* a median's variance over a mean's */
    AUTO_FREE double *logs = mem_alloc((fleet->n_cells + 1) * sizeof *logs);
    stats_pass_t unit = {.log_value = NAN};
    size_t n = 0;
    for (size_t c = 0; c < fleet->n_cells; c++) {
        const deviation_t *of = &fleet->cells[c].of;
        const stats_side_t *side = &of->sides[machine];
        if (fleet->cells[c].group != group || !deviation_is_known(of, machine) ||
            !is_usable(side, of_passes) || pass >= side->n)
            continue;
        const double value = of_passes ? side->units[pass].log_value : log_centre_of(side);
        if (!isfinite(value))
            continue;
        logs[n++] = value - of->log_centre;
        unit.variance_log += side->units[pass].variance_log;
        unit.shared = fmax(unit.shared, side->units[pass].shared);
    }
    if (n > 0) {
        unit.log_value = stats_median(logs, n);
        unit.variance_log *= PI_HALF / ((double)n * (double)n);
    }
    return unit;
}

/* Cells share their process and their minute, so a pass is one unit for all of them. */
static void make_side(fleet_evidence_t *fleet, size_t group, size_t machine) {
    stats_side_t *side = &fleet->groups[group].of.sides[machine];
    *side = (stats_side_t){.are_passes = has_passes(fleet, group, machine)};
    const size_t most = side->are_passes ? STATS_MOST_PASSES : 1;
    for (size_t pass = 0; pass < most; pass++) {
        const stats_pass_t unit = unit_of(fleet, group, machine, pass, side->are_passes);
        if (isfinite(unit.log_value))
            side->units[side->n++] = unit;
    }
}

/* ---- deciding -------------------------------------------------------------------------------- */

typedef struct gates {
    gate_cell_t **items;
    size_t n, capacity;
} gates_t;

static void add_gates(gates_t *gates, deviation_t *deviation, size_t n_machines) {
    for (size_t m = 0; m < n_machines; m++)
        if (deviation_is_known(deviation, m)) {
            mem_grow(&gates->items, gates->n, &gates->capacity, sizeof *gates->items);
            gates->items[gates->n++] = &deviation->gates[m];
        }
}

/* Cells and groups, each of the device's clock and of the host's, are four families, which share the
 * alarm rate: restless processes on the host cannot hide a slow memory. */
static void decide_clock(fleet_evidence_t *fleet, clock_domain_t clock, double threshold_frac) {
    gates_t cells = {0}, groups = {0};
    for (size_t c = 0; c < fleet->n_cells; c++)
        if (fleet->groups[fleet->cells[c].group].clock == clock)
            add_gates(&cells, &fleet->cells[c].of, fleet->n_machines);
    for (size_t g = 0; g < fleet->n_groups; g++)
        if (fleet->groups[g].clock == clock)
            add_gates(&groups, &fleet->groups[g].of, fleet->n_machines);
    gate_decide(cells.items, cells.n, threshold_frac, GATE_ALARM_RATE / 4);
    gate_decide(groups.items, groups.n, threshold_frac, GATE_ALARM_RATE / 4);
    free(cells.items);
    free(groups.items);
}

void fleet_decide(fleet_evidence_t *fleet, double threshold_frac) {
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t c = 0; c < fleet->n_cells; c++)
        compare_machines(&fleet->cells[c].of, fleet->n_machines);
#pragma omp parallel for schedule(dynamic)
    for (size_t g = 0; g < fleet->n_groups; g++) {
        for (size_t m = 0; m < fleet->n_machines; m++)
            make_side(fleet, g, m);
        compare_machines(&fleet->groups[g].of, fleet->n_machines);
    }
    decide_clock(fleet, CLOCK_DEVICE, threshold_frac);
    decide_clock(fleet, CLOCK_HOST, threshold_frac);
}

size_t fleet_beyond(const fleet_evidence_t *fleet, size_t group, size_t machine) {
    const gate_cell_t *of_group = &fleet->groups[group].of.gates[machine];
    const double sign = of_group->change.log_ratio < 0 ? -1 : 1;
    size_t n = 0;
    for (size_t c = 0; c < fleet->n_cells; c++)
        n += fleet->cells[c].group == group &&
             sign * fleet->cells[c].of.gates[machine].change.log_ratio >
                 log1p(of_group->threshold_frac);
    return n;
}

/* ==== collecting ============================================================================== */

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
    AUTO(text_list_free) text_list_t done = {0};
    for (size_t m = 0; m < row->n; m++) {
        const case_result_t *result = row->results[m];
        if (result == NULL || result->status != CASE_OK)
            continue;
        AUTO(text_list_free)
        text_list_t names = comparison_common_phases(result, NULL, &fleet->options->phases);
        for (size_t i = 0; i < names.n; i++)
            if (!text_list_has(&done, names.items[i])) {
                text_list_add(&done, names.items[i]);
                add_cell(fleet, row, result, names.items[i]);
            }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Times that may not be compared with any, as self-reported ones, are left out. */
static void leave_out(fleet_t *fleet, row_t *row) {
    for (size_t m = 0; m < row->n; m++) {
        const case_result_t *result = row->results[m];
        if (result == NULL)
            continue;
        AUTO(text_list_free)
        text_list_t names = comparison_common_phases(result, NULL, &fleet->options->phases);
        AUTO_FREE char *why = conditions_of_case(result, &names, &fleet->options->allow);
        if (why == NULL)
            continue;
        text_list_add_format(&fleet->machines[m].left_out, "%s: %s", row->id, why);
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
        AUTO(text_list_free)
        text_list_t names =
            comparison_common_phases(row->results[first], row->results[m], &fleet->options->phases);
        AUTO_FREE char *obstacle =
            guard_pair(row->results[first], row->results[m], &names, &fleet->options->allow);
        if (obstacle == NULL)
            continue;
        return error_set(err, STATUS_INCOMPARABLE, "%s and %s cannot be compared: %s: %s",
                         fleet->runs[first].folder, fleet->runs[m].folder, row->id, obstacle);
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
static size_t add_rows(const fleet_t *fleet, size_t first, row_t *rows) {
    const size_t n_machines = fleet->evidence.n_machines;
    size_t n = 0;
    for (size_t i = 0; i < fleet->runs[first].n_cases; i++) {
        const case_result_t *result = &fleet->runs[first].cases[i];
        bool known = is_calibration(&result->spec);
        for (size_t m = 0; m < first && !known; m++)
            known = record_find(&fleet->runs[m], result->spec.id) != NULL;
        if (known)
            continue;
        row_t *row = &rows[n++];
        *row = (row_t){result->spec.id, mem_zeroed(n_machines, sizeof *row->results), n_machines};
        for (size_t m = first; m < n_machines; m++)
            row->results[m] = record_find(&fleet->runs[m], row->id);
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
    fleet->machines = mem_zeroed(n_machines, sizeof *fleet->machines);
    for (size_t m = 0; m < n_machines; m++) {
        const record_t *run = &fleet->runs[m];
        fleet->machines[m] =
            (fleet_machine_t){.run = run, .name = name_of(fleet, run), .lowest_sm_mhz = NAN};
        most += run->n_cases;
    }
    AUTO_FREE row_t *rows = mem_zeroed(most + 1, sizeof *rows);
    for (size_t m = 0; m < n_machines; m++)
        n_rows += add_rows(fleet, m, rows + n_rows);
    const status_t status = collect_rows(fleet, rows, n_rows, err);
    for (size_t i = 0; i < n_rows; i++)
        free(rows[i].results);
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

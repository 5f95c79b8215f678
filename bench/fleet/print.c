/* A fleet as a table and as JSON: docs/fleet.md lists the keys. */
#include "fleet/fleet.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/json.h"
#include "io/output.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static const char *verdict_name(gate_verdict_t verdict) {
    static const char *const NAMES[] = {"as the fleet", "slower", "faster", "undecided"};
    return NAMES[verdict];
}

/* ---- the table ------------------------------------------------------------------------------- */

/* "slower: dram, l2; faster: host", "as the fleet" */
static char *verdict_of(const fleet_t *fleet, size_t machine) {
    static const gate_verdict_t TOLD[] = {GATE_REGRESSED, GATE_IMPROVED};
    const fleet_evidence_t *evidence = &fleet->evidence;
    text_list_t parts = {0};
    size_t n_unchanged = 0;
    for (size_t v = 0; v < sizeof TOLD / sizeof *TOLD; v++) {
        text_list_t names = {0};
        for (size_t g = 0; g < evidence->n_groups; g++)
            if (evidence->groups[g].of.gates[machine].verdict == TOLD[v])
                text_list_add(&names, evidence->groups[g].name);
        char *list = text_list_join(&names, ", ");
        if (names.n > 0)
            text_list_add_format(&parts, "%s: %s", verdict_name(TOLD[v]), list);
        free(list);
        text_list_free(&names);
    }
    for (size_t g = 0; g < evidence->n_groups; g++)
        n_unchanged += evidence->groups[g].of.gates[machine].verdict == GATE_UNCHANGED;
    if (parts.n == 0)
        text_list_add(&parts, fleet_is_outlier(fleet, machine) ? "single cases"
                              : n_unchanged > 0                ? verdict_name(GATE_UNCHANGED)
                                                               : verdict_name(GATE_UNDECIDED));
    char *text = text_list_join(&parts, "; ");
    text_list_free(&parts);
    return text;
}

static void add_deviation(table_t *table, const gate_cell_t *gate) {
    const double percent = expm1(gate->change.log_ratio) * 100;
    if (isnan(percent))
        table_add(table, "–");
    else
        table_add_format(table, "%+.1f %%%s", fabs(percent) < 0.05 ? 0 : percent,
                         gate->verdict == GATE_UNDECIDED ? " ?" : "");
}

/* The groups of the device's clock first. */
static size_t order_groups(const fleet_evidence_t *evidence, size_t *order) {
    static const clock_domain_t CLOCKS[] = {CLOCK_DEVICE, CLOCK_HOST};
    size_t n = 0;
    for (size_t k = 0; k < sizeof CLOCKS / sizeof *CLOCKS; k++)
        for (size_t g = 0; g < evidence->n_groups; g++)
            if (evidence->groups[g].clock == CLOCKS[k])
                order[n++] = g;
    return n;
}

static void print_machines(const fleet_t *fleet, FILE *out) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    size_t *order = mem_alloc((evidence->n_groups + 1) * sizeof *order);
    const size_t n = order_groups(evidence, order);
    text_list_t headings = {0};
    table_t table;
    text_list_add(&headings, "machine");
    text_list_add(&headings, "cases");
    for (size_t i = 0; i < n; i++)
        text_list_add_format(&headings, "%s (%zu)", evidence->groups[order[i]].name,
                             evidence->groups[order[i]].n_cells);
    text_list_add(&headings, "throttled");
    text_list_add(&headings, "verdict");
    table_init(&table, (const char *const *)headings.items, headings.n);
    for (size_t i = 1; i + 1 < headings.n; i++)
        table.align[i] = ALIGN_RIGHT;
    for (size_t m = 0; m < evidence->n_machines; m++) {
        table_add(&table, fleet->machines[m].name);
        table_add_format(&table, "%zu", fleet->machines[m].n_cases);
        for (size_t i = 0; i < n; i++)
            add_deviation(&table, &evidence->groups[order[i]].of.gates[m]);
        table_add_format(&table, "%zu", fleet->machines[m].n_throttled);
        table_take(&table, verdict_of(fleet, m));
    }
    table_print(&table, "\n", out);
    text_list_free(&headings);
    free(order);
}

static bool has_passes(const fleet_evidence_t *evidence) {
    for (size_t g = 0; g < evidence->n_groups; g++)
        for (size_t m = 0; m < evidence->n_machines; m++)
            if (evidence->groups[g].of.sides[m].are_passes)
                return true;
    return false;
}

static void print_method(const fleet_t *fleet, FILE *out) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    char threshold[UNITS_TEXT];
    fprintf(out,
            "Deviation from the machine that is the fleet's median, by what bounds a case: the "
            "median\nover its cases (how many), a case and phase each. ?: undecided. Threshold: "
            "%s.\n",
            units_percent(threshold, fleet->options->threshold_frac));
    if (has_passes(evidence))
        fprintf(out,
                "Chance of any false alarm on %zu machines, %zu cells: at most %.0f %% (Holm).\n",
                evidence->n_machines, evidence->n_cells, GATE_ALARM_RATE * 100);
    else
        fprintf(out,
                "Fewer than %d passes: the spread between processes is unknown, and every machine "
                "is undecided.\n",
                STATS_FEWEST_PASSES);
}

void fleet_print_table(const fleet_t *fleet, FILE *out) {
    print_machines(fleet, out);
    text_list_t sentences = fleet_sentences(fleet);
    for (size_t i = 0; i < sentences.n; i++)
        fprintf(out, "%s.\n", sentences.items[i]);
    if (sentences.n > 0)
        fputc('\n', out);
    text_list_free(&sentences);
    for (size_t i = 0; i < fleet->allowed.n; i++)
        fprintf(out, "Allowed to differ from the first run: %s\n", fleet->allowed.items[i]);
    print_method(fleet, out);
    char *headline = fleet_headline(fleet);
    fprintf(out, "\n%s\n", headline);
    free(headline);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* By machine; null: not measured there. */
static json_t *deviations_to_json(const deviation_t *of, size_t n_machines) {
    json_t *list = json_array();
    for (size_t m = 0; m < n_machines; m++) {
        const gate_cell_t *gate = &of->gates[m];
        json_array_append_new(list,
                              deviation_is_known(of, m)
                                  ? json_pack("{s:o, s:[o, o], s:s, s:o, s:o}", "ratio",
                                              json_finite(exp(gate->change.log_ratio)), "ci95",
                                              json_finite(gate->low), json_finite(gate->high),
                                              "verdict", verdict_name(gate->verdict), "p_slower",
                                              json_finite(gate->p_slower), "p_faster",
                                              json_finite(gate->p_faster))
                                  : json_null());
    }
    return list;
}

static json_t *machine_to_json(const fleet_t *fleet, size_t index) {
    const fleet_machine_t *machine = &fleet->machines[index];
    const environment_t *facts = &machine->run->environment;
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o}", "name",
                     json_text(machine->name), "run", json_text(machine->run->folder), "host",
                     json_text(environment_get(facts, "host.name")), "gpu",
                     json_text(environment_get(facts, "gpu.uuid")), "outlier",
                     fleet_is_outlier(fleet, index), "cases", (json_int_t)machine->n_cases,
                     "missing", (json_int_t)machine->n_missing, "throttled",
                     (json_int_t)machine->n_throttled, "throttle_reasons",
                     json_texts(&machine->throttle_reasons), "power_limited",
                     (json_int_t)machine->n_power_limited, "lowest_sm_mhz",
                     json_finite(machine->lowest_sm_mhz), "not_measured", json_texts(&machine->odd),
                     "not_comparable", json_texts(&machine->left_out));
}

static json_t *group_to_json(const fleet_evidence_t *evidence, size_t g) {
    const fleet_group_t *group = &evidence->groups[g];
    json_t *beyond = json_array();
    for (size_t m = 0; m < evidence->n_machines; m++)
        json_array_append_new(beyond, json_integer((json_int_t)fleet_beyond(evidence, g, m)));
    return json_pack("{s:o, s:s, s:I, s:o, s:o}", "bound", json_text(group->name), "clock",
                     clock_domain_name(group->clock), "cells", (json_int_t)group->n_cells,
                     "machines", deviations_to_json(&group->of, evidence->n_machines),
                     "cells_beyond_threshold", beyond);
}

static json_t *cell_to_json(const fleet_evidence_t *evidence, const fleet_cell_t *cell) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "id", json_text(cell->id), "phase",
                     json_text(cell->phase), "bound", json_text(evidence->groups[cell->group].name),
                     "median_ns", json_finite(exp(cell->of.log_centre)), "machines",
                     deviations_to_json(&cell->of, evidence->n_machines));
}

void fleet_print_json(const fleet_t *fleet, FILE *out) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    json_t *machines = json_array(), *groups = json_array(), *cells = json_array();
    for (size_t m = 0; m < evidence->n_machines; m++)
        json_array_append_new(machines, machine_to_json(fleet, m));
    for (size_t g = 0; g < evidence->n_groups; g++)
        json_array_append_new(groups, group_to_json(evidence, g));
    for (size_t c = 0; c < evidence->n_cells; c++)
        json_array_append_new(cells, cell_to_json(evidence, &evidence->cells[c]));
    text_list_t sentences = fleet_sentences(fleet);
    char *headline = fleet_headline(fleet);
    json_print(json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "headline",
                         headline, "threshold_frac", json_finite(fleet->options->threshold_frac),
                         "alarm_rate_frac", json_finite(GATE_ALARM_RATE), "allowed",
                         json_texts(&fleet->allowed), "sentences", json_texts(&sentences),
                         "machines", machines, "groups", groups, "cells", cells),
               JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
    free(headline);
    text_list_free(&sentences);
}

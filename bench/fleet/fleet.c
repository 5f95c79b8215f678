#include "fleet/fleet.h"

#include "base/memory.h"
#include "base/units.h"
#include "compare/comparison.h"
#include "io/json.h"
#include "io/output.h"
#include "results/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== sentences =============================================================================== */

/* What `bench fleet` says about a machine: see fleet.h. */

enum { MOST_CELLS = 3 }; /* named in a sentence; --json has all */

/* ---- deviations ------------------------------------------------------------------------------ */

/* "memory-bound cases (dram)" */
static char *cases_text(const char *group) {
    static const struct words {
        const char *group, *text;
    } WORDS[] = {
        {"dram", "memory-bound cases (dram)"},
        {"l2", "L2-bound cases (l2)"},
        {"fp32", "compute-bound cases (fp32)"},
        {"matmul", "compute-bound cases (matmul)"},
        {"launch", "launch-bound cases"},
        {"host", "times on the host's clock"},
        {"cpu", "cases on the CPU"},
        {"no bound", "cases without a known bound"},
    };
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strcmp(WORDS[i].group, group) == 0)
            return mem_text(WORDS[i].text);
    return mem_format("cases bound by %s", group);
}

/* "6.0 % slower (+5.6 to +6.4 %)" */
static char *change_text(const gate_cell_t *gate) {
    const double change = expm1(gate->change.log_ratio) * 100;
    return mem_format("%.1f %% %s (%+.1f to %+.1f %%)", fabs(change),
                      change < 0 ? "faster" : "slower", (gate->low - 1) * 100,
                      (gate->high - 1) * 100);
}

static void add_group(text_list_t *parts, const fleet_t *fleet, size_t g, size_t machine) {
    const fleet_group_t *group = &fleet->evidence.groups[g];
    const gate_cell_t *gate = &group->of.gates[machine];
    char threshold[UNITS_TEXT];
    AUTO_FREE char *change = change_text(gate), *cases = cases_text(group->name);
    text_list_add_format(parts, "%s in %s, %zu of %zu by more than %s", change, cases,
                         fleet_beyond(&fleet->evidence, g, machine), group->n_cells,
                         units_percent(threshold, gate->threshold_frac));
}

static void add_groups(text_list_t *parts, const fleet_t *fleet, size_t machine) {
    for (size_t g = 0; g < fleet->evidence.n_groups; g++)
        if (deviation_is_outlier(&fleet->evidence.groups[g].of, machine))
            add_group(parts, fleet, g, machine);
}

/* Those that their group does not tell already. */
static void add_cells(text_list_t *parts, const fleet_t *fleet, size_t machine) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    size_t n = 0;
    for (size_t c = 0; c < evidence->n_cells; c++) {
        const fleet_cell_t *cell = &evidence->cells[c];
        if (!deviation_is_outlier(&cell->of, machine) ||
            evidence->groups[cell->group].of.gates[machine].verdict ==
                cell->of.gates[machine].verdict)
            continue;
        if (++n > MOST_CELLS)
            continue;
        AUTO_FREE char *change = change_text(&cell->of.gates[machine]);
        text_list_add_format(parts, "%s in %s, %s", change, cell->id, cell->phase);
    }
    if (n > MOST_CELLS)
        text_list_add_format(parts, "and in %zu more", n - MOST_CELLS);
}

/* "others as the fleet", "undecided: host" */
static void add_others(text_list_t *parts, const fleet_t *fleet, size_t machine) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    AUTO(text_list_free) text_list_t undecided = {0};
    size_t n_unchanged = 0;
    for (size_t g = 0; g < evidence->n_groups; g++) {
        const deviation_t *of = &evidence->groups[g].of;
        n_unchanged += of->gates[machine].verdict == GATE_UNCHANGED;
        if (of->gates[machine].verdict == GATE_UNDECIDED)
            text_list_add(&undecided, evidence->groups[g].name);
    }
    AUTO_FREE char *names = text_list_join(&undecided, ", ");
    if (n_unchanged > 0)
        text_list_add(parts, "others as the fleet");
    if (undecided.n > 0)
        text_list_add_format(parts, "undecided: %s", names);
}

/* ---- likely causes --------------------------------------------------------------------------- */

static void add_throttled(text_list_t *parts, const fleet_machine_t *machine) {
    if (machine->n_throttled == 0)
        return;
    AUTO_FREE char *reasons = text_list_join(&machine->throttle_reasons, ", ");
    text_list_add_format(parts, "throttled samples in %zu case%s%s%s%s", machine->n_throttled,
                         machine->n_throttled == 1 ? "" : "s", *reasons != '\0' ? " (" : "",
                         reasons, *reasons != '\0' ? ")" : "");
}

/* "at the power limit in 9 cases, not 2; SM clock down to 1410 MHz, not 1755 MHz" */
static void add_clocks(text_list_t *parts, const fleet_machine_t *machine,
                       const fleet_machine_t *like) {
    if (machine->n_power_limited != like->n_power_limited)
        text_list_add_format(parts, "at the power limit in %zu case%s, not %zu",
                             machine->n_power_limited, machine->n_power_limited == 1 ? "" : "s",
                             like->n_power_limited);
    if (condition_is_notable(machine->lowest_sm_mhz, like->lowest_sm_mhz)) /* NaN: not read */
        text_list_add_format(parts, "SM clock down to %.0f MHz, not %.0f MHz",
                             machine->lowest_sm_mhz, like->lowest_sm_mhz);
}

/* What differs from a machine that is no outlier. */
static void add_facts(text_list_t *parts, const fleet_t *fleet, size_t machine) {
    size_t like = 0;
    while (like < fleet->evidence.n_machines && fleet_is_outlier(fleet, like))
        like++;
    if (like == fleet->evidence.n_machines)
        return;
    AUTO(text_list_free) text_list_t notable = {0};
    add_clocks(&notable, &fleet->machines[machine], &fleet->machines[like]);
    AUTO(conditions_free)
    run_differences_t differing =
        conditions_changed(&fleet->runs[like].environment, &fleet->runs[machine].environment);
    for (size_t i = 0; i < differing.n; i++)
        if (!condition_is_of_machine(differing.items[i].key))
            text_list_take(&notable, run_difference_text(&differing.items[i]));
    AUTO_FREE char *list = text_list_join(&notable, ", ");
    if (notable.n > 0)
        text_list_add_format(parts, "unlike %s: %s", fleet->machines[like].name, list);
}

/* ---- sentences ------------------------------------------------------------------------------- */

static char *sentence_of(const fleet_t *fleet, size_t index) {
    const fleet_machine_t *machine = &fleet->machines[index];
    AUTO(text_list_free) text_list_t parts = {0};
    add_groups(&parts, fleet, index);
    add_cells(&parts, fleet, index);
    text_list_add_all(&parts, &machine->odd);
    if (parts.n > 0) {
        add_others(&parts, fleet, index);
        add_throttled(&parts, machine);
        add_facts(&parts, fleet, index);
    }
    if (machine->n_missing > 0)
        text_list_add_format(&parts, "%zu case%s missing", machine->n_missing,
                             machine->n_missing == 1 ? "" : "s");
    if (machine->left_out.n > 0)
        text_list_add_format(&parts, "%zu case%s not comparable (%s%s)", machine->left_out.n,
                             machine->left_out.n == 1 ? "" : "s", machine->left_out.items[0],
                             machine->left_out.n == 1 ? "" : ", …");
    AUTO_FREE char *list = text_list_join(&parts, "; ");
    char *sentence = parts.n > 0 ? mem_format("%s: %s", machine->name, list) : NULL;
    if (sentence != NULL)
        text_make_plain(sentence);
    return sentence;
}

/* "node17 GPU-1a2b3c4d: 6.0 % slower (…) in memory-bound cases (dram), …": for each outlier, and for
 * each machine without an outlier that lacks cases. The caller frees the list. */
static text_list_t fleet_sentences(const fleet_t *fleet) {
    text_list_t sentences = {0};
    for (size_t m = 0; m < fleet->evidence.n_machines; m++) {
        char *sentence = sentence_of(fleet, m);
        if (sentence != NULL)
            text_list_take(&sentences, sentence);
    }
    return sentences;
}

/* "all 8 machines as the fleet", "1 of 8 machines is an outlier"; the caller frees it. */
static char *fleet_headline(const fleet_t *fleet) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    size_t n_outliers = 0, n_undecided = 0;
    for (size_t m = 0; m < evidence->n_machines; m++) {
        bool undecided = false;
        for (size_t g = 0; g < evidence->n_groups; g++)
            undecided |= evidence->groups[g].of.gates[m].verdict == GATE_UNDECIDED;
        n_outliers += fleet_is_outlier(fleet, m);
        n_undecided += undecided;
    }
    AUTO_FREE char *rest =
        n_undecided > 0 ? mem_format(", %zu partly undecided", n_undecided) : mem_text("");
    return mem_format("%s (%zu machines: %zu outlier%s%s)",
                      n_outliers > 0 ? "OUTLIERS" : "no outliers found", evidence->n_machines,
                      n_outliers, n_outliers == 1 ? "" : "s", rest);
}

/* ==== tables and JSON ========================================================================= */

/* A fleet as a table and as JSON: docs/fleet.md lists the keys. */

static const char *verdict_name(gate_verdict_t verdict) {
    static const char *const NAMES[] = {"as the fleet", "slower", "faster", "undecided"};
    return NAMES[verdict];
}

/* ---- the table ------------------------------------------------------------------------------- */

/* "slower: dram, l2; faster: host", "as the fleet" */
static char *verdict_of(const fleet_t *fleet, size_t machine) {
    static const gate_verdict_t SHOWN[] = {GATE_REGRESSED, GATE_IMPROVED};
    const fleet_evidence_t *evidence = &fleet->evidence;
    AUTO(text_list_free) text_list_t parts = {0};
    size_t n_unchanged = 0;
    for (size_t v = 0; v < sizeof SHOWN / sizeof *SHOWN; v++) {
        AUTO(text_list_free) text_list_t names = {0};
        for (size_t g = 0; g < evidence->n_groups; g++)
            if (evidence->groups[g].of.gates[machine].verdict == SHOWN[v])
                text_list_add(&names, evidence->groups[g].name);
        AUTO_FREE char *list = text_list_join(&names, ", ");
        if (names.n > 0)
            text_list_add_format(&parts, "%s: %s", verdict_name(SHOWN[v]), list);
    }
    for (size_t g = 0; g < evidence->n_groups; g++)
        n_unchanged += evidence->groups[g].of.gates[machine].verdict == GATE_UNCHANGED;
    if (parts.n == 0)
        text_list_add(&parts, fleet_is_outlier(fleet, machine) ? "single cases"
                              : n_unchanged > 0                ? verdict_name(GATE_UNCHANGED)
                                                               : verdict_name(GATE_UNDECIDED));
    return text_list_join(&parts, "; ");
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
    AUTO_FREE size_t *order = mem_alloc((evidence->n_groups + 1) * sizeof *order);
    const size_t n = order_groups(evidence, order);
    AUTO(text_list_free) text_list_t headings = {0};
    AUTO_FREE char *align = mem_zeroed(n + 5, 1);
    text_list_add_words(&headings, "machine", "cases", NULL);
    for (size_t i = 0; i < n; i++)
        text_list_add_format(&headings, "%s (%zu)", evidence->groups[order[i]].name,
                             evidence->groups[order[i]].n_cells);
    text_list_add_words(&headings, "throttled", "verdict", NULL);
    for (size_t i = 0; i < headings.n; i++)
        align[i] = i > 0 && i + 1 < headings.n ? 'r' : 'l';
    table_t table = table_make(align, (const char *const *)headings.items);
    for (size_t m = 0; m < evidence->n_machines; m++) {
        table_add(&table, fleet->machines[m].name);
        table_add_format(&table, "%zu", fleet->machines[m].n_cases);
        for (size_t i = 0; i < n; i++)
            add_deviation(&table, &evidence->groups[order[i]].of.gates[m]);
        table_add_format(&table, "%zu", fleet->machines[m].n_throttled);
        table_take(&table, verdict_of(fleet, m));
    }
    table_print(&table, "\n", out);
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

static void fleet_print_table(const fleet_t *fleet, FILE *out) {
    print_machines(fleet, out);
    AUTO(text_list_free) text_list_t sentences = fleet_sentences(fleet);
    for (size_t i = 0; i < sentences.n; i++)
        fprintf(out, "%s.\n", sentences.items[i]);
    if (sentences.n > 0)
        fputc('\n', out);
    for (size_t i = 0; i < fleet->allowed.n; i++)
        fprintf(out, "Allowed to differ from the first run: %s\n", fleet->allowed.items[i]);
    print_method(fleet, out);
    AUTO_FREE char *headline = fleet_headline(fleet);
    fprintf(out, "\n%s\n", headline);
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

static void fleet_print_json(const fleet_t *fleet, FILE *out) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    json_t *machines = json_array(), *groups = json_array(), *cells = json_array();
    for (size_t m = 0; m < evidence->n_machines; m++)
        json_array_append_new(machines, machine_to_json(fleet, m));
    for (size_t g = 0; g < evidence->n_groups; g++)
        json_array_append_new(groups, group_to_json(evidence, g));
    for (size_t c = 0; c < evidence->n_cells; c++)
        json_array_append_new(cells, cell_to_json(evidence, &evidence->cells[c]));
    AUTO(text_list_free) text_list_t sentences = fleet_sentences(fleet);
    AUTO_FREE char *headline = fleet_headline(fleet);
    json_print(json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "headline",
                         headline, "threshold_frac", json_finite(fleet->options->threshold_frac),
                         "alarm_rate_frac", json_finite(GATE_ALARM_RATE), "allowed",
                         json_texts(&fleet->allowed), "sentences", json_texts(&sentences),
                         "machines", machines, "groups", groups, "cells", cells),
               JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
}

/* ==== the command ============================================================================= */

/* ---- which runs ------------------------------------------------------------------------------ */

static const char *fact_of(const record_t *run, const char *key) {
    const char *value = environment_get(&run->environment, key);
    return value != NULL ? value : "";
}

/* Shards from several machines have different cases of each, so there is nothing to split. */
static status_t check_one_machine(const record_t *run, error_t *err) {
    for (size_t i = 0; i < run->n_passes; i++) {
        const environment_t *facts = &run->passes[i];
        if (record_pass_is_on(facts, environment_get(&run->environment, "host.name"),
                              environment_get(&run->environment, "gpu.uuid")))
            continue;
        const char *host = environment_get(facts, "host"), *gpu = environment_get(facts, "gpu");
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s: has passes of several machines (%s %s, %s %s), expected a run of one "
                         "machine: give runs that were not merged or resumed elsewhere",
                         run->folder, fact_of(run, "host.name"), fact_of(run, "gpu.uuid"),
                         host != NULL ? host : "", gpu != NULL ? gpu : "");
    }
    return STATUS_OK;
}

static bool is_same_machine(const record_t *a, const record_t *b) {
    static const char *const KEYS[] = {"host.name", "gpu.uuid"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (strcmp(fact_of(a, KEYS[i]), fact_of(b, KEYS[i])) != 0)
            return false;
    return true;
}

static status_t check_pair(const record_t *first, const record_t *run, error_t *err) {
    const char *other = record_other_sweep(first, run);
    if (other == NULL)
        other = record_other_sweep(run, first);
    if (other != NULL)
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s and %s cannot be compared: %s is not in both with the same text: "
                         "expected runs of the same sweeps",
                         first->folder, run->folder, other);
    if (is_same_machine(first, run))
        return error_set(err, STATUS_USAGE,
                         "%s and %s are of the same machine (%s%s%s): expected a run of each",
                         first->folder, run->folder, fact_of(run, "host.name"),
                         fact_of(run, "gpu.uuid")[0] != '\0' ? " " : "", fact_of(run, "gpu.uuid"));
    return STATUS_OK;
}

static status_t check_runs(fleet_t *fleet, error_t *err) {
    const record_t *runs = fleet->runs;
    const text_list_t *allow = &fleet->options->allow;
    TRY(guard_check_allow(allow, err));
    for (size_t i = 0; i < fleet->evidence.n_machines; i++) {
        TRY(check_one_machine(&runs[i], err));
        for (size_t k = 0; k < i; k++)
            TRY(check_pair(&runs[k], &runs[i], err));
        if (i > 0)
            TRY(guard_runs(&runs[0], &runs[i], allow, &fleet->allowed, err));
    }
    return STATUS_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void fleet_free(fleet_t *fleet) {
    for (size_t i = 0; i < fleet->evidence.n_cells; i++)
        deviation_free(&fleet->evidence.cells[i].of);
    for (size_t i = 0; i < fleet->evidence.n_groups; i++)
        deviation_free(&fleet->evidence.groups[i].of);
    for (size_t i = 0; i < fleet->evidence.n_machines && fleet->machines != NULL; i++) {
        text_list_free(&fleet->machines[i].odd);
        text_list_free(&fleet->machines[i].left_out);
        text_list_free(&fleet->machines[i].throttle_reasons);
    }
    free(fleet->evidence.cells);
    free(fleet->evidence.groups);
    free(fleet->machines);
    text_list_free(&fleet->allowed);
    arena_free(&fleet->texts);
}

static status_t examine(fleet_t *fleet, error_t *err) {
    TRY(check_runs(fleet, err));
    TRY(fleet_collect(fleet, err));
    fleet_decide(&fleet->evidence, fleet->options->threshold_frac);
    if (fleet->options->json)
        fleet_print_json(fleet, stdout);
    else
        fleet_print_table(fleet, stdout);
    for (size_t m = 0; m < fleet->evidence.n_machines; m++)
        if (fleet_is_outlier(fleet, m))
            return STATUS_FAILED;
    return STATUS_OK;
}

status_t fleet_runs(const fleet_options_t *options, error_t *err) {
    AUTO(records_free) record_list_t runs = {0};
    TRY(records_load((const char *const *)options->runs->items, options->runs->n, &runs, err));
    AUTO(fleet_free)
    fleet_t fleet = {.options = options, .runs = runs.items, .evidence = {.n_machines = runs.n}};
    return examine(&fleet, err);
}

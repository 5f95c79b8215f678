/* What `bench fleet` says about a machine: see fleet.h. */
#include "fleet/fleet.h"

#include "base/memory.h"
#include "base/units.h"
#include "results/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    char threshold[UNITS_TEXT], *change = change_text(gate), *cases = cases_text(group->name);
    text_list_add_format(parts, "%s in %s, %zu of %zu by more than %s", change, cases,
                         fleet_beyond(&fleet->evidence, g, machine), group->n_cells,
                         units_percent(threshold, gate->threshold_frac));
    free(change);
    free(cases);
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
        char *change = change_text(&cell->of.gates[machine]);
        text_list_add_format(parts, "%s in %s, %s", change, cell->id, cell->phase);
        free(change);
    }
    if (n > MOST_CELLS)
        text_list_add_format(parts, "and in %zu more", n - MOST_CELLS);
}

/* "others as the fleet", "undecided: host" */
static void add_others(text_list_t *parts, const fleet_t *fleet, size_t machine) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    text_list_t undecided = {0};
    size_t n_unchanged = 0;
    for (size_t g = 0; g < evidence->n_groups; g++) {
        const deviation_t *of = &evidence->groups[g].of;
        n_unchanged += of->gates[machine].verdict == GATE_UNCHANGED;
        if (of->gates[machine].verdict == GATE_UNDECIDED)
            text_list_add(&undecided, evidence->groups[g].name);
    }
    char *names = text_list_join(&undecided, ", ");
    if (n_unchanged > 0)
        text_list_add(parts, "others as the fleet");
    if (undecided.n > 0)
        text_list_add_format(parts, "undecided: %s", names);
    free(names);
    text_list_free(&undecided);
}

/* ---- likely causes --------------------------------------------------------------------------- */

static void add_throttled(text_list_t *parts, const fleet_machine_t *machine) {
    if (machine->n_throttled == 0)
        return;
    char *reasons = text_list_join(&machine->throttle_reasons, ", ");
    text_list_add_format(parts, "throttled samples in %zu case%s%s%s%s", machine->n_throttled,
                         machine->n_throttled == 1 ? "" : "s", *reasons != '\0' ? " (" : "",
                         reasons, *reasons != '\0' ? ")" : "");
    free(reasons);
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
    text_list_t notable = {0};
    add_clocks(&notable, &fleet->machines[machine], &fleet->machines[like]);
    run_differences_t differing =
        conditions_changed(&fleet->runs[like].environment, &fleet->runs[machine].environment);
    for (size_t i = 0; i < differing.n; i++)
        if (!condition_is_of_machine(differing.items[i].key))
            text_list_take(&notable, run_difference_text(&differing.items[i]));
    char *list = text_list_join(&notable, ", ");
    if (notable.n > 0)
        text_list_add_format(parts, "unlike %s: %s", fleet->machines[like].name, list);
    free(list);
    text_list_free(&notable);
    conditions_free(&differing);
}

/* ---- sentences ------------------------------------------------------------------------------- */

static char *sentence_of(const fleet_t *fleet, size_t index) {
    const fleet_machine_t *machine = &fleet->machines[index];
    text_list_t parts = {0};
    add_groups(&parts, fleet, index);
    add_cells(&parts, fleet, index);
    for (size_t i = 0; i < machine->odd.n; i++)
        text_list_add(&parts, machine->odd.items[i]);
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
    char *list = text_list_join(&parts, "; ");
    char *sentence = parts.n > 0 ? mem_format("%s: %s", machine->name, list) : NULL;
    if (sentence != NULL)
        text_make_plain(sentence);
    free(list);
    text_list_free(&parts);
    return sentence;
}

text_list_t fleet_sentences(const fleet_t *fleet) {
    text_list_t sentences = {0};
    for (size_t m = 0; m < fleet->evidence.n_machines; m++) {
        char *sentence = sentence_of(fleet, m);
        if (sentence != NULL)
            text_list_take(&sentences, sentence);
    }
    return sentences;
}

char *fleet_headline(const fleet_t *fleet) {
    const fleet_evidence_t *evidence = &fleet->evidence;
    size_t n_outliers = 0, n_undecided = 0;
    for (size_t m = 0; m < evidence->n_machines; m++) {
        bool undecided = false;
        for (size_t g = 0; g < evidence->n_groups; g++)
            undecided |= evidence->groups[g].of.gates[m].verdict == GATE_UNDECIDED;
        n_outliers += fleet_is_outlier(fleet, m);
        n_undecided += undecided;
    }
    char *rest = n_undecided > 0 ? mem_format(", %zu partly undecided", n_undecided) : mem_text("");
    char *text = mem_format("%s (%zu machines: %zu outlier%s%s)",
                            n_outliers > 0 ? "OUTLIERS" : "no outliers found", evidence->n_machines,
                            n_outliers, n_outliers == 1 ? "" : "s", rest);
    free(rest);
    return text;
}

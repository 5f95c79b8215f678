/* What was measured, when, with what, and how far to trust it: a column for each kind of machine. */
#include "report/columns.h"
#include "report/sections/sections.h"
#include "report/top/top.h"

#include "analysis/boots.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Facts of all runs of one kind of machine. */
typedef struct machine {
    const char *name;
    text_list_t hosts, software, measured, revisions, rivals;
    size_t cases, right, unchecked, of[CASE_IMPLAUSIBLE + 1], two_values,
        trust[TRUST_SELF_REPORTED + 1];
    const record_t **runs;
    size_t n_runs;
    size_t partly; /* of the right ones: what a timed training learned was not compared */
} machine_t;

static void add_fact(const report_t *report, text_list_t *list, const record_t *run,
                     const char *before, const char *key) {
    const char *value = environment_get(&run->environment, key);
    if (value != NULL)
        text_list_add_new(list, report_text(report, "%s%s", before, report_safe(report, value)));
}

static void add_software(const report_t *report, machine_t *machine, const record_t *run) {
    text_list_t *list = &machine->software;
    add_fact(report, list, run, "driver ", "gpu.driver");
    add_fact(report, list, run, "CUDA ", "versions.cuda_driver");
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;) {
        const char *engine = result->spec.engine;
        const char *version =
            engine_is_rival(engine) ? rival_version(&run->environment, &result->spec) : NULL;
        if (version != NULL)
            text_list_add_new(list,
                              report_text(report, "%s %s", report_safe(report, engine_name(engine)),
                                          report_safe(report, version)));
    }
    add_fact(report, list, run, "bench ", "versions.bench");
}

/* A candidate is ours where there is no other code of ours. */
static bool is_ours(const shown_run_t *shown, const case_result_t *result) {
    for (size_t p = 0; p < shown->n_parts; p++)
        for (size_t i = 0; i < shown->parts[p].sets.n; i++)
            if (comparison_set_has(&shown->parts[p].sets.items[i], result, OURS))
                return true;
    return false;
}

/* "PyTorch compile", "PyTorch eager", "JAX jit": what ours had to beat, in the order of tables. */
static void add_rivals(const report_t *report, machine_t *machine, const shown_run_t *shown) {
    const record_t *run = &shown->whole;
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        if (engine_is_rival(result->spec.engine) && result_has_times(result) &&
            !is_ours(shown, result))
            text_list_add_new(&machine->rivals,
                              report_text(report, "%s %s",
                                          report_safe(report, engine_name(result->spec.engine)),
                                          report_safe(report, result->spec.variant)));
}

static void add_cases(machine_t *machine, const record_t *run) {
    const status_counts_t counts = count_statuses(run);
    machine->cases += counts.all;
    for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
        machine->of[s] += counts.of[s];
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        if (result_has_times(result) && !is_calibration(&result->spec)) {
            const bool checked = result->before.done || result->after.done;
            machine->right += checked;
            machine->unchecked += !checked;
            machine->partly +=
                checked && flag_list_find(&result->flags, FLAG_WEIGHTS_UNCHECKED) != NULL;
            machine->two_values += has_two_values(result);
            machine->trust[result->trust]++;
        }
}

/* "2026-11-26, 6 passes, on GPUs 0,1 at once, and 2 more boots" */
static const char *when_of(const report_t *report, const record_t *run, size_t n_boots) {
    const passes_t passes = passes_of(run);
    const char *more =
        report_text(report, ", and %zu more boot%s", n_boots, n_boots == 1 ? "" : "s");
    return report_text(
        report, "%s%s%s%s%s", shown_date(report, run),
        run->finished == NULL ? " (**it did not finish**)" : "", passes.most > 0 ? ", " : "",
        passes.most > 0 ? passes_counted(report, passes) : "", n_boots > 0 ? more : "");
}

/* "mlp_infer, softmax: 2026-11-26, 6 passes": the workloads on that machine of which `when` is true; without
 * names of the only run. */
static const char *measured_then(const report_t *report, const top_t *top, const char *machine,
                                 const char *when) {
    text_list_t names = {0};
    for (size_t r = 0; r < top->runs->n && top->runs->n > 1; r++) {
        const shown_run_t *shown = &top->runs->items[r];
        for (size_t p = 0; p < shown->n_parts; p++)
            if (strcmp(shown_machine(report, &shown->whole), machine) == 0 &&
                strcmp(when_of(report, &shown->whole, shown->parts[p].boots.n), when) == 0)
                text_list_add(&names, report_safe(report, shown->parts[p].workload));
    }
    const char *list = report_join(report, &names, ", ");
    return list != NULL ? report_text(report, "%s: %s", list, when) : when;
}

static void add_when(const report_t *report, const top_t *top, machine_t *machine,
                     const char *when) {
    text_list_add_new(&machine->measured, measured_then(report, top, machine->name, when));
}

static void add_run(const report_t *report, const top_t *top, machine_t *machine,
                    const shown_run_t *shown) {
    const record_t *run = &shown->whole;
    add_fact(report, &machine->hosts, run, "", "host.name");
    add_fact(report, &machine->hosts, run, "", "host.cpu");
    if (environment_get(&run->environment, "gpu.name") == NULL)
        text_list_add_new(&machine->hosts, "without a GPU");
    add_software(report, machine, run);
    add_rivals(report, machine, shown);
    for (size_t p = 0; p < shown->n_parts; p++)
        add_when(report, top, machine, when_of(report, run, shown->parts[p].boots.n));
    if (shown->n_parts == 0)
        add_when(report, top, machine, when_of(report, run, 0));
    text_list_add_new(&machine->revisions, revision_text(report, run));
    for (size_t i = 0; i < shown->boots.n; i++)
        text_list_add_new(&machine->revisions, revision_text(report, shown->boots.runs[i]));
    add_cases(machine, run);
    machine->runs = mem_resize(machine->runs, machine->n_runs + 1, sizeof(record_t *));
    machine->runs[machine->n_runs++] = run;
}

/* "PyTorch compile, eager, graph; JAX jit": each engine's modes. Frees the list, as report_join(). */
static const char *rivals_cell(const report_t *report, machine_t *machine) {
    const text_list_t *names = &machine->rivals;
    text_list_t engines = {0};
    for (size_t i = 0; i < names->n; i++) {
        const size_t engine = strcspn(names->items[i], " ");
        text_list_t modes = {0};
        for (size_t k = 0; k < names->n; k++) {
            const bool same = strncmp(names->items[k], names->items[i], engine + 1) == 0;
            if (same && k < i) /* it has been there */
                break;
            if (same)
                text_list_add(&modes, names->items[k] + engine + 1);
        }
        const char *list = report_join(report, &modes, ", ");
        if (list != NULL)
            text_list_add_format(&engines, "%.*s %s", (int)engine, names->items[i], list);
    }
    text_list_free(&machine->rivals);
    return report_join(report, &engines, "; ");
}

/* "913: 876 agree with a float64 reference, 3 failed, 34 skipped; 0 throttled, …" */
static const char *cases_cell(const report_t *report, const machine_t *machine) {
    text_list_t others = {0};
    if (machine->unchecked > 0)
        text_list_add_format(&others, "%zu without an output to check", machine->unchecked);
    for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
        if (s != CASE_OK && s != CASE_THROTTLED && machine->of[s] > 0)
            text_list_add_format(&others, "%zu %s", machine->of[s],
                                 case_status_name((case_status_t)s));
    const char *list = report_join(report, &others, ", ");
    const char *partly =
        machine->partly == 0
            ? ""
            : report_text(report,
                          "; in %zu trainings what a timed run had learned was not compared, as "
                          "the reference would take too long",
                          machine->partly);
    return report_text(report,
                       "%zu: %zu agree with a float64 reference%s%s%s; %zu throttled, %zu with "
                       "two values",
                       machine->cases, machine->right, list != NULL ? ", " : "",
                       list != NULL ? list : "", partly, machine->of[CASE_THROTTLED],
                       machine->two_values);
}

/* "332 sealed, 0 self-reported; 95 % intervals: median interval ±1.3 %, …" */
static const char *trust_cell(const report_t *report, const machine_t *machine) {
    text_list_t parts = {0};
    for (trust_t trust = TRUST_SEALED; trust <= TRUST_SELF_REPORTED; trust++)
        if (machine->trust[trust] > 0 || trust == TRUST_SELF_REPORTED)
            text_list_add_format(&parts, "%zu %s", machine->trust[trust], trust_name(trust));
    if (machine->trust[TRUST_UNKNOWN] > 0)
        text_list_add_format(&parts, "%zu not recorded (an older run)",
                             machine->trust[TRUST_UNKNOWN]);
    const char *trusts = report_join(report, &parts, ", ");
    char *precision = precision_text(machine->runs, machine->n_runs);
    if (precision != NULL)
        trusts = report_text(report, "%s; %s", trusts, report_safe(report, precision));
    free(precision);
    return trusts;
}

/* "driver 580, PyTorch 2.11, bench 0.1.0; git 1a2b3c": that of this program last. */
static const char *software_cell(const report_t *report, machine_t *machine) {
    const char *list = report_join(report, &machine->software, ", ");
    return report_text(report, "%s%s%s", list != NULL ? list : "", list != NULL ? "; " : "",
                       report_join(report, &machine->revisions, ", "));
}

static void print_machines(const report_t *report, machine_t *machines, size_t n) {
    column_t *columns = mem_zeroed(n + 1, sizeof *columns);
    columns[0] = (column_t){"Measured on", 'l', false};
    for (size_t m = 0; m < n; m++)
        columns[m + 1] = (column_t){machines[m].name, 'l', false};
    enum { RIVALS_ROW = 2, N_ROWS = 6 };
    static const char *const ROWS[N_ROWS] = {"Host",     "Software", "Rivals",
                                             "Measured", "Cases",    "Trust in times"};
    columns_t table = columns_begin(report, columns, n + 1);
    const char **cells = mem_zeroed((n + 1) * N_ROWS, sizeof *cells);
    for (size_t m = 0; m < n; m++) {
        const char *const texts[N_ROWS] = {
            report_join(report, &machines[m].hosts, ", "),
            software_cell(report, &machines[m]),
            rivals_cell(report, &machines[m]),
            report_join(report, &machines[m].measured, "; "),
            cases_cell(report, &machines[m]),
            trust_cell(report, &machines[m]),
        };
        for (size_t r = 0; r < N_ROWS; r++)
            cells[r * (n + 1) + m + 1] = texts[r] != NULL  ? texts[r]
                                         : r == RIVALS_ROW ? "none"
                                                           : "not recorded";
    }
    for (size_t r = 0; r < N_ROWS; r++) {
        cells[r * (n + 1)] = ROWS[r];
        columns_row(&table, cells + r * (n + 1));
    }
    columns_end(&table, "");
    free(cells);
    free(columns);
}

void top_facts(const report_t *report, const top_t *top) {
    machine_t *machines = mem_zeroed(top->runs->n, sizeof *machines);
    size_t n = 0;
    for (size_t r = 0; r < top->runs->n; r++) {
        const shown_run_t *shown = &top->runs->items[r];
        const char *name = shown_machine(report, &shown->whole);
        size_t m = 0;
        while (m < n && strcmp(machines[m].name, name) != 0)
            m++;
        if (m == n)
            machines[n++].name = name;
        add_run(report, top, &machines[m], shown);
    }
    print_machines(report, machines, n);
    for (size_t m = 0; m < n; m++)
        free(machines[m].runs);
    free(machines);
}

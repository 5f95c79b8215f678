/* The output of `bench run`: a table of each workload once it is measured, if there are many cases or
 * two sides to compare; details of each case for a few. */
#include "run/state.h"

#include "analysis/boots.h"
#include "analysis/contenders.h"
#include "analysis/speedup.h"
#include "base/memory.h"
#include "io/json.h"
#include "io/output.h"
#include "model/result.h"
#include "report/report.h"
#include "report/shown.h"
#include "results/conditions.h"

#include <string.h>

enum { FEW_CASES = 4 };

static void print_json(FILE *out, const record_t *record) {
    json_t *cases = json_array();
    for (size_t i = 0; i < record->n_cases; i++)
        json_array_append_new(cases, result_to_json(&record->cases[i]));
    json_print(cases, JSON_INDENT(1) | JSON_REAL_PRECISION(15), out); /* as the journal */
}

/* Print cases one by one, not as a table? */
static bool prints_cases(const run_t *run) {
    size_t n = 0; /* without calibration, which the progress counts too */
    for (size_t s = 0; s < run->n_sweeps; s++)
        n += run->sweeps[s].n_cases;
    return n <= FEW_CASES;
}

static void print_record(const run_t *run, const record_t *record) {
    FILE *out = run->options->print;
    if (run->options->quick && !run->options->json && prints_cases(run))
        fprintf(out, "measured with --quick\n\n");
    if (run->options->json) {
        print_json(out, record);
    } else if (prints_cases(run)) {
        for (size_t i = 0; i < record->n_cases; i++)
            if (!is_calibration(&record->cases[i].spec))
                case_text_print(out, &record->cases[i]);
    }
}

/* Are there two sides of a workload (NULL: of any) to compare? Few cases have the table of a verdict, too, then. */
static bool is_compared(const run_t *run, const char *workload) {
    const char *engine = NULL;
    bool rival = false, others = false;
    for (run_case_t at = {0}; run_next_case(run, &at);) {
        if (workload != NULL && strcmp(at.spec->workload, workload) != 0)
            continue;
        engine = engine == NULL ? at.spec->engine : engine;
        others |= strcmp(at.spec->engine, engine) != 0;
        rival |= engine_is_rival(at.spec->engine);
    }
    return rival && others;
}

status_t run_print_workload(const run_t *run, const char *workload, error_t *err) {
    const run_options_t *options = run->options;
    if (options->json || (prints_cases(run) && !is_compared(run, workload)))
        return STATUS_OK;
    AUTO(record_free) record_t record = {0};
    TRY(record_load(run->folder, &record, err));
    AUTO_FREE char *tables = report_workload_tables(&record, workload);
    progress_clear(&run->progress);
    fprintf(options->print, "%s\n", tables);
    fflush(options->print);
    return STATUS_OK;
}

status_t run_print_so_far(run_t *run, const sweep_t *sweep, error_t *err) {
    const run_options_t *options = run->options;
    const char *workload = sweep->workload->name;
    if (!options->quick || options->quiet || !is_compared(run, workload))
        return STATUS_OK;
    AUTO(record_free) record_t record = {0};
    TRY(record_load(run->folder, &record, err));
    AUTO_FREE char *lines = report_workload_lines(&record, workload);
    AUTO(text_list_free) text_list_t list = text_split(lines, '\n');
    for (size_t i = 0; i < list.n; i++) {
        if (list.items[i][0] == '\0' || text_list_has(&run->said, list.items[i]))
            continue;
        progress_note(&run->progress, "so far: %s", list.items[i]);
        text_list_add(&run->said, list.items[i]);
    }
    return STATUS_OK;
}

/* A failed lock is reported even with --quiet, because it affects every time. */
static void print_lock(const run_t *run) {
    AUTO_FREE char *sentence = lock_clocks_sentence(&run->record.environment);
    if (sentence != NULL && (run->clock_lock.mhz == 0 || !run->options->quiet))
        fprintf(stderr, "clocks: %s\n", sentence);
}

/* Even with --quiet: it was asked for. */
static void print_isolation(const run_t *run) {
    if (run->options->isolate && run->isolation.walls.kind == WALLS_NONE)
        fprintf(stderr,
                "not isolated: each contender had a process, but no sandbox: %s "
                "(docs/cheating.md#what---isolate-does)\n",
                run->isolation.walls.detail);
}

/* Even with --quiet: it affects the times. */
static void print_busy(const record_t *record) {
    AUTO_FREE char *sentence = busy_sentence(record);
    if (sentence != NULL)
        fprintf(stderr, "busy machine: %s (docs/measuring.md#a-busy-machine)\n", sentence);
}

/* "trust: 12 sealed, 9 audited, 2 self-reported (numpy-cpu matmul)"; nothing if all are sealed. */
static void print_trusts(const record_t *record) {
    size_t counts[TRUST_SELF_REPORTED + 1] = {0};
    AUTO(text_list_free) text_list_t names = {0}, parts = {0};
    for (size_t i = 0; i < record->n_cases; i++) {
        const case_result_t *result = &record->cases[i];
        char label[32];
        counts[result->trust] += result_has_times(result) && !is_calibration(&result->spec);
        AUTO_FREE char *name =
            mem_format("%s %s", case_engine_label(&result->spec, label), result->spec.variant);
        if (is_self_reported(result))
            text_list_add_new(&names, name);
    }
    for (trust_t trust = TRUST_SEALED; trust <= TRUST_SELF_REPORTED; trust++)
        if (counts[trust] > 0)
            text_list_add_format(&parts, "%zu %s", counts[trust], trust_name(trust));
    AUTO_FREE char *text = text_list_join(&parts, ", "), *who = text_list_join(&names, ", ");
    if (names.n > 0)
        fprintf(stderr, "trust: %s (%s; docs/cheating.md#trust)\n", text, who);
    else if (counts[TRUST_AUDITED] > 0)
        fprintf(stderr, "trust: %s\n", text);
}

/* Reports name rivals with their versions. */
static void print_unknown_versions(const record_t *record) {
    AUTO(text_list_free) text_list_t engines = {0};
    for (size_t i = 0; i < record->n_cases; i++) {
        const case_t *spec = &record->cases[i].spec;
        if (record->cases[i].status == CASE_OK && engine_is_rival(spec->engine) &&
            rival_version(&record->environment, spec) == NULL)
            text_list_add_new(&engines, spec->engine);
    }
    for (size_t i = 0; i < engines.n; i++)
        fprintf(stderr,
                "versions: that of %s is unknown: its answer to hello has no \"versions\": "
                "{\"%s\": …}\n",
                engines.items[i], engines.items[i]);
}

static void print_precision(const record_t *record) {
    AUTO_FREE char *text = precision_text(&(const record_t *){record}, 1);
    if (text != NULL)
        output_print(stderr, "precision: %s\n", text);
}

static void print_spent(const run_t *run) {
    const spent_t spent = record_spent(&run->record);
    AUTO_FREE char *text = spent_text(&spent);
    if (!run->options->quiet && spent_total_ns(&spent) > 0)
        fprintf(stderr, "time: %s\n", text);
}

status_t run_print(const run_t *run, error_t *err) {
    AUTO(record_free) record_t record = {0};
    TRY(record_load(run->folder, &record, err));
    print_record(run, &record);
    fflush(stdout); /* what follows on stderr may go to the same file */
    if (!run->options->quiet && !prints_cases(run)) /* which has it in each case */
        print_trusts(&record);
    print_busy(&record);
    if (!run->options->quiet)
        print_unknown_versions(&record);
    if (!run->options->quiet)
        print_precision(&record);
    print_lock(run);
    print_isolation(run);
    if (!run->options->quiet)
        output_print(stderr, "results: %s\n", run->folder);
    print_spent(run);
    return STATUS_OK;
}

/* What became of the run's files since it was closed, and which cases of its sweeps have no line. */
#include "report/sections/sections.h"

#include "base/memory.h"
#include "plot/folder.h"
#include "results/digest.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 3 };

/* "`a`, `b`, `c` and 2 more"; empties the list. */
static const char *first_few(const report_t *report, text_list_t *items) {
    text_list_t shown = {0};
    const size_t n = items->n;
    for (size_t i = 0; i < n && i < SHOWN; i++)
        text_list_add(&shown, report_code(report, items->items[i]));
    text_list_free(items);
    const char *list = report_join(report, &shown, ", ");
    return n > SHOWN ? report_text(report, "%s and %zu more", list, n - SHOWN) : list;
}

static const record_t *whole_run(const report_t *report) {
    return report->whole != NULL ? report->whole : report->run;
}

static void print_edits(const report_t *report) {
    const record_t *run = whole_run(report);
    if (run->finished != NULL && record_seal(run) == SEAL_NONE)
        print(report,
              "- Unsealed: `run.json` has no digest of the run's lines and charts, so that later "
              "edits cannot be told.\n");
    if (report->root == NULL || run->name == NULL)
        return;
    char *charts = charts_folder(report->root, NULL, run);
    text_list_t edits = record_edits(run, charts);
    free(charts);
    if (edits.n > 0)
        print(report, "- **Files are not those that the run was closed with:** %s.\n",
              first_few(report, &edits));
}

/* ---- cases without a line -------------------------------------------------------------------- */

static const char *workload_of(const record_t *run) {
    const case_result_t *result = record_next(run, NULL);
    while (result != NULL && is_calibration(&result->spec))
        result = record_next(run, result);
    return result != NULL ? result->spec.workload : NULL;
}

/* Of a variant that the sweep does not name: "*" is what the folder has today. */
static bool is_of_today(const record_t *run, const char *text, const case_t *spec) {
    char *name = mem_format("\"%s\"", spec->variant);
    bool known = strstr(text, name) != NULL;
    free(name);
    for (size_t i = 0; i < run->n_cases && !known; i++)
        known = strcmp(run->cases[i].spec.variant, spec->variant) == 0 &&
                strcmp(run->cases[i].spec.engine, spec->engine) == 0 &&
                strcmp(run->cases[i].spec.workload, spec->workload) == 0;
    return !known;
}

static void add_missing(const record_t *run, const sweep_t *sweep, const record_index_t *index,
                        text_list_t *missing) {
    for (size_t i = 0; i < sweep->n_cases; i++) {
        const case_t *spec = &sweep->cases[i];
        if (record_index_find(index, spec->id) == NULL &&
            !text_list_has(&run->left_out, spec->engine) && !is_of_today(run, sweep->text, spec))
            text_list_add_new(missing, spec->id);
    }
}

/* Of a run that says it is complete. A sweep that this version does not read names none. */
static void print_missing(const report_t *report) {
    const record_t *run = whole_run(report);
    const char *workload = workload_of(report->run);
    if (run->finished == NULL || run->shard != NULL || workload == NULL || report->root == NULL)
        return;
    record_index_t index = record_index_make(run);
    text_list_t missing = {0};
    for (size_t i = 0; i < run->n_sweeps; i++) {
        error_t none = ERROR_INIT;
        sweep_t sweep;
        if (sweep_parse(run->sweeps[i].path, run->sweeps[i].text, report->root, &sweep, &none) !=
            STATUS_OK)
            continue;
        if (strcmp(sweep.workload->name, workload) == 0)
            add_missing(run, &sweep, &index, &missing);
        sweep_free(&sweep);
    }
    record_index_free(&index);
    const size_t n = missing.n;
    if (n > 0)
        print(report, "- **Missing:** %zu case%s of the sweeps %s no line: %s.\n", n,
              n == 1 ? "" : "s", n == 1 ? "has" : "have", first_few(report, &missing));
}

void section_files(const report_t *report) {
    print_edits(report);
    print_missing(report);
}

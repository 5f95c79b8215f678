/* `bench run --trace`: run each case once under a tracer; writes no results. */
#include "run/entrants.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/fs.h"
#include "measure/trace_json.h"

#include <stdlib.h>

static status_t trace_case(run_t *run, const case_t *spec, case_state_t *state, trace_file_t *file,
                           error_t *err) {
    contender_t contender;
    progress_now(&run->progress, spec->id);
    TRY(entrant_make(run, spec, "", &contender, err));
    trace_file_add(file, &contender);
    state->finished = 1;
    state->broken = contender.result.status == CASE_FAILED;
    run->progress.done++;
    contender_free(&contender);
    return STATUS_OK;
}

static status_t trace_all(run_t *run, trace_file_t *file, error_t *err) {
    for (size_t s = 0; s < run->n_sweeps; s++) {
        run->settings.measure = run->sweeps[s].measure;
        for (size_t i = 0; i < run->sweeps[s].n_cases && !*run->interrupted; i++)
            TRY(trace_case(run, &run->sweeps[s].cases[i], &run->states[s][i], file, err));
    }
    return STATUS_OK;
}

static status_t write_file(run_t *run, const trace_file_t *file, error_t *err) {
    FILE *out = run->options->print;
    TRY(fs_make_folders(run->folder, err));
    char *path = fs_join(run->folder, "trace.json");
    status_t status = trace_file_write(file, path, err);
    if (status == STATUS_OK) {
        char *table = table_text(&file->table, TABLE_TERMINAL);
        fprintf(out, "%s\n%s\nOpen it in https://ui.perfetto.dev or chrome://tracing.\n", table,
                path);
        free(table);
    }
    free(path);
    return status;
}

status_t run_trace(run_t *run, error_t *err) {
    trace_file_t file;
    TRY(run_load_sweeps(run, err));
    run_choose_folder(run);
    run_make_states(run);
    trace_file_init(&file, clock_ns());
    status_t status = run_survey(run, err);
    if (status == STATUS_OK)
        status = run_compile(run, err);
    if (status == STATUS_OK)
        status = trace_all(run, &file, err);
    progress_end(&run->progress);
    if (status == STATUS_OK)
        status = write_file(run, &file, err);
    trace_file_free(&file);
    return status;
}

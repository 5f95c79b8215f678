#include "run/merged/merged.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/output.h"
#include "measure/machine.h"
#include "results/record.h"
#include "run/state.h"
#include "workloads/common/workload.h"

#include <string.h>

enum { MOST_LISTED = 10, MOST_SHARDS = 100000 };

/* ---- what is missing --------------------------------------------------------------------------- */

/* Of the cases that the shards should have. */
typedef struct gaps {
    size_t n, n_missing, n_unfinished;
    text_list_t listed;  /* the first of them */
    text_list_t planned; /* ids of all cases, in order */
} gaps_t;

static void gaps_free(gaps_t *gaps) {
    text_list_free(&gaps->listed);
    text_list_free(&gaps->planned);
}

static unsigned count_passes(const case_state_t *state, unsigned n_passes) {
    unsigned n = 0;
    for (unsigned pass = 0; pass < n_passes; pass++)
        n += (state->finished >> pass & 1) != 0;
    return n;
}

static void note_case(gaps_t *gaps, const case_t *spec, const case_state_t *state,
                      unsigned n_passes) {
    gaps->n++;
    text_list_add(&gaps->planned, spec->id);
    if (case_is_complete(state, n_passes))
        return;
    const unsigned n = count_passes(state, n_passes);
    *(n == 0 ? &gaps->n_missing : &gaps->n_unfinished) += 1;
    if (gaps->listed.n == MOST_LISTED)
        return;
    if (n == 0)
        text_list_add(&gaps->listed, spec->id);
    else
        text_list_add_format(&gaps->listed, "%s (%u of %u passes)", spec->id, n, n_passes);
}

/* Expand the sweeps again, as the shards did. */
static status_t find_gaps(record_t *record, const char *root, gaps_t *gaps, error_t *err) {
    const run_options_t options = {.root = root, .quiet = true};
    AUTO(run_free) run_t run = run_make(&options, NULL);
    run.record = *record;
    status_t status = run_load_record_sweeps(&run, err);
    if (status == STATUS_OK)
        run_make_states(&run);
    for (run_case_t at = {0}; status == STATUS_OK && run_next_case(&run, &at);)
        note_case(gaps, at.spec, at.state, at.sweep->measure.passes);
    run.record = (record_t){0};
    return status;
}

static bool knows_passes(const record_t *record) {
    for (size_t i = 0; i < record->n_sweeps; i++)
        if (record->sweeps[i].passes == 0)
            return false;
    return true;
}

/* Shards of a merged run, of an older version, or of several divisions are not counted. */
static void tell_shards(const merge_t *merge, const char *folder) {
    unsigned number, n, all = 0;
    size_t n_missing = 0;
    for (size_t i = 0; i < merge->shards.n; i++, all = n)
        if (sscanf(merge->shards.items[i], "%u/%u", &number, &n) != 2 || number > n ||
            n > MOST_SHARDS || (all > 0 && n != all))
            return;
    AUTO_FREE int *missing = mem_alloc((all + 1) * sizeof *missing);
    for (unsigned i = 1; i <= all; i++) {
        AUTO_FREE char *shard = mem_format("%u/%u", i, all);
        if (!text_list_has(&merge->shards, shard))
            missing[n_missing++] = (int)i;
    }
    if (n_missing == 0)
        return;
    AUTO_FREE char *list = cores_text(missing, n_missing);
    output_print(stderr, "%s: missing shards: %s of %u\n", folder, list, all);
}

static void tell_gaps(const gaps_t *gaps, const char *folder) {
    const size_t n = gaps->n_missing + gaps->n_unfinished;
    output_print(stderr, "%s: %zu cases: %zu missing, %zu unfinished:\n", folder, gaps->n,
                 gaps->n_missing, gaps->n_unfinished);
    for (size_t i = 0; i < gaps->listed.n; i++)
        output_print(stderr, "  %s\n", gaps->listed.items[i]);
    if (n > gaps->listed.n)
        output_print(stderr, "  and %zu more\n", n - gaps->listed.n);
}

/* ---- merging ----------------------------------------------------------------------------------- */

static status_t check_folder(const char *folder, error_t *err) {
    AUTO(text_list_free) text_list_t files = {0};
    if (fs_is_folder(folder))
        TRY(fs_list(folder, "", &files, err));
    return files.n == 0
               ? STATUS_OK
               : error_set(err, STATUS_USAGE, "%s: is not empty; merge into a new folder", folder);
}

/* A shard that never began leaves nothing; if all did, loading the first says why there is no run. */
static status_t add_all(merge_t *merge, const char *const *runs, size_t n_runs, error_t *err) {
    size_t n_there = 0;
    for (size_t i = 0; i < n_runs; i++)
        n_there += fs_has(runs[i], "run.json");
    if (n_there == 0)
        return merge_add(merge, runs[0], err);
    for (size_t i = 0; i < n_runs; i++)
        if (fs_has(runs[i], "run.json"))
            TRY(merge_add(merge, runs[i], err));
        else
            output_print(stderr, "%s: left out: %s\n", runs[i],
                         fs_is_folder(runs[i]) ? "it has no run.json" : "no such folder");
    return merge_drop_repeated(merge, err);
}

static status_t write_what_is_there(merge_t *merge, const char *root, const char *folder,
                                    size_t n_left_out, error_t *err) {
    AUTO(gaps_free) gaps_t gaps = {0};
    error_t why = ERROR_INIT;
    const bool known =
        !knows_passes(&merge->run) || find_gaps(&merge->run, root, &gaps, &why) == STATUS_OK;
    const size_t n = gaps.n_missing + gaps.n_unfinished;
    if (n > 0 || n_left_out > 0 || !known)
        mem_set_text(&merge->run.finished, NULL); /* reports say so */
    merge_sort(merge, &gaps.planned);
    TRY(merge_write(merge, folder, workload_study(&merge->run), err));
    output_print(stdout, "%s\n", folder);
    fflush(stdout);
    if (n > 0 || n_left_out > 0)
        tell_shards(merge, folder);
    if (n > 0)
        tell_gaps(&gaps, folder);
    if (!known)
        return error_set(err, STATUS_FAILED, "%s: cannot tell what is missing: %s", folder,
                         why.text);
    if (n > 0)
        return error_set(err, STATUS_FAILED, "%s is incomplete: %zu of %zu cases", folder, n,
                         gaps.n);
    return n_left_out == 0 ? STATUS_OK
                           : error_set(err, STATUS_FAILED, "%s: %zu folder%s left out", folder,
                                       n_left_out, n_left_out == 1 ? " was" : "s were");
}

status_t merge_runs(const char *root, const char *folder, const char *const *runs, size_t n_runs,
                    error_t *err) {
    if (n_runs == 0)
        return error_set(err, STATUS_USAGE, "nothing to merge: no runs given");
    TRY(check_folder(folder, err));
    AUTO(merge_free) merge_t merge = {0};
    TRY(add_all(&merge, runs, n_runs, err));
    return write_what_is_there(&merge, root, folder, n_runs - merge.folders.n, err);
}

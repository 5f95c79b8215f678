/* `bench merge`: join the shards of a run, from several processes or identical nodes. */
#include "results/record.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/result_json.h"
#include "results/record_internal.h"

#include <stdlib.h>
#include <string.h>

/* Facts that all shards must have, or none. */
static const struct fact_words {
    const char *key, *what, *with, *without;
} IN_BOTH[] = {
    {"measure.lock_clocks.locked_mhz", "the GPU clock was", "locked", "not locked"},
    {"measure.quick", "it was measured", "with --quick", "without --quick"},
};

/* Unlike in record_other_kind(), that only one has the fact is a difference. */
static status_t check_in_both(const record_t *first, const record_t *shard,
                              const struct fact_words *fact, error_t *err) {
    const bool ours = environment_get(&first->environment, fact->key) != NULL;
    const bool theirs = environment_get(&shard->environment, fact->key) != NULL;
    if (ours == theirs)
        return STATUS_OK;
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s: %s %s, but %s in %s: it must be the same in all shards of a run",
                     shard->folder, fact->what, theirs ? fact->with : fact->without,
                     ours ? fact->with : fact->without, first->folder);
}

static status_t check_machine(const record_t *first, const record_t *shard, error_t *err) {
    if (first->schema != shard->schema)
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s: its results have schema %d, but %d in %s: shards of a run must come "
                         "from the same version",
                         shard->folder, shard->schema, first->schema, first->folder);
    const char *key = record_other_kind(&first->environment, &shard->environment);
    if (key != NULL)
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s: %s is '%s', but '%s' in %s: shards of a run must come from the "
                         "same kind of machine and software",
                         shard->folder, key, environment_get(&shard->environment, key),
                         environment_get(&first->environment, key), first->folder);
    for (size_t i = 0; i < sizeof IN_BOTH / sizeof *IN_BOTH; i++)
        TRY(check_in_both(first, shard, &IN_BOTH[i], err));
    return STATUS_OK;
}

static status_t check_sweeps(const record_t *first, const record_t *shard, error_t *err) {
    if (first->n_sweeps == shard->n_sweeps && record_other_sweep(first, shard) == NULL)
        return STATUS_OK;
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s: the sweeps differ from those of %s: shards of a run must have the same "
                     "sweeps",
                     shard->folder, first->folder);
}

static char *result_text(const case_result_t *result) {
    json_t *json = result_to_json(result);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

/* Move the shard's cases. A pass of a case that is in two shards must be the same, samples included.
 */
static status_t take_cases(record_t *merged, record_t *shard, error_t *err) {
    for (size_t i = 0; i < shard->n_cases; i++) {
        const case_result_t *known = record_find_same(merged, &shard->cases[i]);
        if (known != NULL) {
            char *a = result_text(known), *b = result_text(&shard->cases[i]);
            bool same = a != NULL && b != NULL && strcmp(a, b) == 0;
            free(a);
            free(b);
            if (!same)
                return error_set(err, STATUS_INCOMPARABLE,
                                 "%s: %s is in an earlier shard too, with a different result",
                                 shard->folder, known->spec.id);
            continue;
        }
        record_add(merged, &shard->cases[i]);
        result_init(&shard->cases[i], &(case_t){0});
    }
    return STATUS_OK;
}

static void take_passes(record_t *merged, record_t *shard) {
    merged->passes =
        mem_resize(merged->passes, merged->n_passes + shard->n_passes + 1, sizeof *merged->passes);
    for (size_t i = 0; i < shard->n_passes; i++)
        merged->passes[merged->n_passes++] = shard->passes[i];
    shard->n_passes = 0;
}

/* ISO 8601 times of one time zone sort as text. */
static void widen_times(record_t *merged, record_t *shard) {
    if (shard->started != NULL &&
        (merged->started == NULL || strcmp(shard->started, merged->started) < 0)) {
        free(merged->started);
        merged->started = mem_text(shard->started);
    }
    bool open = merged->finished == NULL || shard->finished == NULL;
    if (open || strcmp(shard->finished, merged->finished) > 0) {
        free(merged->finished);
        merged->finished = open ? NULL : mem_text(shard->finished);
    }
    merged->n_dropped_lines += shard->n_dropped_lines;
}

static status_t take_shard(record_t *merged, const char *folder, error_t *err) {
    record_t shard;
    TRY(record_load_passes(folder, &shard, err));
    record_tell_incomplete(&shard);
    status_t status = check_machine(merged, &shard, err);
    if (status == STATUS_OK)
        status = check_sweeps(merged, &shard, err);
    if (status == STATUS_OK)
        status = take_cases(merged, &shard, err);
    if (status == STATUS_OK) {
        take_passes(merged, &shard);
        widen_times(merged, &shard);
    }
    record_free(&shard);
    return status;
}

/* run.json comes last: without it a folder is not a run, so an interrupted merge is not taken for a
 * complete one. */
static status_t write_run(record_t *run, error_t *err) {
    TRY(fs_make_folders(run->folder, err));
    journal_t journal;
    TRY(journal_open(run->folder, &journal, err));
    status_t status = STATUS_OK;
    for (size_t i = 0; i < run->n_cases && status == STATUS_OK; i++)
        status = journal_append(&journal, &run->cases[i], err);
    journal_close(&journal);
    TRY(status);
    TRY(record_write_header(run, err));
    record_join_passes(run);
    return results_write_derived(run, err);
}

status_t results_merge(const char *folder, const char *const *runs, size_t n_runs, error_t *err) {
    if (n_runs == 0)
        return error_set(err, STATUS_USAGE, "nothing to merge: no runs given");
    text_list_t files = {0};
    if (fs_is_folder(folder))
        TRY(fs_list(folder, "", &files, err));
    bool empty = files.n == 0;
    text_list_free(&files);
    if (!empty)
        return error_set(err, STATUS_USAGE, "%s: is not empty; merge into a new folder", folder);
    record_t merged;
    TRY(record_load_passes(runs[0], &merged, err));
    record_tell_incomplete(&merged);
    status_t status = STATUS_OK;
    for (size_t i = 1; i < n_runs && status == STATUS_OK; i++)
        status = take_shard(&merged, runs[i], err);
    free(merged.folder);
    merged.folder = mem_text(folder);
    if (status == STATUS_OK)
        status = write_run(&merged, err);
    record_free(&merged);
    return status;
}

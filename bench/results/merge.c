
#include "base/memory.h"
#include "io/fs.h"
#include "results/conditions.h"
#include "results/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static status_t check_machine(const record_t *first, const record_t *shard, error_t *err) {
    if (first->schema != shard->schema)
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s: its results have schema %d, but %d in %s: shards of a run must come "
                         "from the same version",
                         shard->folder, shard->schema, first->schema, first->folder);
    AUTO(conditions_free)
    run_differences_t list = conditions_broken(&first->environment, &shard->environment, PARTS);
    if (list.n == 0)
        return STATUS_OK;
    const run_difference_t *one = &list.items[0];
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s: %s is '%s', but '%s' in %s: shards of a run must come from the "
                     "same kind of machine and software, measured in the same way",
                     shard->folder, one->key, one->other != NULL ? one->other : "none",
                     one->first != NULL ? one->first : "none", first->folder);
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
    json_auto_t *json = result_to_json(result);
    return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
}

static void take_cases(record_t *merged, record_t *shard) {
    const size_t n = merged->n_cases + shard->n_cases;
    merged->cases = mem_resize(merged->cases, n + 1, sizeof *merged->cases);
    if (shard->n_cases > 0)
        memcpy(merged->cases + merged->n_cases, shard->cases,
               shard->n_cases * sizeof *shard->cases);
    merged->n_cases = merged->cases_capacity = n;
    shard->n_cases = 0;
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
        (merged->started == NULL || strcmp(shard->started, merged->started) < 0))
        mem_set_text(&merged->started, shard->started);
    bool open = merged->finished == NULL || shard->finished == NULL;
    if (open || strcmp(shard->finished, merged->finished) > 0)
        mem_set_text(&merged->finished, open ? NULL : shard->finished);
    merged->n_dropped_lines += shard->n_dropped_lines;
}

static void ask_for_both(sweep_text_t *merged, const sweep_text_t *shard) {
    if (merged->passes < shard->passes)
        merged->passes = shard->passes;
    if (merged->least_passes < shard->least_passes)
        merged->least_passes = shard->least_passes;
    merged->interval_frac = fmin(merged->interval_frac, shard->interval_frac); /* ignores NaN */
}

/* A case needs the most passes that a shard was asked for; an engine is left out if all leave it out. */
static void take_plan(record_t *merged, const record_t *shard) {
    text_list_t left_out = {0};
    for (size_t i = 0; i < merged->left_out.n; i++)
        if (text_list_has(&shard->left_out, merged->left_out.items[i]))
            text_list_add(&left_out, merged->left_out.items[i]);
    text_list_free(&merged->left_out);
    merged->left_out = left_out;
    for (size_t i = 0; i < merged->n_sweeps; i++)
        for (size_t k = 0; k < shard->n_sweeps; k++)
            if (strcmp(merged->sweeps[i].text, shard->sweeps[k].text) == 0)
                ask_for_both(&merged->sweeps[i], &shard->sweeps[k]);
}

/* What workers reported of themselves and their engines: a shard may be the only one with an engine. */
static void take_workers(record_t *merged, const record_t *shard) {
    for (size_t i = 0; i < shard->environment.n; i++) {
        const environment_t one = {.facts = &shard->environment.facts[i], .n = 1};
        if (text_starts(one.facts->key, "workers.") || text_starts(one.facts->key, "versions."))
            environment_add(&merged->environment, &one);
    }
}

static status_t take_shard(record_t *merged, record_t *shard, error_t *err) {
    TRY(check_machine(merged, shard, err));
    TRY(check_sweeps(merged, shard, err));
    take_cases(merged, shard);
    take_passes(merged, shard);
    take_plan(merged, shard);
    take_workers(merged, shard);
    if (shard->digest != NULL && merged->digest == NULL) /* that lines were edited */
        merged->digest = json_incref(shard->digest);
    widen_times(merged, shard);
    return STATUS_OK;
}

/* The command of all shards together, for the report. */
static void drop_shard_option(text_list_t *argv) {
    text_list_t kept = {0};
    for (size_t i = 0; i < argv->n; i++)
        if (strcmp(argv->items[i], "--shard") == 0)
            i++; /* its value */
        else if (!text_starts(argv->items[i], "--shard="))
            text_list_add(&kept, argv->items[i]);
    text_list_free(argv);
    *argv = kept;
}

status_t merge_add(merge_t *merge, const char *folder, error_t *err) {
    record_t shard;
    TRY(record_load_passes(folder, &shard, err));
    record_warn_incomplete(&shard);
    record_reopen(&shard);
    const size_t n = merge->folders.n;
    merge->starts = mem_resize(merge->starts, n + 1, sizeof *merge->starts);
    merge->starts[n] = merge->run.n_cases;
    text_list_add(&merge->folders, folder);
    text_list_add(&merge->shards, shard.shard != NULL ? shard.shard : "");
    if (n > 0) {
        status_t status = take_shard(&merge->run, &shard, err);
        record_free(&shard);
        return status;
    }
    merge->run = shard;
    mem_set_text(&merge->run.shard, NULL);
    drop_shard_option(&merge->run.argv);
    return STATUS_OK;
}

static const char *folder_of(const merge_t *merge, const case_result_t *result) {
    size_t i = merge->folders.n;
    while (i > 1 && merge->starts[i - 1] > (size_t)(result - merge->run.cases))
        i--;
    return merge->folders.items[i - 1];
}

/* Each shard calibrates; one calibration of a pass is enough, as their machines are of one kind. */
static status_t check_same(const merge_t *merge, const case_result_t *known,
                           const case_result_t *later, error_t *err) {
    if (is_calibration(&later->spec))
        return STATUS_OK;
    AUTO_FREE char *a = result_text(known), *b = result_text(later);
    return a != NULL && b != NULL && strcmp(a, b) == 0
               ? STATUS_OK
               : error_set(err, STATUS_INCOMPARABLE,
                           "%s: %s is in an earlier shard too, with a different result",
                           folder_of(merge, later), later->spec.id);
}

/* A pass of a case that is in two shards must be the same, samples included. */
status_t merge_drop_repeated(merge_t *merge, error_t *err) {
    record_t *run = &merge->run;
    AUTO_FREE case_result_t **order = record_sorted(run);
    AUTO_FREE bool *is_repeated = mem_zeroed(run->n_cases + 1, sizeof *is_repeated);
    size_t n = 0;
    for (size_t i = 1; i < run->n_cases; i++)
        if (record_compare_keys(order[i - 1], order[i]) == 0) {
            TRY(check_same(merge, order[i - 1], order[i], err));
            is_repeated[order[i] - run->cases] = true;
        }
    for (size_t i = 0; i < run->n_cases; i++)
        if (is_repeated[i])
            result_free(&run->cases[i]);
        else
            run->cases[n++] = run->cases[i];
    run->n_cases = n;
    return STATUS_OK;
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct place {
    const char *id;
    size_t number; /* in the order that is wanted, from 1 */
    case_result_t result;
} place_t;

static int by_id(const void *a, const void *b) {
    return strcmp(((const place_t *)a)->id, ((const place_t *)b)->id);
}

static int by_number(const void *a, const void *b) {
    const size_t x = ((const place_t *)a)->number, y = ((const place_t *)b)->number;
    return (x > y) - (x < y);
}

void merge_sort(merge_t *merge, const text_list_t *ids) {
    record_t *run = &merge->run;
    AUTO_FREE place_t *planned = mem_zeroed(ids->n + 1, sizeof *planned);
    AUTO_FREE place_t *places = mem_zeroed(run->n_cases + 1, sizeof *places);
    for (size_t i = 0; i < ids->n; i++)
        planned[i] = (place_t){.id = ids->items[i], .number = i + 1};
    qsort(planned, ids->n, sizeof *planned, by_id);
    for (size_t i = 0; i < run->n_cases; i++) {
        places[i] = (place_t){.id = run->cases[i].spec.id, .result = run->cases[i]};
        const place_t *found = bsearch(&places[i], planned, ids->n, sizeof *planned, by_id);
        /* Those of one case stay in their order. */
        places[i].number = (found != NULL ? found->number : 0) * run->n_cases + i;
    }
    qsort(places, run->n_cases, sizeof *places, by_number);
    for (size_t i = 0; i < run->n_cases; i++)
        run->cases[i] = places[i].result;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* run.json comes last: without it a folder is not a run, so an interrupted merge is not taken for a
 * complete one. */
status_t merge_write(merge_t *merge, const char *folder, const struct study *study, error_t *err) {
    record_t *run = &merge->run;
    mem_set_text(&run->folder, folder);
    TRY(fs_make_folders(folder, err));
    TRY(journal_write(folder, run->cases, run->n_cases, run->lines_digest, err));
    record_declare_all(run);
    record_join_passes(run);
    TRY(results_write_derived(run, study, err));
    record_close(run, run);
    return record_write_header(run, err);
}

void merge_free(merge_t *merge) {
    record_free(&merge->run);
    text_list_free(&merge->folders);
    text_list_free(&merge->shards);
    free(merge->starts);
    *merge = (merge_t){0};
}

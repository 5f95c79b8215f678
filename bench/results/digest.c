
#include "base/hash.h"
#include "base/memory.h"
#include "io/fs.h"
#include "io/output.h"
#include "results/record.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== a run's own files ======================================================================= */

static bool is_own_file(const char *path) {
    static const char *const OWN[] = {HEADER, JOURNAL, JOURNAL_GZIP, "timings.csv"};
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    AUTO_FREE char *header = mem_format("%.*s" HEADER, (int)(name - path), path);
    return text_is_one_of(name, OWN, sizeof OWN / sizeof *OWN) && fs_exists(header);
}

status_t record_refuse_own_file(const char *path, error_t *err) {
    AUTO_FREE char *target = realpath(path, NULL); /* a link is followed when it is written */
    const bool is_own = is_own_file(path) || (target != NULL && is_own_file(target));
    return is_own ? error_set(err, STATUS_USAGE,
                              "%s: would overwrite a file of the run itself: choose another name",
                              path)
                  : STATUS_OK;
}

status_t record_refuse_other_file(const char *path, const char *begin, error_t *err) {
    enum { MOST = 64 };
    char found[MOST] = "";
    int fd;
    size_t size;
    if (!fs_exists(path))
        return STATUS_OK;
    TRY(fs_open_file(path, &fd, &size, err));
    const ssize_t n = read(fd, found, MOST - 1);
    close(fd);
    if (n <= 0 || text_starts(found, begin))
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s: exists, and is not a report of bench: remove it, or choose another place "
                     "with --out, --pages or --html",
                     path);
}

/* ==== digests ================================================================================= */

static const char LINES[] = "lines", EDITED[] = "edited", FILES[] = "files", CHARTS[] = "charts";

/* Those of a run that results_write_derived() makes. */
static const char *const DERIVED[] = {"timings.csv", "mlp_timing_log.csv",
                                      "mlp_timing_log_pytorch.csv"};
static const char *const CHART_ENDS[] = {".dat", ".svg", ".png"};

enum {
    N_DERIVED = sizeof DERIVED / sizeof *DERIVED,
    N_ENDS = sizeof CHART_ENDS / sizeof *CHART_ENDS
};

/* ---- lines ----------------------------------------------------------------------------------- */

seal_t record_seal(const record_t *run) {
    const char *closed = json_string_value(json_object_get(run->digest, LINES));
    if (json_is_true(json_object_get(run->digest, EDITED)))
        return SEAL_BROKEN;
    if (closed == NULL)
        return SEAL_NONE;
    return strcmp(closed, run->lines_digest) == 0 ? SEAL_WHOLE : SEAL_BROKEN;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* False if there is no such file, or it cannot be read. */
static bool digest_file(const char *folder, const char *name, char digest[HASH_TEXT]) {
    AUTO_FREE char *path = fs_join(folder, name), *data = NULL;
    size_t size;
    if (!fs_exists(path) || fs_read(path, &data, &size, NULL) != STATUS_OK)
        return false;
    hash_t *hash = hash_new();
    hash_add(hash, data, size);
    hash_finish(hash, digest);
    return true;
}

static void add_digest(json_t *files, const char *folder, const char *name) {
    char digest[HASH_TEXT];
    if (digest_file(folder, name, digest))
        json_object_set_new(files, name, json_string(digest));
}

bool record_declare(record_t *run, const case_result_t *result) {
    const bool is_new =
        result_is_algorithmic(result) && !text_list_has(&run->algorithmic, result->spec.id);
    if (is_new)
        text_list_add(&run->algorithmic, result->spec.id);
    return is_new;
}

void record_declare_all(record_t *run) {
    run->knows_algorithmic = true;
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        record_declare(run, result);
}

void record_close(record_t *run, const record_t *joined) {
    const bool edited = record_seal(run) == SEAL_BROKEN;
    json_t *files = json_object();
    for (size_t i = 0; i < N_DERIVED; i++)
        add_digest(files, run->folder, DERIVED[i]);
    memcpy(run->lines_digest, joined->lines_digest, sizeof run->lines_digest);
    json_decref(run->digest);
    run->digest = json_pack("{s:s, s:o}", LINES, run->lines_digest, FILES, files);
    if (edited)
        json_object_set_new(run->digest, EDITED, json_true());
}

void record_reopen(record_t *run) {
    const bool edited = record_seal(run) == SEAL_BROKEN;
    json_decref(run->digest);
    run->digest = edited ? json_pack("{s:b}", EDITED, 1) : NULL;
}

/* ---- charts ---------------------------------------------------------------------------------- */

static text_list_t charts_in(const char *charts) {
    text_list_t names = {0};
    for (size_t i = 0; i < N_ENDS && fs_is_folder(charts); i++) {
        AUTO(text_list_free) text_list_t found = {0};
        if (fs_list(charts, CHART_ENDS[i], &found, NULL) == STATUS_OK)
            for (size_t k = 0; k < found.n; k++)
                text_list_add(&names, found.items[k]);
    }
    return names;
}

status_t record_note_charts(const char *folder, const char *charts, const text_list_t *names,
                            error_t *err) {
    AUTO(record_free) record_t run = {0};
    TRY(record_read_header(folder, &run, err));
    if (run.digest == NULL)
        return STATUS_OK;
    json_t *known = json_object_get(run.digest, CHARTS);
    if (!json_is_object(known))
        json_object_set_new(run.digest, CHARTS, known = json_object());
    for (size_t i = 0; i < names->n; i++)
        for (size_t k = 0; k < N_ENDS; k++) {
            AUTO_FREE char *file = mem_format("%s%s", names->items[i], CHART_ENDS[k]);
            add_digest(known, charts, file);
        }
    return record_write_header(&run, err);
}

bool record_has_chart(const record_t *run, const char *charts, const char *file) {
    char digest[HASH_TEXT];
    const char *drawn =
        json_string_value(json_object_get(json_object_get(run->digest, CHARTS), file));
    return drawn != NULL && digest_file(charts, file, digest) && strcmp(drawn, digest) == 0;
}

/* ---- what was edited ------------------------------------------------------------------------- */

/* Of the files that there are: what was removed is not shown either. */
static void add_edited(text_list_t *edits, const json_t *digests, const char *folder,
                       const char *name) {
    char digest[HASH_TEXT];
    const char *closed = json_string_value(json_object_get(digests, name));
    if (!digest_file(folder, name, digest) || (closed != NULL && strcmp(closed, digest) == 0))
        return;
    text_list_add_format(edits, "%s/%s: %s", folder, name,
                         closed == NULL ? "not of this run: run.json has no digest of it"
                                        : "edited: not what it was when run.json was written");
}

text_list_t record_edits(const record_t *run, const char *charts) {
    text_list_t edits = {0};
    const seal_t seal = record_seal(run);
    if (seal == SEAL_NONE)
        return edits;
    if (seal == SEAL_BROKEN)
        text_list_add_format(&edits, "%s/" JOURNAL ": edited after the run was closed",
                             run->folder);
    const json_t *files = json_object_get(run->digest, FILES),
                 *drawn = json_object_get(run->digest, CHARTS);
    for (size_t i = 0; i < N_DERIVED; i++)
        add_edited(&edits, files, run->folder, DERIVED[i]);
    AUTO(text_list_free) text_list_t names = charts_in(charts);
    for (size_t i = 0; i < names.n; i++)
        add_edited(&edits, drawn, charts, names.items[i]);
    return edits;
}

/* ==== warnings ================================================================================ */

/* ": it has only the finished cases", or what its cases lack. The caller frees it. */
static char *what_lacks(const record_t *run) {
    unsigned asked = 0;
    size_t n = 0, n_fewer = 0, fewest = 0;
    for (size_t i = 0; i < run->n_sweeps; i++)
        asked = run->sweeps[i].least_passes > asked ? run->sweeps[i].least_passes : asked;
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;) {
        const phase_t *whole = result_whole_phase(result);
        if (is_calibration(&result->spec) || result->pass > 0 || whole == NULL)
            continue; /* it has no passes to come, or they are not joined */
        n++;
        n_fewer += whole->n_passes < asked;
        fewest = fewest == 0 || whole->n_passes < fewest ? whole->n_passes : fewest;
    }
    return n_fewer == 0
               ? mem_text("it has only the finished cases")
               : mem_format("%zu of its %zu cases with times %s fewer than %u passes, %zu or more",
                            n_fewer, n, n_fewer == 1 ? "has" : "have", asked, fewest);
}

void record_warn_dropped(const record_t *run) {
    if (run->n_dropped_lines > 0)
        output_print(stderr, "%s: dropped the half-written last line of " JOURNAL "\n",
                     run->folder);
}

void record_warn_incomplete(const record_t *run) {
    record_warn_dropped(run);
    if (run->finished == NULL) {
        AUTO_FREE char *lacks = what_lacks(run);
        output_print(stderr, "%s: the run did not finish: %s\n", run->folder, lacks);
    }
    if (record_seal(run) == SEAL_BROKEN)
        output_print(stderr, "%s: lines were edited after the run was closed\n", run->folder);
}

/* ==== several runs ============================================================================ */

void records_free(record_list_t *runs) {
    for (size_t i = 0; i < runs->n; i++)
        record_free(&runs->items[i]);
    free(runs->items);
}

status_t records_load(const char *const *folders, size_t n, record_list_t *runs, error_t *err) {
    runs->items = mem_zeroed(n, sizeof *runs->items);
    for (; runs->n < n; runs->n++) {
        TRY(record_load(folders[runs->n], &runs->items[runs->n], err));
        record_warn_incomplete(&runs->items[runs->n]);
    }
    return STATUS_OK;
}

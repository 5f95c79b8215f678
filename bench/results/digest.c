#include "results/digest.h"

#include "base/memory.h"
#include "io/fs.h"
#include "results/record_internal.h"

#include <stdlib.h>
#include <string.h>

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
    error_t none = ERROR_INIT;
    char *path = fs_join(folder, name), *data;
    size_t size;
    const bool there = fs_exists(path) && fs_read(path, &data, &size, &none) == STATUS_OK;
    free(path);
    if (!there)
        return false;
    hash_t *hash = hash_new();
    hash_add(hash, data, size);
    hash_finish(hash, digest);
    free(data);
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
    error_t none = ERROR_INIT; /* an unreadable folder has no charts */
    for (size_t i = 0; i < N_ENDS && fs_is_folder(charts); i++) {
        text_list_t found = {0};
        if (fs_list(charts, CHART_ENDS[i], &found, &none) == STATUS_OK)
            for (size_t k = 0; k < found.n; k++)
                text_list_add(&names, found.items[k]);
        text_list_free(&found);
    }
    return names;
}

status_t record_note_charts(const char *folder, const char *charts, const text_list_t *names,
                            error_t *err) {
    record_t run = {0};
    status_t status = record_read_header(folder, &run, err);
    if (status == STATUS_OK && run.digest != NULL) {
        json_t *known = json_object_get(run.digest, CHARTS);
        if (!json_is_object(known))
            json_object_set_new(run.digest, CHARTS, known = json_object());
        for (size_t i = 0; i < names->n; i++)
            for (size_t k = 0; k < N_ENDS; k++) {
                char *file = mem_format("%s%s", names->items[i], CHART_ENDS[k]);
                add_digest(known, charts, file);
                free(file);
            }
        status = record_write_header(&run, err);
    }
    record_free(&run);
    return status;
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
    text_list_t names = charts_in(charts);
    for (size_t i = 0; i < names.n; i++)
        add_edited(&edits, drawn, charts, names.items[i]);
    text_list_free(&names);
    return edits;
}

#include "plot/folder.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/json.h"
#include "results/record.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char MARK[] = "drawn_from.json", RUN[] = "run", LINES[] = "lines";

/* ---- whose they are -------------------------------------------------------------------------- */

/* The run's folder, below the project's as seen from there; a text that is no path as it is. */
static char *path_of(const char *root, const record_t *run) {
    AUTO_FREE char *path = realpath(run->folder, NULL), *top = realpath(root, NULL);
    const size_t length = top != NULL ? strlen(top) : 0;
    AUTO_FREE char *shown = path == NULL ? mem_text(run->folder)
                            : top != NULL && text_starts(path, top) && path[length] == '/'
                                ? mem_text(path + length + 1)
                                : mem_text(path);
    return text_utf8(shown);
}

/* NULL: none that can be read. */
static json_t *mark_of(const char *folder) {
    AUTO_FREE char *path = fs_join(folder, MARK);
    return json_load_file(path, 0, NULL);
}

static bool says(const json_t *mark, const char *key, const char *value) {
    const char *found = json_string_value(json_object_get(mark, key));
    return found != NULL && strcmp(found, value) == 0;
}

bool charts_are_signed(const char *folder) {
    json_auto_t *mark = mark_of(folder);
    return mark != NULL;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static char *usual_folder(const char *root, const char *out, const record_t *run) {
    AUTO_FREE char *project = folders_project(root), *name = fs_file_name(run->name);
    return out != NULL ? fs_join(out, name) : mem_format("%s/plots/%s", project, name);
}

/* A copy of a run has the same charts. */
static bool is_of_another(const char *folder, const char *path, const record_t *run) {
    json_auto_t *mark = mark_of(folder);
    return mark != NULL && !says(mark, RUN, path) && !says(mark, LINES, run->lines_digest);
}

char *charts_folder(const char *root, const char *out, const record_t *run) {
    AUTO_FREE char *path = path_of(root, run);
    char *usual = usual_folder(root, out, run), digits[HASH_TEXT];
    hash_t *hash = hash_new();
    hash_add_text(hash, path);
    hash_finish(hash, digits);
    char *own = mem_format("%s_%.8s", usual, digits);
    /* Once there, it stays the run's, whatever becomes of the other. */
    const bool has_own = fs_exists(own) || is_of_another(usual, path, run);
    free(has_own ? usual : own);
    return has_own ? own : usual;
}

char *charts_other_run(const char *root, const record_t *run) {
    AUTO_FREE char *usual = usual_folder(root, NULL, run), *path = path_of(root, run);
    if (!is_of_another(usual, path, run))
        return NULL;
    json_auto_t *mark = mark_of(usual);
    return mem_text(json_string_value(json_object_get(mark, RUN)));
}

/* ---- the charts ------------------------------------------------------------------------------ */

/* No chart is without its table. */
static status_t remove_charts(const char *folder, error_t *err) {
    static const char *const ENDS[] = {"svg", "png", "dat"};
    AUTO(text_list_free) text_list_t tables = {0};
    TRY(fs_list(folder, ".dat", &tables, err));
    for (size_t i = 0; i < tables.n; i++)
        for (size_t k = 0; k < sizeof ENDS / sizeof *ENDS; k++) {
            AUTO_FREE char *stem = fs_stem(tables.items[i]),
                           *file = mem_format("%s/%s.%s", folder, stem, ENDS[k]);
            unlink(file); /* what remains has no digest, and the new mark is not written over it */
        }
    return STATUS_OK;
}

status_t charts_sign(const char *root, const char *folder, const record_t *run, error_t *err) {
    json_auto_t *mark = mark_of(folder);
    if (mark != NULL && !says(mark, LINES, run->lines_digest))
        TRY(remove_charts(folder, err));
    AUTO_FREE char *run_path = path_of(root, run), *path = fs_join(folder, MARK);
    return json_save(json_pack("{s:s, s:s}", RUN, run_path, LINES, run->lines_digest),
                     JSON_INDENT(2), path, err);
}

bool charts_have(const char *folder, const record_t *run, const char *file) {
    if (record_seal(run) != SEAL_NONE)
        return record_has_chart(run, folder, file);
    json_auto_t *mark = mark_of(folder);
    return mark == NULL || says(mark, LINES, run->lines_digest);
}

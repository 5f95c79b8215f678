#include "plot/folder.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "results/digest.h"

#include <jansson.h>
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
    char *safe = text_utf8(shown);
    return safe;
}

/* NULL: none that can be read. */
static json_t *mark_of(const char *folder) {
    error_t none = ERROR_INIT;
    char *path = fs_join(folder, MARK), *text;
    size_t size;
    json_t *mark = NULL;
    if (fs_exists(path) && fs_read(path, &text, &size, &none) == STATUS_OK) {
        mark = json_loadb(text, size, 0, NULL);
        free(text);
    }
    free(path);
    return mark;
}

static bool says(const json_t *mark, const char *key, const char *value) {
    const char *found = json_string_value(json_object_get(mark, key));
    return found != NULL && strcmp(found, value) == 0;
}

bool charts_are_signed(const char *folder) {
    json_t *mark = mark_of(folder);
    json_decref(mark);
    return mark != NULL;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static char *usual_folder(const char *root, const char *out, const record_t *run) {
    char *project = folders_project(root),
         *plots = out != NULL ? mem_text(out) : mem_format("%s/plots", project),
         *name = fs_file_name(run->name), *folder = fs_join(plots, name);
    free(project);
    free(plots);
    free(name);
    return folder;
}

/* A copy of a run has the same charts. */
static bool is_of_another(const char *folder, const char *path, const record_t *run) {
    json_auto_t *mark = mark_of(folder);
    const bool another =
        mark != NULL && !says(mark, RUN, path) && !says(mark, LINES, run->lines_digest);
    return another;
}

char *charts_folder(const char *root, const char *out, const record_t *run) {
    char *usual = usual_folder(root, out, run), *path = path_of(root, run), digits[HASH_TEXT];
    hash_t *hash = hash_new();
    hash_add_text(hash, path);
    hash_finish(hash, digits);
    char *own = mem_format("%s_%.8s", usual, digits);
    /* Once there, it stays the run's, whatever becomes of the other. */
    const bool has_own = fs_exists(own) || is_of_another(usual, path, run);
    free(path);
    free(has_own ? usual : own);
    return has_own ? own : usual;
}

char *charts_other_run(const char *root, const record_t *run) {
    char *usual = usual_folder(root, NULL, run), *path = path_of(root, run), *other = NULL;
    if (is_of_another(usual, path, run)) {
        json_auto_t *mark = mark_of(usual);
        other = mem_text(json_string_value(json_object_get(mark, RUN)));
    }
    free(usual);
    free(path);
    return other;
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
    json_t *mark = mark_of(folder);
    const bool older = mark != NULL && !says(mark, LINES, run->lines_digest);
    json_decref(mark);
    if (older)
        TRY(remove_charts(folder, err));
    AUTO_FREE char *run_path = path_of(root, run), *path = fs_join(folder, MARK);
    mark = json_pack("{s:s, s:s}", RUN, run_path, LINES, run->lines_digest);
    AUTO_FREE char *text = json_dumps(mark, JSON_INDENT(2)), *line = mem_format("%s\n", text);
    status_t status = fs_write_atomic(path, line, strlen(line), err);
    json_decref(mark);
    return status;
}

bool charts_have(const char *folder, const record_t *run, const char *file) {
    if (record_seal(run) != SEAL_NONE)
        return record_has_chart(run, folder, file);
    json_auto_t *mark = mark_of(folder);
    const bool own = mark == NULL || says(mark, LINES, run->lines_digest);
    return own;
}

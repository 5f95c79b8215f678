#include "io/git.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TIMEOUT_S = 20 };

/* "# branch.oid HASH", then other lines with "#", then one for each changed or unknown file. */
static bool parse_status(const char *text, git_state_t *state) {
    static const char OID[] = "# branch.oid ";
    const char *oid = strstr(text, OID);
    if (oid == NULL || text_starts(oid + strlen(OID), "(initial)"))
        return false;
    snprintf(state->revision, sizeof state->revision, "%s", oid + strlen(OID));
    state->dirty = false;
    state->changes[0] = '\0';
    for (const char *line = text; line != NULL && *line != '\0';) {
        state->dirty |= *line != '#';
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return true;
}

/* ":(exclude)RUN" if `except` is in `folder`, else ".": pathspecs must be in the repository. The
 * caller frees it. */
static char *pathspec_without(const char *folder, const char *except) {
    char *top = realpath(folder, NULL), *path = realpath(except, NULL), *spec = NULL;
    const size_t length = top != NULL ? strlen(top) : 0;
    if (path != NULL && top != NULL && text_starts(path, top) && path[length] == '/')
        spec = mem_format(":(exclude,literal)%s", path + length + 1);
    free(top);
    free(path);
    return spec != NULL ? spec : mem_text(".");
}

/* The output of a git command; NULL if it fails. The caller frees it. */
static char *output_of(const char *const *argv) {
    subprocess_result_t result;
    error_t ignored = ERROR_INIT;
    if (subprocess_run(argv, NULL, TIMEOUT_S, &result, &ignored) != STATUS_OK)
        return NULL;
    char *text = result.exit_code == 0 ? mem_text(result.out) : NULL;
    subprocess_result_free(&result);
    return text;
}

/* Its name, and what it says if it is source: a log that grows is no other code. */
static void hash_unknown(hash_t *hash, const char *path) {
    static const char *const SOURCES[] = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".py"};
    struct stat file;
    error_t ignored = ERROR_INIT;
    char *data = NULL;
    size_t size, i = 0;
    hash_add_text(hash, path);
    while (i < sizeof SOURCES / sizeof *SOURCES && !text_ends(path, SOURCES[i]))
        i++;
    if (i == sizeof SOURCES / sizeof *SOURCES || lstat(path, &file) != 0 ||
        !S_ISREG(file.st_mode) || fs_read(path, &data, &size, &ignored) != STATUS_OK)
        return;
    hash_add(hash, data, size);
    free(data);
}

/* Not from `git status`, which does not name the files in a folder that is new. */
static void hash_changes(const char *folder, const char *spec, git_state_t *state) {
    const char *const diff[] = {"git",      "--no-optional-locks", "-C", folder, "diff", "HEAD",
                                "--binary", "--no-ext-diff",       "--", ".",    spec,   NULL};
    const char *const list[] = {"git",      "-c",       "core.quotePath=false", "-C", folder,
                                "ls-files", "--others", "--exclude-standard",   "--", ".",
                                spec,       NULL};
    char *changed = output_of(diff), *unknown = output_of(list);
    hash_t *hash = hash_new();
    hash_add_text(hash, changed != NULL ? changed : "");
    char *rest = unknown;
    for (char *name; rest != NULL && *rest != '\0';) {
        name = strsep(&rest, "\n");
        char *path = fs_join(folder, name);
        hash_unknown(hash, path);
        free(path);
    }
    hash_finish(hash, state->changes);
    free(changed);
    free(unknown);
}

bool git_read(const char *folder, const char *except, git_state_t *state) {
    char *git = fs_join(folder, ".git"), *spec = pathspec_without(folder, except);
    const char *const argv[] = {"git",      "--no-optional-locks", "-C", folder, "status",
                                "--branch", "--porcelain=v2",      "--", ".",    spec,
                                NULL};
    char *status = fs_exists(git) ? output_of(argv) : NULL;
    const bool read = status != NULL && parse_status(status, state);
    if (read && state->dirty)
        hash_changes(folder, spec, state);
    free(status);
    free(spec);
    free(git);
    return read;
}

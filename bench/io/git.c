#include "io/git.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Of files that git does not know only the names count. */
static void hash_changes(const char *folder, const char *spec, const char *status,
                         git_state_t *state) {
    const char *const argv[] = {"git",      "--no-optional-locks", "-C", folder, "diff", "HEAD",
                                "--binary", "--no-ext-diff",       "--", ".",    spec,   NULL};
    char *diff = output_of(argv);
    hash_t *hash = hash_new();
    for (const char *line = status; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line == '?')
            hash_add(hash, line, strcspn(line, "\n"));
    }
    hash_add_text(hash, diff != NULL ? diff : "");
    hash_finish(hash, state->changes);
    free(diff);
}

bool git_read(const char *folder, const char *except, git_state_t *state) {
    char *git = fs_join(folder, ".git"), *spec = pathspec_without(folder, except);
    const char *const argv[] = {"git",      "--no-optional-locks", "-C", folder, "status",
                                "--branch", "--porcelain=v2",      "--", ".",    spec,
                                NULL};
    char *status = fs_exists(git) ? output_of(argv) : NULL;
    const bool read = status != NULL && parse_status(status, state);
    if (read && state->dirty)
        hash_changes(folder, spec, status, state);
    free(status);
    free(spec);
    free(git);
    return read;
}

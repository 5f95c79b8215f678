#include "io/git.h"

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
    for (const char *line = text; line != NULL && *line != '\0';) {
        state->dirty |= *line != '#';
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return true;
}

bool git_read(const char *folder, git_state_t *state) {
    char *git = fs_join(folder, ".git");
    const bool exists = fs_exists(git);
    free(git);
    const char *const argv[] = {"git",    "--no-optional-locks", "-C",       folder,
                                "status", "--porcelain=v2",      "--branch", NULL};
    subprocess_result_t result;
    error_t ignored = ERROR_INIT;
    if (!exists || subprocess_run(argv, NULL, TIMEOUT_S, &result, &ignored) != STATUS_OK)
        return false;
    const bool read = result.exit_code == 0 && parse_status(result.out, state);
    subprocess_result_free(&result);
    return read;
}

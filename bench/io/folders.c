#include "io/folders.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What `make install` has written, in the data folder: no checkout has it. */
static const char INSTALLED[] = "installed.txt";
/* A folder with kernels/ and sweeps/ may be anyone's; one with this, too, is a checkout. */
static const char OURS[] = "kernels/workload.schema.json";

char *folders_data_at(const char *folder) {
    AUTO_FREE char *kernels = fs_join(folder, "kernels"), *sweeps = fs_join(folder, "sweeps");
    return fs_is_folder(kernels) && fs_is_folder(sweeps) ? realpath(folder, NULL) : NULL;
}

/* "/a/b" -> "/a"; "/a" -> "/". False if there is no folder above. */
static bool go_up(char *path) {
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash[1] == '\0')
        return false;
    slash[slash == path] = '\0';
    return true;
}

char *folders_data_with(const char *program) {
    AUTO_FREE char *prefix = mem_text(program);
    if (!go_up(prefix) || !go_up(prefix))
        return NULL;
    AUTO_FREE char *share = fs_join(prefix, "share/bench");
    return folders_installed(share) ? folders_data_at(share) : NULL;
}

static char *built_in(const char *program) {
    AUTO_FREE char *above = mem_text(program);
    return go_up(above) && go_up(above) ? folders_data_at(above) : NULL;
}

static char *around(const char *folder) {
    AUTO_FREE char *above = mem_text(folder);
    char *data;
    do
        data = fs_has(above, OURS) ? folders_data_at(above) : NULL;
    while (data == NULL && go_up(above));
    return data;
}

status_t folders_data(char **data, error_t *err) {
    const char *wanted = fs_variable("BENCH_ROOT");
    *data = NULL;
    if (wanted != NULL) {
        *data = folders_data_at(wanted);
        return *data != NULL ? STATUS_OK
                             : error_set(err, STATUS_USAGE,
                                         "BENCH_ROOT=%s: not the project's folder: expected "
                                         "kernels/ and sweeps/ in it",
                                         wanted);
    }
    AUTO_FREE char *program = NULL, *here = getcwd(NULL, 0);
    TRY(fs_executable(&program, err));
    if ((*data = built_in(program)) == NULL && (here == NULL || (*data = around(here)) == NULL) &&
        (*data = folders_data_with(program)) == NULL)
        return error_set(err, STATUS_USAGE,
                         "cannot find the project's folder: %s is not in a checkout, the current "
                         "folder neither, and no ../share/bench was installed with it (make "
                         "install); set BENCH_ROOT",
                         program);
    return STATUS_OK;
}

bool folders_installed(const char *data) {
    return fs_has(data, INSTALLED);
}

const char *folders_program(const char *data) {
    return folders_installed(data) ? "bench" : "build/bench";
}

char *folders_project(const char *data) {
    char *here = folders_installed(data) ? getcwd(NULL, 0) : NULL;
    return here != NULL ? here : mem_text(data);
}

char *folders_result(const char *data, const char *name) {
    char text[32];
    const time_t now = time(NULL);
    struct tm local;
    strftime(text, sizeof text, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    AUTO_FREE char *project = folders_project(data);
    return mem_format("%s/results/%s-%s", project, name, text);
}

/* The specification of XDG's base directories: a relative path is invalid and is ignored. */
static char *cache_of_user(void) {
    const char *xdg = fs_variable("XDG_CACHE_HOME"), *home = fs_variable("HOME");
    if (xdg != NULL && xdg[0] == '/')
        return fs_join(xdg, "bench");
    const struct passwd *user = home == NULL ? getpwuid(getuid()) : NULL;
    if (user != NULL)
        home = user->pw_dir;
    return mem_format("%s/.cache/bench", home != NULL ? home : ".");
}

void folders_export(const char *data) {
    if (!folders_installed(data))
        return;
    AUTO_FREE char *cache = cache_of_user();
    setenv("BENCH_ROOT", data, 0);
    if (fs_variable("BENCH_CACHE") == NULL)
        setenv("BENCH_CACHE", cache, 1);
}

char *folders_worker(const char *data, const char *engine) {
    AUTO_FREE char *project = folders_project(data);
    char *script = mem_format("%s/reference_%s/worker.py", data, engine);
    if (!fs_exists(script)) {
        free(script);
        script = mem_format("%s/reference_%s/worker.py", project, engine);
    }
    return script;
}

enum { TIMEOUT_S = 20 };

/* "? kernels/mine/": a workload of the user's, which is no part of this source wherever it lies. */
static bool is_new_workload(const char *line) {
    static const char UNKNOWN[] = "? kernels/";
    const char *name = line + strlen(UNKNOWN);
    return text_starts(line, UNKNOWN) && strncmp(name + strcspn(name, "/\n"), "/\n", 2) == 0;
}

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
        state->dirty |= *line != '#' && !is_new_workload(line);
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return true;
}

/* ":(exclude)RUN" if `except` is in `folder`, else ".": pathspecs must be in the repository. The
 * caller frees it. */
static char *pathspec_without(const char *folder, const char *except) {
    AUTO_FREE char *top = realpath(folder, NULL), *path = realpath(except, NULL);
    char *spec = NULL;
    const size_t length = top != NULL ? strlen(top) : 0;
    if (path != NULL && top != NULL && text_starts(path, top) && path[length] == '/')
        spec = mem_format(":(exclude,literal)%s", path + length + 1);
    return spec != NULL ? spec : mem_text(".");
}

/* Its name, and what it says if it is source: a log that grows is no other code. */
static void hash_unknown(hash_t *hash, const char *path) {
    static const char *const SOURCES[] = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".py"};
    struct stat file;
    AUTO_FREE char *data = NULL;
    size_t size, i = 0;
    hash_add_text(hash, path);
    while (i < sizeof SOURCES / sizeof *SOURCES && !text_ends(path, SOURCES[i]))
        i++;
    if (i == sizeof SOURCES / sizeof *SOURCES || lstat(path, &file) != 0 ||
        !S_ISREG(file.st_mode) || fs_read(path, &data, &size, NULL) != STATUS_OK)
        return;
    hash_add(hash, data, size);
}

/* Not from `git status`, which does not name the files in a folder that is new. */
static void hash_changes(const char *folder, const char *spec, git_state_t *state) {
    const char *const diff[] = {"git",      "--no-optional-locks", "-C", folder, "diff", "HEAD",
                                "--binary", "--no-ext-diff",       "--", ".",    spec,   NULL};
    const char *const list[] = {"git",      "-c",       "core.quotePath=false", "-C", folder,
                                "ls-files", "--others", "--exclude-standard",   "--", ".",
                                spec,       NULL};
    AUTO_FREE char *changed = subprocess_output(diff, TIMEOUT_S),
                   *unknown = subprocess_output(list, TIMEOUT_S);
    hash_t *hash = hash_new();
    hash_add_text(hash, changed != NULL ? changed : "");
    char *rest = unknown;
    for (char *name; rest != NULL && *rest != '\0';) {
        name = strsep(&rest, "\n");
        AUTO_FREE char *path = fs_join(folder, name);
        hash_unknown(hash, path);
    }
    hash_finish(hash, state->changes);
}

bool git_read(const char *folder, const char *except, git_state_t *state) {
    AUTO_FREE char *spec = pathspec_without(folder, except);
    const char *const argv[] = {"git",      "--no-optional-locks", "-C", folder, "status",
                                "--branch", "--porcelain=v2",      "--", ".",    spec,
                                NULL};
    AUTO_FREE char *status = fs_has(folder, ".git") ? subprocess_output(argv, TIMEOUT_S) : NULL;
    const bool read = status != NULL && parse_status(status, state);
    if (read && state->dirty)
        hash_changes(folder, spec, state);
    return read;
}

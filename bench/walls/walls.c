#include "walls/walls.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRY_S = 60, MOST_DEPTH = 4 };

const package_t BUBBLEWRAP = {"bubblewrap", "bubblewrap", "bubblewrap"};

/* GPUs, as their drivers name them: NVIDIA's (also in WSL), others'. */
static const char *const DEVICES[] = {"/dev/nvidia*", "/dev/dxg", "/dev/dri", "/dev/kfd"};

text_list_t walls_devices(void) {
    text_list_t found = {0};
    for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++) {
        glob_t paths;
        if (glob(DEVICES[i], 0, NULL, &paths) != 0)
            continue;
        for (size_t k = 0; k < paths.gl_pathc; k++)
            text_list_add(&found, paths.gl_pathv[k]);
        globfree(&paths);
    }
    return found;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void add_each(text_list_t *argv, const char *option, const text_list_t *paths, bool twice) {
    for (size_t i = 0; i < paths->n; i++) {
        text_list_add(argv, option);
        text_list_add(argv, paths->items[i]);
        if (twice)
            text_list_add(argv, paths->items[i]);
    }
}

static void add_bubblewrap(const wall_folders_t *folders, text_list_t *argv) {
    static const char *const ALWAYS[] = {"bwrap",
                                         "--die-with-parent",
                                         "--unshare-pid",
                                         "--unshare-ipc",
                                         "--cap-drop",
                                         "ALL",
                                         "--ro-bind",
                                         "/",
                                         "/",
                                         "--dev",
                                         "/dev",
                                         "--proc",
                                         "/proc"};
    text_list_t devices = walls_devices();
    for (size_t i = 0; i < sizeof ALWAYS / sizeof *ALWAYS; i++)
        text_list_add(argv, ALWAYS[i]);
    add_each(argv, "--dev-bind", &devices, true);
    add_each(argv, "--tmpfs", &folders->hidden, false);
    add_each(argv, "--bind", &folders->open, true);
    text_list_free(&devices);
}

static void add_own(const wall_folders_t *folders, text_list_t *argv) {
    char *self = NULL;
    error_t ignored = ERROR_INIT;
    text_list_add(argv, fs_executable(&self, &ignored) == STATUS_OK ? self : "bench");
    text_list_add(argv, "wall");
    add_each(argv, "--hide", &folders->hidden, false);
    add_each(argv, "--open", &folders->open, false);
    free(self);
}

void walls_argv(const walls_t *walls, const wall_folders_t *folders, text_list_t *argv) {
    if (walls->kind == WALLS_NONE)
        return;
    if (walls->kind == WALLS_BUBBLEWRAP)
        add_bubblewrap(folders, argv);
    else
        add_own(folders, argv);
    text_list_add(argv, "--");
}

/* ---- which there are ------------------------------------------------------------------------- */

/* NULL if a command ran behind these walls; else why not, which the caller frees. */
static char *refusal(walls_kind_t kind) {
    const walls_t walls = {.kind = kind};
    const wall_folders_t nothing = {0};
    text_list_t words = {0};
    subprocess_result_t result = {0};
    error_t err = ERROR_INIT;
    walls_argv(&walls, &nothing, &words);
    text_list_add(&words, "true");
    const char **argv = mem_zeroed(words.n + 1, sizeof *argv);
    for (size_t i = 0; i < words.n; i++)
        argv[i] = words.items[i];
    char *why = NULL;
    if (subprocess_run(argv, NULL, TRY_S, &result, &err) != STATUS_OK) {
        why = mem_text(err.text);
    } else if (result.exit_code != 0) {
        result.err[strcspn(result.err, "\n")] = '\0';
        why = result.err[0] != '\0' ? mem_text(result.err)
                                    : mem_format("exit code %d", result.exit_code);
        text_make_plain(why);
    }
    subprocess_result_free(&result);
    free(argv);
    text_list_free(&words);
    return why;
}

/* "bubblewrap 0.8.0". The caller frees it. */
static char *bubblewrap_version(void) {
    subprocess_result_t result = {0};
    error_t ignored = ERROR_INIT;
    char *text = mem_text("bubblewrap");
    const char *const argv[] = {"bwrap", "--version", NULL};
    if (subprocess_run(argv, NULL, TRY_S, &result, &ignored) == STATUS_OK &&
        result.exit_code == 0 && text_starts(result.out, "bubblewrap ")) {
        result.out[strcspn(result.out, "\n")] = '\0';
        free(text);
        text = mem_text(result.out);
        text_make_plain(text);
    }
    subprocess_result_free(&result);
    return text;
}

walls_t walls_find(void) {
    char *program = fs_find_program("bwrap");
    char *first = program != NULL ? refusal(WALLS_BUBBLEWRAP) : NULL;
    const bool wrapped = program != NULL && first == NULL;
    free(program);
    if (wrapped)
        return (walls_t){WALLS_BUBBLEWRAP, bubblewrap_version()};
    char *second = refusal(WALLS_NAMESPACES);
    walls_t walls = {WALLS_NAMESPACES, NULL};
    if (second == NULL) {
        walls.detail = mem_text("namespaces");
    } else {
        char *install = package_install(&BUBBLEWRAP);
        walls.kind = WALLS_NONE;
        walls.detail = first != NULL
                           ? mem_format("%s; without bubblewrap: %s", first, second)
                           : mem_format("%s; bubblewrap is not installed (%s)", second, install);
        free(install);
    }
    free(second);
    free(first);
    return walls;
}

void walls_free(walls_t *walls) {
    free(walls->detail);
    *walls = (walls_t){0};
}

/* ---- the process inside ---------------------------------------------------------------------- */

static bool is_wall(pid_t pid) {
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return read && (strcmp(name, "bwrap") == 0 || strcmp(name, WALLS_NAME) == 0);
}

/* 0 if it has none. */
static pid_t first_child(pid_t pid) {
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%d", &child) != 1)
        child = 0;
    fclose(file);
    return child;
}

/* Outside, the reaper inside, the command: the first of each one's children. */
pid_t walls_inside(pid_t started) {
    pid_t pid = started;
    for (int depth = 0; depth < MOST_DEPTH && is_wall(pid); depth++) {
        const pid_t child = first_child(pid);
        if (child == 0)
            break;
        pid = child;
    }
    return pid;
}

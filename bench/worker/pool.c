#include "worker/pool.h"

#include "base/memory.h"
#include "io/find.h"
#include "io/folders.h"
#include "io/fs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* $BENCH_NAME_PYTHON; the caller frees it. */
static char *variable_of(const char *engine) {
    char *name = mem_format("BENCH_%s_PYTHON", engine);
    for (char *c = name; *c != '\0'; c++)
        *c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    return name;
}

/* A Python and what decided for it: a variable, a folder with a .venv, or neither: $PATH. */
typedef struct choice {
    char *python, *variable, *folder;
} choice_t;

static void free_choice(choice_t *choice) {
    free(choice->python);
    free(choice->variable);
    free(choice->folder);
}

static bool take_named(const char *name, choice_t *choice) {
    const char *value = fs_variable(name);
    if (value == NULL)
        return false;
    *choice = (choice_t){.python = mem_text(value), .variable = mem_text(name)};
    return true;
}

/* `folder` may be NULL. */
static bool take_venv(const char *folder, const char *venv, choice_t *choice) {
    if (folder == NULL)
        return false;
    char *python = mem_format("%s/%s/bin/python3", folder, venv);
    const bool found = fs_exists(python);
    if (found)
        *choice = (choice_t){.python = python, .folder = fs_join(folder, venv)};
    else
        free(python);
    return found;
}

/* The environment that the user has activated. */
static bool take_active(choice_t *choice) {
    const char *folder = fs_variable("VIRTUAL_ENV");
    char *python = folder != NULL ? fs_join(folder, "bin/python3") : NULL;
    const bool found = python != NULL && fs_exists(python);
    if (found)
        *choice = (choice_t){python, mem_text("VIRTUAL_ENV"), mem_text(folder)};
    else
        free(python);
    return found;
}

/* A checkout's own environment has what the checkout needs; that of another project comes after the one in use. */
static choice_t choose_python(const char *root, const char *other_root, const char *engine) {
    char *variable = variable_of(engine), *venv = mem_format(".venv-%s", engine),
         *project = folders_project(root);
    choice_t choice = {0};
    if (!take_named(variable, &choice) && !take_venv(root, venv, &choice) &&
        !take_venv(other_root, venv, &choice) && !take_venv(project, venv, &choice) &&
        !take_named("BENCH_PYTHON", &choice) && !take_venv(root, ".venv", &choice) &&
        !take_venv(other_root, ".venv", &choice) && !take_active(&choice) &&
        !take_venv(project, ".venv", &choice))
        choice.python = fs_find_program("python3");
    free(variable);
    free(venv);
    free(project);
    return choice;
}

static status_t check_python(char *python, const char *variable, error_t *err) {
    static const package_t package = {"python3", "python3", "python"};
    if (python == NULL) {
        char *install = package_install(&package);
        error_set(err, STATUS_USAGE, "no python3 on $PATH: %s", install);
        free(install);
        return STATUS_USAGE;
    }
    char *program = fs_find_program(python); /* a variable may hold a name */
    bool exists = program != NULL;
    free(program);
    if (exists)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "$%s is not a program (%s): unset it, or set it to a Python interpreter",
                     variable != NULL ? variable : "PATH", python);
}

status_t workers_find_python(const char *root, const char *other_root, const char *engine,
                             char **python, error_t *err) {
    choice_t choice = choose_python(root, other_root, engine);
    const status_t status = check_python(choice.python, choice.variable, err);
    *python = status == STATUS_OK ? mem_text(choice.python) : NULL;
    free_choice(&choice);
    return status;
}

status_t workers_describe_python(const char *root, const char *engine, char **text, error_t *err) {
    choice_t choice = choose_python(root, NULL, engine);
    const status_t status = check_python(choice.python, choice.variable, err);
    const bool is_active = choice.variable != NULL && choice.folder != NULL;
    *text = status != STATUS_OK ? NULL
            : is_active
                ? mem_format("%s: the active environment, $%s", choice.python, choice.variable)
            : choice.variable != NULL ? mem_format("%s: from $%s", choice.python, choice.variable)
            : choice.folder != NULL
                ? mem_format("%s: the %s's environment", choice.python,
                             folders_installed(root) ? "current folder" : "checkout")
                : mem_format("%s: python3 on $PATH", choice.python);
    free_choice(&choice);
    return status;
}

/* CUDA then shows only the device with this index among those that it shows now, as the first. */
static void show_only(int device, text_list_t *argv) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    text_list_t shown = text_split(visible != NULL ? visible : "", ',');
    text_list_add(argv, "env");
    if (visible == NULL)
        text_list_add_format(argv, "CUDA_VISIBLE_DEVICES=%d", device);
    else
        text_list_add_format(argv, "CUDA_VISIBLE_DEVICES=%s",
                             (size_t)device < shown.n ? shown.items[device] : "");
    text_list_free(&shown);
}

static status_t python_argv(const workers_t *workers, const case_t *spec, text_list_t *argv,
                            error_t *err) {
    char *script = folders_worker(workers->root, spec->engine);
    char *python = NULL;
    status_t status = STATUS_OK;
    if (!fs_exists(script))
        status = error_set(err, STATUS_USAGE, "engine \"%s\" has no worker: %s does not exist",
                           spec->engine, script);
    else
        status = workers_find_python(workers->root, workers->own_root, spec->engine, &python, err);
    if (status == STATUS_OK && workers->device > 0 && strcmp(spec->device, "cuda") == 0)
        show_only(workers->device, argv);
    if (status == STATUS_OK) {
        const char *const words[] = {python, script, "--device", spec->device};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            text_list_add(argv, words[i]);
    }
    free(python);
    free(script);
    return status;
}

/* Shared and removed by us, because a killed worker cannot remove its files. */
static status_t make_scratch(workers_t *workers, error_t *err) {
    if (workers->scratch != NULL)
        return STATUS_OK;
    char *made;
    TRY(fs_temporary_folder(&made, err));
    workers->scratch = realpath(made, NULL); /* $TMPDIR may be a link, or relative */
    if (workers->scratch == NULL)
        workers->scratch = mem_text(made);
    free(made);
    setenv("BENCH_SCRATCH", workers->scratch, 1);
    return STATUS_OK;
}

void build_worker_argv(const char *root, const char *bench, text_list_t *argv) {
    text_list_add(argv, "env");
    text_list_add_format(argv, "BENCH_ROOT=%s", root);
    text_list_add(argv, bench);
}

static status_t own_argv(const workers_t *workers, const case_t *spec, text_list_t *argv,
                         error_t *err) {
    if (workers->bench != NULL) {
        build_worker_argv(workers->root, workers->bench, argv);
    } else {
        char *self;
        TRY(fs_executable(&self, err));
        text_list_add(argv, self);
        free(self);
    }
    text_list_add(argv, "worker");
    text_list_add_format(argv, "--engine=%s", spec->engine);
    text_list_add_format(argv, "--device=%d", workers->device);
    return STATUS_OK;
}

/* ---- isolated ---------------------------------------------------------------------------------- */

/* Append a command that sets where the worker finds its folder, and where libraries would otherwise write
 * to the home folder. */
static void add_environment(const worker_link_t *link, text_list_t *argv) {
    static const char *const CACHES[][2] = {{"BENCH_SCRATCH", ""},
                                            {"TMPDIR", ""},
                                            {"CUDA_CACHE_PATH", "/cuda"},
                                            {"TRITON_CACHE_DIR", "/triton"},
                                            {"TORCH_EXTENSIONS_DIR", "/extensions"},
                                            {"NUMBA_CACHE_DIR", "/numba"},
                                            {"CUPY_CACHE_DIR", "/cupy"}};
    text_list_add(argv, "env");
    for (size_t i = 0; i < sizeof CACHES / sizeof *CACHES; i++)
        text_list_add_format(argv, "%s=%s%s", CACHES[i][0], link->folder, CACHES[i][1]);
}

/* MPS shares memory between its clients. */
static bool shares_memory(void) {
    const char *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char *control = fs_join(pipes != NULL ? pipes : "/tmp/nvidia-mps", "control");
    const bool is_there = fs_exists(control);
    free(control);
    return is_there;
}

/* The session's services start programs outside. */
static void hide_session(wall_folders_t *folders) {
    char *session = mem_format("/run/user/%u", (unsigned)getuid());
    if (fs_is_folder(session))
        text_list_add(&folders->hidden, session);
    free(session);
}

/* The command up to that of the worker. The oracle reads what the contenders wrote. */
static status_t enclose(const workers_t *workers, const char *engine, worker_link_t *link,
                        text_list_t *argv, error_t *err) {
    const isolation_t *isolation = workers->isolation;
    wall_folders_t folders = {0};
    text_list_add(&folders.hidden, workers->scratch);
    text_list_add(&folders.hidden, isolation->hidden);
    text_list_add(&folders.open, link->folder);
    hide_session(&folders);
    status_t status = STATUS_OK;
    if (isolation->compiled != NULL && !case_engine_is_built_in(engine)) {
        link->compiled = fs_join(isolation->compiled, engine);
        text_list_add(&folders.open, link->compiled);
        status = fs_make_folders(link->compiled, err);
    }
    if (shares_memory())
        text_list_add(&folders.open, "/dev/shm");
    link->is_walled = isolation->walls.kind != WALLS_NONE;
    walls_argv(&isolation->walls, &folders, argv);
    add_environment(link, argv);
    text_list_free(&folders.hidden);
    text_list_free(&folders.open);
    return status;
}

static status_t isolate(workers_t *workers, const char *engine, const char *role,
                        worker_link_t *link, error_t *err) {
    TRY(make_scratch(workers, err));
    link->folder = mem_format("%s/%zu", workers->scratch, workers->n);
    TRY(fs_make_folders(link->folder, err));
    if (role[0] == '\0' || strcmp(role, ORACLE) == 0)
        return STATUS_OK;
    text_list_t argv = {0};
    const status_t status = enclose(workers, engine, link, &argv, err);
    for (size_t i = 0; i < link->argv.n; i++)
        text_list_add(&argv, link->argv.items[i]);
    text_list_free(&link->argv);
    link->argv = argv;
    return status;
}

/* ---- the list ---------------------------------------------------------------------------------- */

static status_t add_worker(workers_t *workers, const case_t *spec, const char *role,
                           const char *label, worker_link_t **link, error_t *err) {
    const bool is_own = case_engine_is_built_in(spec->engine);
    text_list_t argv = {0};
    status_t status =
        is_own ? own_argv(workers, spec, &argv, err) : python_argv(workers, spec, &argv, err);
    if (status == STATUS_OK && !is_own)
        status = make_scratch(workers, err);
    *link = mem_zeroed(1, sizeof **link);
    worker_link_init(*link, label, argv);
    (*link)->ends_at_once = !is_own && !workers->profiled;
    if (status == STATUS_OK && workers->isolation != NULL)
        status = isolate(workers, spec->engine, role, *link, err);
    if (status == STATUS_OK && workers->forked && workers->isolation == NULL && !is_own)
        forks_serve(&workers->forks, workers->root, spec->engine, *link);
    if (status == STATUS_OK) {
        workers->items = mem_resize(workers->items, workers->n + 1, sizeof *workers->items);
        workers->items[workers->n++] = *link;
    } else {
        worker_link_free(*link);
        free(*link);
        *link = NULL;
    }
    return status;
}

status_t workers_find(workers_t *workers, const case_t *spec, const char *role,
                      worker_link_t **link, error_t *err) {
    char engine[32];
    /* Implementations of an operator do not share a process. */
    const bool alone = strcmp(spec->engine, "python") == 0;
    char *label = mem_format("%s%s%s%s%s", case_engine_label(spec, engine), alone ? "-" : "",
                             alone ? spec->variant : "", role[0] != '\0' ? "-" : "", role);
    for (size_t i = 0; i < workers->n; i++)
        if (strcmp(workers->items[i]->label, label) == 0) {
            *link = workers->items[i];
            free(label);
            return STATUS_OK;
        }
    const status_t status = add_worker(workers, spec, role, label, link, err);
    free(label);
    return status;
}

const char *workers_asked_role(const workers_t *workers) {
    return workers->isolation != NULL ? "0" : "";
}

void workers_free(workers_t *workers) {
    for (size_t i = 0; i < workers->n; i++) {
        worker_link_free(workers->items[i]);
        free(workers->items[i]);
    }
    forks_free(&workers->forks);
    fs_remove_temporary(&workers->scratch);
    free(workers->items);
    *workers = (workers_t){0};
}

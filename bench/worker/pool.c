#include "worker/pool.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "workloads/common/workload.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nobody waits for a server that is launched: who needs it has a limit of its own. */
static const double LAUNCH_S = 60;

enum {
    N_PACKAGES = 3,
    NEXT_MOST = 5, /* so many import side by side, and no more than there are cores */
};

/* What serving.py imports before it answers hello, in its order; then what the first compilation would import, for as long
 * as the rest takes or longer. Up to NULL. */
typedef const char *packages_t[N_PACKAGES + 1];

typedef struct fork_server {
    worker_link_t link;
    worker_link_t next[NEXT_MOST]; /* each takes its place for a pass, the last first */
    size_t n_next;
    char *python;
    const packages_t *packages;
} fork_server_t;

static const packages_t TORCH = {"torch", "numpy"};
static const packages_t COMPILER = {"torch", "numpy", "torch._inductor.compile_fx"};
static const packages_t JAX = {"jax", "numpy"};

static const packages_t *packages_of(const char *engine, bool compiles) {
    if (strcmp(engine, "jax") == 0)
        return &JAX;
    if (strcmp(engine, "pytorch") != 0 && strcmp(engine, "python") != 0)
        return NULL;
    return compiles ? &COMPILER : &TORCH;
}

bool forks_know(const char *engine) {
    return packages_of(engine, false) != NULL;
}

/* ==== servers that fork ======================================================================= */

/* The program in "env NAME=VALUE… program". */
static size_t program_in(const text_list_t *argv) {
    size_t at = 0;
    if (strcmp(argv->items[0], "env") == 0)
        for (at = 1; strchr(argv->items[at], '=') != NULL; at++)
            ;
    return at;
}

static fork_server_t *add_server(forks_t *forks, const char *script, const char *python,
                                 const packages_t *packages) {
    fork_server_t *server = mem_zeroed(1, sizeof *server);
    text_list_t argv = {0};
    text_list_add(&argv, python);
    text_list_add(&argv, script);
    text_list_add_format(&argv, "%ld", (long)getpid());
    for (size_t i = 0; (*packages)[i] != NULL; i++)
        text_list_add(&argv, (*packages)[i]);
    worker_link_init(&server->link, (*packages)[0], argv);
    server->link.is_server = true;
    server->python = mem_text(python);
    server->packages = packages;
    forks->items = mem_resize(forks->items, forks->n + 1, sizeof *forks->items);
    forks->items[forks->n++] = server;
    return server;
}

bool forks_have(const forks_t *forks, pid_t pid) {
    for (size_t i = 0; i < forks->n; i++) {
        const fork_server_t *server = forks->items[i];
        if (server->link.running && server->link.child.pid == pid)
            return true;
        for (size_t k = 0; k < server->n_next; k++)
            if (server->next[k].running && server->next[k].child.pid == pid)
                return true;
    }
    return false;
}

static void end_server(worker_link_t *link) {
    worker_link_kill(link);
    worker_link_free(link);
}

void forks_free(forks_t *forks) {
    for (size_t i = 0; i < forks->n; i++) {
        end_server(&forks->items[i]->link);
        for (size_t k = 0; k < forks->items[i]->n_next; k++)
            end_server(&forks->items[i]->next[k]);
        free(forks->items[i]->python);
        free(forks->items[i]);
    }
    free(forks->items);
    *forks = (forks_t){0};
}

/* ---- one worker ---------------------------------------------------------------------------------- */

static bool set_variable(json_t *variables, const char *assignment) {
    const char *value = strchr(assignment, '=');
    if (value == NULL)
        return true;
    AUTO_FREE char *name = mem_text_n(assignment, (size_t)(value - assignment));
    return json_object_set_new(variables, name, json_string(value + 1)) == 0;
}

/* Ours, and what the command has before the program. False: JSON cannot say it. */
static bool add_variables(const text_list_t *argv, const char *tag, json_t *variables) {
    AUTO_FREE char *own = mem_format(WORKER_TAG "=%s", tag);
    bool is_text = true;
    for (char **variable = environ; *variable != NULL; variable++)
        is_text = is_text && set_variable(variables, *variable);
    for (size_t i = 1; i < program_in(argv); i++)
        is_text = is_text && set_variable(variables, argv->items[i]);
    is_text = is_text && set_variable(variables, own);
    return is_text;
}

static bool add_words(const text_list_t *argv, json_t *words) {
    bool is_text = true;
    for (size_t i = program_in(argv) + 1; i < argv->n; i++)
        is_text = is_text && json_array_append_new(words, json_string(argv->items[i])) == 0;
    return is_text;
}

/* NULL: JSON cannot say it. */
static json_t *fork_request(const text_list_t *argv, const char *tag) {
    json_auto_t *variables = json_object(), *words = json_array();
    json_t *request = NULL;
    if (add_variables(argv, tag, variables) && add_words(argv, words))
        request =
            json_pack("{s:s, s:O, s:O}", "op", "fork", "argv", words, "environment", variables);
    return request;
}

/* Libraries count the cores when they are imported. So if bench has others by now, as those near the GPU, another server
 * imports; likewise if some program has changed the server's. */
static status_t prepare(worker_link_t *server, double timeout_s, error_t *err) {
    if (server->running && !bindings_agree(server->child.pid, getpid()))
        worker_link_kill(server);
    TRY(worker_link_start(server, timeout_s, err));
    if (bindings_agree(server->child.pid, getpid()))
        return STATUS_OK;
    server->cannot =
        mem_format("server %s has other cores or another priority than bench", server->label);
    worker_link_kill(server);
    return error_set(err, STATUS_FAILED, "%s", server->cannot);
}

static status_t ask(worker_link_t *server, json_t *request, double timeout_s, pid_t *pid,
                    error_t *err) {
    json_auto_t *answer = NULL;
    status_t status = worker_link_ask(server, request, timeout_s, &answer, err);
    server->handed = NULL;
    if (status == STATUS_OK) {
        *pid = (pid_t)json_integer_value(json_object_get(answer, "process"));
        if (*pid <= 0)
            status = error_set(err, STATUS_FAILED, "server %s cannot fork", server->label);
    }
    if (status != STATUS_OK && server->cannot == NULL)
        server->cannot = mem_text(err->text);
    return status;
}

static status_t start_worker(worker_link_t *link, error_t *err) {
    worker_link_t *server = &link->server->link;
    const double timeout_s = (double)(link->deadline_ns - clock_ns()) / 1e9;
    int theirs[3];
    TRY(prepare(server, timeout_s, err));
    json_auto_t *request = fork_request(&link->argv, link->tag);
    if (request == NULL)
        return error_set(err, STATUS_FAILED,
                         "a variable of the environment or a path is not UTF-8");
    TRY(subprocess_streams(&link->child, theirs, err));
    server->handed = theirs;
    const status_t status = ask(server, json_incref(request), timeout_s, &link->child.pid, err);
    for (size_t i = 0; i < 3; i++)
        close(theirs[i]);
    if (status != STATUS_OK)
        subprocess_close(&link->child);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* NULL: this build has none. */
static fork_server_t *find(forks_t *forks, const char *root, const packages_t *packages,
                           const char *python) {
    for (size_t i = 0; i < forks->n; i++)
        if (strcmp(forks->items[i]->python, python) == 0 && forks->items[i]->packages == packages)
            return forks->items[i];
    AUTO_FREE char *script = fs_join(root, "reference_common/fork_server.py");
    fork_server_t *server = fs_exists(script) ? add_server(forks, script, python, packages) : NULL;
    if (server != NULL)
        worker_link_launch(&server->link, LAUNCH_S);
    return server;
}

void forks_serve(forks_t *forks, const char *root, const char *engine, bool compiles,
                 worker_link_t *link) {
    const packages_t *packages = packages_of(engine, compiles);
    if (packages == NULL)
        return;
    link->server = find(forks, root, packages, link->argv.items[program_in(&link->argv)]);
    link->fork = start_worker;
}

/* ---- pass after pass ------------------------------------------------------------------------------ */

static void add_next(fork_server_t *server) {
    worker_link_t *next = &server->next[server->n_next++];
    text_list_t argv = {0};
    text_list_add_all(&argv, &server->link.argv);
    worker_link_init(next, server->link.label, argv);
    next->is_server = true;
    worker_link_launch(next, LAUNCH_S);
}

void forks_launch_next(forks_t *forks, size_t n) {
    const size_t n_cores = parallel_cores();
    const size_t most = n_cores < NEXT_MOST ? n_cores : NEXT_MOST;
    for (size_t i = 0; i < forks->n; i++) {
        fork_server_t *server = forks->items[i];
        if (server->link.running && server->n_next == 0)
            while (server->n_next < most && server->n_next < n)
                add_next(server);
    }
}

void forks_await(forks_t *forks, bool all) {
    for (size_t i = 0; i < forks->n && all; i++)
        worker_link_start(&forks->items[i]->link, LAUNCH_S, NULL); /* who needs it says so */
    for (size_t i = 0; i < forks->n; i++)
        for (size_t k = 0; k < forks->items[i]->n_next; k++) /* one that fails is not taken */
            worker_link_start(&forks->items[i]->next[k], LAUNCH_S, NULL);
}

void forks_take_next(forks_t *forks) {
    for (size_t i = 0; i < forks->n; i++) {
        fork_server_t *server = forks->items[i];
        while (server->n_next > 0 && !server->next[server->n_next - 1].running)
            end_server(&server->next[--server->n_next]);
        if (server->n_next > 0) {
            end_server(&server->link);
            server->link = server->next[--server->n_next];
        } else {
            worker_link_kill(&server->link); /* who needs a fork starts it anew */
        }
    }
}

/* ==== workers of a run ======================================================================== */

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

static bool take_if_there(choice_t found, choice_t *choice) {
    const bool is_there = fs_exists(found.python);
    if (is_there)
        *choice = found;
    else
        free_choice(&found);
    return is_there;
}

/* `folder` may be NULL. */
static bool take_venv(const char *folder, const char *venv, choice_t *choice) {
    return folder != NULL && take_if_there((choice_t){mem_format("%s/%s/bin/python3", folder, venv),
                                                      NULL, fs_join(folder, venv)},
                                           choice);
}

/* The environment that the user has activated. */
static bool take_active(choice_t *choice) {
    const char *folder = fs_variable("VIRTUAL_ENV");
    return folder != NULL && take_if_there((choice_t){fs_join(folder, "bin/python3"),
                                                      mem_text("VIRTUAL_ENV"), mem_text(folder)},
                                           choice);
}

/* A checkout's own environment has what the checkout needs; that of another project comes after the one in use. */
static choice_t choose_python(const char *root, const char *other_root, const char *engine) {
    AUTO_FREE char *variable = variable_of(engine), *venv = mem_format(".venv-%s", engine),
                   *project = folders_project(root);
    choice_t choice = {0};
    if (!take_named(variable, &choice) && !take_venv(root, venv, &choice) &&
        !take_venv(other_root, venv, &choice) && !take_venv(project, venv, &choice) &&
        !take_named("BENCH_PYTHON", &choice) && !take_venv(root, ".venv", &choice) &&
        !take_venv(other_root, ".venv", &choice) && !take_active(&choice) &&
        !take_venv(project, ".venv", &choice))
        choice.python = fs_find_program("python3");
    return choice;
}

static status_t check_python(char *python, const char *variable, error_t *err) {
    static const package_t package = {"python3", "python3", "python"};
    if (python == NULL) {
        AUTO_FREE char *install = package_install(&package);
        return error_set(err, STATUS_USAGE, "no python3 on $PATH: %s", install);
    }
    AUTO_FREE char *program = fs_find_program(python); /* a variable may hold a name */
    if (program != NULL)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "$%s is not a program (%s): unset it, or set it to a Python interpreter",
                     variable != NULL ? variable : "PATH", python);
}

status_t workers_find_python(const char *root, const char *other_root, const char *engine,
                             char **python, error_t *err) {
    AUTO(free_choice) choice_t choice = choose_python(root, other_root, engine);
    *python = NULL;
    TRY(check_python(choice.python, choice.variable, err));
    *python = mem_text(choice.python);
    return STATUS_OK;
}

status_t workers_describe_python(const char *root, const char *engine, char **text, error_t *err) {
    AUTO(free_choice) choice_t choice = choose_python(root, NULL, engine);
    const bool is_active = choice.variable != NULL && choice.folder != NULL;
    *text = NULL;
    TRY(check_python(choice.python, choice.variable, err));
    *text = is_active
                ? mem_format("%s: the active environment, $%s", choice.python, choice.variable)
            : choice.variable != NULL ? mem_format("%s: from $%s", choice.python, choice.variable)
            : choice.folder != NULL
                ? mem_format("%s: the %s's environment", choice.python,
                             folders_installed(root) ? "current folder" : "checkout")
                : mem_format("%s: python3 on $PATH", choice.python);
    return STATUS_OK;
}

/* CUDA then shows only the device with this index among those that it shows now, as the first. */
static void show_only(int device, text_list_t *argv) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    AUTO(text_list_free) text_list_t shown = text_split(visible != NULL ? visible : "", ',');
    text_list_add(argv, "env");
    if (visible == NULL)
        text_list_add_format(argv, "CUDA_VISIBLE_DEVICES=%d", device);
    else
        text_list_add_format(argv, "CUDA_VISIBLE_DEVICES=%s",
                             (size_t)device < shown.n ? shown.items[device] : "");
}

static status_t python_argv(const workers_t *workers, const case_t *spec, text_list_t *argv,
                            error_t *err) {
    AUTO_FREE char *script = folders_worker(workers->root, spec->engine);
    AUTO_FREE char *python = NULL;
    if (!fs_exists(script))
        return error_set(err, STATUS_USAGE, "engine \"%s\" has no worker: %s does not exist",
                         spec->engine, script);
    TRY(workers_find_python(workers->root, workers->own_root, spec->engine, &python, err));
    if (workers->device > 0 && strcmp(spec->device, "cuda") == 0)
        show_only(workers->device, argv);
    text_list_add_words(argv, python, script, "--device", spec->device, NULL);
    return STATUS_OK;
}

/* Shared and removed by us, because a killed worker cannot remove its files. */
static status_t make_scratch(workers_t *workers, error_t *err) {
    if (workers->scratch != NULL)
        return STATUS_OK;
    AUTO_FREE char *made = NULL;
    TRY(fs_temporary_folder(&made, err));
    workers->scratch = realpath(made, NULL); /* $TMPDIR may be a link, or relative */
    if (workers->scratch == NULL)
        workers->scratch = mem_text(made);
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
        AUTO_FREE char *self = NULL;
        TRY(fs_executable(&self, err));
        text_list_add(argv, self);
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
    return fs_has(pipes != NULL ? pipes : "/tmp/nvidia-mps", "control");
}

/* The session's services start programs outside. */
static void hide_session(wall_folders_t *folders) {
    AUTO_FREE char *session = mem_format("/run/user/%u", (unsigned)getuid());
    if (fs_is_folder(session))
        text_list_add(&folders->hidden, session);
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
    text_list_add_all(&argv, &link->argv);
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
        forks_serve(&workers->forks, workers->root, spec->engine, case_compiles(spec), *link);
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

/* Implementations of a described workload do not share a process; others do where they import the same. */
static bool runs_alone(const case_t *spec) {
    const workload_t *workload = spec->workload == NULL ? NULL : workload_find(spec->workload);
    return strcmp(spec->engine, "python") == 0 ||
           (workload != NULL && workload_is_in_c(workload, spec->engine));
}

status_t workers_find(workers_t *workers, const case_t *spec, const char *role,
                      worker_link_t **link, error_t *err) {
    char engine[32];
    const bool alone = runs_alone(spec);
    const char *part = alone ? spec->variant : case_compiles(spec) ? WORKER_COMPILES : "";
    AUTO_FREE char *label =
        mem_format("%s%s%s%s%s", case_engine_label(spec, engine), part[0] != '\0' ? "-" : "", part,
                   role[0] != '\0' ? "-" : "", role);
    for (size_t i = 0; i < workers->n; i++)
        if (strcmp(workers->items[i]->label, label) == 0) {
            *link = workers->items[i];
            return STATUS_OK;
        }
    return add_worker(workers, spec, role, label, link, err);
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

status_t workers_start(workers_t *workers, const case_t *spec, const char *role, double timeout_s,
                       worker_link_t **link, error_t *err) {
    TRY(workers_find(workers, spec, role, link, err));
    return worker_link_start(*link, timeout_s, err);
}

json_t *workers_hello(const char *root, const char *engine, const char *device, int index,
                      double timeout_s, error_t *err) {
    AUTO(workers_free) workers_t workers = {.root = root, .device = index};
    AUTO(case_free) case_t spec = {.engine = mem_text(engine), .device = mem_text(device)};
    worker_link_t *link;
    const status_t status = workers_start(&workers, &spec, "", timeout_s, &link, err);
    return status == STATUS_OK ? json_incref(link->hello) : NULL;
}

/* ==== what other programs change ============================================================== */

void guard_note(guard_t *guard, worker_link_t *worker) {
    if (guard == NULL)
        return;
    bindings_free(&guard->own);
    bindings_free(&worker->bindings);
    guard->own = bindings_read(getpid());
    worker->bindings = bindings_read(worker->pid);
}

/* ---- left behind ------------------------------------------------------------------------------ */

/* Does it belong to a worker that still runs? Then its parent may have ended before it. */
static bool has_owner(const char *tag, const void *context) {
    const guard_t *guard = context;
    for (size_t side = 0; side < GUARD_SIDES; side++)
        for (size_t i = 0; guard->sides[side] != NULL && i < guard->sides[side]->n; i++) {
            const worker_link_t *link = guard->sides[side]->items[i];
            if (link->running && link->tag != NULL && strcmp(link->tag, tag) == 0)
                return true;
        }
    return false;
}

static bool is_worker(pid_t pid, const void *context) {
    const guard_t *guard = context;
    for (size_t s = 0; s < GUARD_SIDES; s++) {
        const workers_t *side = guard->sides[s];
        for (size_t i = 0; side != NULL && i < side->n; i++)
            if (side->items[i]->child.pid == pid)
                return true;
        if (side != NULL && forks_have(&side->forks, pid))
            return true;
    }
    return false;
}

static char *end_leftovers(const guard_t *guard) {
    const orphans_owned_t owned = {.spared = guard->spared,
                                   .is_known = is_worker,
                                   .has_owner = has_owner,
                                   .variable = WORKER_TAG,
                                   .context = guard};
    AUTO_FREE char *left = orphans_end(&owned);
    return left != NULL ? mem_format("a process that a worker had left, %s, still ran", left)
                        : NULL;
}

/* ---- changed ----------------------------------------------------------------------------------- */

/* "another program changed the cores of its worker". */
static char *changed(const char *what, const char *whose) {
    return what != NULL ? mem_format("another program changed the %s of %s", what, whose) : NULL;
}

char *guard_restore(guard_t *guard, const worker_link_t *worker) {
    if (guard == NULL)
        return NULL;
    const bool is_same = worker != NULL && worker->bindings.pid == worker->pid;
    AUTO_FREE char *own = changed(bindings_changed(&guard->own, true), "bench");
    AUTO_FREE char *its =
        is_same ? changed(bindings_changed(&worker->bindings, true), "its worker") : NULL;
    AUTO_FREE char *left = end_leftovers(guard);
    return mem_text(its != NULL ? its : own != NULL ? own : left);
}

char *guard_compare(const guard_t *guard, const bindings_t *before) {
    const char *what = guard != NULL ? bindings_changed(before, false) : NULL;
    return what != NULL ? mem_format("the %s of its worker changed meanwhile", what) : NULL;
}

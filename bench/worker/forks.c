#include "worker/forks.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "io/fs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nobody waits for a server that is launched: who needs it has a limit of its own. */
static const double LAUNCH_S = 60;

enum {
    N_PACKAGES = 2,
    NEXT_MOST = 5, /* so many import side by side, and no more than there are cores */
};

typedef struct fork_server {
    worker_link_t link;
    worker_link_t next[NEXT_MOST]; /* each takes its place for a pass, the last first */
    size_t n_next;
    char *python;
    const char *module;
} fork_server_t;

/* What serving.py imports before it answers hello, in its order. */
static const char *const ENGINES[][1 + N_PACKAGES] = {
    {"pytorch", "torch", "numpy"}, {"python", "torch", "numpy"}, {"jax", "jax", "numpy"}};

static const char *const *packages_of(const char *engine) {
    for (size_t i = 0; i < sizeof ENGINES / sizeof *ENGINES; i++)
        if (strcmp(engine, ENGINES[i][0]) == 0)
            return &ENGINES[i][1];
    return NULL;
}

bool forks_know(const char *engine) {
    return packages_of(engine) != NULL;
}

/* The program in "env NAME=VALUE… program". */
static size_t program_in(const text_list_t *argv) {
    size_t at = 0;
    if (strcmp(argv->items[0], "env") == 0)
        for (at = 1; strchr(argv->items[at], '=') != NULL; at++)
            ;
    return at;
}

static fork_server_t *add_server(forks_t *forks, const char *script, const char *python,
                                 const char *const packages[N_PACKAGES]) {
    fork_server_t *server = mem_zeroed(1, sizeof *server);
    text_list_t argv = {0};
    text_list_add(&argv, python);
    text_list_add(&argv, script);
    text_list_add_format(&argv, "%ld", (long)getpid());
    for (size_t i = 0; i < N_PACKAGES; i++)
        text_list_add(&argv, packages[i]);
    worker_link_init(&server->link, packages[0], argv);
    server->link.is_server = true;
    server->python = mem_text(python);
    server->module = packages[0];
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
    char *name = mem_text_n(assignment, (size_t)(value - assignment));
    const bool is_set = json_object_set_new(variables, name, json_string(value + 1)) == 0;
    free(name);
    return is_set;
}

/* Ours, and what the command has before the program. False: JSON cannot say it. */
static bool add_variables(const text_list_t *argv, const char *tag, json_t *variables) {
    char *own = mem_format(WORKER_TAG "=%s", tag);
    bool is_text = true;
    for (char **variable = environ; *variable != NULL; variable++)
        is_text = is_text && set_variable(variables, *variable);
    for (size_t i = 1; i < program_in(argv); i++)
        is_text = is_text && set_variable(variables, argv->items[i]);
    is_text = is_text && set_variable(variables, own);
    free(own);
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
    json_t *variables = json_object(), *words = json_array(), *request = NULL;
    if (add_variables(argv, tag, variables) && add_words(argv, words))
        request =
            json_pack("{s:s, s:O, s:O}", "op", "fork", "argv", words, "environment", variables);
    json_decref(variables);
    json_decref(words);
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
    json_t *answer;
    status_t status = worker_link_ask(server, request, timeout_s, &answer, err);
    server->handed = NULL;
    if (status == STATUS_OK) {
        *pid = (pid_t)json_integer_value(json_object_get(answer, "process"));
        if (*pid <= 0)
            status = error_set(err, STATUS_FAILED, "server %s cannot fork", server->label);
        json_decref(answer);
    }
    if (status != STATUS_OK && server->cannot == NULL)
        server->cannot = mem_text(err->text);
    return status;
}

static status_t start_worker(fork_server_t *server, const text_list_t *argv, const char *tag,
                             double timeout_s, subprocess_t *child, error_t *err) {
    int theirs[3];
    pid_t pid = -1;
    TRY(prepare(&server->link, timeout_s, err));
    json_t *request = fork_request(argv, tag);
    status_t status =
        request != NULL
            ? subprocess_streams(child, theirs, err)
            : error_set(err, STATUS_FAILED, "a variable of the environment or a path is not UTF-8");
    if (status != STATUS_OK) {
        json_decref(request);
        return status;
    }
    server->link.handed = theirs;
    status = ask(&server->link, request, timeout_s, &pid, err);
    for (size_t i = 0; i < 3; i++)
        close(theirs[i]);
    if (status == STATUS_OK)
        child->pid = pid;
    else
        subprocess_close(child);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* NULL: this build has none. */
static fork_server_t *find(forks_t *forks, const char *root, const char *const packages[N_PACKAGES],
                           const char *python) {
    for (size_t i = 0; i < forks->n; i++)
        if (strcmp(forks->items[i]->python, python) == 0 &&
            strcmp(forks->items[i]->module, packages[0]) == 0)
            return forks->items[i];
    char *script = fs_join(root, "reference_common/fork_server.py");
    fork_server_t *server = fs_exists(script) ? add_server(forks, script, python, packages) : NULL;
    if (server != NULL)
        worker_link_launch(&server->link, LAUNCH_S);
    free(script);
    return server;
}

void forks_serve(forks_t *forks, const char *root, const char *engine, worker_link_t *link) {
    const char *const *packages = packages_of(engine);
    if (packages == NULL)
        return;
    link->server = find(forks, root, packages, link->argv.items[program_in(&link->argv)]);
    link->fork = start_worker;
}

/* ---- pass after pass ------------------------------------------------------------------------------ */

static void add_next(fork_server_t *server) {
    worker_link_t *next = &server->next[server->n_next++];
    text_list_t argv = {0};
    for (size_t i = 0; i < server->link.argv.n; i++)
        text_list_add(&argv, server->link.argv.items[i]);
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

void forks_await_next(forks_t *forks) {
    for (size_t i = 0; i < forks->n; i++)
        for (size_t k = 0; k < forks->items[i]->n_next; k++) {
            error_t ignored = ERROR_INIT; /* it is not running then, and taken no more */
            worker_link_start(&forks->items[i]->next[k], LAUNCH_S, &ignored);
        }
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

/* The worker processes of a run, one per engine and device, started when first needed. Engines
 * cuda, cpu and null are this program itself (`bench worker`); every other engine NAME is
 * reference_NAME/worker.py, so a new framework needs no C code. Those workers share the folder
 * $BENCH_SCRATCH, which is removed after the run even if they are killed; isolated ones have one each. */
#ifndef BENCH_WORKER_POOL_H
#define BENCH_WORKER_POOL_H

#include "model/case.h"
#include "walls/walls.h"
#include "worker/client.h"
#include "worker/cpu_use.h"

/* Workers without imports: a server (reference_common/fork_server.py) has imported what the workers of our own engines
 * import, and forks each of them. Their processes are children of this one, as if it had started them, so that it
 * waits for them and kills them alike; this needs PR_SET_CHILD_SUBREAPER (orphans_adopt()). */

/* The processes that fork, one for each Python and set of packages. */
typedef struct forks {
    struct fork_server **items;
    size_t n;
} forks_t;

/* Have the worker `link`, of one of our engines, forked from now on; a server that is new starts to import, for what
 * `compiles` PyTorch's compiler, too. Both are valid until forks_free(). */
void forks_serve(forks_t *forks, const char *root, const char *engine, bool compiles,
                 worker_link_t *link);
/* Is it one of our engines, whose script runs nothing of a user's before a case is opened? */
bool forks_know(const char *engine);
bool forks_have(const forks_t *forks, pid_t pid);

/* Forks of one process have the same layout of memory. So each pass has servers of its own. They import side by side, while
 * cases are opened: launch those of `n` further passes, wait for them before anything is timed, and after each pass let
 * others take over. */
void forks_launch_next(forks_t *forks, size_t n);
/* With `all`, also for servers that are in use, or about to be. */
void forks_await(forks_t *forks, bool all);
void forks_take_next(forks_t *forks);
void forks_free(forks_t *forks);

/* What a role other than "" stands for, if each has its own process. */
#define ORACLE "oracle"
/* Added to the label of PyTorch's process for what is compiled. */
#define WORKER_COMPILES "compile"

/* `bench run --isolate`: each worker has a folder of its own in the scratch folder, and those of
 * contenders are behind walls, if there are any. */
typedef struct isolation {
    walls_t walls;
    char *hidden;         /* the run's folder, absolute */
    const char *compiled; /* for compile caches, in the run's folder; NULL: none */
} isolation_t;

typedef struct workers {
    const char *root;
    const char *bench;    /* program of another build, whose folder is root; NULL: this program */
    const char *own_root; /* with `bench`: provides Python if root has none */
    int device;           /* index of the CUDA device */
    const isolation_t *isolation; /* NULL: workers share folders, and see all files */
    bool forked;                  /* ours, if they are not isolated, are forked */
    bool profiled;                /* something in their processes writes a report at their exit */
    forks_t forks;
    char *scratch; /* $BENCH_SCRATCH; NULL until needed */
    worker_link_t **items;
    size_t n;
} workers_t;

/* The worker for this case; may not have been started. A `role` (ORACLE, or a contender's number) selects
 * a second process of the same kind; the default is "". */
status_t workers_find(workers_t *workers, const case_t *spec, const char *role,
                      worker_link_t **link, error_t *err);
/* The same, started. */
status_t workers_start(workers_t *workers, const case_t *spec, const char *role, double timeout_s,
                       worker_link_t **link, error_t *err);
/* What the worker of an engine on a device answers to hello: it is started, and ends. NULL if it does not start. */
json_t *workers_hello(const char *root, const char *engine, const char *device, int index,
                      double timeout_s, error_t *err);
/* Of a worker that is only asked what it is: isolated, too, as its script may be a contender's. */
const char *workers_asked_role(const workers_t *workers);
void workers_free(workers_t *workers);

/* The Python that runs reference_NAME/worker.py for the engine NAME: $BENCH_NAME_PYTHON,
 * <root>/.venv-NAME/bin/python3, $BENCH_PYTHON, <root>/.venv/bin/python3, $VIRTUAL_ENV/bin/python3, or python3
 * on $PATH; both folders of root may also be under `other_root` (may be NULL) and in the project's folder (.venv
 * there comes after $VIRTUAL_ENV). The error says how to install one. The caller frees `*python`. */
status_t workers_find_python(const char *root, const char *other_root, const char *engine,
                             char **python, error_t *err);
/* The same, with why it is that one: "/usr/bin/python3: python3 on $PATH". The caller frees `*text`. */
status_t workers_describe_python(const char *root, const char *engine, char **text, error_t *err);

/* The command that starts another build, up to the subcommand. It sets $BENCH_ROOT to that build's
 * folder. */
void build_worker_argv(const char *root, const char *bench, text_list_t *argv);

/* What other programs do to a measurement: they bind a worker, or this program, to other cores, change its
 * priority, or go on after the worker that started them has ended. Walls (walls/walls.h) keep contenders from
 * it; where there are none it is noticed, set right, and the round is void. */

enum { GUARD_SIDES = 2 };

typedef struct guard {
    bindings_t own;                      /* of this process */
    const text_list_t *spared;           /* children from before the run (io/subprocess.h) */
    const workers_t *sides[GUARD_SIDES]; /* all workers of the run; NULL: none */
} guard_t;

/* All functions may get a NULL guard, and then do nothing. */

/* How things are now is as they should be: to be called whenever the worker has answered, or we have moved
 * it to another core. */
void guard_note(guard_t *guard, worker_link_t *worker);
/* Set right what was changed since: of this process, of the worker (may be NULL), and what was left. Why the
 * round that follows is void, or NULL; the caller frees it. */
char *guard_restore(guard_t *guard, const worker_link_t *worker);
/* Was the worker changed since `before`, while it had a request? As above. */
char *guard_compare(const guard_t *guard, const bindings_t *before);

#endif

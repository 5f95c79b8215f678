/* The worker processes of a run, one of each kind: found by the engine and device of a case,
 * started when first needed. Engines cuda, cpu and null are this program itself (`bench worker`);
 * every other engine NAME is reference_NAME/worker.py, which is how a new framework is added
 * without any C. Those find $BENCH_SCRATCH in their environment: a folder that they share, and that
 * goes with the run even when they are killed. */
#ifndef BENCH_WORKER_POOL_H
#define BENCH_WORKER_POOL_H

#include "model/case.h"
#include "worker/client.h"

typedef struct workers {
    const char *root;
    const char *bench;    /* the program of another build, whose folder is root; NULL: this one */
    const char *own_root; /* with `bench`: whose Python is taken where root has none */
    int device;           /* index of the CUDA device */
    char *scratch;        /* folder for the workers' own files, removed with them; NULL before */
    worker_link_t **items;
    size_t n;
} workers_t;

/* The worker for this case; not started yet. `role` sets apart a second process of the same kind
 * ("oracle"); "" is the usual one. */
status_t workers_find(workers_t *workers, const case_t *spec, const char *role,
                      worker_link_t **link, error_t *err);
void workers_free(workers_t *workers);

/* The Python that runs reference_NAME/worker.py: $BENCH_PYTHON, <root>/.venv/bin/python3, that of
 * `other_root` (may be NULL), or python3 on $PATH. Fails with how to get one. The caller frees
 * `*python`. */
status_t workers_find_python(const char *root, const char *other_root, char **python, error_t *err);

/* How the program of another build is started, up to the subcommand: it finds its own folder,
 * whatever $BENCH_ROOT says to us. */
void build_worker_argv(const char *root, const char *bench, text_list_t *argv);

#endif

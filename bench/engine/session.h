/* An engine runs cases inside a worker process. It has a device, and for each workload that it can
 * run a table of functions (session_ops_t); an open case is a session. Adding a workload to an
 * engine is one more such table in worker/engine_*.c. */
#ifndef BENCH_ENGINE_SESSION_H
#define BENCH_ENGINE_SESSION_H

#include "base/text.h"
#include "engine/recorder.h"
#include "model/environment.h"

typedef struct open_request {
    const case_t *spec;
    uint64_t seed;
    const char *cubin; /* path, or NULL for a case without a GPU program */
    const char *arch;  /* of the cubin */
} open_request_t;

typedef struct session session_t;

/* A way to run the case and time it. One call adds one sample to each phase it measures (a probe
 * that times a batch of launches adds their average). */
typedef struct probe {
    const char *name;
    status_t (*run)(session_t *session, recorder_t *recorder, error_t *err);
} probe_t;

typedef struct session_ops {
    const char *workload;
    /* Make session->state, declare phases in session->recorder, fill probes, once and resources,
     * and results_json where there is something to tell.
     * Where the case cannot apply, set session->skipped and return a failure with the reason. On
     * failure nothing is left to close. */
    status_t (*open)(session_t *session, const open_request_t *request, error_t *err);
    /* Poison the outputs, run once, write NAME.npy files into `folder`, add each NAME to `arrays`.
     */
    status_t (*output)(session_t *session, const char *folder, text_list_t *arrays, error_t *err);
    /* As the case is about to be closed, behind its last sample: measure what would disturb them,
     * and add it to session->results_json. NULL: nothing. */
    status_t (*finish)(session_t *session, error_t *err);
    void (*close)(session_t *session);
} session_ops_t;

enum { SESSION_MAX_PROBES = 8, SESSION_MAX_ONCE = 8 };

struct session {
    const session_ops_t *ops;
    void *engine; /* the engine's own device state */
    void *state;  /* the case's, owned by ops */
    case_t spec;
    recorder_t recorder;
    probe_t probes[SESSION_MAX_PROBES];
    size_t n_probes;
    named_ns_t once[SESSION_MAX_ONCE]; /* names are static */
    size_t n_once;
    resources_t resources; /* what only the worker can know; code_hash and arch are static here */
    char *results_json; /* what the case leaves at close, a JSON object; NULL for {}; freed by the
                           worker */
    bool skipped;
};

typedef struct engine {
    const char *name;
    /* Open device number `index`, describe it ("device.…", "versions.…") and its one-time costs
     * ("once_ns.…") in `facts`. */
    status_t (*start)(int index, void **state, environment_t *facts, error_t *err);
    void (*stop)(void *state);
    /* After a failure: can the device still be used? NULL: always. */
    status_t (*check)(void *state, error_t *err);
    const session_ops_t *const *workloads; /* NULL-terminated */
} engine_t;

/* For sessions: add a probe or a one-time cost. */
void session_add_probe(session_t *session, const char *name,
                       status_t (*run)(session_t *, recorder_t *, error_t *));
void session_add_once(session_t *session, const char *name, double ns);

#endif

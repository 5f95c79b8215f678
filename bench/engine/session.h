/* An engine runs cases in a worker process. It has a device and, for each workload it supports, a
 * table of functions (session_ops_t), listed in worker/engine_*.c. An open case is a session. */
#ifndef BENCH_ENGINE_SESSION_H
#define BENCH_ENGINE_SESSION_H

#include "base/text.h"
#include "model/environment.h"
#include "model/result.h"

/* Collects the samples of a round: one array of ns per phase. */

enum { RECORDER_MAX_PHASES = 56 };

/* Receives each sample with its place on the host clock, for a trace. A host time spans `from_ns`
 * to `to_ns`; a device time lies somewhere between them. */
typedef struct recorder_watch {
    void (*on_sample)(void *context, const char *name, clock_domain_t clock, double ns,
                      int64_t from_ns, int64_t to_ns);
    void *context;
} recorder_watch_t;

typedef struct recorder {
    struct {
        const char *name; /* static or owned by the session */
        clock_domain_t clock;
        double *ns;
        size_t n, capacity;
    } phases[RECORDER_MAX_PHASES];
    size_t n_phases;
    const recorder_watch_t *watch; /* or NULL */
} recorder_t;

/* Declare a phase; returns its index for recorder_add(). */
unsigned recorder_phase(recorder_t *recorder, const char *name, clock_domain_t clock);
void recorder_add(recorder_t *recorder, unsigned phase, double ns);
/* The same, with the host clock before and after. */
void recorder_add_between(recorder_t *recorder, unsigned phase, double ns, int64_t from_ns,
                          int64_t to_ns);
recorder_t recorder_alike(const recorder_t *recorder); /* with its phases, without its samples */
void recorder_clear(recorder_t *recorder);             /* remove the samples, keep the phases */
void recorder_free(recorder_t *recorder);

typedef struct open_request {
    const case_t *spec;
    uint64_t seed;
    const char *cubin;  /* path, or NULL for a case without a GPU program */
    const char *object; /* path of a shared object, or NULL: the user's code in this process */
    const char *arch;   /* of the cubin */
    const char
        *refill; /* path of the program that fills inputs on the device; NULL: the host does */
    const char *inputs; /* folder of the files of inputs that a function makes; or NULL */
} open_request_t;

typedef struct session session_t;

/* One way to run and time the case. Each call adds one sample to each phase it measures (for a
 * batch of launches, their average). */
typedef struct probe {
    const char *name;
    uint64_t phases;      /* bit i: it has timed phase i of the recorder */
    int64_t run_ns;       /* of the last run of a warm-up, all around it included */
    unsigned n_rewritten; /* samples after ops->rewrite() */
    status_t (*run)(session_t *session, recorder_t *recorder, error_t *err);
} probe_t;

/* The workload of a table that runs described workloads, whatever their names. */
#define SESSION_DESCRIBED "*"

typedef struct session_ops {
    const char *workload;
    /* Create session->state, declare phases in session->recorder, fill probes, once, resources and,
     * if needed, results_json. For a case that does not apply, set session->skipped and return a
     * failure with the reason. After a failure there is nothing to close. */
    status_t (*open)(session_t *session, const open_request_t *request, error_t *err);
    /* Give the inputs the values of this seed (workloads/described/fill.h) in every buffer that a run reads. Called
     * before every request that runs the case, because open cases may share inputs. NULL: there are no inputs. */
    status_t (*refill)(session_t *session, uint64_t seed, error_t *err);
    /* Refill with the same seed, with the work of another: caches and threads that wait meanwhile cannot tell. NULL: a
     * refill changes nothing for them. */
    status_t (*rewrite)(session_t *session, error_t *err);
    /* Fill the outputs with random values, before a fresh sample. NULL: there are no outputs. */
    status_t (*fill)(session_t *session, error_t *err);
    /* Fill the outputs, run once, write NAME.npy files into `folder`, add each NAME to `arrays`. */
    status_t (*output)(session_t *session, const char *folder, text_list_t *arrays, error_t *err);
    /* Write the same files, or some of them, of what the last fresh sample of the compared probe
     * (`host_to_host`, else the one of `total`) left, without running anything again. Neither later
     * probes nor their fill() destroy it. NULL: there are no outputs. */
    status_t (*last)(session_t *session, const char *folder, text_list_t *arrays, error_t *err);
    /* Called before close, after the last sample: measure what would disturb samples and add it to
     * session->results_json. May be NULL. */
    status_t (*finish)(session_t *session, error_t *err);
    void (*close)(session_t *session);
    /* Only where the user's code runs in this process, else NULL: run what a phase times, `runs` times, without reading
     * clocks; `*calls` is how often that is in one run. Fails for a phase that is a part of a sample. */
    status_t (*repeat)(session_t *session, const char *phase, int64_t runs, double *calls,
                       error_t *err);
} session_ops_t;

enum { SESSION_MAX_PROBES = 8, SESSION_MAX_ONCE = 8 };

struct session {
    const session_ops_t *ops;
    void *engine; /* device state of the engine */
    void *state;  /* of the case, owned by ops */
    case_t spec;
    recorder_t recorder;
    recorder_t rewritten; /* of samples after ops->rewrite() */
    int64_t rewrite_ns;   /* how long that took, the last time */
    probe_t probes[SESSION_MAX_PROBES];
    size_t n_probes;
    named_ns_t once[SESSION_MAX_ONCE]; /* names are static */
    size_t n_once;
    resources_t resources; /* those that only the worker knows; code_hash and arch are static */
    char *results_json; /* JSON object for the answer to close; NULL for {}; freed by the worker */
    bool skipped;
    uint64_t seed;      /* of the refill of its inputs */
    bool fresh;         /* this sample is a fresh one */
    bool keep;          /* … and what it leaves will be asked for */
    bool has_last;      /* a fresh sample left its outputs */
    bool has_middle;    /* … and a call in the middle of a graph, on the inputs as opened */
    bool continues;     /* output() starts from the arrays in place that the last one left */
    bool is_unfinished; /* … and writes none, for the next one; nothing is compared with it */
    const char
        *changed; /* an input that the last kept run, or that for `output`, has changed; or NULL */
};

typedef struct engine {
    const char *name;
    /* Open device number `index`; add "device.…", "versions.…" and "once_ns.…" (one-time costs) to
     * `facts`. */
    status_t (*start)(int index, void **state, environment_t *facts, error_t *err);
    void (*stop)(void *state); /* NULL: nothing is to be done */
    /* Is the device still usable? NULL: always. */
    status_t (*check)(void *state, error_t *err);
} engine_t;

/* For session_ops_t.open. */
void session_add_probe(session_t *session, const char *name,
                       status_t (*run)(session_t *, recorder_t *, error_t *));
void session_add_once(session_t *session, const char *name, double ns);

/* Describes the host: CPU, cores, memory, governor, load. */

enum { HOST_TEXT = 128 };

const char *host_cpu_name(char text[HOST_TEXT]); /* or "unknown CPU" */
/* Memory available without swapping; NaN if unknown. */
double host_available_bytes(void);
/* host.name, host.os, host.cpu, host.cores, host.governor, host.load, host.memory_bytes. */
void host_describe(environment_t *env);

#endif

/* The supervisor's end of a worker: start the process, ask one thing at a time, give up after a
 * time limit, say why it died, start a new one. */
#ifndef BENCH_WORKER_CLIENT_H
#define BENCH_WORKER_CLIENT_H

#include "base/text.h"
#include "io/subprocess.h"

#include <jansson.h>
#include <stdbool.h>

enum { STDERR_KEPT = 64 * 1024 };

typedef struct worker_link {
    char *label;      /* "cuda", "pytorch-cpu": for messages */
    text_list_t argv; /* how to start it */
    bool running;
    bool has_run;          /* said hello once */
    bool killed_by_signal; /* a signal ended the last one, and not ours */
    unsigned generation;   /* grows with every start: cases opened in an older one are gone */
    json_t *hello;         /* the answer to hello of the running process; NULL before */
    char *cannot;  /* why no worker of this kind can be had here; NULL: not known to be so */
    bool declined; /* the worker itself says so: it lacks something. Else it is broken */
    subprocess_t child;
    char *line; /* what was read of the answer so far */
    size_t line_bytes, line_capacity;
    char kept[STDERR_KEPT + 1]; /* the end of its stderr */
    size_t kept_bytes;
} worker_link_t;

/* Describe a worker; nothing starts yet. Takes over `argv`. */
void worker_link_init(worker_link_t *link, const char *label, text_list_t argv);
void worker_link_free(worker_link_t *link); /* stops it first */

/* Start it if it is not running, and say hello. A worker that answers its first hello with another
 * status than ok, or does not answer it, cannot be had: link->cannot says why, now and on later
 * calls, and link->declined tells the two apart. One that a signal ended there, from the kernel
 * when memory is short or from anyone, is started once more. */
status_t worker_link_start(worker_link_t *link, double timeout_s, error_t *err);

/* Send `request` (a new reference, taken over) and wait for its answer. When the worker dies, says
 * something that is not the protocol, or takes longer than `timeout_s`, it is killed, and the
 * message holds the end of its stderr. An answer with status failed or skipped is an answer: the
 * caller looks. `*answer` is owned by the caller. */
status_t worker_link_ask(worker_link_t *link, json_t *request, double timeout_s, json_t **answer,
                         error_t *err);

/* Say bye and wait until the process has ended by itself. One that takes longer than `timeout_s` is
 * killed; that, and any exit code but 0, is a failure. */
status_t worker_link_leave(worker_link_t *link, double timeout_s, error_t *err);

/* bye; then kill whatever is left a few seconds later. */
void worker_link_stop(worker_link_t *link);

#endif

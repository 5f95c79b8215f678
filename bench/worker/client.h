/* The supervisor's end of a worker: start the process, send one request at a time, kill it after a
 * time limit, report why it died, restart it. */
#ifndef BENCH_WORKER_CLIENT_H
#define BENCH_WORKER_CLIENT_H

#include "base/text.h"
#include "io/subprocess.h"
#include "worker/cpu_use.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The end of what a worker prints on stderr. */

enum { STDERR_KEPT = 64 * 1024 };

typedef struct stderr_tail {
    char text[STDERR_KEPT + 1];
    size_t bytes;
    size_t request; /* where that of the current request begins */
} stderr_tail_t;

/* The variable by which processes that a worker starts are known as its own. */
#define WORKER_TAG "BENCH_WORKER"

struct fork_server;

typedef struct worker_link {
    char *label; /* "cuda", "pytorch-cpu" */
    text_list_t argv;
    struct fork_server *server; /* forks it (pool.h); NULL: it is started afresh */
    status_t (*fork)(struct worker_link *link,
                     error_t *err); /* by its server, in the time left for its answer */
    char *unforked;                 /* why the last process was not, although there is a server */
    bool forked;                    /* the last process was */
    bool is_server;                 /* is one */
    const int *handed; /* to hand over with the next request of a server: three files; NULL: none */
    bool running;
    bool has_run;          /* has answered hello once */
    bool killed_by_signal; /* the last process died by a signal that we did not send */
    bool died;             /* the last process ended instead of answering */
    unsigned generation;   /* incremented by every start, which closes all cases */
    json_t *hello;         /* answer of the running process to hello; else NULL */
    char *cannot;          /* why no such worker can start; NULL: not known */
    bool declined; /* the worker itself reports that it lacks something; else it is broken */
    subprocess_t child;
    pid_t pid; /* of the worker itself, once it has said hello: child.pid, or behind walls */
    char *tag; /* of this process; NULL: not started */
    bindings_t bindings; /* as its last request left them; pool.h */
    bool ends_at_once;   /* after bye: it writes nothing more, and what it holds goes with it */
    bool is_walled;      /* child.pid is a process of the walls (walls/walls.h) */
    char *folder;        /* what it writes goes here, and no other worker sees it; NULL: anywhere */
    char *compiled;      /* for compile caches, instead of the run's folder; NULL: there */
    int64_t deadline_ns; /* of the answer to the last request */
    char *line;          /* the answer, as far as it was read */
    size_t line_bytes, line_capacity;
    stderr_tail_t tail;
} worker_link_t;

/* Starts nothing yet. Takes ownership of `argv`. */
void worker_link_init(worker_link_t *link, const char *label, text_list_t argv);
void worker_link_free(worker_link_t *link); /* stops it first */

/* Start it if it is not running, and say hello. If the first hello fails, link->cannot says why,
 * for later calls too, and link->declined is true if the worker answered. A worker killed by a
 * signal during its first hello (out of memory, say) is restarted once. */
status_t worker_link_start(worker_link_t *link, double timeout_s, error_t *err);

/* Start the process if it is not running, and do not wait for its hello. */
void worker_link_launch(worker_link_t *link, double timeout_s);
/* End the process at once. */
void worker_link_kill(worker_link_t *link);

/* Append a link to an array that the caller frees, unless it is there. */
void worker_links_add(worker_link_t ***links, size_t *n, worker_link_t *link);
/* Start those that are not running side by side, and wait until all have said hello. One that fails
 * is not running then; its next worker_link_start says why. */
void worker_links_start(worker_link_t *const *links, size_t n, double timeout_s);

/* Send `request` (takes the reference) and wait for its answer. A worker that dies, violates the
 * protocol or exceeds `timeout_s` is killed, and the message contains the end of its stderr;
 * link->died tells the first of these apart. An answer with status failed or skipped is no error here. The caller owns `*answer`. */
status_t worker_link_ask(worker_link_t *link, json_t *request, double timeout_s, json_t **answer,
                         error_t *err);

/* The same in two steps, with other workers asked between them; `request` stays the caller's. */
status_t worker_link_send(worker_link_t *link, const json_t *request, double timeout_s,
                          error_t *err);
status_t worker_link_receive(worker_link_t *link, const json_t *request, json_t **answer,
                             error_t *err);
/* Wait for one of those to which a request was sent: the index of one that has answered, or is late; n: interrupted. */
size_t worker_links_await(worker_link_t *const *links, size_t n);

/* Once `*flag` is not 0, give up workers that have not answered a few seconds later. */
void worker_links_heed(const volatile sig_atomic_t *flag);

/* The label of the worker that is being started; NULL: none is. */
const char *worker_link_starting(void);

bool worker_answer_is_ok(const json_t *answer);
const char *worker_answer_reason(const json_t *answer); /* never NULL */
/* The reason of an answer that is not ok, and what the request left on stderr. The caller frees it. */
char *worker_failure(worker_link_t *link, const json_t *answer);

/* Say bye; kill the process if it is still running a few seconds later, or at once if it may be. */
void worker_link_stop(worker_link_t *link);
void worker_links_stop(worker_link_t *const *links, size_t n);

#endif

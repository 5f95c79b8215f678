/* The workers of the user's own engines (sweep/own_engines.h). */
#ifndef BENCH_CLI_OWN_WORKER_H
#define BENCH_CLI_OWN_WORKER_H

#include <jansson.h>

extern const char *const OWN_DEVICES[]; /* that a script may be started for; ends with NULL */

/* What the worker of an engine answers to hello on a device. */
typedef struct own_worker {
    json_t *hello; /* NULL: it does not start */
    char *reason;  /* why not, in one line; NULL if it does */
} own_worker_t;

/* Starts and ends it. */
own_worker_t own_worker_ask(const char *root, const char *engine, const char *device);
void own_worker_free(own_worker_t *worker);

#endif

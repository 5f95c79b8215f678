/* Contenders of the user's own: reference_NAME/worker.py of an engine that this program does not know. */
#ifndef BENCH_CLI_OWN_ENGINES_H
#define BENCH_CLI_OWN_ENGINES_H

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>

/* Their names, sorted. */
status_t own_engines(const char *root, text_list_t *names, error_t *err);

extern const char *const OWN_DEVICES[]; /* those a script may be started for; ends with NULL */

/* What the worker of an engine answers to hello on a device. */
typedef struct own_worker {
    json_t *hello; /* NULL: it does not start */
    char *reason;  /* why not, in one line; NULL if it does */
} own_worker_t;

/* Starts and ends it. */
own_worker_t own_worker_ask(const char *root, const char *engine, const char *device);
void own_worker_free(own_worker_t *worker);

#endif

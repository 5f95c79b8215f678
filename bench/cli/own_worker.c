#include "cli/own_worker.h"

#include "base/memory.h"
#include "worker/pool.h"

#include <stdlib.h>
#include <string.h>

const char *const OWN_DEVICES[] = {"cpu", "cuda", NULL};

/* A Python exception begins with a head, and ends with what happened. The caller frees it. */
static char *in_one_line(const char *reason) {
    const char *last = strrchr(reason, '\n');
    return mem_format("%.*s%s%s", (int)strcspn(reason, "\n"), reason, last != NULL ? " … " : "",
                      last != NULL ? last + 1 : "");
}

own_worker_t own_worker_ask(const char *root, const char *engine, const char *device) {
    enum { TIMEOUT_S = 20 };
    own_worker_t found = {0};
    workers_t workers = {.root = root};
    case_t spec = {.engine = mem_text(engine), .device = mem_text(device)};
    worker_link_t *link = NULL;
    error_t why = ERROR_INIT;
    if (workers_find(&workers, &spec, "", &link, &why) == STATUS_OK &&
        worker_link_start(link, TIMEOUT_S, &why) == STATUS_OK)
        found.hello = json_incref(link->hello);
    else
        found.reason = in_one_line(why.text);
    case_free(&spec);
    workers_free(&workers);
    return found;
}

void own_worker_free(own_worker_t *worker) {
    json_decref(worker->hello);
    free(worker->reason);
    *worker = (own_worker_t){0};
}

#include "cli/own_engines.h"

#include "base/memory.h"
#include "io/fs.h"
#include "worker/pool.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

const char *const OWN_DEVICES[] = {"cpu", "cuda", NULL};

static bool is_known_engine(const char *name) {
    size_t n;
    const char *const *engines = workload_engines(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(engines[i], name) == 0)
            return true;
    return false;
}

status_t own_engines(const char *root, text_list_t *names, error_t *err) {
    static const char PREFIX[] = "reference_";
    text_list_t folders = {0};
    const status_t status = fs_list(root, "", &folders, err);
    for (size_t i = 0; i < folders.n; i++) {
        const char *name = folders.items[i] + strlen(PREFIX);
        char *script = mem_format("%s/%s/worker.py", root, folders.items[i]);
        if (text_starts(folders.items[i], PREFIX) && fs_exists(script) && !is_known_engine(name))
            text_list_add(names, name);
        free(script);
    }
    text_list_free(&folders);
    return status;
}

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

#include "engine/session.h"

#include <assert.h>
#include <string.h>

static const engine_t *const ENGINES[] = {&engine_cpu, &engine_cuda, &engine_null};

const engine_t *engine_find(const char *name) {
    for (size_t i = 0; i < sizeof ENGINES / sizeof *ENGINES; i++)
        if (strcmp(ENGINES[i]->name, name) == 0)
            return ENGINES[i];
    return NULL;
}

void session_add_probe(session_t *session, const char *name,
                       status_t (*run)(session_t *, recorder_t *, error_t *)) {
    assert(session->n_probes < SESSION_MAX_PROBES);
    session->probes[session->n_probes++] = (probe_t){name, run};
}

void session_add_once(session_t *session, const char *name, double ns) {
    assert(session->n_once < SESSION_MAX_ONCE);
    session->once[session->n_once++] = (named_ns_t){(char *)name, ns};
}

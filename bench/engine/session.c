#include "engine/session.h"

#include <assert.h>

void session_add_probe(session_t *session, const char *name,
                       status_t (*run)(session_t *, recorder_t *, error_t *)) {
    assert(session->n_probes < SESSION_MAX_PROBES);
    session->probes[session->n_probes++] = (probe_t){.name = name, .run = run};
}

void session_add_once(session_t *session, const char *name, double ns) {
    assert(session->n_once < SESSION_MAX_ONCE);
    session->once[session->n_once++] = (named_ns_t){(char *)name, ns};
}

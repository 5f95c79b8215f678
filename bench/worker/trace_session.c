#include "worker/trace_session.h"

#include "base/memory.h"
#include "cuda/nvtx.h"
#include "engine/trace_cupti.h"
#include "io/fs.h"
#include "io/json_text.h"
#include "worker/engines.h"

#include <stdlib.h>

enum { WARMUP_RUNS = 3 };

void trace_session_start(trace_t *trace, const engine_t *engine) {
    char *source = NULL;
    if (trace->on) { /* CUPTI stays attached */
        trace_cupti_flush();
        source = mem_text(trace->source);
    } else if (engine == &engine_cuda) {
        error_t why = ERROR_INIT;
        trace_start(trace, "");
        trace->device_records = trace_cupti_attach(trace, &source, &why) == STATUS_OK;
        if (!trace->device_records)
            source = mem_format("times between events: no CUPTI (%s)", why.text);
    } else {
        source = mem_text("the host's clock");
    }
    trace_start(trace, source);
    free(source);
}

void trace_session_stop(trace_t *trace) {
    trace_cupti_detach();
    trace_stop(trace);
}

/* Outside all ranges, so that the trace omits it. */
static status_t warm_up(session_t *session, error_t *err) {
    for (size_t i = 0; i < session->n_probes; i++)
        for (int n = 0; n < WARMUP_RUNS; n++)
            TRY(session->probes[i].run(session, &session->recorder, err));
    return STATUS_OK;
}

static status_t run_probes(session_t *session, error_t *err) {
    status_t status = STATUS_OK;
    for (size_t i = 0; i < session->n_probes && status == STATUS_OK; i++) {
        nvtx_push(session->probes[i].name);
        status = session->probes[i].run(session, &session->recorder, err);
        nvtx_pop();
    }
    return status;
}

/* For kernels that no sample runs, such as the evaluation after training. */
static status_t run_output(session_t *session, error_t *err) {
    char *folder;
    text_list_t arrays = {0};
    TRY(fs_temporary_folder(&folder, err));
    nvtx_push("output");
    status_t status = session->ops->output(session, folder, &arrays, err);
    nvtx_pop();
    text_list_free(&arrays);
    fs_remove_temporary(&folder);
    return status;
}

static status_t run_once(trace_t *trace, session_t *session, error_t *err) {
    TRY(warm_up(session, err));
    session->recorder.watch = &trace->watch;
    char *label = mem_format("%s sample", session->spec.id);
    nvtx_push(label);
    free(label);
    status_t status = run_probes(session, err);
    nvtx_pop();
    session->recorder.watch = NULL;
    recorder_clear(&session->recorder);
    return status == STATUS_OK ? run_output(session, err) : status;
}

status_t trace_session_run(trace_t *trace, session_t *session, const char *path, int64_t origin_ns,
                           error_t *err) {
    TRY(run_once(trace, session, err));
    trace_cupti_flush();
    return json_save(trace_to_json(trace, origin_ns), JSON_COMPACT | JSON_REAL_PRECISION(15), path,
                     err);
}

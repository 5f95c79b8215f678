#include "engine/trace_cupti.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/folders.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4 << 20, BUFFER_ALIGNMENT = 8 };

static const int KINDS[] = {CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMSET,
                            CUPTI_KIND_DRIVER};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

/* Static, because CUPTI's callbacks take no context. */
static struct {
    trace_t *trace;
    cupti_api_t api;
} attached;

static const char *copy_name(unsigned kind) {
    static const char *const NAMES[] = {[1] = "copy, host to device",
                                        [2] = "copy, device to host",
                                        [8] = "copy, device to device",
                                        [9] = "copy, host to host",
                                        [10] = "copy, device to other device"};
    const bool known = kind < sizeof NAMES / sizeof *NAMES && NAMES[kind] != NULL;
    return known ? NAMES[kind] : "copy";
}

static trace_event_t event_of(trace_kind_t kind, const char *name, uint64_t start_ns,
                              uint64_t end_ns, uint32_t track, uint32_t correlation) {
    return (trace_event_t){.kind = kind,
                           .name = (char *)name,
                           .start_ns = (int64_t)start_ns,
                           .end_ns = (int64_t)end_ns,
                           .track = track,
                           .correlation = correlation};
}

static trace_event_t kernel_event(const cupti_kernel_t *kernel) {
    trace_event_t event = event_of(TRACE_KERNEL, kernel->name, kernel->start_ns, kernel->end_ns,
                                   kernel->stream, kernel->correlation);
    event.graph_node = kernel->graph_node;
    event.registers = kernel->registers;
    event.shared_bytes =
        (uint32_t)kernel->static_shared_bytes + (uint32_t)kernel->dynamic_shared_bytes;
    memcpy(event.grid, kernel->grid, sizeof event.grid);
    memcpy(event.block, kernel->block, sizeof event.block);
    return event;
}

void trace_cupti_record(trace_t *trace, const cupti_api_t *api, const void *record) {
    const cupti_memcpy_t *copy = record;
    const cupti_memset_t *set = record;
    const cupti_call_t *call = record;
    const char *name = NULL;
    trace_event_t event;
    switch (*(const uint32_t *)record) {
    case CUPTI_KIND_CONCURRENT_KERNEL:
        event = kernel_event(record);
        break;
    case CUPTI_KIND_MEMCPY:
        event = event_of(TRACE_COPY, copy_name(copy->copy_kind), copy->start_ns, copy->end_ns,
                         copy->stream, copy->correlation);
        event.bytes = copy->bytes;
        break;
    case CUPTI_KIND_MEMSET:
        event =
            event_of(TRACE_SET, "set", set->start_ns, set->end_ns, set->stream, set->correlation);
        event.bytes = set->bytes;
        break;
    case CUPTI_KIND_DRIVER:
        api->callback_name(CUPTI_DOMAIN_DRIVER, call->callback, &name);
        event = event_of(TRACE_CALL, name != NULL ? name : "driver call", call->start_ns,
                         call->end_ns, call->thread, call->correlation);
        break;
    default:
        return;
    }
    if (event.end_ns != 0 || event.kind == TRACE_CALL)
        trace_add(trace, &event);
}

static uint64_t now_ns(void) {
    return (uint64_t)clock_ns();
}

static void on_requested(uint8_t **buffer, size_t *bytes, size_t *most_records) {
    *buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
    *bytes = *buffer != NULL ? BUFFER_BYTES : 0;
    *most_records = 0;
}

static void on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                         size_t valid_bytes) {
    (void)context;
    (void)stream;
    (void)bytes;
    void *record = NULL;
    while (attached.trace != NULL &&
           attached.api.next_record(buffer, valid_bytes, &record) == CUPTI_OK)
        trace_cupti_record(attached.trace, &attached.api, record);
    free(buffer);
}

static status_t begin(const cupti_api_t *api, error_t *err) {
    TRY(cupti_check(api, api->register_clock(now_ns), "cuptiActivityRegisterTimestampCallback",
                    err));
    TRY(cupti_check(api, api->register_callbacks(on_requested, on_completed),
                    "cuptiActivityRegisterCallbacks", err));
    for (size_t i = 0; i < N_KINDS; i++)
        TRY(cupti_check(api, api->enable(KINDS[i]), "cuptiActivityEnable", err));
    return STATUS_OK;
}

status_t trace_cupti_attach(trace_t *trace, char **source, error_t *err) {
    text_list_t paths = {0};
    char *root;
    uint32_t version = 0;
    *source = NULL;
    TRY(folders_data(&root, err));
    cupti_candidates(root, &paths);
    free(root);
    error_t why = ERROR_INIT; /* of the first library, the most likely one */
    status_t status = STATUS_FAILED;
    for (size_t i = 0; i < paths.n && status != STATUS_OK; i++) {
        cupti_api_t api;
        status = cupti_open(paths.items[i], &api, &version, &why);
        if (status != STATUS_OK)
            continue;
        attached.api = api;
        attached.trace = trace;
        status = begin(&api, &why);
        if (status != STATUS_OK)
            trace_cupti_detach();
        else
            *source = mem_format("CUPTI, version %u (%s)", version, paths.items[i]);
    }
    text_list_free(&paths);
    return status == STATUS_OK ? STATUS_OK : error_set(err, why.status, "%s", why.text);
}

void trace_cupti_flush(void) {
    if (attached.trace != NULL)
        attached.api.flush_all(CUPTI_FLUSH_FORCED);
}

void trace_cupti_detach(void) {
    if (attached.trace == NULL)
        return;
    for (size_t i = 0; i < N_KINDS; i++)
        attached.api.disable(KINDS[i]);
    trace_cupti_flush();
    attached.trace = NULL;
}

bool trace_cupti_attached(void) {
    return attached.trace != NULL;
}

void trace_cupti_finish(void) {
    if (attached.trace == NULL && attached.api.finalize != NULL)
        attached.api.finalize();
    attached.api = (cupti_api_t){0};
}

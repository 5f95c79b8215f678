/* The probes of a sample on a GPU: one per question, because every clock reading inside a sample
 * changes the result. */
#include "base/clock.h"
#include "base/memory.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A batch must be much longer than its start-up cost (a few µs, shared by its launches) and much
 * shorter than a round. Sizes are powers of two, and the same for all short kernels, so that two
 * runs do not divide by different numbers. */
enum { BATCH_TARGET_NS = 400000, BATCH_MOST = 256, LAUNCH_FLOOR_NS = 4000 };

/* Of a call in parts, for each of which the host waits: then it takes a millisecond or two. */
enum { PARTED_LAUNCHES_MOST = 64 };

/* Of a batch: so many take some ten milliseconds to capture and to instantiate. */
enum { NODES_MOST = 1 << 14 };

enum { MALLOC, H2D, KERNEL, D2H, FREE, TOTAL, RESIDUAL, HOST_TO_HOST };
enum { MALLOC_DEVICE = HOST_TO_HOST + 1, H2D_DEVICE, D2H_DEVICE, FREE_DEVICE };
enum { KERNEL_GRAPH = FREE_DEVICE + 1, KERNEL_STREAM, KERNEL_COLD };
enum { TRAIN = KERNEL, TRAIN_DEVICE = KERNEL_COLD + 1, STEP_DEVICE, STEP };

static void add(session_t *session, recorder_t *recorder, unsigned which, double ns) {
    const gpu_sample_t *s = session->state;
    if (s->has_phase[which])
        recorder_add(recorder, s->phase[which], ns);
}

static void add_between(session_t *session, recorder_t *recorder, unsigned which, double ns,
                        int64_t from_ns, int64_t to_ns) {
    const gpu_sample_t *s = session->state;
    if (s->has_phase[which])
        recorder_add_between(recorder, s->phase[which], ns, from_ns, to_ns);
}

/* The steps of a sample, which took `parts`, and what is left of its time. */
static void add_steps(session_t *session, recorder_t *recorder, const int64_t at[6],
                      const double parts[5]) {
    const gpu_sample_t *s = session->state;
    double total_ns = (double)(at[5] - at[0]), residual_ns = total_ns;
    for (unsigned i = MALLOC; i <= FREE; i++) {
        add_between(session, recorder, i, parts[i], at[i - MALLOC], at[i - MALLOC + 1]);
        if (s->has_phase[i])
            residual_ns -= parts[i];
    }
    add_between(session, recorder, TOTAL, total_ns, at[0], at[5]);
    add(session, recorder, RESIDUAL, residual_ns);
}

/* The study's phases on the host clock, synchronised; the kernel between two events. */
static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    gpu_t *gpu = s->gpu;
    int64_t at[6];
    TRY(gpu_sample_host_inputs(s, err));
    TRY(gpu_sync(gpu, err));
    at[0] = clock_ns();
    TRY(gpu_sample_allocate(s, false, err));
    if (s->alloc == ALLOC_ASYNC)
        TRY(gpu_sync(gpu, err));
    at[1] = clock_ns();
    TRY(gpu_sample_copy_in(s, err));
    if (gpu_sample_copies_in(s))
        TRY(gpu_sync(gpu, err));
    at[2] = clock_ns();
    TRY(gpu_record(gpu, 0, err));
    TRY(s->launch(s, err));
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    at[3] = clock_ns();
    TRY(gpu_sample_copy_out(s, err));
    if (gpu_sample_copies_out(s))
        TRY(gpu_sync(gpu, err));
    at[4] = clock_ns();
    TRY(gpu_sample_release(s, err));
    if (s->alloc == ALLOC_ASYNC)
        TRY(gpu_sync(gpu, err));
    at[5] = clock_ns();
    double kernel_ns;
    TRY(gpu_elapsed(gpu, 0, 1, &kernel_ns, err));

    const double parts[] = {(double)(at[1] - at[0]), (double)(at[2] - at[1]), kernel_ns,
                            (double)(at[4] - at[3]), (double)(at[5] - at[4])};
    add_steps(session, recorder, at, parts);
    if (!session->keep)
        return STATUS_OK;
    gpu_sample_keep(s);
    return gpu_sample_find_changed(session, err);
}

/* The same phases between events, as in the original study. */
static status_t probe_device(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    gpu_t *gpu = s->gpu;
    TRY(gpu_sample_host_inputs(s, err));
    TRY(gpu_sync(gpu, err));
    TRY(gpu_record(gpu, 0, err));
    TRY(gpu_sample_allocate(s, false, err));
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sample_copy_in(s, err));
    TRY(gpu_record(gpu, 2, err));
    TRY(s->launch(s, err));
    TRY(gpu_record(gpu, 3, err));
    TRY(gpu_sample_copy_out(s, err));
    TRY(gpu_record(gpu, 4, err));
    TRY(gpu_sample_release(s, err));
    TRY(gpu_record(gpu, 5, err));
    TRY(gpu_sync(gpu, err));
    static const struct {
        unsigned which, from;
    } SPANS[] = {{MALLOC_DEVICE, 0}, {H2D_DEVICE, 1}, {D2H_DEVICE, 3}, {FREE_DEVICE, 4}};
    for (size_t i = 0; i < sizeof SPANS / sizeof *SPANS; i++) {
        double ns;
        TRY(gpu_elapsed(gpu, SPANS[i].from, SPANS[i].from + 1, &ns, err));
        add(session, recorder, SPANS[i].which, ns);
    }
    return STATUS_OK;
}

static status_t probe_host_to_host(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    TRY(gpu_sample_host_inputs(s, err));
    TRY(gpu_sync(s->gpu, err));
    int64_t start_ns = clock_ns();
    TRY(gpu_sample_run(s, err));
    int64_t end_ns = clock_ns();
    if (session->fresh)
        gpu_sample_keep(s);
    if (session->keep)
        TRY(gpu_sample_find_changed(session, err));
    add_between(session, recorder, HOST_TO_HOST, (double)(end_ns - start_ns), start_ns, end_ns);
    return STATUS_OK;
}

static status_t launch_batch(gpu_sample_t *s, error_t *err) {
    TRY(gpu_record(s->gpu, 0, err));
    return cuda_check(&s->gpu->api, s->gpu->api.graph_launch(s->batch, s->gpu->stream),
                      "graph_launch", err);
}

/* What the last launch of the batch left, and whether the inputs are still what they were. */
static status_t keep_batch(session_t *session, error_t *err) {
    TRY(gpu_sync(((gpu_sample_t *)session->state)->gpu, err));
    TRY(gpu_sample_keep_fixed(session->state, err));
    return gpu_sample_find_changed(session, err);
}

/* The device is busy with the batch while the host submits the rest. */
static status_t time_fresh_batch(session_t *session, double *ns, double *more_ns, error_t *err) {
    gpu_sample_t *s = session->state;
    TRY(launch_batch(s, err));
    TRY(gpu_record(s->gpu, 1, err));
    if (session->keep)
        TRY(keep_batch(session, err));
    TRY(gpu_changing_launch(s, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(gpu_changing_time(s, more_ns, err));
    if (session->keep) {
        TRY(gpu_sample_fill(session, err));
        TRY(gpu_changing_check(s, err));
    }
    session->has_middle = session->keep;
    return gpu_elapsed(s->gpu, 0, 1, ns, err);
}

static void note_left_out(session_t *session) {
    if (session->results_json == NULL)
        session->results_json =
            mem_text("{\"notes\":[\"check: kernel_graph was not compared on changing inputs (no "
                     "memory for a copy of them)\"]}");
}

/* Of launches on new inputs that stay the same, and what one takes longer where they change. If this
 * is the only sample of a round, the time without that is an ordinary one. */
static status_t probe_fresh_graph(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    const bool is_only = recorder->phases[s->phase[KERNEL_GRAPH]].n == 0;
    bool possible;
    double ns, more_ns = 0;
    TRY(gpu_changing_begin(s, &possible, err));
    if (possible) {
        TRY(time_fresh_batch(session, &ns, &more_ns, err));
    } else {
        note_left_out(session);
        TRY(launch_batch(s, err));
        TRY(device_time(s->gpu, &ns, err));
        if (session->keep)
            TRY(keep_batch(session, err));
    }
    ns /= s->batch_launches;
    if (is_only)
        add(session, recorder, KERNEL_GRAPH, ns);
    if (possible || !is_only)
        add(session, recorder, KERNEL_GRAPH, ns + more_ns);
    return STATUS_OK;
}

/* Directly after another batch, as in a long row: alone, on an idle device, a batch of two launches took up to 9 % longer (H200).
 * A fresh sample has none before it: no untimed run may see its inputs. */
static status_t probe_kernel_graph(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    if (session->fresh)
        return probe_fresh_graph(session, recorder, err);
    double ns;
    TRY(launch_batch(s, err));
    TRY(launch_batch(s, err));
    TRY(device_time(s->gpu, &ns, err));
    add(session, recorder, KERNEL_GRAPH, ns / s->batch_launches);
    return STATUS_OK;
}

/* Where a call changes its inputs: one in a graph, after a copy of them that no clock sees. */
static status_t probe_call_in_graph(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    double ns;
    gpu_sample_use_fixed(s);
    TRY(gpu_sample_copy_inputs(s, true, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(launch_batch(s, err));
    TRY(device_time(s->gpu, &ns, err));
    if (session->keep)
        TRY(keep_batch(session, err));
    add(session, recorder, KERNEL, ns);
    return STATUS_OK;
}

/* The device time of `launches` launches in a row. */
static status_t time_launches(gpu_sample_t *s, unsigned launches, double *ns, error_t *err) {
    TRY(gpu_record(s->gpu, 0, err));
    for (unsigned i = 0; i < launches; i++)
        TRY(s->launch(s, err));
    return device_time(s->gpu, ns, err);
}

static status_t probe_kernel_stream(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    double ns;
    gpu_sample_use_fixed(s);
    TRY(time_launches(s, s->batch_launches, &ns, err));
    add(session, recorder, KERNEL_STREAM, ns / s->batch_launches);
    return STATUS_OK;
}

/* With inputs in DRAM, as after other work. */
static status_t probe_kernel_cold(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    double ns;
    gpu_sample_use_fixed(s);
    if (gpu_sample_has(s, ARRAY_IN_PLACE))
        TRY(gpu_sample_copy_inputs(s, true, err));
    TRY(gpu_flush_l2(s->gpu, err));
    TRY(time_launches(s, 1, &ns, err));
    add(session, recorder, KERNEL_COLD, ns);
    return STATUS_OK;
}

/* A whole call, so that each launch finds what the one before left. */
static status_t probe_parts(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    device_span_t spans[GPU_PARTS_MOST] = {0};
    gpu_sample_use_fixed(s);
    if (gpu_sample_has(s, ARRAY_IN_PLACE))
        TRY(gpu_sample_copy_inputs(s, true, err));
    s->parts.spans = spans;
    const status_t status = s->launch(s, err);
    s->parts.spans = NULL;
    TRY(status);
    for (unsigned i = 0; i < s->parts.n; i++)
        recorder_add_between(recorder, s->parts.first + i, spans[i].ns, spans[i].from_ns,
                             spans[i].to_ns);
    return STATUS_OK;
}

unsigned gpu_batch_launches(double single_ns, size_t kernels) {
    unsigned n = BATCH_MOST;
    while (n > 2 &&
           (n * (single_ns - LAUNCH_FLOOR_NS) > BATCH_TARGET_NS || n * kernels > NODES_MOST))
        n /= 2;
    return n;
}

static status_t launch_many(gpu_sample_t *s, error_t *err) {
    for (unsigned i = 0; i < s->batch_launches; i++)
        TRY(s->launch(s, err));
    return STATUS_OK;
}

/* The capture ends also where a launch fails. */
static status_t capture(gpu_sample_t *s, status_t (*submit)(gpu_sample_t *s, error_t *err),
                        cu_graph_exec_t *graph, error_t *err) {
    error_t second = ERROR_INIT;
    gpu_sample_use_fixed(s);
    TRY(gpu_capture_begin(s->gpu, err));
    const status_t status = submit(s, err), ended = gpu_capture_end(s->gpu, graph, &second);
    return status == STATUS_OK && ended != STATUS_OK ? error_set(err, ended, "%s", second.text)
                                                     : status;
}

/* `*captured` is false for code of the user's that cannot be: `why` says so. */
static status_t capture_launches(gpu_sample_t *s, unsigned launches, bool *captured, error_t *why,
                                 error_t *err) {
    s->batch_launches = launches;
    *captured = capture(s, launch_many, &s->batch, why) == STATUS_OK;
    if (*captured)
        return STATUS_OK;
    if (!s->is_foreign)
        return error_set(err, why->status, "%s", why->text);
    gpu_graph_free(s->gpu, &s->batch);
    return gpu_sync(s->gpu, err);
}

static void note_not_captured(session_t *session, const char *why) {
    AUTO_FREE char *note =
        mem_format("launch: run cannot be captured in a CUDA graph (%s): single calls are "
                   "timed, each with a wait for the device",
                   why);
    json_auto_t *results = json_pack("{s:[s]}", "notes", note);
    if (session->results_json == NULL && results != NULL)
        session->results_json = json_dumps(results, JSON_COMPACT);
}

static status_t make_batch(session_t *session, bool *captured, error_t *err) {
    gpu_sample_t *s = session->state;
    error_t why = ERROR_INIT;
    gpu_sample_use_fixed(s);
    double ns = 0;
    for (int i = 0; i < 3; i++)
        TRY(time_launches(s, 1, &ns, err));
    TRY(capture_launches(s, gpu_batch_launches(ns, s->kernels), captured, &why, err));
    if (!*captured)
        note_not_captured(session, why.text);
    return STATUS_OK;
}

static status_t make_whole(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    const status_t status = capture(s, gpu_sample_submit, &s->whole, err);
    if (status == STATUS_OK || !s->is_foreign)
        return status;
    error_within(err, "launch=graph: run cannot be captured");
    return session_skip(session, status);
}

/* What launch=graph has beside the whole sample, if nothing more is in one. */
static status_t make_call(gpu_sample_t *s, bool *captured, error_t *err) {
    error_t why = ERROR_INIT;
    TRY(capture_launches(s, 1, captured, &why, err));
    return *captured ? gpu_graph_upload(s->gpu, s->batch, err) : STATUS_OK;
}

/* A graph goes to the device with its first launch, which must not be slower than others. */
static status_t recapture(gpu_sample_t *s, error_t *err) {
    const bool batch = s->batch != NULL, whole = s->whole != NULL;
    gpu_graph_free(s->gpu, &s->batch);
    gpu_graph_free(s->gpu, &s->whole);
    if (batch)
        TRY(capture(s, launch_many, &s->batch, err));
    if (whole)
        TRY(capture(s, gpu_sample_submit, &s->whole, err));
    if (batch)
        TRY(gpu_graph_upload(s->gpu, s->batch, err));
    return whole ? gpu_graph_upload(s->gpu, s->whole, err) : STATUS_OK;
}

static void declare(session_t *session, unsigned which, const char *name, clock_domain_t clock,
                    bool applies) {
    gpu_sample_t *s = session->state;
    s->has_phase[which] = applies;
    if (applies)
        s->phase[which] = recorder_phase(&session->recorder, name, clock);
}

static void add_parts(session_t *session) {
    gpu_sample_t *s = session->state;
    if (s->parts.n < 2 || s->kernels > PARTED_LAUNCHES_MOST)
        return;
    s->parts.first = (unsigned)session->recorder.n_phases;
    for (size_t i = 0; i < s->parts.n; i++)
        recorder_phase(&session->recorder, s->parts.phases[i], CLOCK_DEVICE);
    session_add_probe(session, "parts", probe_parts);
}

/* ---- a training that is compared by its steps -------------------------------------------------------- */

status_t gpu_training_upload(gpu_sample_t *s, error_t *err) {
    if (!s->takes_in_sample)
        gpu_sample_use_fixed(s);
    return gpu_sample_copy_in(s, err);
}

status_t gpu_training_run(gpu_sample_t *s, error_t *err) {
    return s->batch == NULL
               ? s->launch(s, err)
               : cuda_check(&s->gpu->api, s->gpu->api.graph_launch(s->batch, s->gpu->stream),
                            "graph_launch", err);
}

static status_t train(gpu_sample_t *s, int64_t at[6], error_t *err) {
    gpu_t *gpu = s->gpu;
    TRY(gpu_sync(gpu, err));
    at[0] = clock_ns();
    if (s->takes_in_sample)
        TRY(gpu_sample_allocate(s, false, err));
    at[1] = clock_ns();
    TRY(gpu_training_upload(s, err));
    TRY(gpu_sync(gpu, err));
    at[2] = clock_ns();
    TRY(gpu_record(gpu, 0, err));
    TRY(gpu_training_run(s, err));
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    at[3] = clock_ns();
    TRY(gpu_sample_copy_out(s, err));
    TRY(gpu_sync(gpu, err));
    at[4] = clock_ns();
    if (s->takes_in_sample)
        TRY(gpu_sample_release(s, err));
    at[5] = clock_ns();
    return STATUS_OK;
}

static status_t probe_training(session_t *session, recorder_t *recorder, error_t *err) {
    gpu_sample_t *s = session->state;
    const double steps = (double)s->steps;
    int64_t at[6];
    double device_ns, parts[5];
    TRY(gpu_sample_host_inputs(s, err));
    const status_t status = train(s, at, err);
    if (status != STATUS_OK && s->takes_in_sample)
        gpu_sample_release(s, NULL);
    TRY(status);
    TRY(gpu_elapsed(s->gpu, 0, 1, &device_ns, err));
    for (unsigned i = 0; i < 5; i++)
        parts[i] = (double)(at[i + 1] - at[i]);
    add_between(session, recorder, TRAIN_DEVICE, device_ns, at[2], at[3]);
    add(session, recorder, STEP_DEVICE, device_ns / steps);
    add(session, recorder, STEP, parts[TRAIN] / steps);
    add_steps(session, recorder, at, parts);
    if (session->fresh)
        gpu_sample_keep(s);
    return session->keep ? gpu_sample_find_changed(session, err) : STATUS_OK;
}

/* Memory of a graph's kernels is allocated once. */
static status_t add_training(session_t *session, bool in_graph, error_t *err) {
    gpu_sample_t *s = session->state;
    if (in_graph)
        TRY(make_call(s, &in_graph, err));
    s->waits = s->is_foreign && !in_graph;
    s->takes_in_sample = !in_graph && gpu_sample_allocates(s);
    declare(session, TRAIN_DEVICE, "train_device", CLOCK_DEVICE, true);
    declare(session, STEP_DEVICE, "step_device", CLOCK_DEVICE, true);
    declare(session, MALLOC, "malloc", CLOCK_HOST, s->takes_in_sample);
    declare(session, H2D, "h2d", CLOCK_HOST, true);
    declare(session, TRAIN, "train", CLOCK_HOST, true);
    declare(session, D2H, "d2h", CLOCK_HOST, true);
    declare(session, FREE, "free", CLOCK_HOST, s->takes_in_sample);
    declare(session, TOTAL, "total", CLOCK_HOST, true);
    declare(session, RESIDUAL, "residual", CLOCK_HOST, true);
    declare(session, STEP, "step", CLOCK_HOST, true);
    session_add_probe(session, "phases", probe_training);
    add_parts(session);
    return STATUS_OK;
}

status_t gpu_sample_add_probes(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    bool allocates = gpu_sample_allocates(s), in = gpu_sample_copies_in(s);
    bool out = gpu_sample_copies_out(s);
    const bool whole = s->graph;
    bool repeats =
        !gpu_sample_has(s, ARRAY_IN_PLACE); /* else a launch would find what the last one left */
    bool call = whole && !repeats;          /* one that changes its inputs, in a graph */
    s->recapture = recapture;
    if (s->steps > 0)
        return add_training(session, whole, err);
    if (whole)
        TRY(make_whole(session, err));
    if (call)
        TRY(make_call(s, &call, err));
    if (repeats)
        TRY(make_batch(session, &repeats, err));
    s->waits = s->is_foreign && !repeats && !whole;
    declare(session, MALLOC, "malloc", CLOCK_HOST, !whole && allocates);
    declare(session, H2D, "h2d", CLOCK_HOST, !whole && in);
    declare(session, KERNEL, "kernel", CLOCK_DEVICE, !whole || call);
    declare(session, D2H, "d2h", CLOCK_HOST, !whole && out);
    declare(session, FREE, "free", CLOCK_HOST, !whole && allocates);
    declare(session, TOTAL, "total", CLOCK_HOST, !whole);
    declare(session, RESIDUAL, "residual", CLOCK_HOST, !whole);
    declare(session, MALLOC_DEVICE, "malloc_device", CLOCK_DEVICE, !whole && allocates);
    declare(session, H2D_DEVICE, "h2d_device", CLOCK_DEVICE, !whole && in);
    declare(session, D2H_DEVICE, "d2h_device", CLOCK_DEVICE, !whole && out);
    declare(session, FREE_DEVICE, "free_device", CLOCK_DEVICE, !whole && allocates);
    declare(session, HOST_TO_HOST, "host_to_host", CLOCK_HOST, true);
    declare(session, KERNEL_GRAPH, "kernel_graph", CLOCK_DEVICE, repeats);
    declare(session, KERNEL_STREAM, "kernel_stream", CLOCK_DEVICE, repeats);
    declare(session, KERNEL_COLD, "kernel_cold", CLOCK_DEVICE, true);
    if (!whole) {
        session_add_probe(session, "phases", probe_phases);
        session_add_probe(session, "device", probe_device);
    }
    session_add_probe(session, "host_to_host", probe_host_to_host);
    if (call)
        session_add_probe(session, "kernel", probe_call_in_graph);
    if (repeats) {
        session_add_probe(session, "kernel_graph", probe_kernel_graph);
        session_add_probe(session, "kernel_stream", probe_kernel_stream);
    }
    session_add_probe(session, "kernel_cold", probe_kernel_cold);
    add_parts(session);
    return STATUS_OK;
}

/* Of a graph the device's clock sees neither a launch nor a wait: one wait after all. */
status_t gpu_sample_repeat(session_t *session, const char *phase, int64_t runs, double *calls,
                           error_t *err) {
    gpu_sample_t *s = session->state;
    const bool in_graph = strcmp(phase, "kernel_graph") == 0 && s->batch != NULL;
    const bool trains = strcmp(phase, "train") == 0 && s->steps > 0;
    if (!in_graph && !trains && strcmp(phase, "host_to_host") != 0)
        return error_set(err, STATUS_FAILED, "%s cannot be run without the rest of a sample",
                         phase);
    *calls = in_graph ? s->batch_launches : 1;
    TRY(gpu_sample_host_inputs(s, err));
    if (trains) {
        gpu_sample_use_fixed(s);
        TRY(gpu_sample_copy_inputs(s, true, err));
    }
    for (int64_t i = 0; i < runs; i++)
        TRY(trains     ? gpu_training_run(s, err)
            : in_graph ? launch_batch(s, err)
                       : gpu_sample_run(s, err));
    return gpu_sync(s->gpu, err);
}

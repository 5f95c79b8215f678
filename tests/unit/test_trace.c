/* What becomes of CUPTI's records, ranges and phases: hand-made ones in, Chrome Trace JSON out. */
#include "base/clock.h"
#include "checks.h"
#include "cuda/nvtx.h"
#include "engine/trace.h"

/* The layouts that cuda/cupti.h declares, against the toolkit's own where it is installed. */
#if __has_include(<cupti_activity.h>)
#include <cupti.h>

#define SAME(ours, our_field, theirs, their_field)                                                 \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #our_field)

SAME(cupti_kernel_t, registers, CUpti_ActivityKernel9, registersPerThread);
SAME(cupti_kernel_t, start_ns, CUpti_ActivityKernel9, start);
SAME(cupti_kernel_t, end_ns, CUpti_ActivityKernel9, end);
SAME(cupti_kernel_t, stream, CUpti_ActivityKernel9, streamId);
SAME(cupti_kernel_t, grid, CUpti_ActivityKernel9, gridX);
SAME(cupti_kernel_t, block, CUpti_ActivityKernel9, blockX);
SAME(cupti_kernel_t, static_shared_bytes, CUpti_ActivityKernel9, staticSharedMemory);
SAME(cupti_kernel_t, dynamic_shared_bytes, CUpti_ActivityKernel9, dynamicSharedMemory);
SAME(cupti_kernel_t, correlation, CUpti_ActivityKernel9, correlationId);
SAME(cupti_kernel_t, name, CUpti_ActivityKernel9, name);
SAME(cupti_kernel_t, graph_node, CUpti_ActivityKernel9, graphNodeId);
SAME(cupti_memcpy_t, copy_kind, CUpti_ActivityMemcpy5, copyKind);
SAME(cupti_memcpy_t, bytes, CUpti_ActivityMemcpy5, bytes);
SAME(cupti_memcpy_t, start_ns, CUpti_ActivityMemcpy5, start);
SAME(cupti_memcpy_t, end_ns, CUpti_ActivityMemcpy5, end);
SAME(cupti_memcpy_t, stream, CUpti_ActivityMemcpy5, streamId);
SAME(cupti_memcpy_t, correlation, CUpti_ActivityMemcpy5, correlationId);
SAME(cupti_memset_t, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_memset_t, start_ns, CUpti_ActivityMemset4, start);
SAME(cupti_memset_t, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_memset_t, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_call_t, callback, CUpti_ActivityAPI, cbid);
SAME(cupti_call_t, start_ns, CUpti_ActivityAPI, start);
SAME(cupti_call_t, thread, CUpti_ActivityAPI, threadId);
SAME(cupti_call_t, correlation, CUpti_ActivityAPI, correlationId);
_Static_assert((int)CUPTI_KIND_DRIVER == (int)CUPTI_ACTIVITY_KIND_DRIVER, "driver calls");
_Static_assert((int)CUPTI_KIND_MEMSET == (int)CUPTI_ACTIVITY_KIND_MEMSET, "sets");
_Static_assert((int)CUPTI_KIND_MEMCPY == (int)CUPTI_ACTIVITY_KIND_MEMCPY, "copies");
_Static_assert((int)CUPTI_KIND_CONCURRENT_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
               "kernels");
#endif

static int64_t now_ns = 1000000;

static int64_t injected_now(void *context) {
    return now_ns;
}

static int callback_name(int domain, uint32_t callback, const char **name) {
    assert_int_equal(domain, CUPTI_DOMAIN_DRIVER);
    *name = callback == 307 ? "cuLaunchKernel" : NULL;
    return CUPTI_OK;
}

static const cupti_api_t API = {.callback_name = callback_name};

static void set_up(trace_t *trace, bool device_records) {
    clock_inject(injected_now, NULL);
    now_ns = 1000000;
    *trace = (trace_t){0};
    trace_start(trace, "a test");
    trace->device_records = device_records;
    nvtx_push("sample");
}

/* Ends the range 10 µs after it began. */
static json_t *written(trace_t *trace) {
    now_ns = 1010000;
    nvtx_pop();
    json_t *json = trace_to_json(trace, 1000000);
    trace_stop(trace);
    clock_inject(NULL, NULL);
    return json;
}

static const json_t *find(const json_t *json, const char *category, const char *name) {
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(json, "traceEvents"), i, event) {
        const char *found = json_string_value(json_object_get(event, "cat"));
        if (found != NULL && strcmp(found, category) == 0 &&
            strcmp(json_string_value(json_object_get(event, "name")), name) == 0)
            return event;
    }
    return NULL;
}

static const json_t *expect(const json_t *json, const char *category, const char *name,
                            double start_us, double duration_us) {
    const json_t *event = find(json, category, name);
    if (event == NULL)
        fail_msg("no %s \"%s\"", category, name);
    assert_string_equal(json_string_value(json_object_get(event, "ph")), "X");
    assert_near(json_number_value(json_object_get(event, "ts")), start_us, 1e-6);
    assert_near(json_number_value(json_object_get(event, "dur")), duration_us, 1e-6);
    return event;
}

static json_int_t number_in(const json_t *event, const char *key) {
    return json_integer_value(json_object_get(json_object_get(event, "args"), key));
}

static json_int_t tid(const json_t *event) {
    return json_integer_value(json_object_get(event, "tid"));
}

static cupti_kernel_t kernel(const char *name, uint64_t start_ns, uint64_t end_ns,
                             uint32_t stream) {
    return (cupti_kernel_t){.kind = CUPTI_KIND_CONCURRENT_KERNEL,
                            .name = name,
                            .start_ns = start_ns,
                            .end_ns = end_ns,
                            .stream = stream,
                            .correlation = 17,
                            .registers = 40,
                            .static_shared_bytes = 256,
                            .dynamic_shared_bytes = 1024,
                            .grid = {132, 2, 1},
                            .block = {256, 1, 1}};
}

static void test_records(void **state) {
    trace_t trace;
    set_up(&trace, true);
    cupti_kernel_t launched = kernel("forward", 1002000, 1003500, 7);
    launched.graph_node = 5;
    const cupti_memcpy_t in = {.kind = CUPTI_KIND_MEMCPY,
                               .copy_kind = 1,
                               .bytes = 4096,
                               .start_ns = 1001000,
                               .end_ns = 1001250,
                               .stream = 7};
    const cupti_memset_t set = {.kind = CUPTI_KIND_MEMSET,
                                .bytes = 64,
                                .start_ns = 1004000,
                                .end_ns = 1004100,
                                .stream = 7};
    const cupti_call_t call = {.kind = CUPTI_KIND_DRIVER,
                               .callback = 307,
                               .start_ns = 1001500,
                               .end_ns = 1001900,
                               .thread = 99,
                               .correlation = 17};
    const uint32_t unknown[16] = {77};
    const void *const records[] = {&launched, &in, &set, &call, unknown};
    for (size_t i = 0; i < COUNT_OF(records); i++)
        trace_cupti_record(&trace, &API, records[i]);
    json_auto_t *json = written(&trace);

    const json_t *event = expect(json, "kernel", "forward", 2, 1.5);
    assert_int_equal(number_in(event, "correlation"), 17);
    assert_int_equal(number_in(event, "graph node"), 5);
    assert_int_equal(number_in(event, "registers per thread"), 40);
    assert_int_equal(number_in(event, "shared memory"), 1280);
    const json_t *grid = json_object_get(json_object_get(event, "args"), "grid");
    assert_int_equal(json_integer_value(json_array_get(grid, 0)), 132);
    assert_int_equal(json_integer_value(json_array_get(grid, 1)), 2);
    assert_int_equal(number_in(expect(json, "copy", "copy, host to device", 1, 0.25), "bytes"),
                     4096);
    assert_int_equal(tid(find(json, "copy", "copy, host to device")), tid(event));
    assert_int_equal(number_in(expect(json, "set", "set", 4, 0.1), "bytes"), 64);
    assert_int_equal(number_in(expect(json, "call", "cuLaunchKernel", 1.5, 0.4), "correlation"),
                     17);
    expect(json, "range", "sample", 0, 10);
}

/* A record without an end was never run, or CUPTI does not know when. */
static void test_work_without_a_time_is_left_out(void **state) {
    trace_t trace;
    set_up(&trace, true);
    const cupti_kernel_t lost = kernel("lost", 0, 0, 7);
    trace_cupti_record(&trace, &API, &lost);
    json_auto_t *json = written(&trace);
    assert_null(find(json, "kernel", "lost"));
}

static void test_what_is_outside_of_ranges_is_left_out(void **state) {
    trace_t trace;
    set_up(&trace, true);
    const cupti_kernel_t before = kernel("before", 990000, 995000, 7);
    const cupti_kernel_t after = kernel("after", 1010001, 1011000, 7);
    const cupti_kernel_t within = kernel("within", 1009999, 1011000, 7);
    trace_cupti_record(&trace, &API, &after);
    trace_cupti_record(&trace, &API, &before);
    trace_cupti_record(&trace, &API, &within);
    json_auto_t *json = written(&trace);
    assert_null(find(json, "kernel", "before"));
    assert_null(find(json, "kernel", "after"));
    assert_non_null(find(json, "kernel", "within"));
}

/* Slices of one row must not overlap: no viewer can show them. */
static void test_overlapping_kernels_get_rows_of_their_own(void **state) {
    trace_t trace;
    set_up(&trace, true);
    const cupti_kernel_t kernels[] = {
        kernel("first", 1001000, 1003000, 7),
        kernel("overlaps", 1002000, 1004000, 7),
        kernel("follows", 1003000, 1003500, 7),
        kernel("elsewhere", 1001000, 1003000, 8),
    };
    for (size_t i = 0; i < 4; i++)
        trace_cupti_record(&trace, &API, &kernels[i]);
    json_auto_t *json = written(&trace);
    const json_int_t first = tid(find(json, "kernel", "first"));
    assert_int_not_equal(tid(find(json, "kernel", "overlaps")), first);
    assert_int_equal(tid(find(json, "kernel", "follows")), first);
    assert_int_not_equal(tid(find(json, "kernel", "elsewhere")), first);
    assert_int_not_equal(tid(find(json, "kernel", "elsewhere")),
                         tid(find(json, "kernel", "overlaps")));
}

static void tell_phases(trace_t *trace) {
    AUTO(recorder_free) recorder_t recorder = {.watch = &trace->watch};
    const unsigned total = recorder_phase(&recorder, "total", CLOCK_HOST);
    const unsigned inner = recorder_phase(&recorder, "h2d", CLOCK_HOST);
    const unsigned device = recorder_phase(&recorder, "kernel", CLOCK_DEVICE);
    recorder_add_between(&recorder, inner, 1000, 1001000, 1002000);
    recorder_add_between(&recorder, device, 400, 1002000, 1003000);
    recorder_add_between(&recorder, total, 2000, 1001000, 1003000);
    recorder_add(&recorder, total, 5);
    assert_int_equal(recorder.phases[total].n, 2);
}

static void test_phases(void **state) {
    trace_t trace;
    set_up(&trace, true);
    tell_phases(&trace);
    json_auto_t *json = written(&trace);
    const json_t *total = expect(json, "phase", "total", 1, 2);
    const json_t *inner = expect(json, "phase", "h2d", 1, 1);
    assert_int_equal(tid(total), tid(inner));
    /* CUPTI knows better. */
    assert_null(find(json, "device", "kernel"));
    /* Both begin at once: the one that holds the other comes first. */
    const json_t *events = json_object_get(json, "traceEvents");
    size_t i, at_total = 0, at_inner = 0;
    json_t *event;
    json_array_foreach(events, i, event) {
        at_total = event == total ? i : at_total;
        at_inner = event == inner ? i : at_inner;
    }
    assert_true(at_total < at_inner);
}

static void test_without_cupti_events_stand_in(void **state) {
    trace_t trace;
    set_up(&trace, false);
    tell_phases(&trace);
    json_auto_t *json = written(&trace);
    expect(json, "device", "kernel", 2.6, 0.4);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json, "otherData"), "source")), "a test");
}

static void test_start_forgets(void **state) {
    trace_t trace;
    set_up(&trace, true);
    const cupti_kernel_t old = kernel("old", 1001000, 1002000, 7);
    trace_cupti_record(&trace, &API, &old);
    trace_start(&trace, "again");
    nvtx_push("sample");
    json_auto_t *json = written(&trace);
    assert_null(find(json, "kernel", "old"));
    assert_non_null(find(json, "range", "sample"));
}

#include "run_tests.h"

/* Streams of launches that run side by side: which wait for which, on a driver that writes down what it is asked. */
#include "checks.h"
#include "workloads/described/side_streams.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char called[1000];
static uintptr_t n_made;

static void note(const char *what, const void *first, const void *second) {
    const size_t used = strlen(called);
    snprintf(called + used, sizeof called - used, "%s %d %d\n", what, (int)(uintptr_t)first,
             (int)(uintptr_t)second);
}

static cu_result_t make_stream(cu_stream_t *stream, unsigned flags) {
    *stream = (cu_stream_t)++n_made;
    return 0;
}

static cu_result_t make_event(cu_event_t *event, unsigned flags) {
    *event = (cu_event_t)++n_made;
    return 0;
}

static cu_result_t record(cu_event_t event, cu_stream_t stream) {
    note("record", event, stream);
    return 0;
}

static cu_result_t wait_for(cu_stream_t stream, cu_event_t event, unsigned flags) {
    note("wait", stream, event);
    return 0;
}

static cu_result_t drop_stream(cu_stream_t stream) {
    n_made--;
    return 0;
}

static cu_result_t drop_event(cu_event_t event) {
    n_made--;
    return 0;
}

static void run(side_streams_t *side, gpu_t *gpu, unsigned n) {
    cu_stream_t stream;
    called[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        assert_ok(side_streams_fork(side, gpu, i, &stream, &err));
        note("launch", stream, NULL);
        assert_ok(side_streams_join(side, gpu, i, n, &err));
    }
}

static void test_streams_wait_for_what_is_before_and_are_waited_for(void **state) {
    enum { MAIN = 99 };
    side_streams_t side = {0};
    gpu_t gpu = {.stream = (cu_stream_t)MAIN,
                 .api = {.stream_create = make_stream,
                         .stream_destroy = drop_stream,
                         .stream_wait = wait_for,
                         .event_create = make_event,
                         .event_destroy = drop_event,
                         .event_record = record}};
    assert_ok(side_streams_open(&side, &gpu, 2, &err));
    run(&side, &gpu, 2); /* made: the fork, and twice a stream and its event */
    assert_string_equal(called, "record 1 99\nwait 2 1\nlaunch 2 0\nwait 4 1\nlaunch 4 0\n"
                                "record 3 2\nwait 99 3\nrecord 5 4\nwait 99 5\n");
    assert_ok(side_streams_open(&side, &gpu, SIDE_STREAMS + 1, &err));
    assert_int_equal(n_made, 1 + 2 * SIDE_STREAMS);
    run(&side, &gpu,
        SIDE_STREAMS + 1); /* the last one is on the first stream again, which waits once */
    assert_ptr_equal(strstr(strstr(called, "launch 2 0") + 1, "launch 2 0\nrecord 3 2"),
                     strstr(called, "launch 2 0\nrecord 3 2"));
    side_streams_close(&side, &gpu);
    assert_int_equal(n_made, 0);
}

#include "run_tests.h"

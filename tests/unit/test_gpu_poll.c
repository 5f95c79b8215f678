/* wait=poll: a run ends when each element of the output has been written, in whatever order. The device here writes while
 * the host looks at the clock. */
#include "base/clock.h"
#include "checks.h"
#include "workloads/common/gpu_sample.h"

enum { MOST_BYTES = 300 * sizeof(float) };

static struct {
    char to[MOST_BYTES];
    size_t each;   /* bytes of an element */
    size_t n_left; /* are written one by one, the last of them first */
    size_t never;  /* this one is not, if there are so many */
    int64_t now_ns;
} device;

static void write_element(size_t i) {
    if (i != device.never)
        memset(device.to + i * device.each, 0, device.each);
}

static int64_t write_another(void *context) {
    if (device.n_left > 0)
        write_element(--device.n_left);
    else
        device.now_ns += 2000000000; /* longer than anybody waits */
    return device.now_ns;
}

static cu_result_t graph_launch(cu_graph_exec_t graph, cu_stream_t stream) {
    return CU_SUCCESS;
}

static cu_result_t synchronised(cu_stream_t stream) {
    return CU_SUCCESS;
}

static gpu_t gpu = {.api = {.graph_launch = graph_launch, .stream_sync = synchronised}};

static status_t run(size_t n, size_t each, size_t never, error_t *err) {
    static int captured;
    static gpu_array_t array = {.role = ARRAY_OUTPUT, .to = device.to}; /* of all runs */
    array.bytes = n * each;
    array.random = each == 2 ? RANDOM_F16 : RANDOM_F32;
    gpu_sample_t sample = {.gpu = &gpu,
                           .copy = COPY_MAPPED,
                           .poll = true,
                           .whole = (cu_graph_exec_t)&captured,
                           .arrays = &array,
                           .n_arrays = 1};
    device.each = each;
    device.n_left = n;
    device.never = never;
    clock_inject(write_another, NULL);
    const status_t status = gpu_sample_run(&sample, err);
    clock_inject(NULL, NULL);
    return status;
}

static void each_element_counts(void **state) {
    static const size_t COUNTS[] = {1, 63, 64, 65, 300};
    for (size_t c = 0; c < COUNT_OF(COUNTS); c++)
        for (size_t each = 2; each <= 4; each += 2) {
            const size_t n = COUNTS[c];
            assert_int_equal(run(n, each, n, NULL), STATUS_OK);
            assert_int_equal(device.n_left, 0);
            for (size_t never = 0; never < n; never++) {
                error_t err = ERROR_INIT;
                assert_int_equal(run(n, each, never, &err), STATUS_FAILED);
                assert_string_equal(err.text, "the kernel ended without writing every output");
            }
        }
}

#include "run_tests.h"

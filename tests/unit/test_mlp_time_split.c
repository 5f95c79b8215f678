/* Where an epoch's time goes: sums over made-up records. */
#include "checks.h"
#include "workloads/mlp_train/cuda.h"

typedef struct interval {
    trace_kind_t kind;
    const char *name;
    int64_t from_ns, to_ns;
} interval_t;

static mlpt_split_t split_of(const interval_t *intervals, size_t n) {
    trace_event_t events[16] = {{0}};
    for (size_t i = 0; i < n; i++)
        events[i] = (trace_event_t){.kind = intervals[i].kind,
                                    .name = (char *)intervals[i].name,
                                    .start_ns = intervals[i].from_ns,
                                    .end_ns = intervals[i].to_ns};
    const trace_t trace = {.events = events, .n = n};
    return mlpt_split(&trace, 1000, 2000);
}

static void check(const interval_t *intervals, size_t n, int64_t kernels_ns, int64_t driver_ns) {
    const mlpt_split_t split = split_of(intervals, n);
    assert_int_equal(split.epoch_ns, 1000);
    assert_int_equal(split.kernels_ns, kernels_ns);
    assert_int_equal(split.driver_ns, driver_ns);
}

static void test_nothing(void **state) {
    check(NULL, 0, 0, 0);
}

static void test_kernels_that_overlap_count_once(void **state) {
    const interval_t KERNELS[] = {{TRACE_KERNEL, "linear", 1100, 1300},
                                  {TRACE_KERNEL, "relu", 1250, 1400},
                                  {TRACE_KERNEL, "update", 1260, 1270},
                                  {TRACE_COPY, "copy", 1500, 1550},
                                  {TRACE_SET, "memset", 1600, 1610}};
    check(KERNELS, 5, 360, 0);
}

/* cuMemFree waits for the kernels: that time is theirs. */
static void test_allocation_counts_where_no_kernel_runs(void **state) {
    const interval_t MIXED[] = {{TRACE_KERNEL, "linear", 1200, 1400},
                                {TRACE_CALL, "cuMemFree_v2", 1300, 1450},
                                {TRACE_CALL, "cuMemAlloc_v2", 1460, 1500},
                                {TRACE_CALL, "cuMemAllocFromPoolAsync", 1500, 1510}};
    check(MIXED, 4, 200, 100);
}

static void test_other_calls_and_ranges_do_not_count(void **state) {
    const interval_t OTHERS[] = {{TRACE_CALL, "cuLaunchKernel", 1100, 1200},
                                 {TRACE_CALL, "cuStreamSynchronize", 1200, 1900},
                                 {TRACE_RANGE, "cuMemAlloc_v2", 1000, 2000}};
    check(OTHERS, 3, 0, 0);
}

static void test_what_lies_outside_is_cut_off(void **state) {
    const interval_t LONG[] = {{TRACE_KERNEL, "earlier", 100, 900},
                               {TRACE_KERNEL, "before", 900, 1010},
                               {TRACE_KERNEL, "behind", 1990, 2500},
                               {TRACE_CALL, "cuMemAlloc_v2", 2100, 2200}};
    check(LONG, 4, 20, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_kernels_that_overlap_count_once),
        cmocka_unit_test(test_allocation_counts_where_no_kernel_runs),
        cmocka_unit_test(test_other_calls_and_ranges_do_not_count),
        cmocka_unit_test(test_what_lies_outside_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

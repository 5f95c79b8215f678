/* The allocate workload on a fake GPU: every allocator through a whole case, and blocks that are
 * none are found. */
#include "checks.h"
#include "engine/gpu.h"
#include "engine/session.h"
#include "fake_device.h"
#include "made_case.h"
#include "workloads/allocate/session.h"
#include "workloads/common/workload.h"

#define GIB ((size_t)1 << 30)

/* What is written is kept as a list: a byte holds what the last fill over it has put there. */
static struct {
    struct {
        cu_pointer_t address;
        size_t bytes;
        unsigned char value;
    } fills[1000];
    size_t n_fills;
    bool forgetful;
} memory;

static cu_result_t fake_fill(cu_pointer_t address, unsigned char value, size_t bytes,
                             cu_stream_t stream) {
    assert_non_null(stream);
    assert_true(memory.n_fills < COUNT_OF(memory.fills));
    memory.fills[memory.n_fills].address = address;
    memory.fills[memory.n_fills].bytes = bytes;
    memory.fills[memory.n_fills++].value = value;
    return CU_SUCCESS;
}

static cu_result_t fake_copy_out(void *to, cu_pointer_t from, size_t bytes) {
    assert_int_equal(bytes, 1);
    for (size_t i = memory.n_fills; i-- > 0 && !memory.forgetful;)
        if (from >= memory.fills[i].address &&
            from < memory.fills[i].address + memory.fills[i].bytes) {
            *(unsigned char *)to = memory.fills[i].value;
            return CU_SUCCESS;
        }
    *(unsigned char *)to = 0xEE;
    return CU_SUCCESS;
}

static cu_result_t fake_memory_info(size_t *free_bytes, size_t *total_bytes) {
    *free_bytes = fake.memory_bytes - fake.taken_bytes;
    *total_bytes = fake.memory_bytes;
    return CU_SUCCESS;
}

static cu_result_t fake_stream_sync(cu_stream_t stream) {
    fake_done(stream);
    return CU_SUCCESS;
}

static gpu_t open_gpu(size_t memory_bytes) {
    fake_open(memory_bytes);
    memset(&memory, 0, sizeof memory);
    fake.api.fill_async = fake_fill;
    fake.api.copy_out = fake_copy_out;
    fake.api.memory_info = fake_memory_info;
    fake.api.stream_sync = fake_stream_sync;
    return (gpu_t){.api = fake.api, .stream = fake_stream(0)};
}

static status_t open_session(session_t *session, gpu_t *gpu, const char *variant, int64_t live,
                             error_t *err) {
    *session = (session_t){.ops = &allocate_session, .engine = gpu};
    session->spec.engine = mem_text("cuda");
    session->spec.variant = mem_text(variant);
    add_integer(&session->spec, "live", live);
    workload_complete(workload_find("allocate"), &session->spec);
    return session->ops->open(session, &(open_request_t){.spec = &session->spec, .seed = 42}, err);
}

static void free_session(session_t *session) {
    recorder_free(&session->recorder);
    case_free(&session->spec);
    free(session->results_json);
}

static void test_whole_cases(void **state) {
    text_list_t variants = {0}, arrays = {0};
    error_t err = ERROR_INIT;
    assert_int_equal(
        workload_variants(workload_find("allocate"), "cuda", "/nonexistent", &variants, &err),
        STATUS_OK);
    assert_int_equal(variants.n, 4);
    for (size_t v = 0; v < variants.n; v++) {
        gpu_t gpu = open_gpu(GIB);
        session_t session;
        if (open_session(&session, &gpu, variants.items[v], 100, &err) != STATUS_OK)
            fail_msg("%s: %s", session.spec.id, err.text);
        assert_int_equal(session.n_probes, 1);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(session.probes[0].run(&session, &session.recorder, &err), STATUS_OK);
        assert_int_equal(session.recorder.n_phases, 3);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(session.recorder.phases[i].n, 3);
        assert_int_equal(session.ops->output(&session, "/nonexistent", &arrays, &err), STATUS_OK);
        assert_int_equal(memory.n_fills, 100);
        assert_int_equal(arrays.n, 0);
        assert_true(session.resources.peak_device_bytes >= 100 * 100000);
        session.ops->close(&session);
        free_session(&session);
        fake_close();
    }
    text_list_free(&variants);
}

static size_t n_given;

/* The same address for two of the blocks. */
static cu_result_t alloc_twice(cu_pointer_t *address, size_t bytes) {
    static cu_pointer_t last;
    cu_result_t result = fake_alloc(address, bytes);
    if (++n_given % 2 == 0)
        *address = last + 512;
    last = *address;
    return result;
}

static cu_result_t release_any(cu_pointer_t address) {
    return CU_SUCCESS;
}

static void test_blocks_that_overlap(void **state) {
    gpu_t gpu = open_gpu(64 * GIB);
    session_t session;
    text_list_t arrays = {0};
    gpu.api.alloc = alloc_twice;
    gpu.api.release = release_any;
    assert_ok(open_session(&session, &gpu, "malloc", 10, &err));
    assert_fails_with(session.ops->output(&session, "/nonexistent", &arrays, &err), STATUS_FAILED,
                      "of 10 blocks overlap");
    session.ops->close(&session);
    free_session(&session);
    fake.taken_bytes = 0; /* not given back one by one here */
    fake_close();
}

static void test_memory_that_forgets(void **state) {
    gpu_t gpu = open_gpu(GIB);
    session_t session;
    text_list_t arrays = {0};
    memory.forgetful = true;
    assert_ok(open_session(&session, &gpu, "caching", 10, &err));
    assert_fails(session.ops->output(&session, "/nonexistent", &arrays, &err), STATUS_FAILED,
                 "block 0 does not hold what was written to it");
    session.ops->close(&session);
    free_session(&session);
    fake_close();
}

static void test_too_little_memory(void **state) {
    gpu_t gpu = open_gpu(GIB);
    session_t session;
    error_t err = ERROR_INIT;
    assert_int_equal(open_session(&session, &gpu, "arena", 10000, &err), STATUS_FAILED);
    assert_true(session.skipped);
    assert_int_equal(fake.n_allocs, 0);
    free_session(&session);
    fake_close();
}

/* The other side draws with NumPy: these are its numbers. */
static void test_trace(void **state) {
    assert_true(24 * allocate_mean_bytes() == 9830508);
    size_t sum_bytes = 0, blocks = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        allocate_change_t change = allocate_change(42, 100, i);
        sum_bytes += change.bytes + allocate_start_bytes(42, i);
        blocks += (i + 1) * change.block;
    }
    assert_int_equal(sum_bytes, 840803840);
    assert_int_equal(blocks, 24291803);
}

#include "run_tests.h"

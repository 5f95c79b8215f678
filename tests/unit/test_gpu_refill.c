/* Inputs of a sample on a GPU after a refill that the device fills: its memory and the host's agree, whoever else shares
 * the host's. The device here is the host. */
#include "checks.h"
#include "workloads/common/gpu_sample.h"

enum { DRAWN, LEFT_TO_THE_HOST, OUTPUT, ARRAYS };

typedef struct state {
    gpu_sample_t sample; /* first, as gpu_sample.h asks */
    gpu_array_t arrays[ARRAYS];
    uint64_t device[ARRAYS], pinned[ARRAYS];
    unsigned fills;
} state_t;

static cu_result_t copy_in(cu_pointer_t to, const void *from, size_t bytes, cu_stream_t stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CU_SUCCESS;
}

static cu_result_t copy_out(void *to, cu_pointer_t from, size_t bytes, cu_stream_t stream) {
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CU_SUCCESS;
}

static cu_result_t synchronised(cu_stream_t stream) {
    (void)stream;
    return CU_SUCCESS;
}

static gpu_t gpu = {
    .api = {.copy_in_async = copy_in, .copy_out_async = copy_out, .stream_sync = synchronised}};

/* The value of an input is its seed. */
static void refill_host(gpu_sample_t *s, size_t array, void *values, const uint64_t seeds[2]) {
    (void)s;
    assert_int_equal(array, LEFT_TO_THE_HOST);
    *(uint64_t *)values = seeds[1];
}

static status_t refill_there(gpu_sample_t *s, size_t array, cu_pointer_t values, uint64_t seed,
                             bool *possible, error_t *err) {
    (void)err;
    *possible = array == DRAWN;
    if (*possible)
        *(uint64_t *)(uintptr_t)values = seed;
    ((state_t *)s)->fills++;
    return STATUS_OK;
}

static uint64_t shared[ARRAYS], shared_seed;

static void make(state_t *state, gpu_copy_t copy) {
    *state = (state_t){.sample = {.gpu = &gpu,
                                  .arrays = state->arrays,
                                  .n_arrays = ARRAYS,
                                  .copy = copy,
                                  .refill = refill_host,
                                  .refill_there = refill_there,
                                  .data_seed = &shared_seed}};
    for (size_t i = 0; i < ARRAYS; i++)
        state->arrays[i] = (gpu_array_t){
            .role = i == OUTPUT ? ARRAY_OUTPUT : ARRAY_INPUT,
            .bytes = sizeof(uint64_t),
            .data = &shared[i],
            .from = copy == COPY_PAGEABLE ? &shared[i] : &state->pinned[i],
            .fixed = (uintptr_t)(copy == COPY_MAPPED ? &state->pinned[i] : &state->device[i])};
}

static void refill(state_t *state, uint64_t seed) {
    session_t session = {.state = state};
    assert_ok(gpu_sample_refill(&session, seed, &err));
    for (size_t i = 0; i < ARRAYS; i++) {
        const uint64_t expected = i == OUTPUT ? 0 : seed;
        assert_int_equal(*(uint64_t *)state->arrays[i].from, expected);
        assert_int_equal(*(uint64_t *)(uintptr_t)state->arrays[i].fixed, expected);
    }
}

static void both_sides_have_the_seed(void **unused) {
    (void)unused;
    static const gpu_copy_t COPIES[] = {COPY_PAGEABLE, COPY_PINNED, COPY_MAPPED};
    for (size_t c = 0; c < 3; c++) {
        state_t state;
        memset(shared, 0, sizeof shared);
        shared_seed = 0;
        make(&state, COPIES[c]);
        refill(&state, 5);
        refill(&state, 9);
        refill(&state, 0);
        assert_int_equal(state.fills, 3 * (ARRAYS - 1));
        refill(&state, 0);
        assert_int_equal(state.fills, 3 * (ARRAYS - 1)); /* nothing to do */
    }
}

static void others_may_have_changed_the_shared_memory(void **unused) {
    (void)unused;
    state_t one, two;
    memset(shared, 0, sizeof shared);
    shared_seed = 0;
    make(&one, COPY_PAGEABLE);
    make(&two, COPY_PAGEABLE);
    refill(&one, 5);
    refill(&two, 7);
    refill(&one, 5);
    refill(&two, 5);
    memset(shared, 0, sizeof shared); /* by another case, which is opened */
    shared_seed = 0;
    refill(&one, 5);
    assert_int_equal(shared_seed, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_have_the_seed),
        cmocka_unit_test(others_may_have_changed_the_shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

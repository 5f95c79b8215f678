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
    bool all_drawn;
} state_t;

static cu_result_t copy_in(cu_pointer_t to, const void *from, size_t bytes, cu_stream_t stream) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CU_SUCCESS;
}

static cu_result_t copy_out(void *to, cu_pointer_t from, size_t bytes, cu_stream_t stream) {
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CU_SUCCESS;
}

static cu_result_t synchronised(cu_stream_t stream) {
    return CU_SUCCESS;
}

static cu_result_t copy_out_now(void *to, cu_pointer_t from, size_t bytes) {
    return copy_out(to, from, bytes, NULL);
}

static cu_result_t alloc(cu_pointer_t *at, size_t bytes) {
    *at = (uintptr_t)malloc(bytes);
    return CU_SUCCESS;
}

static cu_result_t fill_bytes(cu_pointer_t at, unsigned char value, size_t bytes,
                              cu_stream_t stream) {
    memset((void *)(uintptr_t)at, value, bytes);
    return CU_SUCCESS;
}

static gpu_t gpu = {.api = {.copy_in_async = copy_in,
                            .copy_out_async = copy_out,
                            .copy_out = copy_out_now,
                            .alloc = alloc,
                            .fill_async = fill_bytes,
                            .stream_sync = synchronised}};

/* The value of an input is its seed. */
static void refill_host(gpu_sample_t *s, size_t array, void *values, uint64_t seed) {
    assert_int_equal(array, LEFT_TO_THE_HOST);
    *(uint64_t *)values = seed;
}

static status_t refill_there(gpu_sample_t *s, const gpu_fill_t *fill, bool *possible,
                             error_t *err) {
    state_t *state = (state_t *)s;
    *possible = fill->array == DRAWN || state->all_drawn;
    if (!*possible || fill->values == 0)
        return STATUS_OK;
    uint64_t *values = (uint64_t *)(uintptr_t)fill->values;
    if (fill->differs == 0)
        *values = fill->seed;
    else if (*values != fill->seed)
        *(unsigned *)(uintptr_t)fill->differs = 1;
    state->fills += fill->differs == 0;
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
    assert_ok(gpu_sample_host_inputs(&state->sample, &err));
    for (size_t i = 0; i < ARRAYS; i++) {
        const uint64_t expected = i == OUTPUT ? 0 : seed;
        assert_int_equal(*(uint64_t *)state->arrays[i].from, expected);
        assert_int_equal(*(uint64_t *)(uintptr_t)state->arrays[i].fixed, expected);
    }
}

static void both_sides_have_the_seed(void **state) {
    static const gpu_copy_t COPIES[] = {COPY_PAGEABLE, COPY_PINNED, COPY_MAPPED};
    for (size_t c = 0; c < 3; c++) {
        state_t own;
        memset(shared, 0, sizeof shared);
        shared_seed = 0;
        make(&own, COPIES[c]);
        refill(&own, 5);
        refill(&own, 9);
        refill(&own, 0);
        const unsigned fills = COPIES[c] == COPY_PINNED ? 6 : 3; /* again for the host's copy */
        assert_int_equal(own.fills, fills);
        refill(&own, 0);
        assert_int_equal(own.fills, fills); /* nothing to do */
    }
}

/* What the host has is brought up to date where a run copies it. */
static void the_host_follows_when_it_is_needed(void **state) {
    static const gpu_copy_t COPIES[] = {COPY_PAGEABLE, COPY_PINNED};
    for (size_t c = 0; c < 2; c++) {
        state_t own;
        memset(shared, 0, sizeof shared);
        shared_seed = 0;
        make(&own, COPIES[c]);
        own.all_drawn = true;
        session_t session = {.state = &own};
        assert_ok(gpu_sample_refill(&session, 5, &err));
        assert_int_equal(own.device[DRAWN], 5);
        assert_int_equal(*(uint64_t *)own.arrays[DRAWN].from, 0);
        assert_int_equal(own.fills, 2);
        assert_ok(gpu_sample_refill(&session, 0, &err));
        assert_ok(gpu_sample_host_inputs(&own.sample, &err));
        assert_int_equal(own.fills, 4); /* it has had them all the time */
        assert_ok(gpu_sample_refill(&session, 7, &err));
        own.device[DRAWN] = 8; /* by a kernel */
        assert_ok(gpu_sample_host_inputs(&own.sample, &err));
        for (size_t i = DRAWN; i <= LEFT_TO_THE_HOST; i++) {
            assert_int_equal(*(uint64_t *)own.arrays[i].from, 7);
            assert_int_equal(own.device[i], 7);
        }
    }
}

/* What no sample copies stays on the device, whatever an array in place needs. */
static void resident_inputs_do_not_reach_the_host(void **state) {
    state_t own;
    make(&own, COPY_PINNED);
    own.all_drawn = true;
    own.arrays[DRAWN].role = ARRAY_RESIDENT;
    own.arrays[LEFT_TO_THE_HOST].role = ARRAY_IN_PLACE;
    session_t session = {.state = &own};
    assert_ok(gpu_sample_refill(&session, 5, &err));
    assert_int_equal(*(uint64_t *)own.arrays[LEFT_TO_THE_HOST].from, 5);
    assert_ok(gpu_sample_host_inputs(&own.sample, &err));
    assert_int_equal(*(uint64_t *)own.arrays[DRAWN].from, 0);
    assert_int_equal(own.device[DRAWN], 5);
    assert_int_equal(own.fills, 2);
    own.arrays[DRAWN].role = ARRAY_INPUT; /* of which samples copy, and launches need no more */
    own.device[LEFT_TO_THE_HOST] = 6;
    assert_ok(gpu_sample_copy_inputs(&own.sample, true, &err));
    assert_int_equal(own.device[LEFT_TO_THE_HOST], 5);
    assert_int_equal(own.device[DRAWN], 5);
}

static void an_input_that_a_run_changes_is_found(void **state) {
    state_t own;
    make(&own, COPY_PINNED);
    own.arrays[DRAWN].name = "drawn";
    own.arrays[LEFT_TO_THE_HOST].name = "left";
    for (int is_left = 0; is_left < 2; is_left++) {
        session_t session = {.state = &own};
        assert_ok(gpu_sample_refill(&session, 5, &err));
        assert_ok(gpu_sample_find_changed(&session, &err));
        assert_null(session.changed);
        own.device[is_left ? LEFT_TO_THE_HOST : DRAWN] = 6;
        assert_ok(gpu_sample_find_changed(&session, &err));
        assert_string_equal(session.changed, is_left ? "left" : "drawn");
        assert_ok(gpu_sample_refill(&session, 0, &err));
    }
    free((void *)(uintptr_t)own.sample.differs);
}

static void others_may_have_changed_the_shared_memory(void **state) {
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

#include "run_tests.h"

/* Inputs of a sample on a GPU after a refill that the device fills: its memory and the host's agree, whoever else shares
 * the host's; and graphs of launches on inputs that change. The device here is the host. */
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

/* Over the bus; of what was captured, in the order of the graphs. */
static struct { unsigned reads, writes; } bus, captured[3];
static unsigned n_captured;

static cu_result_t copy_in(cu_pointer_t to, const void *from, size_t bytes, cu_stream_t stream) {
    bus.reads++;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CU_SUCCESS;
}

static cu_result_t copy_out(void *to, cu_pointer_t from, size_t bytes, cu_stream_t stream) {
    bus.writes++;
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

/* What is captured runs at once. */
static cu_result_t capture_begin(cu_stream_t stream, int mode) {
    memset(&bus, 0, sizeof bus);
    return CU_SUCCESS;
}

static cu_result_t capture_end(cu_stream_t stream, cu_graph_t *graph) {
    captured[n_captured++] = bus;
    return CU_SUCCESS;
}

static cu_result_t graph_instantiate(cu_graph_exec_t *graph, cu_graph_t from,
                                     unsigned long long flags) {
    *graph = (cu_graph_exec_t)captured;
    return CU_SUCCESS;
}

static cu_result_t graph_destroy(cu_graph_t graph) {
    return CU_SUCCESS;
}

static gpu_t gpu = {.api = {.capture_begin = capture_begin,
                            .capture_end = capture_end,
                            .graph_instantiate = graph_instantiate,
                            .graph_destroy = graph_destroy,
                            .copy_in_async = copy_in,
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

static uint64_t shared[ARRAYS], shared_seeds[ARRAYS];

static void open_shared(void) {
    memset(shared, 0, sizeof shared);
    memset(shared_seeds, 0, sizeof shared_seeds);
}

static void make(state_t *state, gpu_copy_t copy) {
    *state = (state_t){.sample = {.gpu = &gpu,
                                  .arrays = state->arrays,
                                  .n_arrays = ARRAYS,
                                  .copy = copy,
                                  .refill = refill_host,
                                  .refill_there = refill_there,
                                  .data_seeds = shared_seeds}};
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
        open_shared();
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
        open_shared();
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
    open_shared();
    make(&one, COPY_PAGEABLE);
    make(&two, COPY_PAGEABLE);
    refill(&one, 5);
    refill(&two, 7);
    refill(&one, 5);
    refill(&two, 5);
    open_shared(); /* by another case */
    refill(&one, 5);
    assert_int_equal(shared_seeds[DRAWN], 5);
}

/* Which has a copy of its own, so the memory that is shared may still have the values of another refill. */
static void others_may_take_an_input_by_value(void **state) {
    state_t one, two;
    uint64_t own = 0;
    open_shared();
    make(&one, COPY_PAGEABLE);
    make(&two, COPY_PAGEABLE);
    one.all_drawn = two.all_drawn = true;
    two.arrays[LEFT_TO_THE_HOST].role = ARRAY_BY_VALUE;
    two.arrays[LEFT_TO_THE_HOST].from = two.arrays[LEFT_TO_THE_HOST].data = &own;
    refill(&one, 7);
    session_t session = {.state = &two};
    assert_ok(gpu_sample_refill(&session, 5, &err));
    assert_ok(gpu_sample_host_inputs(&two.sample, &err));
    assert_int_equal(own, 5);
    refill(&one, 5);
}

static status_t launch(gpu_sample_t *s, error_t *err) {
    return STATUS_OK;
}

/* So the clock sees no difference but that of the launches. */
static void changing_takes_as_much_of_the_bus_as_not_changing(void **state) {
    enum { CHANGED, SAME, LAUNCHES = 4 };
    state_t own;
    char spare[4096];
    make(&own, COPY_MAPPED);
    own.sample.launch = launch;
    own.sample.batch_launches = 4 * LAUNCHES;
    own.pinned[DRAWN] = 3;
    gpu.spare = (uintptr_t)spare;
    gpu.spare_bytes = sizeof spare;
    bool possible;
    assert_ok(gpu_changing_begin(&own.sample, &possible, &err));
    assert_true(possible);
    for (int graph = CHANGED; graph <= SAME; graph++) {
        assert_int_equal(captured[graph].reads, LAUNCHES * ARRAYS);
        assert_int_equal(captured[graph].writes, LAUNCHES * ARRAYS);
    }
}

#include "run_tests.h"

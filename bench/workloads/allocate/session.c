/* Times changes: free a random block in use and allocate one of another size. `total` is the time
 * of a change, from a batch between two clock readings. Its split into `allocate` and `free` comes
 * from another batch with a clock reading after each call, less the cost of a reading: too coarse
 * for absolute times of a few nanoseconds, good enough for a ratio. The device is idle; mlp_train
 * shows what malloc's waiting costs a training.
 *
 * On the CPU the driver only counts addresses, which leaves the allocator's bookkeeping. */
#include "workloads/allocate/session.h"

#include "allocators/allocator.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "engine/gpu.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== description ============================================================================= */

/* Sizes are drawn from the blocks of one training step. Random streams: `start` gives the initial
 * size of block i, `victim` the block that change i frees, `size` that of its replacement. */
enum { ALLOCATE_STREAM_START, ALLOCATE_STREAM_VICTIM, ALLOCATE_STREAM_SIZE };

/* The cost of a block while many others are in use: a microbenchmark of mlp_train's allocators. */
static const param_spec_t PARAMS[] = {
    {"live", VALUE_INT, 1, 1000000, "100",
     .summary = "blocks in use while one is freed and another allocated", .always_in_id = true},
};

/* The operator outputs of one step of mlp_train with its defaults: 64 images, layers
 * 784-784-784-784-10, float32. */
static const uint32_t OUTPUTS[] = {
    200704,  200704,  200704,  2560,  /* products and biases, forward */
    200704,  200704,  200704,         /* ReLU */
    256,     4,       2560,           /* loss of each row, their mean, gradient of the logits */
    200704,  200704,  200704,         /* gradients after ReLU */
    200704,  200704,  200704,         /* gradients before it */
    2458624, 2458624, 2458624, 31360, /* of the weights */
    3136,    3136,    3136,    40,    /* of the biases */
};

enum { N_OUTPUTS = sizeof OUTPUTS / sizeof *OUTPUTS };

size_t allocate_start_bytes(uint64_t seed, size_t block) {
    return OUTPUTS[rng_word(seed, ALLOCATE_STREAM_START, block) % N_OUTPUTS];
}

allocate_change_t allocate_change(uint64_t seed, size_t n_live, uint64_t index) {
    return (allocate_change_t){
        .block = (uint32_t)(rng_word(seed, ALLOCATE_STREAM_VICTIM, index) % n_live),
        .bytes = OUTPUTS[rng_word(seed, ALLOCATE_STREAM_SIZE, index) % N_OUTPUTS]};
}

double allocate_mean_bytes(void) {
    double sum_bytes = 0;
    for (size_t i = 0; i < N_OUTPUTS; i++)
        sum_bytes += OUTPUTS[i];
    return sum_bytes / N_OUTPUTS;
}

/* It moves no data, so it has no limit. */
static workload_cost_t cost(const case_t *spec) {
    return (workload_cost_t){.device_bytes =
                                 (double)case_param_int(spec, "live", 0) * allocate_mean_bytes()};
}

/* ==== sessions ================================================================================ */

const workload_t workload_allocate = {
    .name = "allocate",
    .summary = "host cost of allocating and freeing device memory for one operator's output",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .compared_by = "total",
    .caveat = "ours is called from C, a rival's from Python",
    .size_param = "live",
    .size_noun = "blocks in use",
    .size_label = "blocks in use",
    .size_after = " in use",
    .dtypes = NAMES("f32"),
    .cuda_builtin = NAMES("caching", "malloc", "async", "arena"),
    .cpu_variants = NAMES("caching", "arena"),
    .pytorch_variants = NAMES("caching"),
    .cost = cost,
    .tolerance = workload_exact,
};

enum {
    CHANGES = 1000,        /* per batch: much longer than the clock's resolution */
    CHANGES_MALLOC = 50,   /* each waits for the device, about 0.1 ms */
    CLOCK_READINGS = 1000, /* to average the cost of one */
};

enum { PHASE_ALLOCATE, PHASE_FREE, PHASE_TOTAL };

/* For fragmentation, and for rounding up to segments. */
static const double ROOM_FACTOR = 1.25;

typedef struct block {
    cu_pointer_t address;
    size_t bytes;
} block_t;

typedef struct state {
    gpu_t *gpu;        /* NULL on the CPU … */
    cuda_api_t driver; /* … which uses this instead */
    cu_stream_t stream;
    allocator_t *allocator;
    allocator_kind_t kind;
    uint64_t seed, next_change;
    block_t *blocks;
    size_t n_live;
    allocate_change_t *changes; /* for two batches */
    size_t n_changes;           /* per batch */
    double clock_ns;
} state_t;

typedef struct batch {
    double allocate_ns, free_ns, total_ns; /* sums */
} batch_t;

/* ---- a driver without a device --------------------------------------------------------------- */

static cu_result_t count_addresses(cu_pointer_t *address, size_t bytes) {
    static cu_pointer_t end = 0x100000000; /* one device has one address space */
    *address = end;
    end += (bytes + 511) / 512 * 512;
    return CU_SUCCESS;
}

static cu_result_t accept_address(cu_pointer_t address) {
    (void)address;
    return CU_SUCCESS;
}

static cu_result_t no_sync(void) {
    return CU_SUCCESS;
}

/* ---- changes --------------------------------------------------------------------------------- */

static status_t allocate(state_t *s, size_t number, size_t bytes, error_t *err) {
    block_t *block = &s->blocks[number];
    block->bytes = bytes;
    return allocator_allocate(s->allocator, bytes, s->stream, &block->address, err);
}

static status_t release(state_t *s, size_t number, error_t *err) {
    return allocator_free(s->allocator, s->blocks[number].address, s->stream, err);
}

static status_t time_total(state_t *s, batch_t *batch, error_t *err) {
    int64_t start_ns = clock_ns();
    for (size_t i = 0; i < s->n_changes; i++) {
        const allocate_change_t *change = &s->changes[i];
        TRY(release(s, change->block, err));
        TRY(allocate(s, change->block, change->bytes, err));
    }
    batch->total_ns = (double)(clock_ns() - start_ns);
    return STATUS_OK;
}

static status_t time_each(state_t *s, batch_t *batch, error_t *err) {
    int64_t free_ns = 0, allocate_ns = 0;
    for (size_t i = s->n_changes; i < 2 * s->n_changes; i++) {
        const allocate_change_t *change = &s->changes[i];
        int64_t start_ns = clock_ns();
        TRY(release(s, change->block, err));
        int64_t between_ns = clock_ns();
        TRY(allocate(s, change->block, change->bytes, err));
        allocate_ns += clock_ns() - between_ns;
        free_ns += between_ns - start_ns;
    }
    batch->free_ns = (double)free_ns;
    batch->allocate_ns = (double)allocate_ns;
    return STATUS_OK;
}

static status_t fill(state_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_live; i++)
        TRY(allocate(s, i, allocate_start_bytes(s->seed, i), err));
    return STATUS_OK;
}

static status_t empty(state_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_live; i++)
        TRY(release(s, i, err));
    return STATUS_OK;
}

/* Two batches of changes, and an optional check while the blocks are in use. A planned run starts
 * and ends with nothing in use and repeats the same changes; the others continue the trace. */
static status_t run(state_t *s, batch_t *batch, status_t (*check)(state_t *, error_t *),
                    error_t *err) {
    const bool planned = s->kind == ALLOCATOR_ARENA;
    if (planned)
        s->next_change = 0;
    for (size_t i = 0; i < 2 * s->n_changes; i++)
        s->changes[i] = allocate_change(s->seed, s->n_live, s->next_change++);
    TRY(allocator_begin(s->allocator, err));
    if (planned)
        TRY(fill(s, err));
    TRY(time_total(s, batch, err));
    TRY(time_each(s, batch, err));
    if (check != NULL)
        TRY(check(s, err));
    if (planned)
        TRY(empty(s, err));
    TRY(allocator_end(s->allocator, err));
    return s->gpu != NULL ? gpu_sync(s->gpu, err) : STATUS_OK;
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    state_t *s = session->state;
    batch_t batch;
    TRY(run(s, &batch, NULL, err));
    const double n = (double)s->n_changes;
    /* At least 1 ns, for a ratio. */
    const double allocate_ns = fmax(batch.allocate_ns / n - s->clock_ns, 1),
                 free_ns = fmax(batch.free_ns / n - s->clock_ns, 1);
    const double total_ns = batch.total_ns / n, share = allocate_ns / (allocate_ns + free_ns);
    recorder_add(recorder, PHASE_ALLOCATE, total_ns * share);
    recorder_add(recorder, PHASE_FREE, total_ns * (1 - share));
    recorder_add(recorder, PHASE_TOTAL, total_ns);
    return STATUS_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int by_address(const void *left, const void *right) {
    const block_t *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static status_t check_overlap(state_t *s, error_t *err) {
    AUTO_FREE block_t *sorted = mem_zeroed(s->n_live, sizeof *sorted);
    memcpy(sorted, s->blocks, s->n_live * sizeof *sorted);
    qsort(sorted, s->n_live, sizeof *sorted, by_address);
    size_t n_wrong = 0;
    for (size_t i = 1; i < s->n_live; i++)
        n_wrong += sorted[i].address < sorted[i - 1].address + sorted[i - 1].bytes;
    return n_wrong == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%zu of %zu blocks overlap", n_wrong, s->n_live);
}

/* Fill every block with its own byte value before reading any: both ends must still hold it. */
static status_t check_memory(state_t *s, error_t *err) {
    TRY(check_overlap(s, err));
    if (s->gpu == NULL)
        return STATUS_OK;
    for (size_t i = 0; i < s->n_live; i++)
        TRY(gpu_fill(s->gpu, s->blocks[i].address, (unsigned char)i, s->blocks[i].bytes, err));
    TRY(gpu_sync(s->gpu, err));
    for (size_t i = 0; i < s->n_live; i++) {
        const block_t *block = &s->blocks[i];
        unsigned char first = 0, last = 0;
        TRY(gpu_copy_out(s->gpu, &first, block->address, 1, err));
        TRY(gpu_copy_out(s->gpu, &last, block->address + block->bytes - 1, 1, err));
        if (first != (unsigned char)i || last != (unsigned char)i)
            return error_set(err, STATUS_FAILED, "block %zu does not hold what was written to it",
                             i);
    }
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    (void)folder;
    (void)arrays;
    batch_t batch;
    return run(session->state, &batch, check_memory, err);
}

/* ---- open and close -------------------------------------------------------------------------- */

static double clock_cost_ns(void) {
    int64_t sum_ns = 0;
    for (int i = 0; i < CLOCK_READINGS; i++) {
        int64_t start_ns = clock_ns();
        sum_ns += clock_ns() - start_ns;
    }
    return (double)sum_ns / CLOCK_READINGS;
}

static char *results_json(const state_t *s) {
    const allocator_stats_t stats = allocator_stats(s->allocator);
    json_t *json = allocator_stats_json(&stats);
    json_object_set_new(json, "changes", json_integer((json_int_t)s->n_changes));
    json_object_set_new(json, "clock_ns", json_real(s->clock_ns));
    if (s->kind == ALLOCATOR_ARENA) /* the only one that knows the trace in advance */
        json_object_set_new(json, "algorithmic", json_true());
    return results_text(json);
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    allocator_close(s->allocator);
    free(s->blocks);
    free(s->changes);
    free(s);
}

static status_t choose_kind(state_t *s, const char *variant, error_t *err) {
    for (size_t i = 0; ALLOCATOR_NAMES[i] != NULL; i++)
        if (strcmp(ALLOCATOR_NAMES[i], variant) == 0) {
            s->kind = (allocator_kind_t)i;
            return STATUS_OK;
        }
    return error_set(err, STATUS_FAILED, "no allocator \"%s\"", variant);
}

/* The first run records the plan, or fills the caches. */
static status_t warm_up(session_t *session, error_t *err) {
    state_t *s = session->state;
    const double room_bytes = ROOM_FACTOR * allocate_mean_bytes() * (double)s->n_live;
    if (s->gpu != NULL)
        TRY(session_skip(session, gpu_room(s->gpu, room_bytes, err)));
    s->n_changes = s->kind == ALLOCATOR_MALLOC ? CHANGES_MALLOC : CHANGES;
    s->blocks = mem_zeroed(s->n_live, sizeof *s->blocks);
    s->changes = mem_zeroed(2 * s->n_changes, sizeof *s->changes);
    TRY(allocator_open(s->kind, s->gpu != NULL ? &s->gpu->api : &s->driver,
                       s->gpu != NULL ? s->gpu->device : 0, &s->allocator, err));
    s->clock_ns = clock_cost_ns();
    batch_t batch;
    int64_t start_ns = clock_ns();
    if (s->kind != ALLOCATOR_ARENA)
        TRY(fill(s, err));
    TRY(run(s, &batch, NULL, err));
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    allocator_epoch(s->allocator);
    TRY(run(s, &batch, NULL, err));
    return STATUS_OK;
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    state_t *s = session->state;
    s->stream = s->gpu != NULL ? s->gpu->stream : NULL;
    s->driver =
        (cuda_api_t){.alloc = count_addresses, .release = accept_address, .context_sync = no_sync};
    s->seed = request->seed;
    s->n_live = (size_t)case_param_int(request->spec, "live", 0);
    TRY(choose_kind(s, request->spec->variant, err));
    TRY(warm_up(session, err));
    if (s->gpu != NULL)
        session->resources.peak_device_bytes =
            (int64_t)allocator_stats(s->allocator).peak_reserved_bytes;
    session->results_json = results_json(s);
    session_add_phases(session, CLOCK_HOST, NAMES("allocate", "free", "total"));
    session_add_probe(session, "changes", probe);
    return STATUS_OK;
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open(session, request, sizeof(state_t), prepare, err);
}

const session_ops_t allocate_session = {
    .workload = "allocate", .open = open_case, .output = output, .close = close_case};

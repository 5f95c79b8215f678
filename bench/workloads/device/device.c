#include "workloads/device/descriptor.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/gpu.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== description ============================================================================= */

#define DEVICE_BARRIER_VARIANT "02_barrier"

static const param_spec_t PARAMS[] = {
    {"bytes", VALUE_INT, 1, 1099511627776.0, /* 1 TiB */ "1073741824",
     .summary = "size of the buffer to copy or read, or of a float32 matrix to multiply; not "
                "used by 02_barrier",
     .always_in_id = true},
};

/* A copy reads and writes every byte once; 01_read only reads. The others are not bound by memory. */
static workload_cost_t cost(const case_t *spec) {
    if (strcmp(spec->variant, DEVICE_BARRIER_VARIANT) == 0 ||
        strcmp(spec->variant, DEVICE_BUS_VARIANT) == 0 ||
        strcmp(spec->variant, DEVICE_MATMUL_VARIANT) == 0)
        return (workload_cost_t){0};
    double buffers = strcmp(spec->variant, "copy") == 0 ? 2 : 1;
    double bytes = buffers * (double)case_param_int(spec, "bytes", 0);
    return (workload_cost_t){.bytes = bytes, .working_set_bytes = bytes, .device_bytes = bytes};
}

static void constants(const case_t *spec, text_list_t *defines) {
    text_list_add_format(defines, "BYTES=%lld", (long long)case_param_int(spec, "bytes", 0));
    text_list_add_format(defines, "PASSES=%d", DEVICE_READ_PASSES);
    text_list_add_format(defines, "BARRIERS=%d", DEVICE_BARRIERS);
}

const workload_t workload_device = {
    .name = "device",
    .summary =
        "rates of memory, bus, grid barrier and matrix products, from which limits are computed",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .dtypes = NAMES("f32"),
    .cuda_builtin = NAMES("copy", DEVICE_BUS_VARIANT, DEVICE_MATMUL_VARIANT),
    .cpu_variants = NAMES("copy"),
    .cost = cost,
    .tolerance = workload_exact,
    .constants = constants,
};

/* ==== buffers ================================================================================= */

/* Zeros can be cheaper to move. */
static const unsigned char FILL = 0x5A;
static const uint32_t FILL_WORD = 0x5A5A5A5A;

static size_t count_wrong(const unsigned char *copied, size_t bytes) {
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += copied[i] != FILL;
    return wrong;
}

static status_t refuse(size_t wrong, size_t bytes, error_t *err) {
    return wrong == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%zu of %zu bytes were not copied", wrong, bytes);
}

/* ==== barrier ================================================================================= */

/* The cost of a grid barrier: the floor of kernels with many dependent steps in one launch. */

enum { PHASE_BARRIER };

typedef struct barrier {
    gpu_t *gpu;
    gpu_kernel_t kernel, checks;
    gpu_memory_t memory;
    size_t n_words;
    cu_pointer_t words; /* barriers passed by all blocks, errors, one word per block */
} barrier_t;

enum { WORD_COUNTER, WORD_WRONG, WORD_ARRIVED };

static cu_pointer_t word_at(const barrier_t *s, unsigned index) {
    return s->words + index * sizeof(uint32_t);
}

/* One block per multiprocessor. */
static status_t launch_barrier(barrier_t *s, const gpu_kernel_t *kernel, error_t *err) {
    cu_pointer_t words[] = {word_at(s, WORD_COUNTER), word_at(s, WORD_ARRIVED),
                            word_at(s, WORD_WRONG)};
    void *arguments[] = {&words[0], &words[1], &words[2]};
    cu_launch_attribute_t together = {.id = CU_LAUNCH_COOPERATIVE, .value.flag = 1};
    const cu_launch_config_t config = {.grid = {(unsigned)s->gpu->multiprocessors, 1, 1},
                                       .block = {kernel->launch.threads, 1, 1},
                                       .stream = s->gpu->stream,
                                       .attributes = &together,
                                       .n_attributes = 1};
    return cuda_check(&s->gpu->api,
                      s->gpu->api.launch_ex(&config, kernel->function, arguments, NULL),
                      "launch_ex", err);
}

static status_t clear(barrier_t *s, error_t *err) {
    return gpu_fill(s->gpu, s->words, 0, s->n_words * sizeof(uint32_t), err);
}

static status_t probe_barrier(session_t *session, recorder_t *recorder, error_t *err) {
    barrier_t *s = session->state;
    double ns;
    TRY(clear(s, err));
    TRY(gpu_record(s->gpu, 0, err));
    TRY(launch_barrier(s, &s->kernel, err));
    TRY(device_time(s->gpu, &ns, err));
    recorder_add(recorder, PHASE_BARRIER, ns / DEVICE_BARRIERS);
    return STATUS_OK;
}

static void close_case_barrier(session_t *session) {
    barrier_t *s = session->state;
    gpu_memory_free(&s->memory, s->gpu);
    gpu_kernel_unload(s->gpu, &s->kernel);
    gpu_kernel_unload(s->gpu, &s->checks);
    free(s);
}

/* A barrier that lets blocks through too early would be fast and useless. */
static status_t output_barrier(session_t *session, const char *folder, text_list_t *arrays,
                               error_t *err) {
    barrier_t *s = session->state;
    (void)folder;
    (void)arrays;
    uint32_t words[WORD_ARRIVED];
    TRY(clear(s, err));
    TRY(launch_barrier(s, &s->checks, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(gpu_copy_out(s->gpu, words, s->words, sizeof words, err));
    const uint32_t passed = DEVICE_BARRIERS * (uint32_t)s->gpu->multiprocessors;
    if (words[WORD_WRONG] > 0)
        return error_set(err, STATUS_FAILED, "blocks passed a barrier too early %u times",
                         words[WORD_WRONG]);
    return words[WORD_COUNTER] == passed
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "blocks arrived %u times at barriers, expected %u",
                           words[WORD_COUNTER], passed);
}

static status_t prepare_barrier(session_t *session, const open_request_t *request, error_t *err) {
    barrier_t *s = session->state;
    if (s->gpu->api.launch_ex == NULL)
        return session_skip(
            session,
            error_set(
                err, STATUS_FAILED,
                "a grid barrier needs cuLaunchKernelEx: this driver is older than CUDA 11.8"));
    TRY(gpu_kernel_load(s->gpu, request->cubin, "device", &s->kernel, err));
    TRY(gpu_kernel_load(s->gpu, request->cubin, "check", &s->checks, err));
    session_add_once(session, "module_load", s->kernel.load_ns);
    s->n_words = WORD_ARRIVED + (size_t)s->gpu->multiprocessors;
    TRY(gpu_memory_device(&s->memory, s->gpu, s->n_words * sizeof(uint32_t), &s->words, err));
    TRY(clear(s, err));
    TRY(launch_barrier(s, &s->kernel, err));
    TRY(gpu_sync(s->gpu, err));
    recorder_phase(&session->recorder, "barrier", CLOCK_DEVICE);
    session_add_probe(session, "barrier", probe_barrier);
    return STATUS_OK;
}

static const device_part_t BARRIER = {
    {.output = output_barrier, .close = close_case_barrier}, sizeof(barrier_t), prepare_barrier};

/* ==== bus ===================================================================================== */

/* The bus between host and GPU, from and to pinned memory: one way, the other, and both at once. */

enum { PHASE_IN, PHASE_OUT, PHASE_BOTH };

typedef struct bus {
    gpu_t *gpu;
    size_t bytes;
    gpu_memory_t memory;
    unsigned char *host_from, *host_to;
    cu_pointer_t device_to, device_from;
    cu_stream_t back; /* for the copies out; those in are in gpu->stream */
    cu_event_t forked, joined;
} bus_t;

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

static status_t copy_in(bus_t *s, error_t *err) {
    CUDA(copy_in_async(s->device_to, s->host_from, s->bytes, s->gpu->stream));
    return STATUS_OK;
}

static status_t copy_out(bus_t *s, cu_stream_t stream, error_t *err) {
    CUDA(copy_out_async(s->host_to, s->device_from, s->bytes, stream));
    return STATUS_OK;
}

/* The second stream starts after what the first has submitted, and the first waits for it. */
static status_t copy_both(bus_t *s, error_t *err) {
    CUDA(event_record(s->forked, s->gpu->stream));
    CUDA(stream_wait(s->back, s->forked, 0));
    TRY(copy_in(s, err));
    TRY(copy_out(s, s->back, err));
    CUDA(event_record(s->joined, s->back));
    CUDA(stream_wait(s->gpu->stream, s->joined, 0));
    return STATUS_OK;
}

static status_t copy(bus_t *s, unsigned phase, error_t *err) {
    return phase == PHASE_IN    ? copy_in(s, err)
           : phase == PHASE_OUT ? copy_out(s, s->gpu->stream, err)
                                : copy_both(s, err);
}

static status_t probe_bus(session_t *session, recorder_t *recorder, error_t *err) {
    bus_t *s = session->state;
    for (unsigned phase = PHASE_IN; phase <= PHASE_BOTH; phase++) {
        double ns;
        TRY(gpu_sync(s->gpu, err));
        TRY(gpu_record(s->gpu, 0, err));
        TRY(copy(s, phase, err));
        TRY(device_time(s->gpu, &ns, err));
        recorder_add(recorder, phase, ns);
    }
    return STATUS_OK;
}

static void close_case_bus(session_t *session) {
    bus_t *s = session->state;
    if (s->joined != NULL)
        s->gpu->api.event_destroy(s->joined);
    if (s->forked != NULL)
        s->gpu->api.event_destroy(s->forked);
    if (s->back != NULL)
        s->gpu->api.stream_destroy(s->back);
    gpu_memory_free(&s->memory, s->gpu);
    free(s);
}

/* Everything there and back again. */
static status_t output_bus(session_t *session, const char *folder, text_list_t *arrays,
                           error_t *err) {
    bus_t *s = session->state;
    (void)folder;
    (void)arrays;
    random_fill(s->host_to, s->bytes, RANDOM_F32);
    TRY(gpu_random_fill(s->gpu, s->device_to, s->bytes, RANDOM_F32, err));
    TRY(copy_both(s, err));
    TRY(gpu_sync(s->gpu, err));
    const size_t wrong = count_wrong(s->host_to, s->bytes);
    TRY(gpu_copy_out(s->gpu, s->host_to, s->device_to, s->bytes, err));
    return refuse(wrong + count_wrong(s->host_to, s->bytes), 2 * s->bytes, err);
}

static status_t prepare_bus(session_t *session, const open_request_t *request, error_t *err) {
    bus_t *s = session->state;
    s->bytes = (size_t)case_param_int(request->spec, "bytes", 0);
    TRY(session_skip(session, gpu_room(s->gpu, 2.0 * (double)s->bytes, err)));
    TRY(gpu_memory_pinned(&s->memory, s->gpu, s->bytes, &s->host_from, err));
    TRY(gpu_memory_pinned(&s->memory, s->gpu, s->bytes, &s->host_to, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->bytes, &s->device_to, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->bytes, &s->device_from, err));
    CUDA(stream_create(&s->back, CU_STREAM_NON_BLOCKING));
    CUDA(event_create(&s->forked, CU_EVENT_NO_TIMING));
    CUDA(event_create(&s->joined, CU_EVENT_NO_TIMING));
    memset(s->host_from, FILL, s->bytes);
    TRY(gpu_fill(s->gpu, s->device_from, FILL, s->bytes, err));
    TRY(copy_both(s, err));
    TRY(gpu_sync(s->gpu, err));
    session->resources.peak_device_bytes = 2 * (int64_t)s->bytes;
    session_add_phases(session, CLOCK_DEVICE, NAMES("h2d", "d2h", "both"));
    session_add_probe(session, "bus", probe_bus);
    return STATUS_OK;
}

static const device_part_t BUS = {
    {.output = output_bus, .close = close_case_bus}, sizeof(bus_t), prepare_bus};

/* ==== read ==================================================================================== */

/* The rate of repeated reads of a buffer: the L2 rate if the buffer fits into the L2. */

enum { PHASE_KERNEL_READ };

typedef struct read {
    gpu_t *gpu;
    gpu_kernel_t kernel;
    unsigned words; /* of 16 bytes */
    size_t n_sums;
    gpu_memory_t memory;
    cu_pointer_t buffer, sums;
} read_t;

static status_t launch_reads(read_t *s, error_t *err) {
    void *arguments[] = {&s->buffer, &s->sums, &s->words};
    return gpu_kernel_launch(s->gpu, &s->kernel, s->words, arguments, err);
}

static status_t probe_read(session_t *session, recorder_t *recorder, error_t *err) {
    read_t *s = session->state;
    double ns;
    TRY(gpu_record(s->gpu, 0, err));
    TRY(launch_reads(s, err));
    TRY(device_time(s->gpu, &ns, err));
    recorder_add(recorder, PHASE_KERNEL_READ, ns / DEVICE_READ_PASSES);
    return STATUS_OK;
}

static void close_case_read(session_t *session) {
    read_t *s = session->state;
    gpu_memory_free(&s->memory, s->gpu);
    gpu_kernel_unload(s->gpu, &s->kernel);
    free(s);
}

/* The sum over all threads' sums covers every byte. */
static status_t output_read(session_t *session, const char *folder, text_list_t *arrays,
                            error_t *err) {
    read_t *s = session->state;
    (void)folder;
    (void)arrays;
    TRY(gpu_fill(s->gpu, s->sums, 0, s->n_sums * sizeof(uint32_t), err));
    TRY(launch_reads(s, err));
    TRY(gpu_sync(s->gpu, err));
    AUTO_FREE uint32_t *sums = mem_zeroed(s->n_sums, sizeof *sums);
    TRY(gpu_copy_out(s->gpu, sums, s->sums, s->n_sums * sizeof *sums, err));
    uint32_t sum = 0, expected = FILL_WORD * 4 * s->words * DEVICE_READ_PASSES;
    for (size_t i = 0; i < s->n_sums; i++)
        sum += sums[i];
    return sum == expected
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "the words read add up to %u, expected %u (modulo 2^32)", sum, expected);
}

static status_t prepare_read(session_t *session, const open_request_t *request, error_t *err) {
    read_t *s = session->state;
    s->words = (unsigned)(case_param_int(request->spec, "bytes", 0) / 16);
    TRY(session_skip(session, gpu_room(s->gpu, 16.0 * s->words, err)));
    TRY(gpu_kernel_load(s->gpu, request->cubin, "device", &s->kernel, err));
    session_add_once(session, "module_load", s->kernel.load_ns);
    s->n_sums =
        (size_t)s->kernel.launch.threads *
        ((s->words + s->kernel.launch.items_per_block - 1) / s->kernel.launch.items_per_block);
    TRY(gpu_memory_device(&s->memory, s->gpu, (size_t)s->words * 16, &s->buffer, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->n_sums * sizeof(uint32_t), &s->sums, err));
    TRY(gpu_fill(s->gpu, s->buffer, FILL, (size_t)s->words * 16, err));
    TRY(launch_reads(s, err));
    TRY(gpu_sync(s->gpu, err));
    recorder_phase(&session->recorder, "kernel", CLOCK_DEVICE);
    session_add_probe(session, "read", probe_read);
    return STATUS_OK;
}

static const device_part_t READ = {
    {.output = output_read, .close = close_case_read}, sizeof(read_t), prepare_read};

/* ==== copy ==================================================================================== */

/* The copy bandwidth of this device in this run: the roof for other cases. Both sides count bytes
 * read plus bytes written. */

/* Small copies are timed in a batch that is long compared with the event pair around it. */
enum { BATCH_BYTES = 1 << 28, BATCH_MOST = 100 };

enum { PHASE_KERNEL_COPY, PHASE_TOTAL };

typedef struct copy {
    gpu_t *gpu; /* NULL: host memory */
    size_t bytes;
    unsigned batch;
    gpu_memory_t memory;
    cu_pointer_t device_from, device_to;
    unsigned char *from, *to;
} copy_t;

static status_t copy_batch(copy_t *s, error_t *err) {
    for (unsigned i = 0; i < s->batch; i++)
        TRY(cuda_check(
            &s->gpu->api,
            s->gpu->api.copy_device_async(s->device_to, s->device_from, s->bytes, s->gpu->stream),
            "copy_device_async", err));
    return STATUS_OK;
}

static status_t probe_cuda(session_t *session, recorder_t *recorder, error_t *err) {
    copy_t *s = session->state;
    double ns;
    TRY(gpu_sync(s->gpu, err));
    int64_t start_ns = clock_ns();
    TRY(gpu_record(s->gpu, 0, err));
    TRY(copy_batch(s, err));
    TRY(gpu_record(s->gpu, 1, err));
    TRY(gpu_sync(s->gpu, err));
    double total_ns = (double)(clock_ns() - start_ns);
    TRY(gpu_elapsed(s->gpu, 0, 1, &ns, err));
    recorder_add(recorder, PHASE_KERNEL_COPY, ns / s->batch);
    recorder_add(recorder, PHASE_TOTAL, total_ns / s->batch);
    return STATUS_OK;
}

static void copy_host(const copy_t *s) {
    const size_t chunk = 1 << 20;
#pragma omp parallel for schedule(static) if (s->bytes > 4 * chunk)
    for (size_t at = 0; at < s->bytes; at += chunk)
        memcpy(s->to + at, s->from + at, s->bytes - at < chunk ? s->bytes - at : chunk);
}

static status_t probe_cpu(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    int64_t start_ns = clock_ns();
    copy_host(session->state);
    double ns = (double)(clock_ns() - start_ns);
    recorder_add(recorder, PHASE_KERNEL_COPY, ns);
    recorder_add(recorder, PHASE_TOTAL, ns);
    return STATUS_OK;
}

static void close_case_copy(session_t *session) {
    copy_t *s = session->state;
    if (s->gpu != NULL)
        gpu_memory_free(&s->memory, s->gpu);
    free(s->from);
    free(s->to);
    free(s);
}

static status_t prepare_cuda(session_t *session, const open_request_t *request, error_t *err) {
    copy_t *s = session->state;
    s->bytes = (size_t)case_param_int(request->spec, "bytes", 0);
    TRY(session_skip(session, gpu_room(s->gpu, 2.0 * (double)s->bytes, err)));
    size_t batch = BATCH_BYTES / s->bytes;
    s->batch = batch < 1 ? 1 : batch > BATCH_MOST ? BATCH_MOST : (unsigned)batch;
    TRY(gpu_memory_device(&s->memory, s->gpu, s->bytes, &s->device_from, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->bytes, &s->device_to, err));
    TRY(gpu_fill(s->gpu, s->device_from, FILL, s->bytes, err));
    TRY(copy_batch(s, err));
    TRY(gpu_sync(s->gpu, err));
    session->resources.peak_device_bytes = 2 * (int64_t)s->bytes;
    recorder_phase(&session->recorder, "kernel", CLOCK_DEVICE);
    recorder_phase(&session->recorder, "total", CLOCK_HOST);
    session_add_probe(session, "copy", probe_cuda);
    return STATUS_OK;
}

static status_t prepare_cpu(session_t *session, const open_request_t *request, error_t *err) {
    copy_t *s = session->state;
    s->bytes = (size_t)case_param_int(request->spec, "bytes", 0);
    TRY(session_skip(session, host_room(2.0 * (double)s->bytes, err)));
    s->from = mem_alloc(s->bytes);
    s->to = mem_alloc(s->bytes);
    memset(s->from, FILL, s->bytes);
    memset(s->to, 0, s->bytes);
    session_add_phases(session, CLOCK_HOST, NAMES("kernel", "total"));
    session_add_probe(session, "copy", probe_cpu);
    return STATUS_OK;
}

static status_t open_cpu(session_t *session, const open_request_t *request, error_t *err) {
    return session_open(session, request, sizeof(copy_t), prepare_cpu, err);
}

/* What the device copied is read in places: all of it would take a hundred times as long as the samples. */
enum { PLACE_BYTES = 1 << 20, PLACES = 16 };

/* Of as many equal parts as there are places, one anywhere in each; both ends are among them. */
static size_t place_at(const copy_t *s, size_t i, size_t n) {
    const size_t part = (s->bytes - n) / PLACES;
    return i == 0 ? 0
           : i < PLACES - 1
               ? i * part + random_below(part < UINT32_MAX ? (uint32_t)part + 1 : UINT32_MAX)
               : s->bytes - n;
}

static status_t count_wrong_on_device(copy_t *s, size_t *read, size_t *wrong, error_t *err) {
    const size_t n = s->bytes < PLACE_BYTES ? s->bytes : PLACE_BYTES;
    unsigned char place[PLACE_BYTES];
    TRY(gpu_random_fill(s->gpu, s->device_to, s->bytes, RANDOM_F32, err));
    TRY(copy_batch(s, err));
    TRY(gpu_sync(s->gpu, err));
    for (size_t i = 0; i < PLACES; i++) {
        TRY(gpu_copy_out(s->gpu, place, s->device_to + place_at(s, i, n), n, err));
        *wrong += count_wrong(place, n);
        *read += n;
    }
    return STATUS_OK;
}

static status_t output_copy(session_t *session, const char *folder, text_list_t *arrays,
                            error_t *err) {
    copy_t *s = session->state;
    (void)folder;
    (void)arrays;
    if (s->gpu == NULL) {
        random_fill(s->to, s->bytes, RANDOM_F32);
        copy_host(s);
        return refuse(count_wrong(s->to, s->bytes), s->bytes, err);
    }
    size_t read = 0, wrong = 0;
    TRY(count_wrong_on_device(s, &read, &wrong, err));
    return refuse(wrong, read, err);
}

static const device_part_t COPY = {
    {.output = output_copy, .close = close_case_copy}, sizeof(copy_t), prepare_cuda};

static status_t open_cuda(session_t *session, const open_request_t *request, error_t *err) {
    const char *variant = request->spec->variant;
    const device_part_t *part = strcmp(variant, DEVICE_BUS_VARIANT) == 0       ? &BUS
                                : strcmp(variant, DEVICE_MATMUL_VARIANT) == 0  ? &device_matmul
                                : request->cubin == NULL                       ? &COPY
                                : strcmp(variant, DEVICE_BARRIER_VARIANT) == 0 ? &BARRIER
                                                                               : &READ;
    session->ops = &part->ops;
    return session_open(session, request, part->state_bytes, part->prepare, err);
}

const session_ops_t device_copy_cuda = {.workload = "device", .open = open_cuda};
const session_ops_t device_copy_cpu = {
    .workload = "device", .open = open_cpu, .output = output_copy, .close = close_case_copy};

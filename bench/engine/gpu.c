#include "engine/gpu.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "cuda/cubin.h"
#include "io/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== the device ============================================================================== */

/* Call the driver; return its error from the calling function. */
enum { SPARE_PART = 4 }; /* see gpu_spare() */

#define CUDA(call) TRY(cuda_check(&gpu->api, gpu->api.call, #call, err))

static int attribute(gpu_t *gpu, int which) {
    int value = 0;
    return gpu->api.device_attribute(&value, which, gpu->device) == CU_SUCCESS ? value : 0;
}

static status_t describe(gpu_t *gpu, environment_t *facts, error_t *err) {
    char name[128];
    unsigned char uuid[16];
    int version = 0;
    CUDA(device_name(name, sizeof name, gpu->device));
    CUDA(device_uuid(uuid, gpu->device));
    CUDA(driver_version(&version));
    CUDA(device_memory(&gpu->memory_bytes, gpu->device));
    gpu->arch = attribute(gpu, CU_ATTRIBUTE_MAJOR) * 10 + attribute(gpu, CU_ATTRIBUTE_MINOR);
    gpu->multiprocessors = attribute(gpu, CU_ATTRIBUTE_MULTIPROCESSORS);
    gpu->l2_bytes = (size_t)attribute(gpu, CU_ATTRIBUTE_L2_BYTES);

    char text[64] = "GPU-";
    for (size_t i = 0, at = 4; i < sizeof uuid; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    environment_set(facts, "device.kind", "cuda");
    environment_set(facts, "device.name", name);
    environment_set(facts, "device.uuid", text);
    snprintf(text, sizeof text, "sm_%d", gpu->arch);
    environment_set(facts, "device.arch", text);
    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    environment_set(facts, "versions.cuda_driver", text);
    environment_set_number(facts, "device.memory_bytes", (double)gpu->memory_bytes);
    environment_set_number(facts, "device.l2_bytes", (double)gpu->l2_bytes);
    environment_set_number(facts, "device.multiprocessors", gpu->multiprocessors);
    environment_set_number(facts, "device.clock_mhz", attribute(gpu, CU_ATTRIBUTE_CLOCK_KHZ) / 1e3);
    return STATUS_OK;
}

static status_t open_device(int index, gpu_t *gpu, error_t *err) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"); /* also an empty one hides them */
    int count = 0;
    cu_result_t result = gpu->api.init(0);
    if (result == CU_SUCCESS)
        result = gpu->api.device_count(&count);
    if (result == CU_ERROR_NO_DEVICE || (result == CU_SUCCESS && count == 0))
        return error_set(err, STATUS_USAGE, "the CUDA driver is installed but finds no device%s%s",
                         visible != NULL ? ": the environment has CUDA_VISIBLE_DEVICES=" : "",
                         visible != NULL ? visible : "");
    TRY(cuda_check(&gpu->api, result, "init", err));
    if (index < 0 || index >= count)
        return error_set(err, STATUS_USAGE, "no CUDA device %d: there are %d, counted from 0%s%s",
                         index, count, visible != NULL ? ", with CUDA_VISIBLE_DEVICES=" : "",
                         visible != NULL ? visible : "");
    CUDA(device_get(&gpu->device, index));
    return STATUS_OK;
}

status_t gpu_open(int index, gpu_t *gpu, environment_t *facts, error_t *err) {
    *gpu = (gpu_t){0};
    int64_t start_ns = clock_ns();
    TRY(cuda_api_open(&gpu->api, err));
    TRY(open_device(index, gpu, err));
    int64_t init_ns = clock_ns();
    TRY(describe(gpu, facts, err));
    int64_t context_start_ns = clock_ns();
    CUDA(context_retain(&gpu->context, gpu->device));
    CUDA(context_set(gpu->context));
    CUDA(stream_create(&gpu->stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < GPU_EVENTS; i++)
        CUDA(event_create(&gpu->events[i], CU_EVENT_DEFAULT));
    CUDA(context_sync());
    environment_set_number(facts, "once_ns.driver_init", (double)(init_ns - start_ns));
    environment_set_number(facts, "once_ns.context", (double)(clock_ns() - context_start_ns));
    return STATUS_OK;
}

void gpu_close(gpu_t *gpu) {
    if (gpu->context == NULL)
        return;
    for (unsigned i = 0; i < GPU_EVENTS; i++)
        gpu->api.event_destroy(gpu->events[i]);
    if (gpu->flush != 0)
        gpu->api.release(gpu->flush);
    gpu_spare_free(gpu);
    gpu->api.stream_destroy(gpu->stream);
    gpu->api.context_release(gpu->device);
}

status_t gpu_alloc(gpu_t *gpu, size_t bytes, cu_pointer_t *pointer, error_t *err) {
    *pointer = 0;
    CUDA(alloc(pointer, bytes));
    return STATUS_OK;
}

bool gpu_has_pool(const gpu_t *gpu) {
    const cuda_api_t *api = &gpu->api;
    return api->alloc_async != NULL && api->release_async != NULL && api->device_pool != NULL &&
           api->pool_set != NULL && api->pool_trim != NULL;
}

status_t gpu_pool_keep(gpu_t *gpu, error_t *err) {
    cu_pool_t pool;
    uint64_t threshold_bytes = UINT64_MAX;
    CUDA(device_pool(&pool, gpu->device));
    CUDA(pool_set(pool, CU_POOL_RELEASE_THRESHOLD, &threshold_bytes));
    return STATUS_OK;
}

void gpu_pool_trim(gpu_t *gpu) {
    cu_pool_t pool;
    if (gpu_has_pool(gpu) && gpu->api.device_pool(&pool, gpu->device) == CU_SUCCESS)
        gpu->api.pool_trim(pool, 0);
}

status_t gpu_sync(gpu_t *gpu, error_t *err) {
    CUDA(stream_sync(gpu->stream));
    return STATUS_OK;
}

status_t gpu_fill(gpu_t *gpu, cu_pointer_t pointer, unsigned char value, size_t bytes,
                  error_t *err) {
    CUDA(fill_async(pointer, value, bytes, gpu->stream));
    return STATUS_OK;
}

status_t gpu_flush_l2(gpu_t *gpu, error_t *err) {
    if (gpu->flush == 0)
        CUDA(alloc(&gpu->flush, 2 * gpu->l2_bytes));
    CUDA(fill_async(gpu->flush, 0x5A, 2 * gpu->l2_bytes, gpu->stream));
    return STATUS_OK;
}

status_t gpu_spare(gpu_t *gpu, size_t bytes, cu_pointer_t *pointer, error_t *err) {
    size_t free_bytes = 0, total_bytes = 0;
    if (bytes > gpu->spare_bytes) {
        gpu_spare_free(gpu);
        CUDA(memory_info(&free_bytes, &total_bytes));
        if (bytes <= free_bytes / SPARE_PART && gpu->api.alloc(&gpu->spare, bytes) == CU_SUCCESS)
            gpu->spare_bytes = bytes;
    }
    *pointer = bytes <= gpu->spare_bytes ? gpu->spare : 0;
    return STATUS_OK;
}

void gpu_spare_free(gpu_t *gpu) {
    if (gpu->spare_bytes > 0)
        gpu->api.release(gpu->spare);
    gpu->spare = 0;
    gpu->spare_bytes = 0;
}

status_t gpu_record(gpu_t *gpu, unsigned event, error_t *err) {
    CUDA(event_record(gpu->events[event], gpu->stream));
    return STATUS_OK;
}

status_t gpu_elapsed(gpu_t *gpu, unsigned from, unsigned to, double *ns, error_t *err) {
    float ms = 0;
    CUDA(event_elapsed(&ms, gpu->events[from], gpu->events[to]));
    *ns = (double)ms * 1e6;
    return STATUS_OK;
}

status_t gpu_room(gpu_t *gpu, double bytes, error_t *err) {
    size_t free_bytes = 0, total_bytes = 0;
    CUDA(memory_info(&free_bytes, &total_bytes));
    if (bytes <= (double)free_bytes)
        return STATUS_OK;
    char need[UNITS_TEXT], room[UNITS_TEXT], all[UNITS_TEXT];
    return error_set(err, STATUS_FAILED, "needs %s of device memory, %s of %s are free",
                     units_bytes(need, bytes), units_bytes(room, (double)free_bytes),
                     units_bytes(all, (double)total_bytes));
}

status_t gpu_prepare_function(gpu_t *gpu, cu_function_t function, unsigned threads,
                              unsigned dynamic_shared, double *occupancy_frac, error_t *err) {
    int blocks = 0;
    if (dynamic_shared > 0) /* the default is 48 KiB minus the kernel's static shared memory */
        CUDA(function_set(function, CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)dynamic_shared));
    CUDA(occupancy(&blocks, function, (int)threads, dynamic_shared));
    /* A multiprocessor holds 64 warps (48 on sm_86 and sm_89, 32 on sm_75). */
    double most = gpu->arch == 75 ? 32 : gpu->arch == 86 || gpu->arch == 89 ? 48 : 64;
    *occupancy_frac = blocks * (double)((threads + 31) / 32) / most;
    return STATUS_OK;
}

static status_t load_function(gpu_t *gpu, const char *image, const char *entry,
                              gpu_kernel_t *kernel, error_t *err) {
    const launch_t *launch = &kernel->launch;
    CUDA(module_load(&kernel->module, image));
    if (cuda_check(&gpu->api, gpu->api.module_function(&kernel->function, kernel->module, entry),
                   "module_function", err) != STATUS_OK)
        return error_within(err, "kernel \"%s\"", entry);
    return gpu_prepare_function(gpu, kernel->function, launch->threads, launch->dynamic_shared,
                                &kernel->occupancy_frac, err);
}

status_t gpu_kernel_load(gpu_t *gpu, const char *cubin, const char *entry, gpu_kernel_t *kernel,
                         error_t *err) {
    *kernel = (gpu_kernel_t){0};
    int64_t start_ns = clock_ns();
    AUTO_FREE char *image = NULL;
    size_t size;
    TRY(fs_read(cubin, &image, &size, err));
    cubin_t elf;
    status_t status = cubin_open(image, size, &elf, err);
    if (status == STATUS_OK)
        status = launch_read(&elf, &kernel->launch, err);
    if (status == STATUS_OK)
        status = load_function(gpu, image, entry, kernel, err);
    if (status != STATUS_OK) {
        gpu_kernel_unload(gpu, kernel);
        return error_within(err, "%s", cubin);
    }
    kernel->load_ns = (double)(clock_ns() - start_ns);
    return STATUS_OK;
}

void gpu_kernel_unload(gpu_t *gpu, gpu_kernel_t *kernel) {
    if (kernel->module != NULL)
        gpu->api.module_unload(kernel->module);
    *kernel = (gpu_kernel_t){0};
}

/* The number of blocks for `items`, at most `bound` (0: none). */
static status_t gpu_grid(size_t items, size_t items_per_block, size_t bound, unsigned *blocks,
                         error_t *err) {
    size_t n = (items + items_per_block - 1) / items_per_block;
    if (bound > 0 && n > bound)
        n = bound;
    *blocks = (unsigned)n;
    return n <= INT32_MAX
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "a grid of %zu blocks exceeds the hardware limit of 2^31 - 1", n);
}

status_t gpu_kernel_launch(gpu_t *gpu, const gpu_kernel_t *kernel, size_t items, void **arguments,
                           error_t *err) {
    const launch_t *launch = &kernel->launch;
    unsigned blocks;
    size_t bound = (size_t)launch->blocks_per_sm * (size_t)gpu->multiprocessors;
    TRY(gpu_grid(items, launch->items_per_block, bound, &blocks, err));
    CUDA(launch(kernel->function, blocks, 1, 1, launch->threads, 1, 1, launch->dynamic_shared,
                gpu->stream, arguments, NULL));
    return STATUS_OK;
}

status_t gpu_capture_begin(gpu_t *gpu, error_t *err) {
    CUDA(capture_begin(gpu->stream, CU_CAPTURE_THREAD_LOCAL));
    return STATUS_OK;
}

status_t gpu_capture_end(gpu_t *gpu, cu_graph_exec_t *graph, error_t *err) {
    cu_graph_t captured = NULL;
    CUDA(capture_end(gpu->stream, &captured));
    cu_result_t result = gpu->api.graph_instantiate(graph, captured, 0);
    gpu->api.graph_destroy(captured);
    return cuda_check(&gpu->api, result, "graph_instantiate", err);
}

status_t gpu_graph_upload(gpu_t *gpu, cu_graph_exec_t graph, error_t *err) {
    if (gpu->api.graph_upload == NULL)
        return STATUS_OK;
    CUDA(graph_upload(graph, gpu->stream));
    return gpu_sync(gpu, err);
}

#include "cuda/driver.h"

#include "cuda/dynlib.h"

#include <stdbool.h>

static const library_symbol_t SYMBOLS[] = {
    {"cuInit", offsetof(cuda_api_t, init), false},
    {"cuDriverGetVersion", offsetof(cuda_api_t, driver_version), false},
    {"cuGetErrorName", offsetof(cuda_api_t, error_name), false},
    {"cuGetErrorString", offsetof(cuda_api_t, error_string), false},
    {"cuDeviceGetCount", offsetof(cuda_api_t, device_count), false},
    {"cuDeviceGet", offsetof(cuda_api_t, device_get), false},
    {"cuDeviceGetName", offsetof(cuda_api_t, device_name), false},
    {"cuDeviceGetUuid", offsetof(cuda_api_t, device_uuid), false},
    {"cuDeviceGetAttribute", offsetof(cuda_api_t, device_attribute), false},
    {"cuDeviceTotalMem_v2", offsetof(cuda_api_t, device_memory), false},
    {"cuDevicePrimaryCtxRetain", offsetof(cuda_api_t, context_retain), false},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(cuda_api_t, context_release), false},
    {"cuCtxSetCurrent", offsetof(cuda_api_t, context_set), false},
    {"cuCtxSynchronize", offsetof(cuda_api_t, context_sync), false},
    {"cuMemGetInfo_v2", offsetof(cuda_api_t, memory_info), false},
    {"cuMemAlloc_v2", offsetof(cuda_api_t, alloc), false},
    {"cuMemFree_v2", offsetof(cuda_api_t, release), false},
    {"cuMemAllocAsync", offsetof(cuda_api_t, alloc_async), true},
    {"cuMemFreeAsync", offsetof(cuda_api_t, release_async), true},
    {"cuDeviceGetDefaultMemPool", offsetof(cuda_api_t, device_pool), true},
    {"cuMemPoolSetAttribute", offsetof(cuda_api_t, pool_set), true},
    {"cuMemPoolTrimTo", offsetof(cuda_api_t, pool_trim), true},
    {"cuMemPoolCreate", offsetof(cuda_api_t, pool_create), true},
    {"cuMemPoolDestroy", offsetof(cuda_api_t, pool_destroy), true},
    {"cuMemPoolGetAttribute", offsetof(cuda_api_t, pool_get), true},
    {"cuMemAllocFromPoolAsync", offsetof(cuda_api_t, pool_alloc_async), true},
    {"cuMemHostAlloc", offsetof(cuda_api_t, host_alloc), false},
    {"cuMemFreeHost", offsetof(cuda_api_t, host_free), false},
    {"cuMemHostGetDevicePointer_v2", offsetof(cuda_api_t, host_device_pointer), false},
    {"cuMemcpyDtoH_v2", offsetof(cuda_api_t, copy_out), false},
    {"cuMemcpyHtoDAsync_v2", offsetof(cuda_api_t, copy_in_async), false},
    {"cuMemcpyDtoHAsync_v2", offsetof(cuda_api_t, copy_out_async), false},
    {"cuMemcpyDtoDAsync_v2", offsetof(cuda_api_t, copy_device_async), false},
    {"cuMemsetD8Async", offsetof(cuda_api_t, fill_async), false},
    {"cuModuleLoadData", offsetof(cuda_api_t, module_load), false},
    {"cuModuleUnload", offsetof(cuda_api_t, module_unload), false},
    {"cuModuleGetFunction", offsetof(cuda_api_t, module_function), false},
    {"cuFuncSetAttribute", offsetof(cuda_api_t, function_set), false},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", offsetof(cuda_api_t, occupancy), false},
    {"cuLaunchKernel", offsetof(cuda_api_t, launch), false},
    {"cuLaunchKernelEx", offsetof(cuda_api_t, launch_ex), true},
    {"cuOccupancyMaxActiveClusters", offsetof(cuda_api_t, max_clusters), true},
    {"cuTensorMapEncodeTiled", offsetof(cuda_api_t, tensor_map_encode), true},
    {"cuStreamCreate", offsetof(cuda_api_t, stream_create), false},
    {"cuStreamDestroy_v2", offsetof(cuda_api_t, stream_destroy), false},
    {"cuStreamSynchronize", offsetof(cuda_api_t, stream_sync), false},
    {"cuStreamWaitEvent", offsetof(cuda_api_t, stream_wait), false},
    {"cuStreamBeginCapture_v2", offsetof(cuda_api_t, capture_begin), false},
    {"cuStreamEndCapture", offsetof(cuda_api_t, capture_end), false},
    {"cuGraphInstantiateWithFlags", offsetof(cuda_api_t, graph_instantiate), false},
    {"cuGraphUpload", offsetof(cuda_api_t, graph_upload), true},
    {"cuGraphLaunch", offsetof(cuda_api_t, graph_launch), false},
    {"cuGraphExecDestroy", offsetof(cuda_api_t, graph_exec_destroy), false},
    {"cuGraphDestroy", offsetof(cuda_api_t, graph_destroy), false},
    {"cuEventCreate", offsetof(cuda_api_t, event_create), false},
    {"cuEventDestroy_v2", offsetof(cuda_api_t, event_destroy), false},
    {"cuEventRecord", offsetof(cuda_api_t, event_record), false},
    {"cuEventQuery", offsetof(cuda_api_t, event_query), false},
    {"cuEventElapsedTime", offsetof(cuda_api_t, event_elapsed), false},
};

status_t cuda_api_open(cuda_api_t *api, error_t *err) {
    static const char *const NAMES[] = {"libcuda.so.1", "libcuda.so", NULL};
    error_t why = ERROR_INIT;
    if (library_open(NAMES, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, api, &why) != STATUS_OK)
        return error_set(err, STATUS_USAGE, "no CUDA driver (%s)", why.text);
    return STATUS_OK;
}

/* What to do about a CUresult, for those whose text does not say. */
static const char *remedy(cu_result_t result) {
    switch (result) {
    case 200: /* invalid image */
    case 209: /* no binary for this GPU */
    case 222: /* PTX of a newer toolkit */
        return "; if the compiler is newer than the driver (bench doctor shows both), update "
               "NVIDIA's driver or set BENCH_NVRTC to an older NVRTC";
    case 803: /* driver mismatch */
    case 804: /* forward compatibility not supported on this GPU */
        return "; libcuda.so.1 and the kernel module come from different drivers: reboot after an "
               "update, or reinstall NVIDIA's driver";
    default:
        return "";
    }
}

status_t cuda_check(const cuda_api_t *api, cu_result_t result, const char *call, error_t *err) {
    if (result == CU_SUCCESS)
        return STATUS_OK;
    const char *name = NULL, *text = NULL;
    api->error_name(result, &name);
    api->error_string(result, &text);
    return error_set(err, STATUS_FAILED, "%s: %s (%d): %s%s", call, name != NULL ? name : "unknown",
                     result, text != NULL ? text : "no description", remedy(result));
}

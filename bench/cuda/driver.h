/* The CUDA driver API, opened at run time (libcuda.so.1): one binary runs with and without a
 * driver, and building needs no toolkit. Declares only what the harness uses; the ABI is stable.
 * Names and values: CUDA Driver API reference. */
#ifndef BENCH_CUDA_DRIVER_H
#define BENCH_CUDA_DRIVER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef int cu_result_t; /* CUresult */
typedef int cu_device_t;
typedef uint64_t cu_pointer_t; /* CUdeviceptr */
typedef struct CUctx_st *cu_context_t;
typedef struct CUmod_st *cu_module_t;
typedef struct CUfunc_st *cu_function_t;
typedef struct CUstream_st *cu_stream_t;
typedef struct CUevent_st *cu_event_t;
typedef struct CUgraph_st *cu_graph_t;
typedef struct CUgraphExec_st *cu_graph_exec_t;
typedef struct CUmemPoolHandle_st *cu_pool_t;

enum {
    CU_SUCCESS = 0,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_NOT_READY = 600, /* from event_query: not an error */
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_NO_TIMING = 2,
    CU_CAPTURE_THREAD_LOCAL = 1,
    CU_HOST_ALLOC_PORTABLE = 1,
    CU_HOST_ALLOC_DEVICEMAP = 2,
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_CLOCK_KHZ = 13,
    CU_ATTRIBUTE_L2_BYTES = 38,
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CU_FUNCTION_NON_PORTABLE_CLUSTER = 14, /* more than 8 blocks */
    CU_POOL_RELEASE_THRESHOLD = 4,         /* cuuint64_t, as are the next two */
    CU_POOL_RESERVED_CURRENT = 5,
    CU_POOL_RESERVED_HIGH = 6,
    CU_POOL_PINNED = 1,    /* CU_MEM_ALLOCATION_TYPE_PINNED: the only type of pool */
    CU_POOL_ON_DEVICE = 1, /* CU_MEM_LOCATION_TYPE_DEVICE */
    CU_LAUNCH_COOPERATIVE = 2,
    CU_LAUNCH_CLUSTER = 4,
    CU_LAUNCH_OVERLAPPED = 6, /* programmatic stream serialization */
    CU_TENSOR_MAP_UINT8 = 0,  /* types of a tensor map's elements */
    CU_TENSOR_MAP_INT32 = 3,
    CU_TENSOR_MAP_INT64 = 5,
    CU_TENSOR_MAP_FLOAT16 = 6,
    CU_TENSOR_MAP_FLOAT32 = 7,
    CU_TENSOR_MAP_FLOAT64 = 8,
    CU_TENSOR_MAP_BFLOAT16 = 9,
    CU_TENSOR_MAP_NOT_INTERLEAVED = 0,
    CU_TENSOR_MAP_FILL_ZEROS = 0, /* for elements outside of the array */
};

/* CUtensorMap: opaque; encoded at a multiple of CU_TENSOR_MAP_ALIGNMENT. */
enum { CU_TENSOR_MAP_ALIGNMENT = 128 };
typedef struct cu_tensor_map {
    uint64_t opaque[16];
} cu_tensor_map_t;

/* CUlaunchAttribute: only some attributes are used. */
typedef struct cu_launch_attribute {
    int id;
    int reserved;
    union {
        int flag;
        unsigned cluster[3];
        char bytes[64];
    } value;
} cu_launch_attribute_t;

/* CUlaunchConfig */
typedef struct cu_launch_config {
    unsigned grid[3], block[3], dynamic_shared;
    cu_stream_t stream;
    cu_launch_attribute_t *attributes;
    unsigned n_attributes;
} cu_launch_config_t;

/* CUmemPoolProps: the rest is zero. */
typedef struct cu_pool_properties {
    int type;    /* CU_POOL_PINNED */
    int handles; /* for sharing with other processes: none */
    int location_type, location;
    void *security;
    char reserved[64]; /* newer drivers read a maximum size in the first 8 bytes; 0: none */
} cu_pool_properties_t;

typedef struct cuda_api {
    cu_result_t (*init)(unsigned flags);
    cu_result_t (*driver_version)(int *version); /* 13000 for 13.0 */
    cu_result_t (*error_name)(cu_result_t, const char **text);
    cu_result_t (*error_string)(cu_result_t, const char **text);
    cu_result_t (*device_count)(int *count);
    cu_result_t (*device_get)(cu_device_t *, int ordinal);
    cu_result_t (*device_name)(char *name, int size, cu_device_t);
    cu_result_t (*device_uuid)(unsigned char uuid[16], cu_device_t);
    cu_result_t (*device_attribute)(int *value, int attribute, cu_device_t);
    cu_result_t (*device_memory)(size_t *bytes, cu_device_t);
    cu_result_t (*context_retain)(cu_context_t *, cu_device_t);
    cu_result_t (*context_release)(cu_device_t);
    cu_result_t (*context_set)(cu_context_t);
    cu_result_t (*context_sync)(void);
    cu_result_t (*memory_info)(size_t *free_bytes, size_t *total_bytes);
    cu_result_t (*alloc)(cu_pointer_t *, size_t bytes);
    cu_result_t (*release)(cu_pointer_t);
    cu_result_t (*alloc_async)(cu_pointer_t *, size_t bytes, cu_stream_t); /* may be NULL */
    cu_result_t (*release_async)(cu_pointer_t, cu_stream_t);               /* may be NULL */
    cu_result_t (*device_pool)(cu_pool_t *, cu_device_t);                  /* may be NULL */
    cu_result_t (*pool_set)(cu_pool_t, int attribute, void *value);        /* may be NULL */
    cu_result_t (*pool_trim)(cu_pool_t, size_t kept_bytes);                /* may be NULL */
    cu_result_t (*pool_create)(cu_pool_t *, const cu_pool_properties_t *); /* may be NULL */
    cu_result_t (*pool_destroy)(cu_pool_t);                                /* may be NULL */
    cu_result_t (*pool_get)(cu_pool_t, int attribute, void *value);        /* may be NULL */
    cu_result_t (*pool_alloc_async)(cu_pointer_t *, size_t bytes, cu_pool_t,
                                    cu_stream_t); /* may be NULL */
    cu_result_t (*host_alloc)(void **, size_t bytes, unsigned flags);
    cu_result_t (*host_free)(void *);
    cu_result_t (*host_device_pointer)(cu_pointer_t *, void *, unsigned flags);
    cu_result_t (*copy_out)(void *, cu_pointer_t, size_t bytes);
    cu_result_t (*copy_in_async)(cu_pointer_t, const void *, size_t bytes, cu_stream_t);
    cu_result_t (*copy_out_async)(void *, cu_pointer_t, size_t bytes, cu_stream_t);
    cu_result_t (*copy_device_async)(cu_pointer_t to, cu_pointer_t from, size_t bytes, cu_stream_t);
    cu_result_t (*fill_async)(cu_pointer_t, unsigned char value, size_t bytes, cu_stream_t);
    cu_result_t (*module_load)(cu_module_t *, const void *image);
    cu_result_t (*module_unload)(cu_module_t);
    cu_result_t (*module_function)(cu_function_t *, cu_module_t, const char *name);
    cu_result_t (*function_set)(cu_function_t, int attribute, int value);
    cu_result_t (*occupancy)(int *blocks, cu_function_t, int threads, size_t dynamic_shared);
    cu_result_t (*launch)(cu_function_t, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, cu_stream_t, void **arguments,
                          void **extra);
    cu_result_t (*launch_ex)(const cu_launch_config_t *, cu_function_t, void **arguments,
                             void **extra); /* may be NULL */
    cu_result_t (*max_clusters)(int *clusters, cu_function_t,
                                const cu_launch_config_t *); /* may be NULL */
    cu_result_t (*tensor_map_encode)(cu_tensor_map_t *, int type, unsigned rank, cu_pointer_t,
                                     const uint64_t *sizes, const uint64_t *strides_bytes,
                                     const unsigned *box, const unsigned *steps, int interleave,
                                     int swizzle, int l2, int fill); /* may be NULL */
    cu_result_t (*stream_create)(cu_stream_t *, unsigned flags);
    cu_result_t (*stream_destroy)(cu_stream_t);
    cu_result_t (*stream_sync)(cu_stream_t);
    cu_result_t (*stream_wait)(cu_stream_t, cu_event_t, unsigned flags);
    cu_result_t (*capture_begin)(cu_stream_t, int mode);
    cu_result_t (*capture_end)(cu_stream_t, cu_graph_t *);
    cu_result_t (*graph_instantiate)(cu_graph_exec_t *, cu_graph_t, unsigned long long flags);
    cu_result_t (*graph_upload)(cu_graph_exec_t, cu_stream_t); /* NULL before CUDA 11.1 */
    cu_result_t (*graph_launch)(cu_graph_exec_t, cu_stream_t);
    cu_result_t (*graph_exec_destroy)(cu_graph_exec_t);
    cu_result_t (*graph_destroy)(cu_graph_t);
    cu_result_t (*event_create)(cu_event_t *, unsigned flags);
    cu_result_t (*event_destroy)(cu_event_t);
    cu_result_t (*event_record)(cu_event_t, cu_stream_t);
    cu_result_t (*event_query)(cu_event_t); /* CU_ERROR_NOT_READY until complete */
    cu_result_t (*event_elapsed)(float *ms, cu_event_t, cu_event_t);
} cuda_api_t;

/* Open the driver; a failure's message names the library. */
status_t cuda_api_open(cuda_api_t *api, error_t *err);

/* STATUS_OK, or a failure with the call, the driver's text for `result`, and a remedy if known. */
status_t cuda_check(const cuda_api_t *api, cu_result_t result, const char *call, error_t *err);

#endif

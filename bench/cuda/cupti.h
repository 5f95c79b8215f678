/* CUPTI, NVIDIA's profiling library, opened at run time (libcupti.so): activity records of the GPU
 * and the driver. Records are declared up to the last field used. NVIDIA only appends fields: these
 * are the same from CUDA 9 to 13 (cupti_activity.h and cupti_activity_deprecated.h), and a test
 * compares them with the toolkit's header. */
#ifndef BENCH_CUDA_CUPTI_H
#define BENCH_CUDA_CUPTI_H

#include "base/error.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef int cupti_result_t; /* CUptiResult */

enum {
    CUPTI_OK = 0,
    CUPTI_KIND_MEMCPY = 1, /* CUpti_ActivityKind */
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_DOMAIN_DRIVER = 1, /* CUpti_CallbackDomain */
    CUPTI_FLUSH_FORCED = 1,
    CUPTI_VERSION_LEAST = 16,    /* CUDA 11.6, the first with a timestamp callback */
    CUPTI_VERSION_MOST = 139999, /* CUDA 13, the newest whose records are known */
};

typedef struct cupti_kernel { /* CUpti_ActivityKernel4 and later */
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t global_cache[2];
    uint64_t start_ns, end_ns, completed_ns;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared_bytes, dynamic_shared_bytes;
    uint32_t local_bytes[2];
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued_ns, submitted_ns;
    uint8_t launch[4];
    uint32_t shared_executed;
    uint64_t graph_node; /* 0 outside of graphs; from Kernel5 on, CUDA 11 */
} cupti_kernel_t;

typedef struct cupti_memcpy { /* CUpti_ActivityMemcpy3 and later */
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;
    uint64_t bytes, start_ns, end_ns;
    uint32_t device, context, stream, correlation;
} cupti_memcpy_t;

typedef struct cupti_memset { /* CUpti_ActivityMemset2 and later */
    uint32_t kind, value;
    uint64_t bytes, start_ns, end_ns;
    uint32_t device, context, stream, correlation;
} cupti_memset_t;

typedef struct cupti_call { /* CUpti_ActivityAPI */
    uint32_t kind, callback;
    uint64_t start_ns, end_ns;
    uint32_t process, thread, correlation, returned;
} cupti_call_t;

typedef struct cupti_api {
    cupti_result_t (*get_version)(uint32_t *version);
    cupti_result_t (*register_clock)(uint64_t (*now_ns)(void));
    cupti_result_t (*register_callbacks)(void (*requested)(uint8_t **buffer, size_t *bytes,
                                                           size_t *most_records),
                                         void (*completed)(void *context, uint32_t stream,
                                                           uint8_t *buffer, size_t bytes,
                                                           size_t valid_bytes));
    cupti_result_t (*enable)(int kind);
    cupti_result_t (*disable)(int kind);
    cupti_result_t (*flush_all)(uint32_t flags);
    cupti_result_t (*finalize)(void); /* may be NULL */
    cupti_result_t (*next_record)(uint8_t *buffer, size_t valid_bytes, void **record);
    cupti_result_t (*callback_name)(int domain, uint32_t callback, const char **name);
    cupti_result_t (*result_text)(cupti_result_t result, const char **text);
} cupti_api_t;

/* Libraries to try, best first: $BENCH_CUPTI alone if set, else the loader's path, then toolkits
 * and NVIDIA's Python wheels. */
void cupti_candidates(const char *root, text_list_t *paths);
/* Open one of them. Also fails if the version's records are not known. `version` is e.g. 130001 for
 * CUDA 13.0 and 26 for CUDA 12.8. */
status_t cupti_open(const char *path, cupti_api_t *api, uint32_t *version, error_t *err);
/* STATUS_OK, or a failure that names the call and CUPTI's text for `result`. */
status_t cupti_check(const cupti_api_t *api, cupti_result_t result, const char *what, error_t *err);

#endif

#include "engine/launch.h"
#include "base/memory.h"

#include <string.h>

enum { MOST_THREADS = 1024 }; /* of a block, on every architecture (see launch_shared_limit()) */

/* ---- tables ---------------------------------------------------------------------------------- */

status_t launch_read(const cubin_t *cubin, launch_t *launch, error_t *err) {
    if (cubin_object_size(cubin, "launch") == 0)
        return error_set(err, STATUS_FAILED, "it has no LAUNCH = {…}");
    TRY(cubin_object(cubin, "launch", launch, sizeof *launch, err));
    if (launch->threads == 0 || launch->items_per_block == 0)
        return error_set(err, STATUS_FAILED,
                         "its LAUNCH has threads = %u and items_per_block = %u; both must be "
                         "at least 1",
                         launch->threads, launch->items_per_block);
    return STATUS_OK;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": "Maximum amount of
 * shared memory per thread block". SHARED_LIMIT of launch.cuh is the same. */
uint32_t launch_shared_limit(unsigned arch) {
    const uint32_t kib = arch >= 90 && arch < 120   ? 227
                         : arch == 80 || arch == 87 ? 163
                         : arch >= 86               ? 99
                                                    : 64;
    return kib * 1024;
}

typedef struct block {
    const char *entry;
    uint32_t threads, dynamic_shared;
} block_t;

static status_t check_block(const cubin_t *cubin, const text_list_t *kernels, const block_t *block,
                            unsigned arch, error_t *err) {
    if (!text_list_has(kernels, block->entry)) {
        AUTO_FREE char *found = text_list_join(kernels, ", ");
        return error_set(err, STATUS_FAILED, "it has no kernel \"%s\"; found: %s", block->entry,
                         kernels->n > 0 ? found : "none");
    }
    if (block->threads > MOST_THREADS)
        return error_set(err, STATUS_FAILED,
                         "kernel \"%s\" has %u threads per block; sm_%u allows %d", block->entry,
                         block->threads, arch, MOST_THREADS);
    const uint64_t fixed = cubin_shared_bytes(cubin, block->entry);
    const uint64_t all = fixed + block->dynamic_shared;
    if (all > launch_shared_limit(arch))
        return error_set(err, STATUS_FAILED,
                         "kernel \"%s\" has %llu bytes of shared memory per block (%u of them "
                         "dynamic); sm_%u allows %u",
                         block->entry, (unsigned long long)all, block->dynamic_shared, arch,
                         launch_shared_limit(arch));
    return STATUS_OK;
}

status_t launch_check(const cubin_t *cubin, const char *entry, unsigned arch, error_t *err) {
    AUTO(text_list_free) text_list_t kernels = {0};
    launch_t launch;
    TRY(cubin_kernels(cubin, &kernels, err));
    TRY(launch_read(cubin, &launch, err));
    return check_block(cubin, &kernels, &(block_t){entry, launch.threads, launch.dynamic_shared},
                       arch, err);
}

#include "workloads/device/descriptor.h"
#include "workloads/common/descriptors.h"

#include <string.h>

/* What the device itself can do: the copy bandwidth measured here, in the same run, is the roof
 * that other cases are held against. */
static const param_spec_t PARAMS[] = {
    {"bytes", VALUE_INT, 1, 1099511627776.0, /* 1 TiB */ "1073741824",
     .summary = "size of the buffer that is copied or read; 02_barrier has none",
     .always_in_id = true},
};

/* A copy reads every byte once and writes it once; a rung of kernels/device/ only reads, or moves
 * nothing. */
static workload_cost_t cost(const case_t *spec) {
    if (strcmp(spec->variant, DEVICE_BARRIER_VARIANT) == 0)
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
    .summary = "rates of the device's memory and its grid barrier: what limits are computed from",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .dtypes = NAMES("f32"),
    .cuda_builtin = NAMES("copy"),
    .cpu_variants = NAMES("copy"),
    .cost = cost,
    .tolerance = workload_exact,
    .constants = constants,
};

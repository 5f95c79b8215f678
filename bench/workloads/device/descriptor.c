#include "workloads/device/descriptor.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <string.h>

static const param_spec_t PARAMS[] = {
    {"bytes", VALUE_INT, 1, 1099511627776.0, /* 1 TiB */ "1073741824",
     .summary = "size of the buffer to copy or read, or of a float32 matrix to multiply; not "
                "used by 02_barrier",
     .always_in_id = true},
};

size_t device_matmul_rows(const case_t *spec) {
    const double elements = (double)case_param_int(spec, "bytes", 0) / sizeof(float);
    return elements >= 1 ? (size_t)sqrt(elements) : 1;
}

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

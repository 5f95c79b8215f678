#include "workloads/common/workload.h"

/* No arithmetic: the variants of the null engine behave in every way a contender can. */
static const param_spec_t PARAMS[] = {
    {"work_ns", VALUE_INT, 0, 1e9, "0", .summary = "time of one sample", .always_in_id = true},
};

static workload_cost_t cost(const case_t *spec) {
    (void)spec;
    return (workload_cost_t){0};
}

static void constants(const case_t *spec, text_list_t *defines) {
    text_list_add_format(defines, "WORK_NS=%lld", (long long)case_param_int(spec, "work_ns", 0));
}

const workload_t workload_null = {
    .name = "null",
    .summary = "no work: tests the harness itself",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .dtypes = NAMES("f32"),
    .null_variants =
        NAMES("noop", "steady", "noisy", "bimodal", "drifting", "wrong", "crash", "hang"),
    .cost = cost,
    .tolerance = workload_exact,
    .constants = constants,
};

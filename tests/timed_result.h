/* A finished case with times that are chosen for it. */
#ifndef BENCH_TESTS_TIMED_RESULT_H
#define BENCH_TESTS_TIMED_RESULT_H

#include "base/memory.h"
#include "made_case.h"
#include "model/result.h"
#include "workloads/common/workload.h"

typedef struct timed {
    const char *phase;
    double ns;
} timed_t;

/* A finished case; every sample of a phase takes the same time. `size` is the first parameter:
 * batch, bytes or work_ns. */
static case_result_t make_result(const char *workload_name, const char *engine, int64_t size,
                                 const timed_t *times) {
    const workload_t *workload = workload_find(workload_name);
    case_t spec = {.engine = mem_text(engine), .variant = mem_text("v")};
    add_integer(&spec, workload->params[0].name, size);
    workload_complete(workload, &spec);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    for (; times->phase != NULL; times++) {
        phase_t *phase = result_add_phase(&result, times->phase, CLOCK_HOST);
        phase_add_round(phase, (double[]){times->ns, times->ns, times->ns}, 3);
        phase_summarise(phase);
    }
    return result;
}

#endif

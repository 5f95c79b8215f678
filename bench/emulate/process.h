/* A run of an operator's rung on this machine's CPU, in a process of its own. Its program is that of
 * emulate/program.h: the rung, kernels/emulation/host_cuda.h before it and rung.h behind it. */
#ifndef BENCH_EMULATE_PROCESS_H
#define BENCH_EMULATE_PROCESS_H

#include "workloads/operator/data.h"

typedef enum emulated {
    EMULATED_RUN,     /* NAME.npy of each output is in the folder */
    EMULATED_SKIPPED, /* no GPU can launch it at these sizes */
    EMULATED_FAILED,  /* it died, did not end, or wrote where it must not */
} emulated_t;

/* `folder` is for its files alone. The caller frees `*reason`; NULL if it has run. An error: this machine cannot. */
status_t emulation_run(const char *program, const case_t *spec, const operator_data_t *data,
                       const char *folder, emulated_t *how, char **reason, error_t *err);

#endif

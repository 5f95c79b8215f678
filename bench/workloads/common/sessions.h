/* One table of functions per workload and engine, listed by worker/engine_<name>.c. */
#ifndef BENCH_WORKLOADS_COMMON_SESSIONS_H
#define BENCH_WORKLOADS_COMMON_SESSIONS_H

#include "engine/session.h"

extern const session_ops_t mlp_infer_cpu, mlp_infer_cuda;
extern const session_ops_t linreg_train_cpu, linreg_train_cuda;
extern const session_ops_t mnist_train_cpu, mnist_train_cuda;
extern const session_ops_t mlp_train_cpu, mlp_train_cuda;
extern const session_ops_t null_synthetic, null_cuda;
extern const session_ops_t device_copy_cpu, device_copy_cuda;
extern const session_ops_t allocate_cpu, allocate_cuda;
extern const session_ops_t operator_cuda; /* of every operator */

#endif

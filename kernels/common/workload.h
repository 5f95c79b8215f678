/* What a contender in C gets, and reference.c; it is included before the file. The host defines
 *   WORKLOAD_TYPES      type letters as the case's element types: T (float, _Float16, __bf16, double, …), W, …; in
 *                       reference.c double, as all other floats but scalars
 *   WORKLOAD_ARGUMENTS  the parameters of run(): inputs `const T *__restrict__ x`, arrays computed in place and outputs
 *                       `T *__restrict__ y`, scalars, then the params that are not compiled in as `long long rows`
 *   WORKLOAD_CALL       the same, read from `arguments`
 *   COLS, …             each param that workload.json calls constant, in capitals; DTYPE_F16, … as 0 or 1
 * Arrays are dense, row-major, 256-byte aligned, in host memory. A file that does not support a case contains
 * `#error SKIP: reason`. */
#pragma once

#if WORKLOAD_F16 && !defined(__FLT16_MANT_DIG__)
#error SKIP: this C compiler has no _Float16 (GCC 12 has it on x86, 13 elsewhere)
#endif
#if WORKLOAD_BF16 && !defined(__BFLT16_MANT_DIG__)
#error SKIP: this C compiler has no __bf16 with arithmetic (GCC 13 has it)
#endif
#if WORKLOAD_FP8
#error SKIP: C has no FP8
#endif

WORKLOAD_TYPES

void run(WORKLOAD_ARGUMENTS);

/* May be defined by reference.c: of each output (arrays in place first), the root mean square size of the terms that an
 * element is summed from, once run() has been called. */
void scale(WORKLOAD_ARGUMENTS, double *scales) __attribute__((weak));

int workload_scale(void *const *arguments, double *scales) {
    if (!scale)
        return 0;
    scale(WORKLOAD_CALL, scales);
    return 1;
}

/* What the host calls; there is no stream, and nothing to complain about. */
const char *workload_run(void *const *arguments, void *stream) {
    (void)stream;
    run(WORKLOAD_CALL);
    return 0;
}

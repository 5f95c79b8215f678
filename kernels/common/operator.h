/* What a contender in C gets; it is included before its file. The host defines
 *   OPERATOR_T          the case's element type (float, _Float16, __bf16, double, …), here T
 *   OPERATOR_ARGUMENTS  the parameters of run(): inputs `const T *__restrict__ x`, arrays computed in place and outputs
 *                       `T *__restrict__ y`, scalars, then the params that are not compiled in as `long long rows`
 *   OPERATOR_CALL       the same, read from `arguments`
 *   COLS, …             each param that operator.json calls constant, in capitals; DTYPE_F16, … as 0 or 1
 * Arrays are dense, row-major, 256-byte aligned, in host memory. A file that does not support a case contains
 * `#error SKIP: reason`. */
#pragma once

#if OPERATOR_F16 && !defined(__FLT16_MANT_DIG__)
#error SKIP: this C compiler has no _Float16 (GCC 12 has it on x86, 13 elsewhere)
#endif
#if OPERATOR_BF16 && !defined(__BFLT16_MANT_DIG__)
#error SKIP: this C compiler has no __bf16 with arithmetic (GCC 13 has it)
#endif

typedef OPERATOR_T T;

void run(OPERATOR_ARGUMENTS);

/* What the host calls; there is no stream, and nothing to complain about. */
const char *operator_run(void *const *arguments, void *stream) {
    (void)stream;
    run(OPERATOR_CALL);
    return 0;
}

/* Shared objects of the user's own code: a contender in C (NAME.c), by the C compiler, and a rung with host code of its own
 * (`extern "C" void run(WORKLOAD_ARGUMENTS, cudaStream_t stream)` in NAME.cu), by nvcc. */
#ifndef BENCH_COMPILE_NATIVE_H
#define BENCH_COMPILE_NATIVE_H

#include "compile/toolchain.h"

/* Stands where a cubin has its architecture. */
#define ARCH_OF_HOST "host"

/* COMPILER_CC or COMPILER_NVCC_OBJECT; toolchain_close() frees it. STATUS_USAGE: not found; how to install it. */
status_t native_open(compiler_t kind, const char *root, toolchain_t *tools, error_t *err);

/* As toolchain_options() and toolchain_compile(). */
void native_options(const toolchain_t *tools, const source_t *source, text_list_t *options);
status_t native_compile(const toolchain_t *tools, const source_t *source, const char *arch,
                        const text_list_t *defines, compiled_t *output, error_t *err);

/* Does the source of a rung define `extern "C" void run(`? */
bool native_has_run(const source_t *source);
/* Why such a source is neither a rung nor host code: it has LAUNCHES, too. NULL: it has not. The caller frees it. */
char *native_refusal(const source_t *source);
/* Is the macro passed whatever the source mentions? The header that comes before it needs it. */
bool native_needs(const char *define);

#endif

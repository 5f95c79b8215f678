/* Reads a cubin (an ELF file for NVIDIA GPUs) without a driver: kernels, their machine code, and
 * initialised constants. Every offset is checked against the file's size. */
#ifndef BENCH_CUDA_CUBIN_H
#define BENCH_CUDA_CUBIN_H

#include "base/error.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cubin {
    const unsigned char *data; /* borrowed */
    size_t size;
} cubin_t;

status_t cubin_open(const void *data, size_t size, cubin_t *cubin, error_t *err);
/* Names of the kernels (global functions with a .text section), sorted. */
status_t cubin_kernels(const cubin_t *cubin, text_list_t *names, error_t *err);
/* Static shared memory of a kernel in bytes; 0 without any. */
uint64_t cubin_shared_bytes(const cubin_t *cubin, const char *kernel);
/* XXH3-128, hex, over the machine code of all kernels in name order. `hash` has 33 bytes. */
status_t cubin_code_hash(const cubin_t *cubin, char hash[33], error_t *err);
/* Copy an initialised object ("launch") to `bytes`; fails if it does not exist or is not `size`
 * bytes long (the message gives both sizes). A zero-initialised object reads as zeros. */
status_t cubin_object(const cubin_t *cubin, const char *name, void *bytes, size_t size,
                      error_t *err);
/* Size of an object in bytes; 0 if it does not exist. */
size_t cubin_object_size(const cubin_t *cubin, const char *name);

#endif

/* Reads a cubin (an ELF file for NVIDIA GPUs) without a driver: kernels, their machine code, and
 * initialised constants. Every offset is checked against the file's size. */
#ifndef BENCH_CUDA_CUBIN_H
#define BENCH_CUDA_CUBIN_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NVRTC, NVIDIA's run-time compiler, loaded at run time: building needs no toolkit. Thread-safe. */

typedef struct nvrtc {
    char *path; /* of the library */
    int major, minor;
    size_t library_bytes; /* distinguishes builds: NVRTC reports no patch level */
    int *archs;           /* compute capabilities it compiles for: 75, 80, … ascending */
    size_t n_archs;
    char *include; /* folder of the CUDA headers (cuda_fp16.h, …), or NULL */
    struct nvrtc_functions *functions;
} nvrtc_t;

/* Search order: $BENCH_NVRTC (a path; if set, nothing else), the loader's path, $CUDA_HOME and
 * $CUDA_PATH, /usr/local/cuda*, and the Python environments <root>/.venv, $VIRTUAL_ENV, .venv of the project
 * and that of python3 on $PATH, where `pip install nvidia-cuda-nvrtc` installs it.
 *
 * The first line of an error says what is missing and how to install it, the second the
 * places searched. */
status_t nvrtc_open(const char *root, nvrtc_t **nvrtc, error_t *err);
void nvrtc_close(nvrtc_t *nvrtc);

typedef struct nvrtc_input {
    const char *name, *text;         /* diagnostics use the name */
    const text_list_t *header_names; /* as written in #include "…" */
    const text_list_t *header_texts;
    const text_list_t *options;
} nvrtc_input_t;

/* Output of NVRTC or nvcc. */
typedef struct compiled {
    bool ok;
    char *log;   /* compiler messages; owned by the caller, as is the cubin */
    char *cubin; /* NULL unless ok */
    size_t cubin_bytes;
} compiled_t;

/* A program that does not compile gives `ok == false` and its log; an error means that NVRTC itself
 * failed. */
status_t nvrtc_compile(const nvrtc_t *nvrtc, const nvrtc_input_t *input, compiled_t *output,
                       error_t *err);
void compiled_free(compiled_t *output);

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

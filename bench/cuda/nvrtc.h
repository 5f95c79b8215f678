/* NVRTC, NVIDIA's run-time compiler, loaded at run time: building needs no toolkit. Thread-safe. */
#ifndef BENCH_CUDA_NVRTC_H
#define BENCH_CUDA_NVRTC_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif

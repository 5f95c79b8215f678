/* NVRTC, NVIDIA's run-time compiler, opened with dlopen: the build needs no toolkit, and a machine
 * without it gets a message that says where it was looked for and how to install it. The functions
 * may be called from several threads at once. */
#ifndef BENCH_CUDA_NVRTC_H
#define BENCH_CUDA_NVRTC_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct nvrtc {
    char *path; /* of the library */
    int major, minor;
    size_t library_bytes; /* NVRTC tells no patch level; the library's size tells builds apart */
    int *archs;           /* compute capabilities it compiles for: 75, 80, … ascending */
    size_t n_archs;
    char *include; /* folder of CUDA's own headers (cuda_fp16.h, …), or NULL */
    struct nvrtc_functions *functions;
} nvrtc_t;

/* A failure's first line says what is missing and how to get it, the second where it was looked
 * for.
 *
 * Look in this order: $BENCH_NVRTC (a path; then nowhere else), the loader's own path, $CUDA_HOME
 * and $CUDA_PATH, /usr/local/cuda*, and the Python environments <root>/.venv, $VIRTUAL_ENV and that
 * of python3 on $PATH, where `pip install nvidia-cuda-nvrtc` puts it. */
status_t nvrtc_open(const char *root, nvrtc_t **nvrtc, error_t *err);
void nvrtc_close(nvrtc_t *nvrtc);

typedef struct nvrtc_input {
    const char *name, *text;         /* the name is what diagnostics call it */
    const text_list_t *header_names; /* as written in #include "…" */
    const text_list_t *header_texts;
    const text_list_t *options;
} nvrtc_input_t;

/* What a compiler made, NVRTC or another. */
typedef struct compiled {
    bool ok;
    char *log;   /* the compiler's messages; owned by the caller, as is the cubin */
    char *cubin; /* NULL unless ok */
    size_t cubin_bytes;
} compiled_t;

/* A program that does not compile is `ok == false` with its log; an error means that NVRTC itself
 * did not work. */
status_t nvrtc_compile(const nvrtc_t *nvrtc, const nvrtc_input_t *input, compiled_t *output,
                       error_t *err);
void compiled_free(compiled_t *output);

#endif

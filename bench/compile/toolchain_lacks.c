/* Recognises programs that fail to compile because something is missing: on this machine, or with NVRTC. */
#include "compile/toolchain.h"

#include "base/memory.h"
#include "compile/compiler_log.h"
#include "io/fs.h"

#include <stdlib.h>
#include <string.h>

/* NVIDIA's wheels by prefix of the header's name. Other headers are not CUDA headers. */
static const struct {
    const char *prefix, *wheel;
} WHEELS[] = {
    {"nv/", "nvidia-cuda-cccl"},     {"cuda/", "nvidia-cuda-cccl"},
    {"cub/", "nvidia-cuda-cccl"},    {"thrust/", "nvidia-cuda-cccl"},
    {"crt/", "nvidia-cuda-crt"},     {"cooperative_groups", "nvidia-cuda-runtime"},
    {"cuda", "nvidia-cuda-runtime"}, {"mma.h", "nvidia-cuda-runtime"},
};

static const char *wheel_of(const char *header) {
    for (size_t i = 0; i < sizeof WHEELS / sizeof *WHEELS; i++)
        if (text_starts(header, WHEELS[i].prefix))
            return WHEELS[i].wheel;
    return NULL;
}

/* If CUDA headers are installed, a missing "cuda_fp61.h" is a typo. But packages such as that of
 * "nv/target", each in its own folder, may be missing. */
static bool is_package_missing(const toolchain_t *tools, const char *header) {
    if (tools->include == NULL)
        return tools->kind == COMPILER_NVRTC;
    size_t length = strcspn(header, "/");
    if (header[length] == '\0')
        return false;
    const char *const places[] = {tools->include, tools->cccl};
    bool missing = true;
    for (size_t i = 0; i < 2 && places[i] != NULL; i++) {
        char *folder = mem_format("%s/%.*s", places[i], (int)length, header);
        missing = missing && !fs_exists(folder);
        free(folder);
    }
    return missing;
}

char *toolchain_headers_install(const toolchain_t *tools, const char *wheel) {
    /* Before CUDA 13, wheel names contained the version. */
    if (tools->major >= 13)
        return mem_format(".venv/bin/pip install '%s==%d.%d.*', or install the CUDA toolkit", wheel,
                          tools->major, tools->minor);
    return mem_format(".venv/bin/pip install '%s-cu%d==%d.%d.*', or install the CUDA toolkit",
                      wheel, tools->major, tools->major, tools->minor);
}

char *toolchain_lacks(const toolchain_t *tools, const char *log) {
    static const package_t compiler = {"g++", "gcc-c++", "gcc"};
    char *header = compile_log_missing_header(log), *reason = NULL, *install = NULL;
    const char *wheel = header != NULL ? wheel_of(header) : NULL;
    if (wheel != NULL && is_package_missing(tools, header)) {
        install = toolchain_headers_install(tools, wheel);
        reason = mem_format("CUDA header %s not found: %s", header, install);
    } else if (strstr(log, "Failed to preprocess host compiler properties") != NULL) {
        install = package_install(&compiler);
        reason = mem_format("nvcc needs a C++ compiler: %s", install);
    }
    free(install);
    free(header);
    return reason;
}

/* Names that neither compiler knows without a header. */
static const struct {
    const char *prefix, *header;
} HEADERS[] = {
    {"CUDART_", "math_constants.h"},
    {"FLT_", "cfloat"},
    {"DBL_", "cfloat"},
    {"INT_M", "climits"},
    {"UINT_MAX", "climits"},
    {"LLONG_M", "climits"},
    {"int8_t", "cstdint"},
    {"int16_t", "cstdint"},
    {"int32_t", "cstdint"},
    {"int64_t", "cstdint"},
    {"uint8_t", "cstdint"},
    {"uint16_t", "cstdint"},
    {"uint32_t", "cstdint"},
    {"uint64_t", "cstdint"},
    {"intptr_t", "cstdint"},
    {"uintptr_t", "cstdint"},
    {"ptrdiff_t", "cstddef"},
};

char *toolchain_hint(const toolchain_t *tools, const char *log) {
    char *header = compile_log_missing_header(log), *name = compile_log_undefined(log);
    char *hint = NULL;
    if (header != NULL && tools->kind == COMPILER_NVRTC && strchr(header, '.') == NULL)
        hint = mem_format("NVRTC has no C++ standard library: use <cuda/std/%s> if it exists, or "
                          "--compiler nvcc",
                          header);
    for (size_t i = 0; name != NULL && hint == NULL && i < sizeof HEADERS / sizeof *HEADERS; i++)
        if (text_starts(name, HEADERS[i].prefix))
            hint = mem_format("%s is in <%s>", name, HEADERS[i].header);
    free(header);
    free(name);
    return hint;
}

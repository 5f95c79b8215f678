/* Recognises programs that fail to compile because something is missing on this machine. */
#include "compile/toolchain.h"

#include "base/memory.h"
#include "compile/compiler_log.h"
#include "io/find.h"
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
    char *folder = mem_format("%s/%.*s", tools->include, (int)length, header);
    bool missing = !fs_exists(folder);
    free(folder);
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

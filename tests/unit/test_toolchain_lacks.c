/* What a program needs from this machine, and how it is installed. */
#include "checks.h"
#include "compile/toolchain.h"
#include "io/fs.h"
#include "temporary_folder.h"

#include <sys/stat.h>

/* ---- A program that does not compile for want of something on this machine, and one that is wrong. */

#define NVRTC_LOG(header)                                                                          \
    "kernels/f16.cuh(3): catastrophic error: could not open source file \"" header                 \
    "\" (no directories in search list)\n  #include <" header ">\n"

/* The reason begins with `reason`; NULL: nothing is missing. */
static void check(const toolchain_t *tools, const char *log, const char *reason) {
    AUTO_FREE char *lacks = toolchain_lacks(tools, log);
    if (reason == NULL && lacks != NULL)
        fail_msg("\"%s\" for: %s", lacks, log);
    if (reason != NULL && (lacks == NULL || strstr(lacks, reason) != lacks))
        fail_msg("\"%s\" does not begin with \"%s\"", lacks != NULL ? lacks : "(null)", reason);
}

static void test_no_headers(void **state) {
    const toolchain_t nvrtc = {.kind = COMPILER_NVRTC, .major = 13, .minor = 0};
    const toolchain_t older = {.kind = COMPILER_NVRTC, .major = 12, .minor = 8};
    check(&nvrtc, NVRTC_LOG("cuda_fp16.h"),
          "CUDA header cuda_fp16.h not found: .venv/bin/pip install "
          "'nvidia-cuda-runtime==13.0.*', or install the CUDA toolkit");
    check(&older, NVRTC_LOG("cuda_fp16.h"),
          "CUDA header cuda_fp16.h not found: .venv/bin/pip install "
          "'nvidia-cuda-runtime-cu12==12.8.*', or install the CUDA toolkit");
    check(&nvrtc, "k.cu(1): catastrophic error: cannot open source file \"mma.h\"\n",
          "CUDA header mma.h not found: ");
    check(&nvrtc, NVRTC_LOG("my_helpers.cuh"), NULL);
    check(&nvrtc, "k.cu(1): error: identifier \"x\" is undefined\n" NVRTC_LOG("cuda_fp16.h"), NULL);
    check(&nvrtc, "", NULL);
}

/* Some are here: what is not beside them is a slip of the pen, but for a part that lacks whole. */
static void test_some_headers(void **state) {
    char *folder = temporary_folder(), *part;
    const toolchain_t nvrtc = {.kind = COMPILER_NVRTC, .major = 13, .minor = 0, .include = folder};
    check(&nvrtc, NVRTC_LOG("cuda_fp61.h"), NULL);
    check(&nvrtc, NVRTC_LOG("nv/target"),
          "CUDA header nv/target not found: .venv/bin/pip install 'nvidia-cuda-cccl==13.0.*'");
    part = fs_join(folder, "nv");
    assert_ok(fs_make_folders(part, &err));
    check(&nvrtc, NVRTC_LOG("nv/tagret"), NULL);
    free(part);
    fs_remove_temporary(&folder);
}

static void test_nvcc(void **state) {
    const toolchain_t nvcc = {.kind = COMPILER_NVCC};
    check(&nvcc,
          "gcc: No such file or directory\n"
          "nvcc fatal   : Failed to preprocess host compiler properties.\n",
          "nvcc needs a C++ compiler: ");
    check(&nvcc, "a.cu:1:10: fatal error: cuda_fp61.h: No such file or directory\n", NULL);
}

/* ---- Which command installs a package is told by the package manager that is here. */

/* The manager NULL: none. */
static void package_check(const char *manager, const char *command) {
    static const package_t package = {"g++", "gcc-c++", "gcc"};
    char *folder = temporary_folder(), *path = mem_text(getenv("PATH"));
    if (manager != NULL) {
        AUTO_FREE char *program = fs_join(folder, manager);
        assert_ok(fs_write_atomic(program, "", 0, &err));
        assert_int_equal(chmod(program, 0755), 0);
    }
    setenv("PATH", folder, 1);
    AUTO_FREE char *found = package_install(&package);
    setenv("PATH", path, 1);
    assert_string_equal(found, command);
    fs_remove_temporary(&folder);
    free(path);
}

static void test_managers(void **state) {
    package_check("apt-get", "apt-get install g++");
    package_check("dnf", "dnf install gcc-c++");
    package_check("pacman", "pacman -S gcc");
    package_check(NULL, "apt-get install g++");
}

#include "run_tests.h"

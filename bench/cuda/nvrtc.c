#include "cuda/nvrtc.h"

#include "base/memory.h"
#include "base/text.h"
#include "cuda/find_library.h"
#include "io/fs.h"

#include <dlfcn.h>
#include <libgen.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* From nvrtc.h, which need not be installed. The numbers are part of the library's ABI. */
typedef int nvrtc_result_t;
typedef struct nvrtc_program *nvrtc_program_t;
enum { NVRTC_OK = 0, NVRTC_COMPILATION_FAILED = 6 };

struct nvrtc_functions {
    nvrtc_result_t (*version)(int *major, int *minor);
    nvrtc_result_t (*n_archs)(int *n);
    nvrtc_result_t (*archs)(int *archs);
    nvrtc_result_t (*create)(nvrtc_program_t *program, const char *text, const char *name,
                             int n_headers, const char *const *header_texts,
                             const char *const *header_names);
    nvrtc_result_t (*destroy)(nvrtc_program_t *program);
    nvrtc_result_t (*compile)(nvrtc_program_t program, int n_options, const char *const *options);
    nvrtc_result_t (*log_size)(nvrtc_program_t program, size_t *bytes);
    nvrtc_result_t (*log)(nvrtc_program_t program, char *text);
    nvrtc_result_t (*cubin_size)(nvrtc_program_t program, size_t *bytes);
    nvrtc_result_t (*cubin)(nvrtc_program_t program, char *bytes);
    const char *(*error_text)(nvrtc_result_t result);
};

#define FUNCTION(symbol, member)                                                                   \
    { "nvrtc" symbol, offsetof(struct nvrtc_functions, member), false }
static const library_symbol_t SYMBOLS[] = {
    FUNCTION("Version", version),
    FUNCTION("GetNumSupportedArchs", n_archs),
    FUNCTION("GetSupportedArchs", archs),
    FUNCTION("CreateProgram", create),
    FUNCTION("DestroyProgram", destroy),
    FUNCTION("CompileProgram", compile),
    FUNCTION("GetProgramLogSize", log_size),
    FUNCTION("GetProgramLog", log),
    FUNCTION("GetCUBINSize", cubin_size),
    FUNCTION("GetCUBIN", cubin),
    FUNCTION("GetErrorString", error_text),
};

/* Newest first. NVRTC's soname had a minor version up to 11.2; only a development package installs
 * the bare name. */
static const char *const SONAMES[] = {"libnvrtc.so.14",   "libnvrtc.so.13", "libnvrtc.so.12",
                                      "libnvrtc.so.11.2", "libnvrtc.so",    NULL};
static const char *const FOLDERS[] = {"", NULL};
static const char *const FILES[] = {"libnvrtc.so.[0-9]*", NULL};
static const library_places_t PLACES = {"BENCH_NVRTC", SONAMES, FOLDERS, FILES};

/* To compile, NVRTC opens libnvrtc-builtins by its bare name. Outside the loader's path that works
 * only if the library in the same folder is already loaded. */
static void load_builtins(const char *library) {
    char *copy = mem_text(library);
    const char *folder = dirname(copy);
    text_list_t names = {0};
    fs_list(folder, "", &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        if (!text_starts(names.items[i], "libnvrtc-builtins.so."))
            continue;
        char *path = fs_join(folder, names.items[i]);
        dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        free(path);
    }
    text_list_free(&names);
    free(copy);
}

/* Resolve a soname to the path it was loaded from, and note the file's size. */
static void find_identity(nvrtc_t *nvrtc) {
    struct link_map *map = NULL;
    struct stat file;
    void *library = dlopen(nvrtc->path, RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0') {
        free(nvrtc->path);
        nvrtc->path = mem_text(map->l_name);
    }
    if (stat(nvrtc->path, &file) == 0)
        nvrtc->library_bytes = (size_t)file.st_size;
}

static status_t not_found(const char *root, text_list_t *failures, error_t *err) {
    if (fs_variable(PLACES.variable) == NULL) {
        text_list_add(failures, "the loader's path");
        nvrtc_find_folders(root, failures);
    }
    char *places = text_list_join(failures, ", ");
    status_t status = error_set(err, STATUS_USAGE,
                                "NVRTC not found: .venv/bin/pip install nvidia-cuda-nvrtc, or set "
                                "$BENCH_NVRTC to the library's path\nsearched: %.1400s",
                                places);
    free(places);
    return status;
}

static status_t read_version(nvrtc_t *nvrtc, error_t *err) {
    int n = 0;
    if (nvrtc->functions->version(&nvrtc->major, &nvrtc->minor) != NVRTC_OK ||
        nvrtc->functions->n_archs(&n) != NVRTC_OK || n <= 0)
        return error_set(err, STATUS_USAGE, "did not report its version and architectures");
    nvrtc->archs = mem_zeroed((size_t)n, sizeof *nvrtc->archs);
    nvrtc->n_archs = (size_t)n;
    if (nvrtc->functions->archs(nvrtc->archs) != NVRTC_OK)
        return error_set(err, STATUS_USAGE, "did not report its architectures");
    return STATUS_OK;
}

status_t nvrtc_open(const char *root, nvrtc_t **nvrtc, error_t *err) {
    nvrtc_t *opened = mem_zeroed(1, sizeof *opened);
    text_list_t failures = {0};
    status_t status;
    opened->functions = mem_zeroed(1, sizeof *opened->functions);
    opened->path = library_find(&PLACES, root, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS,
                                opened->functions, &failures);
    if (opened->path == NULL) {
        status = not_found(root, &failures, err);
    } else {
        if (strchr(opened->path, '/') != NULL)
            load_builtins(opened->path);
        find_identity(opened);
        if ((status = read_version(opened, err)) != STATUS_OK)
            error_within(err, "%s", opened->path);
        opened->include = nvrtc_find_include(root, opened->path);
    }
    text_list_free(&failures);
    if (status != STATUS_OK) {
        nvrtc_close(opened);
        opened = NULL;
    }
    *nvrtc = opened;
    return status;
}

void nvrtc_close(nvrtc_t *nvrtc) {
    if (nvrtc == NULL)
        return;
    free(nvrtc->path);
    free(nvrtc->archs);
    free(nvrtc->include);
    free(nvrtc->functions);
    free(nvrtc);
}

static status_t check(const nvrtc_t *nvrtc, nvrtc_result_t result, const char *what, error_t *err) {
    if (result == NVRTC_OK)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "NVRTC: %s: %s", what,
                     nvrtc->functions->error_text(result));
}

static status_t take_log(const nvrtc_t *nvrtc, nvrtc_program_t program, compiled_t *output,
                         error_t *err) {
    size_t bytes = 0;
    TRY(check(nvrtc, nvrtc->functions->log_size(program, &bytes), "log", err));
    output->log = mem_zeroed(bytes + 1, 1);
    return check(nvrtc, nvrtc->functions->log(program, output->log), "log", err);
}

static status_t take_cubin(const nvrtc_t *nvrtc, nvrtc_program_t program, compiled_t *output,
                           error_t *err) {
    TRY(check(nvrtc, nvrtc->functions->cubin_size(program, &output->cubin_bytes), "cubin", err));
    output->cubin = mem_zeroed(output->cubin_bytes + 1, 1);
    return check(nvrtc, nvrtc->functions->cubin(program, output->cubin), "cubin", err);
}

static status_t compile_once(const nvrtc_t *nvrtc, const nvrtc_input_t *input,
                             const text_list_t *options, compiled_t *output, error_t *err) {
    const struct nvrtc_functions *f = nvrtc->functions;
    nvrtc_program_t program = NULL;
    *output = (compiled_t){0};
    TRY(check(nvrtc,
              f->create(&program, input->text, input->name, (int)input->header_names->n,
                        (const char *const *)input->header_texts->items,
                        (const char *const *)input->header_names->items),
              input->name, err));
    nvrtc_result_t result =
        f->compile(program, (int)options->n, (const char *const *)options->items);
    status_t status = take_log(nvrtc, program, output, err);
    if (status == STATUS_OK && result == NVRTC_OK)
        status = take_cubin(nvrtc, program, output, err);
    else if (status == STATUS_OK && result != NVRTC_COMPILATION_FAILED && output->log[0] == '\0')
        status = check(nvrtc, result, input->name, err); /* no log to show */
    output->ok = status == STATUS_OK && result == NVRTC_OK;
    f->destroy(&program);
    if (status != STATUS_OK)
        compiled_free(output);
    return status;
}

/* With -v NVRTC 13.0 loses what ptxas calls an error: then the log is that of another try without. */
status_t nvrtc_compile(const nvrtc_t *nvrtc, const nvrtc_input_t *input, compiled_t *output,
                       error_t *err) {
    TRY(compile_once(nvrtc, input, input->options, output, err));
    if (output->ok || strstr(output->log, "error") != NULL)
        return STATUS_OK;
    text_list_t quiet = {0};
    for (size_t i = 0; i < input->options->n; i++)
        if (strcmp(input->options->items[i], "--ptxas-options=-v") != 0)
            text_list_add(&quiet, input->options->items[i]);
    compiled_free(output);
    const status_t status = compile_once(nvrtc, input, &quiet, output, err);
    text_list_free(&quiet);
    return status;
}

void compiled_free(compiled_t *output) {
    free(output->log);
    free(output->cubin);
    *output = (compiled_t){0};
}

#include "compile/toolchain.h"

#include "base/hash.h"
#include "base/memory.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== the compiler's output =================================================================== */

enum {
    REASON_LINES = 8,
    REASON_BYTES = 1200, /* fits an error_t with room for names around it */
};

/* The number right before `unit` ("18 registers"), or 0. */
static int64_t number_before(const char *line, const char *unit) {
    const char *at = strstr(line, unit), *digits = at;
    while (at != NULL && digits > line && strchr("0123456789", digits[-1]) != NULL)
        digits--;
    return at != NULL && digits < at ? strtoll(digits, NULL, 10) : 0;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

ptxas_usage_t compile_log_usage(const char *log) {
    ptxas_usage_t usage = {0};
    AUTO(text_list_free) text_list_t lines = text_split(log, '\n');
    for (size_t i = 0; i < lines.n; i++) {
        const char *line = lines.items[i];
        int64_t spills =
            number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
        usage.registers = larger(usage.registers, number_before(line, " registers"));
        usage.shared_bytes = larger(usage.shared_bytes, number_before(line, " bytes smem"));
        usage.spill_bytes = larger(usage.spill_bytes, spills);
    }
    return usage;
}

char *compile_log_skip(const char *log) {
    static const char mark[] = "SKIP: ";
    char *reason = NULL;
    AUTO(text_list_free) text_list_t lines = text_split(log, '\n');
    for (size_t i = 0; i < lines.n && reason == NULL; i++) {
        const char *directive = strstr(lines.items[i], "#error");
        const char *at = directive != NULL ? strstr(directive, mark) : NULL;
        if (at != NULL)
            reason = text_utf8(at + sizeof mark - 1);
    }
    return reason;
}

/* The text between `before` and `after` in a line, or NULL. */
static char *between(const char *line, const char *before, const char *after) {
    const char *from = strstr(line, before);
    const char *to = from != NULL ? strstr(from + strlen(before), after) : NULL;
    if (to == NULL)
        return NULL;
    from += strlen(before);
    return mem_text_n(from, (size_t)(to - from));
}

/* Index of the first error line, `lines->n` for none. */
static size_t first_error(const text_list_t *lines) {
    size_t i = 0;
    while (i < lines->n && strstr(lines->items[i], "error") == NULL &&
           strstr(lines->items[i], "fatal") == NULL &&
           strstr(lines->items[i], "undefined reference") == NULL &&
           strstr(lines->items[i], "cannot find -l") == NULL) /* of linkers */
        i++;
    return i;
}

char *compile_log_missing_header(const char *log) {
    AUTO(text_list_free) text_list_t lines = text_split(log, '\n');
    size_t i = first_error(&lines);
    const char *line = i < lines.n ? lines.items[i] : "";
    char *header = between(line, "open source file \"", "\""); /* NVRTC and nvcc's front end */
    if (header == NULL)
        header = between(line, "fatal error: ", ": No such file or directory"); /* nvcc's gcc */
    return header;
}

/* "FLT_MAX" if the first error is that this name is not defined, else NULL. The caller frees it. */
static char *compile_log_undefined(const char *log) {
    AUTO(text_list_free) text_list_t lines = text_split(log, '\n');
    size_t i = first_error(&lines);
    char *name =
        i < lines.n ? between(lines.items[i], "error: identifier \"", "\" is undefined") : NULL;
    return name;
}

char *compile_log_reason(const char *log) {
    AUTO(text_list_free) text_list_t lines = text_split(log, '\n'), kept = {0};
    size_t first = first_error(&lines), bytes = 0;
    if (first == lines.n)
        first = 0; /* no error line: start at the top */
    for (size_t i = first; i < lines.n && kept.n < REASON_LINES; i++) {
        const char *line = lines.items[i];
        bool blank = line[strspn(line, " \t\r")] == '\0';
        bytes += strlen(line) + 1;
        if (blank || text_starts(line, "ptxas info"))
            continue;
        if (bytes > REASON_BYTES)
            break;
        text_list_add(&kept, line);
    }
    if (kept.n == 0)
        text_list_add(&kept, "the compiler gave no reason");
    AUTO_FREE char *joined = text_list_join(&kept, "\n");
    char *reason = text_utf8(joined); /* compilers quote source bytes; JSON must be UTF-8 */
    return reason;
}

/* ==== what is missing ========================================================================= */

/* Recognises programs that fail to compile because something is missing: on this machine, or with NVRTC. */

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
        AUTO_FREE char *folder = mem_format("%s/%.*s", places[i], (int)length, header);
        missing = missing && !fs_exists(folder);
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
    AUTO_FREE char *header = compile_log_missing_header(log), *install = NULL;
    const char *wheel = header != NULL ? wheel_of(header) : NULL;
    if (wheel != NULL && is_package_missing(tools, header)) {
        install = toolchain_headers_install(tools, wheel);
        return mem_format("CUDA header %s not found: %s", header, install);
    }
    if (strstr(log, "Failed to preprocess host compiler properties") == NULL)
        return NULL;
    install = package_install(&compiler);
    return mem_format("nvcc needs a C++ compiler: %s", install);
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
    AUTO_FREE char *header = compile_log_missing_header(log), *name = compile_log_undefined(log);
    char *hint = NULL;
    if (header != NULL && tools->kind == COMPILER_NVRTC && strchr(header, '.') == NULL)
        hint = mem_format("NVRTC has no C++ standard library: use <cuda/std/%s> if it exists, or "
                          "--compiler nvcc",
                          header);
    for (size_t i = 0; name != NULL && hint == NULL && i < sizeof HEADERS / sizeof *HEADERS; i++)
        if (text_starts(name, HEADERS[i].prefix))
            hint = mem_format("%s is in <%s>", name, HEADERS[i].header);
    return hint;
}

/* ==== compilers =============================================================================== */

static const double NVCC_TIMEOUT_S = 300; /* a kernel takes a second; this ends a hang */

static void hash_file(hash_t *hash, const char *folder, const char *name) {
    AUTO_FREE char *path = fs_join(folder, name), *text = NULL;
    size_t bytes;
    if (fs_read(path, &text, &bytes, NULL) == STATUS_OK)
        hash_add(hash, text, bytes);
}

/* Hash contents, not the path: upgrading a wheel may keep the path. */
static char *headers_digest(const toolchain_t *tools) {
    hash_t *hash = hash_new();
    if (tools->include != NULL) {
        hash_file(hash, tools->include, "cuda_fp16.h");
        hash_file(hash, tools->include, "cuda_fp16.hpp");
    }
    if (tools->cccl != NULL)
        hash_file(hash, tools->cccl, "cuda/std/__cccl/version.h");
    for (size_t i = 0; i < tools->standard_texts.n; i++) {
        hash_add_text(hash, tools->standard_names.items[i]);
        hash_add_text(hash, tools->standard_texts.items[i]);
    }
    char *digest = mem_alloc(HASH_TEXT);
    hash_finish(hash, digest);
    return digest;
}

/* NVRTC has no <cstdint>, <cfloat>, …; without the folder, they stay missing. */
static void read_standard_headers(toolchain_t *tools) {
    AUTO_FREE char *folder = mem_format("%s/kernels/common/nvrtc", tools->root);
    AUTO(text_list_free) text_list_t names = {0};
    fs_list(folder, "", &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        AUTO_FREE char *path = fs_join(folder, names.items[i]);
        char *text;
        size_t bytes;
        if (fs_read(path, &text, &bytes, NULL) == STATUS_OK) {
            text_list_add(&tools->standard_names, names.items[i]);
            text_list_take(&tools->standard_texts, text);
        }
    }
}

/* A toolkit and wheels from CUDA 13 on have CCCL in a folder of its own, which nvcc knows. */
static void find_headers(toolchain_t *tools) {
    tools->include = tools->nvrtc->include;
    if (tools->include != NULL) {
        AUTO_FREE char *cccl = fs_join(tools->include, "cccl");
        if (fs_is_folder(cccl))
            tools->cccl = arena_format(&tools->texts, "%s", cccl);
    }
    read_standard_headers(tools);
    tools->headers = arena_keep(&tools->texts, headers_digest(tools));
}

static status_t open_nvrtc(toolchain_t *tools, error_t *err) {
    TRY(nvrtc_open(tools->root, &tools->nvrtc, err));
    const nvrtc_t *nvrtc = tools->nvrtc;
    tools->path = nvrtc->path;
    tools->major = nvrtc->major;
    tools->minor = nvrtc->minor;
    tools->label = arena_format(&tools->texts, "NVRTC %d.%d", nvrtc->major, nvrtc->minor);
    tools->fingerprint =
        arena_format(&tools->texts, "%s (%zu bytes)", tools->label, nvrtc->library_bytes);
    find_headers(tools);
    for (size_t i = 0; i < nvrtc->n_archs; i++)
        text_list_add_format(&tools->archs, "sm_%d", nvrtc->archs[i]);
    return STATUS_OK;
}

char *toolchain_find_program(const char *name) {
    const char *const homes[] = {fs_variable("CUDA_HOME"), fs_variable("CUDA_PATH"), "",
                                 "/usr/local/cuda"};
    char *found = NULL;
    for (size_t i = 0; i < sizeof homes / sizeof *homes && found == NULL; i++) {
        if (homes[i] == NULL)
            continue;
        AUTO_FREE char *path =
            mem_format("%s%s%s", homes[i], homes[i][0] != '\0' ? "/bin/" : "", name);
        found = fs_find_program(path); /* searches $PATH for a bare name */
    }
    return found;
}

static int by_number(const void *a, const void *b) {
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* The output of nvcc with one option; the caller frees it. */
static status_t ask_nvcc(const char *nvcc, const char *option, char **answer, error_t *err) {
    const char *const argv[] = {nvcc, option, NULL};
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    *answer = NULL;
    TRY(subprocess_run(argv, NULL, NVCC_TIMEOUT_S, &result, err));
    status_t status = STATUS_OK;
    if (result.exit_code != 0)
        status = error_set(err, STATUS_USAGE, "%s %s: exit code %d: %.300s", nvcc, option,
                           result.exit_code, result.err);
    else
        *answer = mem_text(result.out);
    return status;
}

static status_t open_nvcc(toolchain_t *tools, error_t *err) {
    tools->path = arena_keep(&tools->texts, toolchain_find_program("nvcc"));
    if (tools->path == NULL)
        return error_set(err, STATUS_USAGE,
                         "nvcc not found: searched $CUDA_HOME, $CUDA_PATH, $PATH and "
                         "/usr/local/cuda; install the CUDA toolkit, or use --compiler nvrtc");
    AUTO_FREE char *answer = NULL, *codes = NULL;
    TRY(ask_nvcc(tools->path, "--version", &answer, err));
    const char *release = strstr(answer, ", V");
    int length = release != NULL ? (int)strcspn(release + 3, "\r\n ") : 0;
    if (length > 0)
        tools->label = arena_format(&tools->texts, "nvcc %.*s", length, release + 3);
    if (tools->label == NULL)
        return error_set(err, STATUS_USAGE, "%s --version: no \", V<version>\" in its output",
                         tools->path);
    tools->fingerprint = tools->label;

    TRY(ask_nvcc(tools->path, "--list-gpu-code", &codes, err));
    AUTO(text_list_free) text_list_t lines = text_split(codes, '\n');
    for (size_t i = 0; i < lines.n; i++)
        if (text_starts(lines.items[i], "sm_"))
            text_list_add(&tools->archs, lines.items[i]);
    qsort(tools->archs.items, tools->archs.n, sizeof *tools->archs.items, by_number);
    return STATUS_OK;
}

status_t toolchain_open(compiler_t kind, const char *root, toolchain_t *tools, error_t *err) {
    *tools = (toolchain_t){.kind = kind};
    tools->root = arena_format(&tools->texts, "%s", root);
    status_t status = kind == COMPILER_NVCC ? open_nvcc(tools, err) : open_nvrtc(tools, err);
    if (status != STATUS_OK)
        toolchain_close(tools);
    return status;
}

void toolchain_close(toolchain_t *tools) {
    nvrtc_close(tools->nvrtc);
    arena_free(&tools->texts);
    text_list_free(&tools->archs);
    text_list_free(&tools->standard_names);
    text_list_free(&tools->standard_texts);
    *tools = (toolchain_t){0};
}

char *toolchain_refuses(const toolchain_t *tools, const char *arch) {
    /* "sm_90a" and "sm_100f" add instructions to sm_90 and sm_100. */
    AUTO_FREE char *base = mem_text(arch);
    size_t length = strlen(base);
    if (length > 0 && (base[length - 1] == 'a' || base[length - 1] == 'f'))
        base[length - 1] = '\0';
    char *reason = NULL;
    if (tools->archs.n > 0 && !text_list_has(&tools->archs, base))
        reason = mem_format("%s does not support %s (supported: %s to %s)", tools->label, arch,
                            tools->archs.items[0], tools->archs.items[tools->archs.n - 1]);
    return reason;
}

char *toolchain_identity(const toolchain_t *tools, const source_t *source) {
    if (tools->headers == NULL || !source->system_includes)
        return mem_text(tools->fingerprint);
    return mem_format("%s, headers %s", tools->fingerprint, tools->headers);
}

void toolchain_options(const toolchain_t *tools, const source_t *source, text_list_t *options) {
    text_list_add(options, "-std=c++17");
    text_list_add(options, "--ptxas-options=-v");
    /* From version 12.9 on NVRTC keeps what it has compiled where the driver does: what comes from there has no log, so no
     * registers, and no time. */
    if (tools->kind == COMPILER_NVRTC && 100 * tools->major + tools->minor >= 1209)
        text_list_add(options, "--no-cache");
    if (tools->include != NULL && source->system_includes)
        text_list_add_format(options, "--include-path=%s", tools->include);
    if (tools->cccl != NULL && source->system_includes)
        text_list_add_format(options, "--include-path=%s", tools->cccl);
}

void toolchain_add_without_commas(text_list_t *argv, const char *option) {
    char *escaped = mem_alloc(2 * strlen(option) + 1), *to = escaped;
    for (const char *c = option; *c != '\0'; c++) {
        if (*c == ',')
            *to++ = '\\';
        *to++ = *c;
    }
    *to = '\0';
    text_list_take(argv, escaped);
}

status_t toolchain_run(text_list_t *argv, const char *what, double timeout_s, const char *file,
                       compiled_t *output, error_t *err) {
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    TRY(subprocess_run(text_list_argv(argv), NULL, timeout_s, &result, err));
    output->log = result.timed_out ? mem_format("error: %s timed out after %.0f s", what, timeout_s)
                                   : mem_text(result.err);
    output->ok = result.exit_code == 0 && !result.timed_out;
    return output->ok ? fs_read(file, &output->cubin, &output->cubin_bytes, err) : STATUS_OK;
}

/* nvcc reads the files itself, searching headers as source_get() does: beside the file, then in
 * kernels/. */
static status_t compile_nvcc(const toolchain_t *tools, const source_t *source,
                             const text_list_t *options, compiled_t *output, error_t *err) {
    AUTO(fs_remove_temporary) char *folder = NULL;
    TRY(fs_temporary_folder(&folder, err));
    AUTO_FREE char *cubin = fs_join(folder, "out.cubin");
    AUTO(text_list_free) text_list_t argv = {0};
    text_list_add(&argv, tools->path);
    text_list_add(&argv, "-cubin");
    for (size_t i = 0; i < options->n; i++)
        toolchain_add_without_commas(&argv, options->items[i]);
    text_list_add_format(&argv, "--include-path=%s/kernels", tools->root);
    text_list_add_words(&argv, "-o", cubin, source->path, NULL);
    return toolchain_run(&argv, "nvcc", NVCC_TIMEOUT_S, cubin, output, err);
}

static status_t compile_nvrtc(const toolchain_t *tools, const source_t *source,
                              const text_list_t *options, compiled_t *output, error_t *err) {
    AUTO(text_list_free) text_list_t names = {0}, texts = {0};
    text_list_add_all(&names, &source->header_names);
    text_list_add_all(&texts, &source->header_texts);
    if (source->system_includes) {
        text_list_add_all(&names, &tools->standard_names);
        text_list_add_all(&texts, &tools->standard_texts);
    }
    const nvrtc_input_t input = {.name = source->name,
                                 .text = source->text,
                                 .header_names = &names,
                                 .header_texts = &texts,
                                 .options = options};
    return nvrtc_compile(tools->nvrtc, &input, output, err);
}

status_t toolchain_compile(const toolchain_t *tools, const source_t *source, const char *arch,
                           const text_list_t *defines, compiled_t *output, error_t *err) {
    *output = (compiled_t){0};
    AUTO(text_list_free) text_list_t options = {0};
    toolchain_options(tools, source, &options);
    text_list_add_format(&options, "--gpu-architecture=%s", arch);
    for (size_t i = 0; i < defines->n; i++)
        text_list_add_format(&options, "-D%s", defines->items[i]);
    const status_t status = (tools->kind == COMPILER_NVCC ? compile_nvcc : compile_nvrtc)(
        tools, source, &options, output, err);
    if (status != STATUS_OK)
        compiled_free(output);
    return status;
}

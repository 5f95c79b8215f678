#include "emulate/program.h"

#include "base/memory.h"
#include "compile/compiler_log.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

static const double TIMEOUT_S = 120; /* a rung takes two seconds */

status_t host_tools_open(const char *root, host_tools_t *tools, error_t *err) {
    static const package_t package = {"g++", "gcc-c++", "gcc"};
    const char *const names[] = {fs_variable("CXX"), "g++", "c++", "clang++"};
    *tools = (host_tools_t){.root = root};
    for (size_t i = 0; i < sizeof names / sizeof *names && tools->compiler == NULL; i++)
        if (names[i] != NULL)
            tools->compiler = fs_find_program(names[i]);
    if (tools->compiler != NULL)
        return STATUS_OK;
    char *install = package_install(&package);
    error_set(err, STATUS_USAGE, "a C++ compiler is needed to emulate rungs: %s", install);
    free(install);
    return STATUS_USAGE;
}

/* ---- the files --------------------------------------------------------------------------------- */

/* Files of the project lie below `folder` as they do below its root, others below outside/. */
static char *place_of(const char *folder, const char *name) {
    return mem_format("%s/%s%s", folder, name[0] == '/' ? "outside" : "", name);
}

static status_t write_text(const char *path, const char *text, error_t *err) {
    char *copy = mem_text(path);
    status_t status = fs_make_folders(dirname(copy), err);
    free(copy);
    return status == STATUS_OK ? fs_write_atomic(path, text, strlen(text), err) : status;
}

/* Dynamic shared memory has one name for the linker: `extern __shared__ float4 rows[];` gets it. The caller frees it. */
static char *with_dynamic_shared(const char *text) {
    static const char LABEL[] = " asm(\"dynamic_shared\")";
    text_list_t parts = {0};
    const char *from = text, *at = text;
    while ((at = strstr(at, "extern")) != NULL) {
        const char *end = at + strcspn(at, ";{}"), *shared = strstr(at, "__shared__");
        at = end;
        if (*end != ';' || shared == NULL || shared > end)
            continue;
        text_list_take(&parts, mem_text_n(from, (size_t)(end - from)));
        text_list_add(&parts, LABEL);
        from = end;
    }
    text_list_add(&parts, from);
    char *joined = text_list_join(&parts, "");
    text_list_free(&parts);
    return joined;
}

/* What stands for a header in the emulation, or NULL: a header of kernels/ with PTX, by the same name there. */
static char *replacement_of(const char *root, const char *name) {
    const char *kernels = strstr(name, "kernels/");
    if (kernels == NULL)
        return NULL;
    char *path = mem_format("%s/kernels/emulation/%s", root, kernels + strlen("kernels/"));
    if (!fs_exists(path)) {
        free(path);
        path = NULL;
    }
    return path;
}

/* PTX that no header of the emulation stands for. */
static bool has_ptx(const char *text) {
    includes_t includes = {0};
    char *code = source_strip(text, &includes);
    const source_t stripped = {.code = code};
    const bool found = source_mentions(&stripped, "asm") || source_mentions(&stripped, "__asm__");
    includes_free(&includes);
    free(code);
    return found;
}

/* Write a file of the source. One that only names another has the text `#include "…"` (source.h). */
static status_t write_file(const char *folder, const char *name, const char *text,
                           host_program_t *program, error_t *err) {
    static const char NAMES[] = "#include \"/";
    char *path = place_of(folder, name), *own;
    if (text_starts(text, NAMES))
        own = mem_format("#include \"%s/outside/%s", folder, text + strlen(NAMES));
    else
        own = with_dynamic_shared(text);
    if (program->reason == NULL && has_ptx(text))
        program->reason = mem_format("%s has inline PTX (asm)", name);
    const status_t status = write_text(path, own, err);
    free(path);
    free(own);
    return status;
}

static status_t write_header(const char *root, const source_t *source, size_t i, const char *folder,
                             host_program_t *program, error_t *err) {
    const char *name = source->header_names.items[i];
    if (name[0] != '/' && source_leaves_folder(name))
        return STATUS_OK; /* another spelling of a file that lies beside its includer */
    char *replacement = replacement_of(root, name), *text = NULL;
    size_t bytes;
    status_t status = STATUS_OK;
    if (replacement == NULL) {
        status = write_file(folder, name, source->header_texts.items[i], program, err);
    } else if ((status = fs_read(replacement, &text, &bytes, err)) == STATUS_OK) {
        char *path = place_of(folder, name);
        status = write_text(path, text, err);
        free(path);
        free(text);
    }
    free(replacement);
    return status;
}

/* The rung between the two ends of the emulation. */
static status_t write_program(const char *root, const source_t *source, const char *folder,
                              host_program_t *program, error_t *err) {
    TRY(write_file(folder, source->name, source->text, program, err));
    for (size_t i = 0; i < source->header_names.n; i++)
        TRY(write_header(root, source, i, folder, program, err));
    char *rung = place_of(folder, source->name), *path = fs_join(folder, "program.cc");
    char *text =
        mem_format("#include \"host_cuda.h\"\n#include \"%s\"\n#include \"rung.h\"\n", rung);
    const status_t status = write_text(path, text, err);
    free(text);
    free(path);
    free(rung);
    return status;
}

/* ---- the compiler ------------------------------------------------------------------------------ */

/* Files are named as the user knows them. The caller frees it. */
static char *with_own_names(const char *log, const char *folder) {
    char *outside = mem_format("%s/outside", folder), *inside = mem_format("%s/", folder);
    const char *const prefixes[] = {outside, inside};
    char *text = mem_text(log);
    for (size_t i = 0; i < 2; i++)
        for (char *at = text; (at = strstr(at, prefixes[i])) != NULL;)
            memmove(at, at + strlen(prefixes[i]), strlen(at + strlen(prefixes[i])) + 1);
    free(outside);
    free(inside);
    return text;
}

/* A call or a type that the emulation may lack; by the words of GCC and Clang. */
static bool lacks_a_name(const char *reason) {
    static const char *const OF_GCC_AND_CLANG[] = {
        "not declared",        "undeclared",           "has no member",    "no member named",
        "undefined reference", "does not name a type", "unknown type name"};
    for (size_t i = 0; i < sizeof OF_GCC_AND_CLANG / sizeof *OF_GCC_AND_CLANG; i++)
        if (strstr(reason, OF_GCC_AND_CLANG[i]) != NULL)
            return true;
    return false;
}

/* The first error, in one line. */
static void set_reason(host_program_t *program, const char *log, const char *folder) {
    char *own = with_own_names(log, folder), *header = compile_log_missing_header(own);
    program->reason = compile_log_skip(own);
    program->skips = program->reason != NULL;
    if (header != NULL) {
        program->reason = mem_format("<%s> is not emulated", header);
    } else if (!program->skips) {
        char *reason = compile_log_reason(own);
        program->reason = mem_text_n(reason, strcspn(reason, "\n"));
        program->broken = !lacks_a_name(program->reason);
        free(reason);
    }
    free(header);
    free(own);
}

/* What decides whether a compiled header fits comes first. */
static void list_options(const host_tools_t *tools, const char *language, text_list_t *argv) {
    /* Its messages are read. Fibers jump between stacks, which _FORTIFY_SOURCE, the default of some, takes for an error. */
    const char *const options[] = {
        "env",   "LC_ALL=C",          tools->compiler,        "-std=c++17", "-O1",
        "-w",    "-U_FORTIFY_SOURCE", "-fno-strict-aliasing", "-pthread",   "-x",
        language};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        text_list_add(argv, options[i]);
}

static void list_inputs(const host_tools_t *tools, const text_list_t *defines, const char *folder,
                        const char *output, text_list_t *argv) {
    /* Kernels are found by name. */
    const char *const options[] = {"-o", output, "-rdynamic", "-ldl"};
    for (size_t i = 0; i < defines->n; i++)
        text_list_add_format(argv, "-D%s", defines->items[i]);
    if (tools->headers != NULL)
        text_list_add_format(argv, "-I%s", tools->headers);
    text_list_add_format(argv, "-I%s", folder);
    text_list_add_format(argv, "-I%s/kernels/emulation", tools->root);
    text_list_add_format(argv, "-I%s/kernels/emulation/cuda", tools->root);
    text_list_add_format(argv, "%s/program.cc", folder);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        text_list_add(argv, options[i]);
}

static status_t run(text_list_t *argv, subprocess_result_t *result, error_t *err) {
    text_list_take(argv, NULL); /* terminator */
    return subprocess_run((const char *const *)argv->items, NULL, TIMEOUT_S, result, err);
}

status_t host_tools_prepare(host_tools_t *tools, const char *headers, error_t *err) {
    subprocess_result_t result;
    text_list_t argv = {0};
    TRY(fs_make_folders(headers, err));
    /* The compiled header does not fit a program whose constants have names that the header uses: then it reads this. */
    char *beside = fs_join(headers, "host_cuda.h"),
         *text = mem_format("#include \"%s/kernels/emulation/host_cuda.h\"\n", tools->root);
    const status_t written = fs_write_atomic(beside, text, strlen(text), err);
    free(beside);
    free(text);
    TRY(written);
    list_options(tools, "c++-header", &argv);
    text_list_add_format(&argv, "%s/kernels/emulation/host_cuda.h", tools->root);
    text_list_add(&argv, "-o");
    text_list_add_format(&argv, "%s/host_cuda.h.gch", headers);
    const status_t status = run(&argv, &result, err);
    if (status == STATUS_OK) { /* otherwise programs compile it, and say what is wrong */
        tools->headers = result.exit_code == 0 ? headers : NULL;
        subprocess_result_free(&result);
    }
    text_list_free(&argv);
    return status;
}

void host_tools_close(host_tools_t *tools) {
    free(tools->compiler);
    *tools = (host_tools_t){0};
}

status_t host_program_build(const host_tools_t *tools, const source_t *source,
                            const text_list_t *defines, const char *folder, host_program_t *program,
                            error_t *err) {
    *program = (host_program_t){0};
    status_t status = write_program(tools->root, source, folder, program, err);
    if (status != STATUS_OK || program->reason != NULL)
        return status;
    char *output = fs_join(folder, "program");
    text_list_t argv = {0};
    subprocess_result_t result;
    list_options(tools, "c++", &argv);
    list_inputs(tools, defines, folder, output, &argv);
    status = run(&argv, &result, err);
    if (status == STATUS_OK && result.exit_code == 0 && !result.timed_out)
        program->path = mem_text(output);
    else if (status == STATUS_OK && result.timed_out)
        program->reason = mem_format("%s takes over %.0f s", tools->compiler, TIMEOUT_S);
    else if (status == STATUS_OK)
        set_reason(program, result.err, folder);
    if (status == STATUS_OK)
        subprocess_result_free(&result);
    text_list_free(&argv);
    free(output);
    return status;
}

void host_program_free(host_program_t *program) {
    free(program->path);
    free(program->reason);
    *program = (host_program_t){0};
}

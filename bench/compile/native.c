#include "compile/native.h"

#include "base/memory.h"
#include "engine/session.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <ctype.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TIMEOUT_S = 600; /* templates of CUTLASS take minutes; this ends a hang */

/* What is included before the source: declares run(), and defines workload_run(), which the worker calls. */
static char *header_of(compiler_t kind, const char *root) {
    return mem_format("%s/kernels/common/%s", root,
                      kind == COMPILER_CC ? "workload.h" : "workload_host.cuh");
}

/* ==== the compilers =========================================================================== */

/* -march=native means this processor: by its features, as virtual machines hide some. */
static void hash_processor(char text[HASH_TEXT]) {
    char name[HOST_TEXT], line[8192];
    hash_t *hash = hash_new();
    FILE *file = fopen("/proc/cpuinfo", "re");
    bool found = false;
    hash_add_text(hash, host_cpu_name(name));
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        found = text_starts(line, "flags") || text_starts(line, "Features");
        if (found)
            hash_add_text(hash, line);
    }
    if (file != NULL)
        fclose(file);
    hash_finish(hash, text);
}

static void hash_header(const toolchain_t *tools, char text[HASH_TEXT]) {
    AUTO_FREE char *path = header_of(tools->kind, tools->root), *content = NULL;
    size_t bytes;
    hash_t *hash = hash_new();
    if (fs_read(path, &content, &bytes, NULL) == STATUS_OK) /* or the compiler says why not */
        hash_add(hash, content, bytes);
    hash_finish(hash, text);
}

static status_t open_cc(toolchain_t *tools, error_t *err) {
    static const package_t package = {"gcc", "gcc", "gcc"};
    const char *const names[] = {fs_variable("CC"), "gcc", "cc", "clang"};
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    char processor[HASH_TEXT];
    for (size_t i = 0; i < sizeof names / sizeof *names && tools->path == NULL; i++)
        if (names[i] != NULL)
            tools->path = arena_keep(&tools->texts, fs_find_program(names[i]));
    if (tools->path == NULL) {
        AUTO_FREE char *install = package_install(&package);
        return error_set(err, STATUS_USAGE, "a C compiler is needed for contenders in C: %s",
                         install);
    }
    const char *const argv[] = {tools->path, "--version", NULL};
    TRY(subprocess_run(argv, NULL, TIMEOUT_S, &result, err));
    tools->label =
        arena_format(&tools->texts, "%.*s", (int)strcspn(result.out, "\r\n"), result.out);
    hash_processor(processor);
    tools->fingerprint = arena_format(&tools->texts, "%s, processor %s", tools->label, processor);
    return STATUS_OK;
}

static status_t open_nvcc(const char *root, toolchain_t *tools, error_t *err) {
    static const package_t package = {"nvidia-cuda-toolkit", "cuda-nvcc", "cuda"};
    error_t why = ERROR_INIT;
    if (toolchain_open(COMPILER_NVCC, root, tools, &why) == STATUS_OK)
        return STATUS_OK;
    AUTO_FREE char *program = toolchain_find_program("nvcc"), *install = package_install(&package);
    if (program != NULL)
        error_set(err, STATUS_USAGE, "%s", why.text);
    else
        error_set(err, STATUS_USAGE,
                  "a rung with host code needs nvcc, which is not in $CUDA_HOME, $CUDA_PATH, $PATH "
                  "or /usr/local/cuda: %s",
                  install);
    return STATUS_USAGE;
}

status_t native_open(compiler_t kind, const char *root, toolchain_t *tools, error_t *err) {
    char header[HASH_TEXT];
    status_t status;
    *tools = (toolchain_t){.kind = kind};
    if (kind == COMPILER_CC) {
        tools->root = arena_format(&tools->texts, "%s", root);
        status = open_cc(tools, err);
    } else {
        status = open_nvcc(root, tools, err);
        tools->kind = kind;
    }
    if (status != STATUS_OK)
        return status;
    hash_header(tools, header);
    tools->fingerprint = arena_format(&tools->texts, "%s, header %s", tools->fingerprint, header);
    return STATUS_OK;
}

/* ==== what a source asks for ================================================================== */

bool native_needs(const char *define) {
    return text_starts(define, "WORKLOAD_");
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The start of the word `word` that ends before `at`, blanks aside; NULL: another one does. */
static const char *word_before(const char *code, const char *at, const char *word) {
    const size_t length = strlen(word);
    while (at > code && isspace((unsigned char)at[-1]))
        at--;
    if ((size_t)(at - code) < length || strncmp(at - length, word, length) != 0)
        return NULL;
    at -= length;
    return at == code || !is_word(at[-1]) ? at : NULL;
}

/* Literals are blanked in the code. */
bool native_has_run(const source_t *source) {
    const char *code = source->code;
    for (const char *at = code; (at = strstr(at, "run")) != NULL; at++) {
        const char *end = at + strlen("run");
        const char *type = word_before(code, at, "void");
        if (end[strspn(end, " \t\r\n")] == '(' && type != NULL && type + strlen("void") < at &&
            word_before(code, type, "extern") != NULL)
            return true;
    }
    return false;
}

char *native_refusal(const source_t *source) {
    AUTO(includes_free) includes_t includes = {0};
    char *code = source_strip(source->text, &includes); /* without headers, which define LAUNCHES */
    const source_t own = {.code = code};
    const char *other = !native_has_run(&own)                  ? NULL
                        : source_mentions(&own, "LAUNCHES")    ? "LAUNCHES = {…}"
                        : source_mentions(&own, "TEMPORARIES") ? "TEMPORARIES"
                                                               : NULL;
    free(code);
    return other != NULL
               ? mem_format(
                     "%s: found both %s (of kernels that the host launches) and extern \"C\" "
                     "void run(WORKLOAD_ARGUMENTS, cudaStream_t stream) (host code of its "
                     "own): expected one of them",
                     source->name, other)
               : NULL;
}

/* Flags in a line `// nvcc: FLAG FLAG`. */
static void add_flags(const source_t *source, text_list_t *options) {
    static const char MARK[] = "// nvcc:";
    AUTO(text_list_free) text_list_t lines = text_split(source->text, '\n');
    for (size_t i = 0; i < lines.n; i++) {
        if (!text_starts(lines.items[i], MARK))
            continue;
        AUTO(text_list_free) text_list_t words = text_split(lines.items[i] + strlen(MARK), ' ');
        for (size_t k = 0; k < words.n; k++)
            if (words.items[k][strspn(words.items[k], " \t\r")] != '\0')
                text_list_add(options, words.items[k]);
    }
}

/* The library of a header that is included. */
static const struct {
    const char *header, *option;
} LIBRARIES[] = {{"cublas_v2.h", "-lcublas"}, {"cublasLt.h", "-lcublasLt"},
                 {"cuda.h", "-lcuda"},        {"cudaTypedefs.h", "-lcuda"},
                 {"cufft.h", "-lcufft"},      {"cusparse.h", "-lcusparse"}};

static void add_libraries(const source_t *source, text_list_t *options) {
    for (size_t i = 0; i < sizeof LIBRARIES / sizeof *LIBRARIES; i++) {
        AUTO_FREE char *bracketed = mem_format("<%s>", LIBRARIES[i].header);
        AUTO_FREE char *quoted = mem_format("\"%s\"", LIBRARIES[i].header);
        if (strstr(source->text, bracketed) != NULL || strstr(source->text, quoted) != NULL)
            text_list_add(options, LIBRARIES[i].option);
    }
}

/* nvcc takes one. */
static bool names_standard(const text_list_t *options) {
    for (size_t i = 0; i < options->n; i++)
        if (text_starts(options->items[i], "-std=") || text_starts(options->items[i], "--std"))
            return true;
    return false;
}

void native_options(const toolchain_t *tools, const source_t *source, text_list_t *options) {
    /* For processors that they know, compilers use half of the vectors: a regression took 136 us, not 92 (a Xeon). */
    static const char *const OF_CC[] = {"-std=gnu17",
                                        "-O3",
                                        "-march=native",
                                        "-fopenmp",
                                        "-shared",
                                        "-fPIC",
                                        "-Wl,-z,defs",
#ifdef __x86_64__
                                        "-mprefer-vector-width=512"
#endif
    };
    static const char *const OF_NVCC[] = {"-O3", "-shared", "-Xcompiler=-fPIC", "-Xlinker=-z,defs",
                                          "--ptxas-options=-v"};
    if (tools->kind == COMPILER_CC) {
        for (size_t i = 0; i < sizeof OF_CC / sizeof *OF_CC; i++)
            text_list_add(options, OF_CC[i]);
        return;
    }
    add_flags(source, options);
    if (!names_standard(options))
        text_list_add(options, "-std=c++17");
    for (size_t i = 0; i < sizeof OF_NVCC / sizeof *OF_NVCC; i++)
        text_list_add(options, OF_NVCC[i]);
    add_libraries(source, options);
}

/* ==== compiling =============================================================================== */

/* Compilers do not say what is expected: linkers of a function that is missing, compilers of another one by its name. */
static void add_hint(const toolchain_t *tools, const source_t *source, const text_list_t *defines,
                     compiled_t *output) {
    static const char ARGUMENTS[] = "WORKLOAD_ARGUMENTS=";
    AUTO_FREE char *log = output->log;
    const bool missing = strstr(log, "undefined reference to `run'") != NULL ||
                         strstr(log, "undefined symbol: run") != NULL;
    const bool mistyped = strstr(log, "overloaded function \"run\"") != NULL ||
                          strstr(log, "conflicting types for 'run'") != NULL;
    const char *parameters = "";
    for (size_t i = 0; i < defines->n; i++)
        if (text_starts(defines->items[i], ARGUMENTS))
            parameters = defines->items[i] + strlen(ARGUMENTS);
    AUTO_FREE char *expected =
        tools->kind == COMPILER_CC
            ? mem_format("void run(%s)", parameters)
            : mem_format("extern \"C\" void run(%s, cudaStream_t stream)", parameters);
    output->log =
        missing
            ? mem_format("%s: error: found no function run, expected %s", source->name, expected)
        : mistyped ? mem_format("%s: error: run: expected %s\n%s", source->name, expected, log)
                   : mem_text(log);
}

/* The loader does not know the toolkit's libraries. */
static void add_search_path(const toolchain_t *tools, text_list_t *argv) {
    AUTO_FREE char *program = realpath(tools->path, NULL);
    AUTO_FREE char *beside = program != NULL ? mem_format("%s/../lib64", dirname(program)) : NULL;
    const char *const folders[] = {beside, "/usr/local/cuda/lib64"};
    for (size_t i = 0; i < 2; i++)
        if (folders[i] != NULL && fs_is_folder(folders[i]))
            text_list_add_format(argv, "-Xlinker=-rpath,%s", folders[i]);
}

static void list_words(const toolchain_t *tools, const source_t *source, const text_list_t *options,
                       const char *object, text_list_t *argv) {
    const bool is_cc = tools->kind == COMPILER_CC;
    text_list_add(argv, "env");
    text_list_add(argv, "LC_ALL=C"); /* messages are read */
    text_list_add(argv, tools->path);
    for (size_t i = 0; i < options->n; i++)
        if (!text_starts(options->items[i], "-l")) {
            if (is_cc || !text_starts(options->items[i], "-D"))
                text_list_add(argv, options->items[i]);
            else
                toolchain_add_without_commas(argv, options->items[i]);
        }
    text_list_add_format(argv, "-I%s/kernels", tools->root);
    text_list_add(argv, "-include");
    text_list_take(argv, header_of(tools->kind, tools->root));
    text_list_add_words(argv, "-o", object, source->path, NULL);
    for (size_t i = 0; i < options->n; i++) /* after what needs them */
        if (text_starts(options->items[i], "-l"))
            text_list_add(argv, options->items[i]);
    if (is_cc)
        text_list_add(argv, "-lm");
    else
        add_search_path(tools, argv);
}

status_t native_compile(const toolchain_t *tools, const source_t *source, const char *arch,
                        const text_list_t *defines, compiled_t *output, error_t *err) {
    AUTO(fs_remove_temporary) char *folder = NULL;
    *output = (compiled_t){0};
    TRY(fs_temporary_folder(&folder, err));
    AUTO_FREE char *object = fs_join(folder, "out.so");
    AUTO(text_list_free) text_list_t options = {0}, argv = {0};
    native_options(tools, source, &options);
    if (tools->kind != COMPILER_CC)
        text_list_add_format(&options, "--gpu-architecture=%s", arch);
    for (size_t i = 0; i < defines->n; i++)
        text_list_add_format(&options, "-D%s", defines->items[i]);
    list_words(tools, source, &options, object, &argv);
    const status_t status = toolchain_run(&argv, "the compiler", TIMEOUT_S, object, output, err);
    if (status == STATUS_OK)
        add_hint(tools, source, defines, output);
    else
        compiled_free(output);
    return status;
}

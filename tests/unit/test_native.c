/* What the source of a shared object says: that it is one, its flags, its libraries. */
#include "checks.h"
#include "compile/native.h"

/* As source_get() leaves it. */
static source_t source_of(const char *text) {
    AUTO(includes_free) includes_t includes = {0};
    source_t source = {
        .name = (char *)"mine.cu", .text = (char *)text, .code = source_strip(text, &includes)};
    return source;
}

static const struct {
    const char *text;
    bool has_run;
} SOURCES[] = {
    {"extern \"C\" void run(WORKLOAD_ARGUMENTS, cudaStream_t stream) {}", true},
    {"extern \"C\"\n    void\n    run (int a) {}", true},
    {"extern \"C\" /* host code */ void run(int a) {}", true},
    {"__device__ void run(int a) {}", false},
    {"extern \"C\" __global__ void run(int a) {}", false},
    {"extern \"C\" void runs(int a) {}", false},
    {"extern \"C\" int run(int a) {}", false},
    {"extern \"C\" void rerun(int a) { run(a); }", false},
    {"// extern \"C\" void run(int a)", false},
    {"const char *text = \"extern void run(\";", false},
    {"my_extern void run(int a) {}", false},
    {"", false},
};

static void which_sources_have_host_code(void **state) {
    for (size_t i = 0; i < COUNT_OF(SOURCES); i++) {
        const source_t source = source_of(SOURCES[i].text);
        if (native_has_run(&source) != SOURCES[i].has_run)
            fail_msg("%s", SOURCES[i].text);
        free(source.code);
    }
}

static text_list_t options_of(compiler_t kind, const char *text) {
    const toolchain_t tools = {.kind = kind};
    const source_t source = source_of(text);
    text_list_t options = {0};
    native_options(&tools, &source, &options);
    free(source.code);
    return options;
}

static void flags_and_libraries(void **state) {
    text_list_t options = options_of(COMPILER_NVCC_OBJECT, "#include <cublas_v2.h>\n"
                                                           "// nvcc: -I/opt/cutlass  -std=c++20\n"
                                                           "int i; // nvcc: -DNOT\n");
    static const char *const THERE[] = {"-I/opt/cutlass", "-std=c++20", "-lcublas", "-shared"};
    static const char *const NOT[] = {"-std=c++17", "-lcublasLt", "-DNOT", ""};
    for (size_t i = 0; i < 4; i++) {
        assert_true(text_list_has(&options, THERE[i]));
        assert_false(text_list_has(&options, NOT[i]));
    }
    text_list_free(&options);
}

static void flags_in_c_are_ours(void **state) {
    text_list_t options = options_of(COMPILER_CC, "// nvcc: -Ofast\n");
    assert_true(text_list_has(&options, "-march=native"));
#ifdef __x86_64__
    assert_true(text_list_has(&options, "-mprefer-vector-width=512"));
#endif
    assert_false(text_list_has(&options, "-Ofast"));
    text_list_free(&options);
}

#include "run_tests.h"

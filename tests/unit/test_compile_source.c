/* Scanning sources and reading the compiler's log: what needs no compiler. */
#include "checks.h"
#include "compile/source.h"
#include "compile/toolchain.h"
#include "io/fs.h"
#include "temporary_folder.h"

#define ROOT "tests/fixtures/kernels_test"
#define KERNELS ROOT "/kernels/mlp_infer/"

static void test_strip(void **state) {
    static const struct {
        const char *text, *code;
    } cases[] = {
        {"int a;", "int a;"},
        {"a // BATCH\nb", "a  \nb"},
        {"a // BATCH \\\n BATCH\nb", "a  \nb"},
        {"a /* BATCH\n */ b", "a   b"},
        {"a/* unfinished", "a "},
        {"f(\"BATCH \\\" BATCH\", 'B')", "f( ,  )"},
        {"\"// no comment\" c", "  c"},
        {"R\"x(BATCH )\" BATCH)x\" d", "  d"},
        {"u8R\"(BATCH)\" d", "  d"},
        {"OTHER\"BATCH\" d", "OTHER  d"},
        {"1'000'000 BATCH 'x'", "1'000'000 BATCH  "},
        {"0x1'FF'u8", "0x1'FF'u8"},
        {"#error can't do that\nBATCH", "#error can \nBATCH"},
        {"\"unfinished\nBATCH", " \nBATCH"},
        {"#define X \"a\" BATCH", "#define X   BATCH"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(includes_free) includes_t includes = {0};
        AUTO_FREE char *code = source_strip(cases[i].text, &includes);
        assert_string_equal(code, cases[i].code);
        assert_int_equal(includes.quoted.n, 0);
        assert_false(includes.system);
        assert_null(includes.refused);
    }
}

static void test_includes(void **state) {
    static const struct {
        const char *text, *quoted;
        bool has_system;
    } cases[] = {
        {"#include \"a.cuh\"\n", "a.cuh", false},
        {"  #  include\t\"b/c.cuh\" // why\n#include \"a.cuh\"", "b/c.cuh,a.cuh", false},
        {"#include \"a.cuh\"\n#include \"a.cuh\"", "a.cuh", false},
        {"/* note */ #include \"a.cuh\"", "a.cuh", false},
        {"#include <cuda_fp16.h>", "", true},
        {"#include <sys//x.h>\n#include \"a.cuh\"", "a.cuh", true},
        {"// #include \"a.cuh\"", "", false},
        {"/*\n#include \"a.cuh\"\n*/", "", false},
        {"x #include \"a.cuh\"", "", false},
        {"#included \"a.cuh\"", "", false},
        {"#include \"unfinished\n\"", "", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(includes_free) includes_t includes = {0};
        free(source_strip(cases[i].text, &includes));
        AUTO_FREE char *found = text_list_join(&includes.quoted, ",");
        assert_string_equal(found, cases[i].quoted);
        assert_int_equal(includes.system, cases[i].has_system);
        assert_null(includes.refused);
    }
}

/* However it is written: what one compiler takes for an #include is one, or refused. */
static void test_hidden_includes(void **state) {
    static const struct {
        const char *text, *found; /* names with their lines, or what is refused */
    } cases[] = {
        {"#in\\\nclude \"a.cuh\"", "a.cuh:2"},
        {"int a; \\\n\n%:include \"a.cuh\"", "a.cuh:3"},
        {"#/* b\n */include/**/\"a.cuh\"", "a.cuh:2"},
        {"/\\\n* \" */#include \"a.cuh\"", "a.cuh:2"},
        {"/* *\\\n/#include \"a.cuh\"", "a.cuh:2"},
        {"// a \\\r\n#include \"b.cuh\"\n#include \"a.cuh\"", "a.cuh:3"},
        {"R\\\n\"(\n)\"\n#include \"a.cuh\"", "a.cuh:4"},
        {"R\"x()\\\nx\" /* )x\"\n#include \"a.cuh\" */",
         "1: a raw literal with a backslash at the end of a line: write it without"},
        {"\n// a \\ \n#include \"a.cuh\"",
         "2: blanks after a backslash that ends the line: remove them"},
        {"// a\r#include \"a.cuh\"", "1: a carriage return inside a line: remove it"},
        {"#define A \"a.cuh\"\n#include A", "2: #include of a macro: expected the file's name"},
        {"#import \"a.cuh\"", "1: expected #include"},
        {"#include_next <a.cuh>", "1: expected #include"},
        {"#include </etc/passwd>", "1: #include <…> of a path: expected a CUDA header"},
        {"#include <cuda/../../a>", "1: #include <…> of a path: expected a CUDA header"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(includes_free) includes_t includes = {0};
        free(source_strip(cases[i].text, &includes));
        char *found =
            includes.refused != NULL
                ? mem_text(includes.refused)
                : mem_format("%s:%s", includes.quoted.n > 0 ? includes.quoted.items[0] : "",
                             includes.quoted.n > 0 ? includes.lines.items[0] : "");
        assert_string_equal(found, cases[i].found);
        free(found);
    }
}

static void test_mentions(void **state) {
    static char code[] = "x BATCH_2 SUBBATCH N1+N2 HIDDEN";
    const source_t source = {.code = code};
    assert_false(source_mentions(&source, "BATCH"));
    assert_true(source_mentions(&source, "BATCH_2"));
    assert_true(source_mentions(&source, "N1"));
    assert_true(source_mentions(&source, "HIDDEN"));
    assert_false(source_mentions(&source, "N"));
}

static const source_t *get(source_set_t *set, const char *path) {
    const source_t *source;
    assert_ok(source_get(set, ROOT, path, &source, &err));
    return source;
}

static const char *header(const source_t *source, const char *name) {
    for (size_t i = 0; i < source->header_names.n; i++)
        if (strcmp(source->header_names.items[i], name) == 0)
            return source->header_texts.items[i];
    return NULL;
}

static void test_headers_are_collected(void **state) {
    AUTO(source_set_free) source_set_t set = {0};
    const source_t *source = get(&set, KERNELS "02_constant.cu");
    assert_string_equal(source->name, "kernels/mlp_infer/02_constant.cu");
    assert_int_equal(source->header_names.n, 5);
    assert_has(header(source, "kernels/common/launch.cuh"), "struct launch_t");
    assert_has(header(source, "kernels/common/sum.cuh"), "float sum");
    static const char *const spellings[] = {"../common/launch.cuh", "launch.cuh"};
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(header(source, spellings[i]),
                            "#include \"kernels/common/launch.cuh\"\n");
    assert_true(source_mentions(source, "BATCH")); /* in a header only */
    assert_false(source->system_includes);

    source = get(&set, KERNELS "01_runtime.cu");
    assert_false(source_mentions(source, "BATCH")); /* in comments and a string only */
    assert_true(source_mentions(source, "limit"));
    assert_true(get(&set, KERNELS "06_system.cu")->system_includes);
    assert_ptr_equal(get(&set, KERNELS "01_runtime.cu"), source); /* read once */
    assert_int_equal(set.n, 3);
}

static void digest_of(const char *root, const char *header, char digest[HASH_TEXT]) {
    static const char INCLUDES[] = "#include \"b.cuh\"\n";
    AUTO_FREE char *kernel = mem_format("%s/a.cu", root), *included = mem_format("%s/b.cuh", root);
    AUTO(source_set_free) source_set_t set = {0};
    const source_t *source;
    assert_ok(fs_write_atomic(kernel, INCLUDES, strlen(INCLUDES), &err) != STATUS_OK ||
              fs_write_atomic(included, header, strlen(header), &err) != STATUS_OK ||
              source_get(&set, root, kernel, &source, &err));
    strcpy(digest, source->digest);
}

static void test_the_digest_is_of_the_headers_too(void **state) {
    char *root = temporary_folder(), one[HASH_TEXT], two[HASH_TEXT], again[HASH_TEXT];
    digest_of(root, "enum { N = 1 };\n", one);
    digest_of(root, "enum { N = 2 };\n", two);
    digest_of(root, "enum { N = 1 };\n", again);
    assert_string_not_equal(one, two);
    assert_string_equal(one, again);
    fs_remove_temporary(&root);
}

static void test_one_spelling_of_two_headers(void **state) {
    AUTO(source_set_free) source_set_t set = {0};
    const source_t *source;
    assert_fails_with(source_get(&set, ROOT, KERNELS "05_clash.cu", &source, &err), STATUS_USAGE,
                      "#include \"sizes.cuh\" means kernels/mlp_infer/sizes.cuh in "
                      "one file and kernels/mlp_infer/other/sizes.cuh in another");
    assert_int_equal(set.n, 0);
}

static void test_usage_in_log(void **state) {
    static const char log[] =
        "ptxas info    : 24 bytes gmem\n"
        "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
        "ptxas info    : Function properties for a\n"
        "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Used 18 registers, used 1 barriers, 64 bytes smem, 4 bytes cmem[2]\n"
        "ptxas info    : Function properties for b\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 168 registers, used 0 barriers\n";
    ptxas_usage_t usage = compile_log_usage(log);
    assert_int_equal(usage.registers, 168);
    assert_int_equal(usage.shared_bytes, 64);
    assert_int_equal(usage.spill_bytes, 20);
    usage = compile_log_usage("");
    assert_int_equal(usage.registers, 0);
}

static void test_skip_in_log(void **state) {
    static const struct {
        const char *log, *reason;
    } cases[] = {
        {"k.cu(3): catastrophic error: #error directive: SKIP: can't do it\n  #error SKIP: x\n",
         "can't do it"}, /* NVRTC */
        {"k.cu:3:2: error: #error SKIP: needs sm_90\n    2 | #error SKIP: other\n", "needs sm_90"},
        {"k.cu(3): error: #error directive: at most 7 layers\n", NULL},
        {"k.cu(3): error: identifier \"SKIP: \" is undefined\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *reason = compile_log_skip(cases[i].log);
        if (cases[i].reason == NULL)
            assert_null(reason);
        else
            assert_string_equal(reason, cases[i].reason);
    }
}

/* What comes from a cache of NVRTC's own, which it has from 12.9 on, has no log. */
static void test_nvrtc_compiles_each_time(void **state) {
    static const struct {
        toolchain_t tools;
        bool asked;
    } cases[] = {
        {{.kind = COMPILER_NVRTC, .major = 12, .minor = 8}, false},
        {{.kind = COMPILER_NVRTC, .major = 12, .minor = 9}, true},
        {{.kind = COMPILER_NVRTC, .major = 13, .minor = 0}, true},
        {{.kind = COMPILER_NVCC}, false},
    };
    const source_t source = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(text_list_free) text_list_t options = {0};
        toolchain_options(&cases[i].tools, &source, &options);
        assert_int_equal(text_list_has(&options, "--no-cache"), cases[i].asked);
    }
}

static void test_reason_in_log(void **state) {
    static const struct {
        const char *log, *reason;
    } cases[] = {
        {"k.cu(1): warning: odd\n\nk.cu(3): error: bad\n    y = z;\n        ^\n\n"
         "1 error detected in the compilation of \"k.cu\".\n",
         "k.cu(3): error: bad\n    y = z;\n        ^\n"
         "1 error detected in the compilation of \"k.cu\"."},
        {"something\nelse\n", "something\nelse"},
        {"ptxas info : 0 bytes gmem\nptxas fatal : too much shared data\n",
         "ptxas fatal : too much shared data"},
        {"error 1\n2\n3\n4\n5\n6\n7\n8\n9\n", "error 1\n2\n3\n4\n5\n6\n7\n8"},
        {"error: caf\xe9 \xc3\xa9 \xe2\x80\xa6 \xc0\xaf \xed\xa0\x80 \xe2\n",
         "error: caf? \xc3\xa9 \xe2\x80\xa6 ?? ??? ?"}, /* what is not UTF-8 */
        {"", "the compiler gave no reason"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *reason = compile_log_reason(cases[i].log);
        assert_string_equal(reason, cases[i].reason);
    }
}

#include "run_tests.h"

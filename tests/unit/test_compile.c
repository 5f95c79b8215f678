/* Programs from cases, and what the compilers and the cache make of them. Tests that need a
 * compiler are skipped with a line that says so where there is none. */
#include "checks.h"
#include "compile/compile.h"
#include "io/fs.h"
#include "made_case.h"
#include "temporary_folder.h"
#include "workloads/common/workload.h"

#include <stdio.h>
#include <unistd.h>

#define ROOT "tests/fixtures/kernels_test"

static case_t make_case(const char *variant, int64_t batch) {
    const workload_t *workload = workload_find("mlp_infer");
    assert_non_null(workload);
    case_t spec = workload_defaults(workload);
    free(spec.engine);
    free(spec.variant);
    spec.engine = mem_text("cuda");
    spec.variant = mem_text(variant);
    for (size_t i = 0; i < spec.n_params; i++)
        if (strcmp(spec.params[i].name, "batch") == 0)
            spec.params[i].value.integer = batch;
    return spec;
}

static size_t add(const compile_options_t *options, const char *variant, int64_t batch,
                  const char *arch, program_list_t *programs) {
    size_t index;
    case_t spec = make_case(variant, batch);
    assert_ok(compile_add(options, &spec, arch, programs, &index, &err));
    case_free(&spec);
    return index;
}

static void need_compiler(const compile_options_t *options) {
    char *text;
    error_t err = ERROR_INIT;
    if (compile_describe(options, &text, &err) == STATUS_OK) {
        free(text);
        return;
    }
    printf("skipped: %s\n", err.text);
    skip();
}

static void test_add_keeps_what_the_source_mentions(void **state) {
    const compile_options_t options = {.root = ROOT};
    AUTO(program_list_free) program_list_t programs = {0};
    assert_int_equal(add(&options, "01_runtime", 1, "sm_90", &programs), 0);
    assert_int_equal(add(&options, "01_runtime", 64, "sm_90", &programs), 0);
    assert_int_equal(add(&options, "01_runtime", 64, "sm_80", &programs), 1);
    assert_int_equal(add(&options, "02_constant", 1, "sm_90", &programs), 2);
    assert_int_equal(add(&options, "02_constant", 64, "sm_90", &programs), 3);
    assert_int_equal(add(&options, "02_constant", 1, "sm_90", &programs), 2);
    assert_int_equal(programs.n, 4);
    assert_int_equal(programs.items[0].defines.n, 0);
    assert_int_equal(programs.items[3].defines.n, 1);
    assert_string_equal(programs.items[3].defines.items[0], "BATCH=64");
    assert_string_equal(programs.items[3].source, ROOT "/kernels/mlp_infer/02_constant.cu");
}

static void test_other_engines_need_no_program(void **state) {
    const compile_options_t options = {.root = ROOT};
    program_list_t programs = {0};
    size_t index = 0;
    AUTO(case_free) case_t spec = make_case("eager", 1);
    set_text(&spec.engine, "pytorch");
    assert_ok(compile_add(&options, &spec, "sm_90", &programs, &index, &err));
    assert_true(index == (size_t)-1);
    assert_int_equal(programs.n, 0);
}

static void test_add_errors(void **state) {
    static const struct {
        const char *variant, *arch, *message;
    } cases[] = {
        {"99_absent", "sm_90", ROOT "/kernels/mlp_infer/99_absent.cu: no such file"},
        {"01_runtime", "native", "architecture \"native\": expected one like sm_90"},
        {"01_runtime", "sm_90 -o x", "architecture \"sm_90 -o x\": expected one like sm_90"},
        {"../common/launch", "sm_90", "variant \"../common/launch\": not a valid file name"},
    };
    const compile_options_t options = {.root = ROOT};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(program_list_free) program_list_t programs = {0};
        size_t index;
        AUTO(case_free) case_t spec = make_case(cases[i].variant, 1);
        assert_fails(compile_add(&options, &spec, cases[i].arch, &programs, &index, &err),
                     STATUS_USAGE, cases[i].message);
    }
}

static void count_calls(void *context, size_t done, size_t total) {
    size_t *calls = context;
    assert_int_equal(done, ++*calls);
    assert_int_equal(total, 7);
}

/* Every kind of outcome, by either compiler. */
static void check_outcomes(const char *cache, compiler_t compiler) {
    size_t calls = 0;
    const compile_options_t options = {.root = ROOT,
                                       .cache = cache,
                                       .compiler = compiler,
                                       .jobs = 2,
                                       .progress = count_calls,
                                       .context = &calls};
    need_compiler(&options);
    AUTO(program_list_free) program_list_t programs = {0};
    size_t runtime = add(&options, "01_runtime", 1, "sm_90", &programs);
    size_t runtime_80 = add(&options, "01_runtime", 1, "sm_80", &programs);
    size_t constant = add(&options, "02_constant", 8, "sm_90", &programs);
    size_t broken = add(&options, "03_broken", 1, "sm_90", &programs);
    size_t picky_1 = add(&options, "04_picky", 1, "sm_90", &programs);
    size_t picky_2 = add(&options, "04_picky", 2, "sm_90", &programs);
    size_t ancient = add(&options, "01_runtime", 1, "sm_20", &programs);
    assert_ok(compile_all(&options, &programs, &err));
    assert_int_equal(calls, 7);

    const program_t *program = &programs.items[constant];
    if (program->reason != NULL)
        fail_msg("%s", program->reason);
    assert_int_equal(program->status, PROGRAM_OK);
    assert_false(program->cached);
    assert_true(fs_exists(program->cubin));
    assert_true(program->registers > 0);
    assert_int_equal(program->shared_bytes, 64);
    assert_int_equal(program->spill_bytes, 0);
    assert_true(program->compile_ns > 0);
    assert_true(text_list_has(&program->flags, "-std=c++17"));
    assert_true(text_list_has(&program->flags, "-DBATCH=8"));
    for (size_t i = 0; i < program->flags.n; i++)
        assert_null(strchr(program->flags.items[i], '/'));
    assert_int_equal(programs.items[runtime].status, PROGRAM_OK);
    assert_int_equal(programs.items[picky_2].status, PROGRAM_OK);
    assert_string_not_equal(programs.items[runtime].key, programs.items[runtime_80].key);
    assert_string_not_equal(programs.items[runtime].code_hash, program->code_hash);

    program = &programs.items[broken];
    assert_int_equal(program->status, PROGRAM_FAILED);
    assert_has(program->reason, "kernels/mlp_infer/03_broken.cu(3): error: ");
    assert_has(program->reason, "not_declared");
    assert_null(program->cubin);
    assert_int_equal(programs.items[picky_1].status, PROGRAM_SKIPPED);
    assert_string_equal(programs.items[picky_1].reason, "can't serve a batch of 1");
    assert_int_equal(programs.items[ancient].status, PROGRAM_SKIPPED);
    assert_non_null(
        strstr(programs.items[ancient].reason, "does not support sm_20 (supported: sm_"));

    /* Once more: all but the failure comes from the cache, with the same numbers. */
    AUTO(program_list_free) program_list_t again = {0};
    for (size_t i = 0; i < programs.n; i++)
        if (i != ancient)
            add(&options, programs.items[i].variant,
                i == constant  ? 8
                : i == picky_2 ? 2
                               : 1,
                programs.items[i].arch, &again);
    const compile_options_t quiet = {.root = ROOT, .cache = cache, .compiler = compiler};
    assert_ok(compile_all(&quiet, &again, &err));
    for (size_t i = 0; i < again.n; i++) {
        assert_int_equal(again.items[i].status, programs.items[i].status);
        assert_int_equal(again.items[i].cached, i != broken);
        assert_int_equal(again.items[i].registers, programs.items[i].registers);
        assert_string_equal(again.items[i].key, programs.items[i].key);
    }
    assert_string_equal(again.items[constant].code_hash, programs.items[constant].code_hash);
    assert_int_equal(again.items[constant].flags.n, programs.items[constant].flags.n);
}

static void test_nvrtc(void **state) {
    check_outcomes(*state, COMPILER_NVRTC);
}

static void test_nvcc(void **state) {
    check_outcomes(*state, COMPILER_NVCC);
}

/* Compile one program; the caller frees the list. */
static program_list_t compile_one(const compile_options_t *options, const char *variant) {
    program_list_t programs = {0};
    add(options, variant, 8, "sm_90", &programs);
    assert_ok(compile_all(options, &programs, &err));
    assert_int_equal(programs.items[0].status, PROGRAM_OK);
    return programs;
}

static void write_text(const char *path, const char *text) {
    assert_ok(fs_write_atomic(path, text, strlen(text), &err));
}

static void test_damaged_entries_are_made_again(void **state) {
    static const char *const damages[] = {"", "{", "[]", "{\"key\": \"other\", \"compile_ns\": 1}",
                                          "{\"key\": 1}"};
    const compile_options_t options = {.root = ROOT, .cache = *state};
    need_compiler(&options);
    AUTO(program_list_free) program_list_t first = compile_one(&options, "02_constant");
    const program_t *program = &first.items[0];
    char *entry =
        mem_format("%.*s.json", (int)(strlen(program->cubin) - strlen(".cubin")), program->cubin);
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        write_text(entry, damages[i]);
        program_list_t again = compile_one(&options, "02_constant");
        assert_false(again.items[0].cached);
        program_list_free(&again);
    }
    write_text(program->cubin, "half a cub"); /* the entry is fine, its cubin is not */
    AUTO(program_list_free) program_list_t again = compile_one(&options, "02_constant");
    assert_false(again.items[0].cached);
    program_list_free(&again);
    assert_int_equal(unlink(program->cubin), 0);
    again = compile_one(&options, "02_constant");
    assert_false(again.items[0].cached);
    assert_true(fs_exists(program->cubin));
    program_list_free(&again);
    again = compile_one(&options, "02_constant");
    assert_true(again.items[0].cached);
    free(entry);
}

static void copy_file(const char *root, const char *name) {
    AUTO_FREE char *data, *from = fs_join(ROOT, name), *to = fs_join(root, name);
    size_t size;
    assert_ok(fs_read(from, &data, &size, &err));
    assert_ok(fs_write_atomic(to, data, size, &err));
}

static void test_a_changed_header_is_a_new_program(void **state) {
    const char *root = *state;
    need_compiler(&(compile_options_t){.root = ROOT});
    AUTO_FREE char *cache = fs_join(root, "cache"), *common = fs_join(root, "kernels/common");
    AUTO_FREE char *ladder = fs_join(root, "kernels/mlp_infer"), *sum = fs_join(common, "sum.cuh");
    const compile_options_t options = {.root = root, .cache = cache};
    assert_ok(fs_make_folders(common, &err));
    assert_ok(fs_make_folders(ladder, &err));
    copy_file(root, "kernels/common/launch.cuh");
    copy_file(root, "kernels/common/sum.cuh");
    copy_file(root, "kernels/mlp_infer/02_constant.cu");
    AUTO(program_list_free) program_list_t first = compile_one(&options, "02_constant");

    write_text(sum, "__device__ inline float sum(const float *x) { return x[BATCH]; }\n");
    AUTO(program_list_free) program_list_t second = compile_one(&options, "02_constant");
    assert_false(second.items[0].cached);
    assert_string_not_equal(second.items[0].key, first.items[0].key);
    assert_string_not_equal(second.items[0].code_hash, first.items[0].code_hash);

    /* The same text in another project folder is the same program. */
    copy_file(root, "kernels/common/sum.cuh");
    const compile_options_t elsewhere = {.root = ROOT, .cache = cache};
    AUTO(program_list_free) program_list_t third = compile_one(&elsewhere, "02_constant");
    assert_true(third.items[0].cached);
    assert_string_equal(third.items[0].key, first.items[0].key);
}

static void test_no_compiler_says_what_to_do(void **state) {
    const compile_options_t options = {.root = ROOT, .cache = *state};
    const char *before = getenv("BENCH_NVRTC");
    AUTO_FREE char *saved = mem_text(before);
    setenv("BENCH_NVRTC", "/nowhere/libnvrtc.so.13", 1);
    AUTO(program_list_free) program_list_t programs = {0};
    error_t err = ERROR_INIT;
    add(&options, "01_runtime", 1, "sm_90", &programs);
    assert_int_equal(compile_all(&options, &programs, &err), STATUS_USAGE);
    assert_has(err.text, "pip install nvidia-cuda-nvrtc");
    assert_has(err.text, "/nowhere/libnvrtc.so.13");
    if (saved != NULL)
        setenv("BENCH_NVRTC", saved, 1);
    else
        unsetenv("BENCH_NVRTC");
}

#define SET_UP make_folder
#define TEAR_DOWN remove_folder
#include "run_tests.h"

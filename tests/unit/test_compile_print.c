#include "checks.h"
#include "cli/commands.h"

#include <jansson.h>
#include <stdio.h>

#define PROGRAM(rung, architecture, outcome, ...)                                                  \
    {                                                                                              \
        .workload = (char[]){"mlp_infer"}, .variant = (char[]){rung},                              \
        .arch = (char[]){architecture}, .source = (char[]){"k.cu"}, .status = (outcome),           \
        __VA_ARGS__                                                                                \
    }

/* What the two ways of printing make of one list; the caller frees it. */
static char *print(void (*how)(const compile_answer_t *, FILE *)) {
    char *batch_1[] = {(char[]){"BATCH=1"}};
    program_t items[] = {
        PROGRAM("02_b", "sm_90", PROGRAM_OK, .registers = 18, .spill_bytes = 8),
        PROGRAM("01_a", "sm_90", PROGRAM_OK, .registers = 40, .cached = true),
        PROGRAM("01_a", "sm_90", PROGRAM_OK, .registers = 20),
        PROGRAM("01_a", "sm_100", PROGRAM_OK, .registers = 24),
        PROGRAM("01_a", "sm_90", PROGRAM_SKIPPED, .reason = (char[]){"too wide"}),
        PROGRAM("01_a", "sm_100", PROGRAM_SKIPPED, .reason = (char[]){"too wide"}),
        PROGRAM("03_c", "sm_90", PROGRAM_FAILED, .reason = (char[]){"k.cu(1): error: x\n  x"},
                .defines = {batch_1, 1, 1}),
        PROGRAM("03_c", "sm_100", PROGRAM_FAILED, .reason = (char[]){"k.cu(1): error: x\n  x"}),
        PROGRAM("04_d", "sm_90", PROGRAM_SKIPPED, .reason = (char[]){"no header"}, .lacking = true),
        PROGRAM("05_e", "sm_90", PROGRAM_SKIPPED, .reason = (char[]){"no header"}, .lacking = true),
    };
    const program_list_t programs = {.items = items, .n = COUNT_OF(items)};
    char compiler[] = "NVRTC 13.0 (x.so)", *text;
    const compile_answer_t answer = {.programs = &programs, .compiler = compiler, .seconds = 0.5};
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    how(&answer, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_tables(void **state) {
    AUTO_FREE char *text = print(compile_print_tables);
    assert_string_equal(
        text, "workload   variant  arch    compiled  cached  skipped  failed  registers  spills\n"
              "─────────  ───────  ──────  ────────  ──────  ───────  ──────  ─────────  ──────\n"
              "mlp_infer  01_a     sm_90          1       1        1       0         40     0 B\n"
              "mlp_infer  01_a     sm_100         1       0        1       0         24     0 B\n"
              "mlp_infer  02_b     sm_90          1       0        0       0         18     8 B\n"
              "mlp_infer  03_c     sm_90          0       0        0       1          –       –\n"
              "mlp_infer  03_c     sm_100         0       0        0       1          –       –\n"
              "mlp_infer  04_d     sm_90          0       0        1       0          –       –\n"
              "mlp_infer  05_e     sm_90          0       0        1       0          –       –\n"
              "\n"
              "skipped: mlp_infer/01_a (2): too wide\n"
              "\n"
              "skipped: 2 programs: no header\n"
              "\n"
              "failed: mlp_infer/03_c (2), first for sm_90 BATCH=1\n"
              "  k.cu(1): error: x\n"
              "    x\n"
              "\n"
              "10 programs: 3 compiled, 1 cached, 4 skipped, 2 failed in 500 ms (20 programs/s)\n"
              "NVRTC 13.0 (x.so)\n"
              "2 of those skipped were not compiled: software they need is missing on this "
              "machine\n");
}

static void test_json(void **state) {
    AUTO_FREE char *text = print(compile_print_json);
    json_auto_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    static const struct {
        const char *key;
        json_int_t count;
    } counts[] = {{"compiled", 3}, {"cached", 1}, {"skipped", 4}, {"failed", 2}, {"lacking", 2}};
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        assert_int_equal(json_integer_value(json_object_get(json, counts[i].key)), counts[i].count);
    json_t *programs = json_object_get(json, "programs");
    assert_int_equal(json_array_size(programs), 10);
    json_t *failed = json_array_get(programs, 6);
    assert_string_equal(json_string_value(json_object_get(failed, "status")), "failed");
    assert_string_equal(json_string_value(json_object_get(failed, "reason")),
                        "k.cu(1): error: x\n  x");
    assert_true(json_is_null(json_object_get(failed, "cubin")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(failed, "defines"), 0)),
                        "BATCH=1");
    assert_true(json_is_false(json_object_get(json_array_get(programs, 4), "lacking")));
    assert_true(json_is_true(json_object_get(json_array_get(programs, 8), "lacking")));
}

#include "run_tests.h"

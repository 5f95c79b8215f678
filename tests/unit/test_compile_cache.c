/* The cache of compiled programs. */
#include "checks.h"
#include "compile/compile.h"
#include "io/fs.h"
#include "temporary_folder.h"

/* ---- Whatever goes into a program is in its key: else a cubin of other options would be taken for it. */

static text_list_t list_of(const char *a, const char *b) {
    text_list_t list = {0};
    text_list_add(&list, a);
    if (b != NULL)
        text_list_add(&list, b);
    return list;
}

static void test_every_input_is_in_the_key(void **state) {
    source_t source = {.digest = "0123456789abcdef0123456789abcdef"};
    source_t other = {.digest = "1123456789abcdef0123456789abcdef"};
    text_list_t none = {0}, one = list_of("-DBATCH=4", NULL), two = list_of("-DBATCH=8", NULL);
    AUTO(text_list_free)
    text_list_t both = list_of("-DBATCH=4", "-DBATCH=8"), fast = list_of("-use_fast_math", NULL);
    const cache_inputs_t INPUTS[] = {
        {&source, &one, &none, "sm_90", "NVRTC 13.0"},
        {&other, &one, &none, "sm_90", "NVRTC 13.0"},
        {&source, &two, &none, "sm_90", "NVRTC 13.0"},
        {&source, &both, &none, "sm_90", "NVRTC 13.0"},
        {&source, &one, &two, "sm_90", "NVRTC 13.0"},
        {&source, &none, &one, "sm_90", "NVRTC 13.0"},
        {&source, &one, &fast, "sm_90", "NVRTC 13.0"},
        {&source, &one, &none, "sm_100", "NVRTC 13.0"},
        {&source, &one, &none, "sm_90", "NVRTC 13.1"},
        {&source, &one, &none, "sm_90", "nvcc 13.0"},
    };
    enum { N = COUNT_OF(INPUTS) };
    char keys[N][HASH_TEXT], again[HASH_TEXT];
    for (size_t i = 0; i < N; i++) {
        compile_cache_key(&INPUTS[i], keys[i]);
        compile_cache_key(&INPUTS[i], again);
        assert_string_equal(keys[i], again);
        for (size_t k = 0; k < i; k++)
            if (strcmp(keys[i], keys[k]) == 0)
                fail_msg("inputs %zu and %zu have one key", k, i);
    }
    text_list_free(&one);
    text_list_free(&two);
}

/* ---- Entries of the cache of programs, whichever compiler made them: whole, or not there. */

static const char KEY[] = "0123456789abcdef0123456789abcdef";
static const char CODE[] = "00112233445566778899aabbccddeeff", CUBIN[] = "a program";

static bool is_there(const char *cache) {
    AUTO(cache_entry_free) cache_entry_t entry;
    bool found = compile_cache_load(cache, KEY, &entry);
    if (found) {
        assert_string_equal(entry.code_hash, CODE);
        assert_int_equal(entry.usage.registers, 32);
        assert_int_equal(entry.usage.shared_bytes, 48);
        assert_int_equal(entry.usage.spill_bytes, 8);
    }
    return found;
}

static void test_another_cubin_is_none(void **state) {
    char *cache = temporary_folder();
    char name[] = "kernels/a/b.cu";
    const source_t source = {.name = name};
    text_list_t none = {0};
    const cache_inputs_t inputs = {&source, &none, &none, "sm_90", "NVRTC 13.0"};
    AUTO(cache_entry_free)
    cache_entry_t entry = {.usage = {.registers = 32, .shared_bytes = 48, .spill_bytes = 8},
                           .compile_ns = 1e6};
    memcpy(entry.code_hash, CODE, sizeof CODE);
    assert_false(is_there(cache));
    char cubin[] = "a program";
    const compiled_t output = {.ok = true, .cubin = cubin, .cubin_bytes = sizeof cubin - 1};
    assert_ok(compile_cache_store(cache, KEY, &inputs, &output, &entry, &err));
    assert_true(is_there(cache));
    assert_ok(fs_write_atomic(entry.cubin, "a progrom", sizeof CUBIN - 1, &err));
    assert_false(is_there(cache));
    assert_ok(fs_write_atomic(entry.cubin, CUBIN, sizeof CUBIN - 1, &err));
    assert_true(is_there(cache));
    fs_remove_temporary(&cache);
}

#include "run_tests.h"

/* Entries of the cache of programs, whichever compiler made them: whole, or not there. */
#include "checks.h"
#include "compile/compile.h"
#include "io/fs.h"
#include "temporary_folder.h"

static const char KEY[] = "0123456789abcdef0123456789abcdef";
static const char CODE[] = "00112233445566778899aabbccddeeff", CUBIN[] = "a program";

static bool is_there(const char *cache) {
    cache_entry_t entry;
    bool found = compile_cache_load(cache, KEY, &entry);
    if (found) {
        assert_string_equal(entry.code_hash, CODE);
        assert_int_equal(entry.usage.registers, 32);
        assert_int_equal(entry.usage.shared_bytes, 48);
        assert_int_equal(entry.usage.spill_bytes, 8);
    }
    cache_entry_free(&entry);
    return found;
}

static void test_another_cubin_is_none(void **state) {
    char *cache = temporary_folder();
    char name[] = "kernels/a/b.cu";
    const source_t source = {.name = name};
    text_list_t none = {0};
    const cache_inputs_t inputs = {&source, &none, &none, "sm_90", "NVRTC 13.0"};
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
    cache_entry_free(&entry);
    fs_remove_temporary(&cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_cubin_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

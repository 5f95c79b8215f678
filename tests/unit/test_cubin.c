#include "checks.h"
#include "cuda/cubin.h"
#include "io/fs.h"

#define FOLDER "tests/fixtures/cubin/"

static const char *const FILES[] = {FOLDER "two_kernels.sm_75.cubin",
                                    FOLDER "two_kernels.sm_90.cubin"};
enum { N_FILES = COUNT_OF(FILES) };

static char *load(const char *path, size_t *size) {
    char *data;
    assert_ok(fs_read(path, &data, size, &err));
    return data;
}

static cubin_t open_cubin(const char *data, size_t size) {
    cubin_t cubin;
    assert_ok(cubin_open(data, size, &cubin, &err));
    return cubin;
}

static void test_kernels_are_sorted(void **state) {
    for (size_t i = 0; i < N_FILES; i++) {
        size_t size;
        AUTO_FREE char *data = load(FILES[i], &size);
        cubin_t cubin = open_cubin(data, size);
        AUTO(text_list_free) text_list_t names = {0};
        assert_int_equal(cubin_kernels(&cubin, &names, NULL), STATUS_OK);
        assert_int_equal(names.n, 2);
        assert_string_equal(names.items[0], "alpha");
        assert_string_equal(names.items[1], "zeta");
    }
}

static void test_objects(void **state) {
    static const uint32_t expected[5] = {128, 4, 0, 0, 1};
    for (size_t i = 0; i < N_FILES; i++) {
        size_t size;
        AUTO_FREE char *data = load(FILES[i], &size);
        cubin_t cubin = open_cubin(data, size);
        uint32_t launch[5], zeros[4] = {9, 9, 9, 9};
        assert_int_equal(cubin_object(&cubin, "launch", launch, sizeof launch, NULL), STATUS_OK);
        assert_memory_equal(launch, expected, sizeof launch);
        assert_int_equal(cubin_object(&cubin, "zeros", zeros, sizeof zeros, NULL), STATUS_OK);
        assert_memory_equal(zeros, ((uint32_t[4]){0}), sizeof zeros);
        assert_int_equal(cubin_object_size(&cubin, "launch"), sizeof launch);
        assert_int_equal(cubin_object_size(&cubin, "alpha"), 0); /* a function is no object */
    }
}

static void test_object_errors(void **state) {
    size_t size;
    AUTO_FREE char *data = load(FILES[1], &size);
    cubin_t cubin = open_cubin(data, size);
    uint32_t bytes[8];
    assert_fails(cubin_object(&cubin, "launch", bytes, sizeof bytes, &err), STATUS_USAGE,
                 "object \"launch\" has 20 bytes, expected 32");
    assert_fails(cubin_object(&cubin, "lunch", bytes, 4, &err), STATUS_USAGE,
                 "no object \"lunch\" in this cubin");
}

static void code_hash(const char *data, size_t size, char hash[33]) {
    cubin_t cubin = open_cubin(data, size);
    assert_ok(cubin_code_hash(&cubin, hash, &err));
    assert_int_equal(strlen(hash), 32);
}

/* Offset of the first place in `data` that holds `bytes`. */
static size_t find_bytes(const char *data, size_t size, const void *bytes, size_t n) {
    const char *at = memmem(data, size, bytes, n);
    assert_non_null(at);
    return (size_t)(at - data);
}

static void test_code_hash_follows_the_code(void **state) {
    char turing[33], hopper[33], changed[33];
    size_t turing_size, size;
    AUTO_FREE char *turing_data = load(FILES[0], &turing_size), *data = load(FILES[1], &size);
    code_hash(turing_data, turing_size, turing);
    code_hash(data, size, hopper);
    assert_string_not_equal(turing, hopper);

    /* The values in `launch` are data, so changing them leaves the code's hash alone … */
    static const uint32_t launch[5] = {128, 4, 0, 0, 1};
    size_t at = find_bytes(data, size, launch, sizeof launch);
    data[at] ^= 1;
    code_hash(data, size, changed);
    assert_string_equal(changed, hopper);

    /* … and the bytes in front of it are the end of zeta's code (its last instruction). */
    data[at - 16] ^= 1;
    code_hash(data, size, changed);
    assert_string_not_equal(changed, hopper);
}

static void test_no_kernel(void **state) {
    size_t size;
    AUTO_FREE char *data = load(FOLDER "no_kernel.sm_90.cubin", &size);
    cubin_t cubin = open_cubin(data, size);
    text_list_t names = {0};
    assert_int_equal(cubin_kernels(&cubin, &names, NULL), STATUS_OK);
    assert_int_equal(names.n, 0);
    char hash[33];
    assert_fails(cubin_code_hash(&cubin, hash, &err), STATUS_USAGE, "no kernel in this cubin");
    uint32_t only[2];
    assert_int_equal(cubin_object(&cubin, "only", only, sizeof only, NULL), STATUS_OK);
    assert_int_equal(only[1], 2);
}

static void test_other_files_are_refused(void **state) {
    static const char text[] =
        "// no cubin, but long enough to hold the header of an ELF file, a kernel";
    cubin_t cubin;
    assert_fails_with(cubin_open(text, sizeof text, &cubin, &err), STATUS_USAGE, "not a cubin");
    assert_int_equal(cubin_open("", 0, &cubin, NULL), STATUS_USAGE);

    size_t size;
    AUTO_FREE char *host = load("/proc/self/exe", &size);
    assert_fails_with(cubin_open(host, size, &cubin, &err), STATUS_USAGE, "expected 190 (CUDA)");
}

/* Every reader on one damaged file, in memory of exactly its size, so that a sanitizer sees a read
 * beyond it. Returns whether nothing was found wrong. */
static bool read_everything(const char *data, size_t size) {
    AUTO_FREE char *exact = mem_alloc(size + (size == 0));
    memcpy(exact, data, size);
    cubin_t cubin;
    bool fine = cubin_open(exact, size, &cubin, NULL) == STATUS_OK;
    if (fine) {
        AUTO(text_list_free) text_list_t names = {0};
        uint32_t launch[5], zeros[4];
        char hash[33];
        fine = cubin_kernels(&cubin, &names, NULL) == STATUS_OK && names.n == 2;
        fine &= cubin_code_hash(&cubin, hash, NULL) == STATUS_OK;
        fine &= cubin_object(&cubin, "launch", launch, sizeof launch, NULL) == STATUS_OK;
        fine &= cubin_object(&cubin, "zeros", zeros, sizeof zeros, NULL) == STATUS_OK;
    }
    return fine;
}

static void test_truncated(void **state) {
    for (size_t i = 0; i < N_FILES; i++) {
        size_t size, accepted = 0;
        AUTO_FREE char *data = load(FILES[i], &size);
        assert_true(read_everything(data, size));
        for (size_t shorter = 0; shorter < size; shorter++)
            accepted += read_everything(data, shorter);
        /* What follows the section headers (program headers) is for the driver alone. */
        assert_true(accepted < 400);
    }
}

static void test_flipped(void **state) {
    static const unsigned char masks[] = {0x01, 0x80, 0xff};
    size_t size, refused = 0;
    AUTO_FREE char *data = load(FILES[1], &size);
    for (size_t at = 0; at < size; at++) {
        for (size_t m = 0; m < sizeof masks; m++) {
            data[at] ^= (char)masks[m];
            refused += !read_everything(data, size);
            data[at] ^= (char)masks[m];
        }
    }
    assert_true(refused > 100); /* at least the headers, names and symbols in use matter */
    assert_true(read_everything(data, size));
}

#include "run_tests.h"

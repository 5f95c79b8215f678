/* base/memory: copies, growth, and the end of the process where allocation is impossible. */
#include "checks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void empty_blocks_are_blocks(void **state) {
    void *blocks[] = {mem_alloc(0), mem_zeroed(0, 8), mem_zeroed(8, 0), mem_resize(NULL, 0, 4)};
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        assert_non_null(blocks[i]);
        free(blocks[i]);
    }
}

static void zeroed_is_zero(void **state) {
    unsigned char *bytes = mem_zeroed(100, 10);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(bytes[i], 0);
    free(bytes);
}

static void texts_are_copied(void **state) {
    assert_null(mem_text(NULL));
    char original[] = "kernel";
    char *copy = mem_text(original), *part = mem_text_n(original, 3);
    original[0] = 'K';
    assert_string_equal(copy, "kernel");
    assert_string_equal(part, "ker");
    free(copy);
    free(part);
    char *formatted = mem_format("%s/%d", "batch", 64);
    assert_string_equal(formatted, "batch/64");
    free(formatted);
}

static void arrays_grow_and_keep_their_content(void **state) {
    int *items = NULL;
    size_t capacity = 0, resizes = 0;
    for (size_t n = 0; n < 1000; n++) {
        size_t before = capacity;
        mem_grow(&items, n, &capacity, sizeof *items);
        resizes += capacity != before;
        assert_true(capacity > n);
        items[n] = (int)n;
    }
    for (int n = 0; n < 1000; n++)
        assert_int_equal(items[n], n);
    assert_true(resizes <= 10); /* doubling, not one by one */
    mem_grow(&items, 5000, &capacity, sizeof *items);
    assert_true(capacity > 5000);
    free(items);
}

static void resize_overflow(void) {
    free(mem_resize(NULL, SIZE_MAX / 2, 4));
}

static void zeroed_overflow(void) {
    free(mem_zeroed(SIZE_MAX / 2, 4));
}

static void impossible_sizes_abort(void **state) {
    void (*const actions[])(void) = {resize_overflow, zeroed_overflow};
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            signal(SIGABRT, SIG_DFL); /* cmocka catches it */
            close(STDERR_FILENO);
            actions[i]();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        /* A sanitizer may report and exit before our own message; it must not go on. */
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void texts_of_an_arena(void **state) {
    arena_t arena = {0};
    const char *first = arena_format(&arena, "batch=%d", 64);
    for (int i = 0; i < 100; i++)
        arena_format(&arena, "%d", i);
    assert_string_equal(first, "batch=64"); /* texts stay where they are while the arena grows */
    assert_string_equal(arena_keep(&arena, mem_text("kept")), "kept");
    assert_null(arena_keep(&arena, NULL));
    assert_string_equal(arena_buffer(&arena, 8), "");
    assert_int_equal(arena.n, 103);
    arena_free(&arena);
    assert_int_equal(arena.n, 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_blocks_are_blocks),
        cmocka_unit_test(zeroed_is_zero),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(arrays_grow_and_keep_their_content),
        cmocka_unit_test(texts_of_an_arena),
        cmocka_unit_test(impossible_sizes_abort),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}

/* Fixtures as data: a folder of NAME.json, each with NAME.expected beside it. */
#ifndef TESTS_EXPECTED_FILES_H
#define TESTS_EXPECTED_FILES_H

#include "base/memory.h"
#include "io/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline char *read_text(const char *path) {
    char *text = NULL;
    size_t size = 0;
    error_t err = ERROR_INIT;
    if (fs_read(path, &text, &size, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return text;
}

static inline text_list_t names_in(const char *folder) {
    text_list_t names = {0};
    error_t err = ERROR_INIT;
    if (fs_list(folder, ".json", &names, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(names.n > 0);
    return names;
}

/* "folder/NAME.expected" for "NAME.json". */
static inline char *expected_text(const char *folder, const char *name) {
    char *stem = fs_stem(name), *path = mem_format("%s/%s.expected", folder, stem);
    char *text = read_text(path);
    free(path);
    free(stem);
    return text;
}

/* Is the message, from behind "folder/", what NAME.expected has? */
static inline void check_message(const char *folder, const char *name, const char *text) {
    char *expected = expected_text(folder, name);
    assert_true(text_starts(text, folder));
    char *message = mem_format("%s\n", text + strlen(folder) + 1);
    assert_string_equal(message, expected);
    free(message);
    free(expected);
}

#endif

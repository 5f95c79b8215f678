/* A file's text, or a failed test. */
#ifndef TESTS_READ_TEXT_H
#define TESTS_READ_TEXT_H

#include "checks.h"
#include "io/fs.h"

/* Not inlined: gcc 12 would take what strstr() finds in the text for a pointer to `text` itself. */
__attribute__((noinline, unused)) static char *read_text(const char *path) {
    char *text = NULL;
    size_t size = 0;
    assert_ok(fs_read(path, &text, &size, &err));
    assert_int_equal(strlen(text), size); /* no NUL, behind which nothing would be seen */
    return text;
}

#endif

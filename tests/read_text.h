/* A file's text, or a failed test. */
#ifndef TESTS_READ_TEXT_H
#define TESTS_READ_TEXT_H

#include "base/memory.h"
#include "io/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Not inlined: gcc 12 would take what strstr() finds in the text for a pointer to `text` itself. */
__attribute__((noinline, unused)) static char *read_text(const char *path) {
    char *text = NULL;
    size_t size = 0;
    error_t err = ERROR_INIT;
    if (fs_read(path, &text, &size, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(strlen(text), size); /* no NUL, behind which nothing would be seen */
    return text;
}

#endif

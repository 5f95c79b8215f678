#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

status_t error_set(error_t *err, status_t status, const char *format, ...) {
    if (err == NULL || err->status != STATUS_OK)
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    text_make_plain(err->text);
    err->status = status;
    return status;
}

status_t error_within(error_t *err, const char *format, ...) {
    if (err == NULL)
        return STATUS_FAILED;
    char inner[sizeof err->text + 2] = ": ";
    memcpy(inner + 2, err->text, sizeof err->text);
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    size_t fitting = strnlen(inner, sizeof err->text - 1 - used);
    memcpy(err->text + used, inner, fitting);
    err->text[used + fitting] = '\0';
    text_make_plain(err->text); /* truncation may have split a character */
    return err->status;
}

void error_clear(error_t *err) {
    err->status = STATUS_OK;
    err->text[0] = '\0';
}

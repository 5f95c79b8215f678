/* Tables of files that must be refused, tests/fixtures/invalid_*.txt; each says how it is written. */
#ifndef TESTS_REFUSALS_H
#define TESTS_REFUSALS_H

#include "checks.h"
#include "read_text.h"
#include "temporary_folder.h"

#include <stdio.h>

typedef status_t load_t(const char *path, error_t *err);

static inline void write_input(const char *path, const char *input) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (const char *at = input; *at != '\0'; at++) {
        unsigned byte = (unsigned char)*at;
        if (text_starts(at, "\\\n")) {
            at++;
            continue;
        }
        if (text_starts(at, "\\x")) {
            assert_int_equal(sscanf(at, "\\x%2x", &byte), 1);
            at += strlen("xHH");
        }
        fputc((int)byte, file);
    }
    assert_int_equal(fclose(file), 0);
}

static inline bool is_refused(const char *folder, const char *message, const char *input,
                              load_t *load) {
    char *expected = fs_join(folder, message);
    char *path = mem_text_n(expected, strlen(folder) + 1 + strcspn(message, ":"));
    error_t err = ERROR_INIT;
    write_input(path, input);
    status_t status = load(path, &err);
    bool right = status == STATUS_USAGE && strcmp(err.text, expected) == 0;
    if (!right)
        print_error("found    (status %d) %s\nexpected (status %d) %s\n", status, err.text,
                    STATUS_USAGE, expected);
    free(path);
    free(expected);
    return right;
}

static inline void check_refusals(const char *table, load_t *load) {
    static const char MARK[] = "\n== ";
    char *text = read_text(table), *folder = NULL;
    size_t n = 0, n_wrong = 0;
    assert_true(text_ends(text, "\n"));
    folder = temporary_folder();
    for (char *at = strstr(text, MARK), *next; at != NULL; at = next, n++) {
        char *message = at + strlen(MARK), *input = message + strcspn(message, "\n");
        next = strstr(input, MARK);
        *input++ = '\0';
        if (next != NULL)
            next[1] = '\0'; /* behind the input's last newline */
        n_wrong += !is_refused(folder, message, input, load);
    }
    fs_remove_temporary(&folder);
    free(text);
    if (n == 0 || n_wrong > 0)
        fail_msg("%s: %zu of %zu files are not refused as they must be", table, n_wrong, n);
}

#endif

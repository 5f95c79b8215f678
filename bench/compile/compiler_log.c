#include "compile/compiler_log.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    REASON_LINES = 8,
    REASON_BYTES = 1200, /* fits an error_t with room for names around it */
};

/* The number right before `unit` ("18 registers"), or 0. */
static int64_t number_before(const char *line, const char *unit) {
    const char *at = strstr(line, unit), *digits = at;
    while (at != NULL && digits > line && strchr("0123456789", digits[-1]) != NULL)
        digits--;
    return at != NULL && digits < at ? strtoll(digits, NULL, 10) : 0;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

ptxas_usage_t compile_log_usage(const char *log) {
    ptxas_usage_t usage = {0};
    text_list_t lines = text_split(log, '\n');
    for (size_t i = 0; i < lines.n; i++) {
        const char *line = lines.items[i];
        int64_t spills =
            number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
        usage.registers = larger(usage.registers, number_before(line, " registers"));
        usage.shared_bytes = larger(usage.shared_bytes, number_before(line, " bytes smem"));
        usage.spill_bytes = larger(usage.spill_bytes, spills);
    }
    text_list_free(&lines);
    return usage;
}

char *compile_log_skip(const char *log) {
    static const char mark[] = "SKIP: ";
    char *reason = NULL;
    text_list_t lines = text_split(log, '\n');
    for (size_t i = 0; i < lines.n && reason == NULL; i++) {
        const char *directive = strstr(lines.items[i], "#error");
        const char *at = directive != NULL ? strstr(directive, mark) : NULL;
        if (at != NULL)
            reason = text_utf8(at + sizeof mark - 1);
    }
    text_list_free(&lines);
    return reason;
}

/* The text between `before` and `after` in a line, or NULL. */
static char *between(const char *line, const char *before, const char *after) {
    const char *from = strstr(line, before);
    const char *to = from != NULL ? strstr(from + strlen(before), after) : NULL;
    if (to == NULL)
        return NULL;
    from += strlen(before);
    return mem_text_n(from, (size_t)(to - from));
}

/* Index of the first error line, `lines->n` for none. */
static size_t first_error(const text_list_t *lines) {
    size_t i = 0;
    while (i < lines->n && strstr(lines->items[i], "error") == NULL &&
           strstr(lines->items[i], "fatal") == NULL)
        i++;
    return i;
}

char *compile_log_missing_header(const char *log) {
    text_list_t lines = text_split(log, '\n');
    size_t i = first_error(&lines);
    const char *line = i < lines.n ? lines.items[i] : "";
    char *header = between(line, "open source file \"", "\""); /* NVRTC and nvcc's front end */
    if (header == NULL)
        header = between(line, "fatal error: ", ": No such file or directory"); /* nvcc's gcc */
    text_list_free(&lines);
    return header;
}

char *compile_log_undefined(const char *log) {
    text_list_t lines = text_split(log, '\n');
    size_t i = first_error(&lines);
    char *name =
        i < lines.n ? between(lines.items[i], "error: identifier \"", "\" is undefined") : NULL;
    text_list_free(&lines);
    return name;
}

char *compile_log_reason(const char *log) {
    text_list_t lines = text_split(log, '\n'), kept = {0};
    size_t first = first_error(&lines), bytes = 0;
    if (first == lines.n)
        first = 0; /* no error line: start at the top */
    for (size_t i = first; i < lines.n && kept.n < REASON_LINES; i++) {
        const char *line = lines.items[i];
        bool blank = line[strspn(line, " \t\r")] == '\0';
        bytes += strlen(line) + 1;
        if (blank || text_starts(line, "ptxas info"))
            continue;
        if (bytes > REASON_BYTES)
            break;
        text_list_add(&kept, line);
    }
    if (kept.n == 0)
        text_list_add(&kept, "the compiler gave no reason");
    char *joined = text_list_join(&kept, "\n");
    char *reason = text_utf8(joined); /* compilers quote source bytes; JSON must be UTF-8 */
    free(joined);
    text_list_free(&kept);
    text_list_free(&lines);
    return reason;
}

/* What is in a report's text and what is not, and whether its tables are whole. */
#ifndef TESTS_REPORT_TEXT_H
#define TESTS_REPORT_TEXT_H

#include "checks.h"

static inline size_t cells_of(const char *line, size_t length) {
    size_t pipes = 0;
    for (size_t i = 0; i < length; i++)
        pipes += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    return pipes;
}

/* Rows of a table have as many cells as its heading, and follow a blank line. */
static inline void assert_tables_are_whole(const char *text) {
    size_t expected = 0;
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        size_t cells = line[0] == '|' ? cells_of(line, length) : 0;
        if (cells > 0 && expected > 0 && cells != expected)
            fail_msg("%zu cells, expected %zu: %.*s", cells, expected, (int)length, line);
        expected = cells;
        line += length + (line[length] == '\n');
    }
}

#endif

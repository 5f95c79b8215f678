#include "model/sample_text.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>

/* Exact in a double: a decimal of up to 15 digits divided by one of them is rounded once, so the
 * result equals strtod's (Clinger 1990). */
static const double POWERS[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* The end of a number like 123 or 123.45; NULL for signs, exponents and more than 15 digits. */
static const char *plain_number(const char *c, const char *end, double *value) {
    enum { MOST_DIGITS = 15 };
    int64_t digits = 0;
    int n = 0, decimals = 0;
    bool point = false;
    if (end - c > 1 && c[0] == '0' && c[1] >= '0' && c[1] <= '9')
        return NULL;
    for (; c < end && ((*c >= '0' && *c <= '9') || (*c == '.' && n > 0 && !point)); c++) {
        if (*c == '.') {
            point = true;
            continue;
        }
        digits = digits * 10 + (*c - '0');
        decimals += point;
        if (++n > MOST_DIGITS)
            return NULL;
    }
    if (n == 0 || (point && decimals == 0))
        return NULL;
    *value = (double)digits / POWERS[decimals];
    return c;
}

bool parse_samples(const raw_arrays_t *raw_arrays, size_t index, double **values, size_t *n) {
    if (raw_arrays->taken[index])
        return false;
    raw_arrays->taken[index] = true;
    const char *c = raw_arrays->arrays[index] + 1, *end = raw_arrays->ends[index];
    size_t commas = 0;
    for (const char *at = c; at < end; at++)
        commas += *at == ',';
    *n = 0;
    *values = mem_alloc((commas + 1) * sizeof **values);
    while (c < end && (c = plain_number(c, end, &(*values)[*n])) != NULL) {
        ++*n;
        if (c < end && *c++ != ',')
            break;
        if (c == end && c[-1] != ',')
            return true;
    }
    free(*values);
    *values = NULL;
    return false;
}

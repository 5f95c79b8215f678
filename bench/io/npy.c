#include "io/npy.h"

#include "base/half.h"
#include "base/memory.h"
#include "io/fs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "array data are copied unchanged");

static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_LENGTH = 6, ALIGNMENT = 64 };

/* Position in the header, a Python dict literal such as "{'descr': '<f4', 'fortran_order': False,
 * 'shape': (3, 4), }". */
typedef struct cursor {
    const char *at, *end;
} cursor_t;

static void skip_space(cursor_t *cursor) {
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n'))
        cursor->at++;
}

/* Skip space and `token`; false, without skipping the token, if something else follows. */
static bool take(cursor_t *cursor, const char *token) {
    skip_space(cursor);
    size_t length = strlen(token);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, token, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool take_quoted(cursor_t *cursor, char *text, size_t size) {
    if (!take(cursor, "'"))
        return false;
    const char *close = memchr(cursor->at, '\'', (size_t)(cursor->end - cursor->at));
    if (close == NULL || (size_t)(close - cursor->at) >= size)
        return false;
    size_t length = (size_t)(close - cursor->at);
    memcpy(text, cursor->at, length);
    text[length] = '\0';
    cursor->at = close + 1;
    return true;
}

static bool take_size(cursor_t *cursor, size_t *value) {
    skip_space(cursor);
    const char *start = cursor->at;
    *value = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++)
        if (__builtin_mul_overflow(*value, (size_t)10, value) ||
            __builtin_add_overflow(*value, (size_t)(*cursor->at - '0'), value))
            return false;
    return cursor->at > start;
}

static status_t parse_shape(cursor_t *cursor, npy_t *array, error_t *err) {
    if (!take(cursor, "("))
        return error_set(err, STATUS_USAGE, "header: expected a tuple for 'shape'");
    while (!take(cursor, ")")) {
        size_t length;
        if (!take_size(cursor, &length))
            return error_set(err, STATUS_USAGE, "header: not a number in 'shape'");
        if (array->n_dimensions == NPY_MAX_DIMENSIONS)
            return error_set(err, STATUS_USAGE, "more than %d dimensions", NPY_MAX_DIMENSIONS);
        array->shape[array->n_dimensions++] = length;
        if (!take(cursor, ",") && !(cursor->at < cursor->end && *cursor->at == ')'))
            return error_set(err, STATUS_USAGE, "header: unterminated 'shape'");
    }
    return STATUS_OK;
}

static status_t parse_header(cursor_t cursor, npy_t *array, error_t *err) {
    bool has_shape = false, has_order = false;
    char key[16], type[16] = "";
    if (!take(&cursor, "{"))
        return error_set(err, STATUS_USAGE, "header: expected a Python dict");
    while (!take(&cursor, "}")) {
        if (!take_quoted(&cursor, key, sizeof key) || !take(&cursor, ":"))
            return error_set(err, STATUS_USAGE, "header: expected a quoted key and ':'");
        if (strcmp(key, "descr") == 0) {
            if (!take_quoted(&cursor, type, sizeof type))
                return error_set(err, STATUS_USAGE, "structured type: expected a plain one");
        } else if (strcmp(key, "fortran_order") == 0) {
            has_order = take(&cursor, "False");
            if (!has_order)
                return error_set(err, STATUS_USAGE, "Fortran order: expected C order");
        } else if (strcmp(key, "shape") == 0 && !has_shape) {
            has_shape = true;
            TRY(parse_shape(&cursor, array, err));
        } else {
            return error_set(err, STATUS_USAGE, "header: unexpected key '%s'", key);
        }
        take(&cursor, ",");
    }
    if (type[0] == '\0' || !has_shape || !has_order)
        return error_set(err, STATUS_USAGE,
                         "header: expected 'descr', 'fortran_order' and 'shape'");
    static const char *const readable[] = {"<f2", "<f4", "<f8", "<i4", "<i8"};
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
        if (strcmp(type, readable[i]) == 0) {
            memcpy(array->type, type + 1, sizeof array->type - 1);
            return STATUS_OK;
        }
    return error_set(err, STATUS_USAGE, "type '%s': expected <f2, <f4, <f8, <i4 or <i8", type);
}

/* `bytes` is unaligned, hence the copies; compilers turn them into plain loads. */
static void widen(const char *type, const char *bytes, double *values, size_t n) {
    size_t size = (size_t)(type[1] - '0');
    bool is_float = type[0] == 'f';
    uint16_t half;
    float single;
    int32_t integer;
    int64_t wide;
    if (is_float && size == sizeof half)
        for (size_t i = 0; i < n; i++)
            values[i] = half_to_float(*(uint16_t *)memcpy(&half, bytes + i * size, size));
    else if (is_float && size == sizeof single)
        for (size_t i = 0; i < n; i++)
            values[i] = (double)*(float *)memcpy(&single, bytes + i * size, sizeof single);
    else if (is_float)
        memcpy(values, bytes, n * size);
    else if (size == sizeof integer)
        for (size_t i = 0; i < n; i++)
            values[i] = (double)*(int32_t *)memcpy(&integer, bytes + i * size, sizeof integer);
    else
        for (size_t i = 0; i < n; i++)
            values[i] = (double)*(int64_t *)memcpy(&wide, bytes + i * size, sizeof wide);
}

/* Set the element count after checking that `available` bytes hold exactly that many. */
static status_t check_size(npy_t *array, size_t available, error_t *err) {
    size_t bytes = (size_t)(array->type[1] - '0');
    bool overflow = false;
    array->n = 1;
    for (unsigned d = 0; d < array->n_dimensions; d++)
        overflow |= __builtin_mul_overflow(array->n, array->shape[d], &array->n);
    overflow |= __builtin_mul_overflow(array->n, bytes, &bytes);
    if (overflow)
        return error_set(err, STATUS_USAGE, "the shape's product overflows");
    if (bytes != available)
        return error_set(err, STATUS_USAGE, "%zu bytes of data, expected %zu from the shape",
                         available, bytes);
    return STATUS_OK;
}

static status_t parse(const char *data, size_t size, npy_t *array, error_t *err) {
    const unsigned char *bytes = (const unsigned char *)data;
    if (size < MAGIC_LENGTH + 4 || memcmp(data, MAGIC, MAGIC_LENGTH) != 0)
        return error_set(err, STATUS_USAGE, "not a .npy file");
    unsigned version = bytes[6];
    if (version != 1 && version != 2)
        return error_set(err, STATUS_USAGE, ".npy version %u: expected 1 or 2", version);
    size_t start = version == 1 ? 10 : 12;
    size_t header = bytes[8] | (size_t)bytes[9] << 8;
    if (version == 2 && size >= start)
        header |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (size < start || size - start < header)
        return error_set(err, STATUS_USAGE, "the header is longer than the file");
    TRY(parse_header((cursor_t){data + start, data + start + header}, array, err));
    TRY(check_size(array, size - start - header, err));

    array->values = mem_alloc(array->n * sizeof *array->values);
    widen(array->type, data + start + header, array->values, array->n);
    return STATUS_OK;
}

status_t npy_read(const char *path, npy_t *array, error_t *err) {
    char *data;
    size_t size;
    *array = (npy_t){0};
    TRY(fs_read(path, &data, &size, err));
    status_t status = parse(data, size, array, err);
    free(data);
    return status == STATUS_OK ? STATUS_OK : error_within(err, "%s", path);
}

void npy_free(npy_t *array) {
    free(array->values);
    *array = (npy_t){0};
}

/* numpy pads as if the first axis had 21 digits, so that a file can grow in place, and aligns the
 * data to 64 bytes. Doing the same makes our files identical to numpy's. */
static size_t write_header(char *text, size_t size, const char *type, const size_t *shape,
                           unsigned n_dimensions) {
    enum { PREFIX = 10, GROWTH_DIGITS = 21 };
    char *at = text + PREFIX, *end = text + size;
    at += snprintf(at, (size_t)(end - at), "{'descr': '<%s', 'fortran_order': False, 'shape': (",
                   type);
    for (unsigned d = 0; d < n_dimensions; d++)
        at += snprintf(at, (size_t)(end - at), d == 0 ? "%zu" : ", %zu", shape[d]);
    at += snprintf(at, (size_t)(end - at), n_dimensions == 1 ? ",), }" : "), }");
    if (n_dimensions > 0)
        at += snprintf(at, (size_t)(end - at), "%*s",
                       GROWTH_DIGITS - snprintf(NULL, 0, "%zu", shape[0]), "");
    size_t used = (size_t)(at - text) + 1; /* with the newline that ends the header */
    size_t padded = used + ALIGNMENT - used % ALIGNMENT;
    memset(at, ' ', padded - used);
    text[padded - 1] = '\n';
    memcpy(text, MAGIC, MAGIC_LENGTH);
    text[6] = 1;
    text[7] = 0;
    text[8] = (char)((padded - PREFIX) & 255);
    text[9] = (char)((padded - PREFIX) >> 8);
    return padded;
}

static status_t write_array(const char *path, const char *type, const void *values,
                            const size_t *shape, unsigned n_dimensions, error_t *err) {
    if (n_dimensions > NPY_MAX_DIMENSIONS)
        return error_set(err, STATUS_USAGE, "%s: %u dimensions, expected at most %d", path,
                         n_dimensions, NPY_MAX_DIMENSIONS);
    size_t bytes = (size_t)(type[1] - '0');
    for (unsigned d = 0; d < n_dimensions; d++)
        bytes *= shape[d];
    char header[4 * ALIGNMENT];
    size_t header_bytes = write_header(header, sizeof header, type, shape, n_dimensions);

    FILE *file = fopen(path, "we");
    if (file == NULL)
        return error_set(err, STATUS_USAGE, "%s: cannot write: %s", path, strerror(errno));
    bool written = fwrite(header, 1, header_bytes, file) == header_bytes &&
                   (bytes == 0 || fwrite(values, 1, bytes, file) == bytes);
    if (fclose(file) == 0 && written)
        return STATUS_OK;
    error_set(err, STATUS_USAGE, "%s: cannot write: %s", path, strerror(errno));
    unlink(path);
    return STATUS_USAGE;
}

status_t npy_write_f32(const char *path, const float *values, const size_t *shape,
                       unsigned n_dimensions, error_t *err) {
    return write_array(path, "f4", values, shape, n_dimensions, err);
}

status_t npy_write_f64(const char *path, const double *values, const size_t *shape,
                       unsigned n_dimensions, error_t *err) {
    return write_array(path, "f8", values, shape, n_dimensions, err);
}

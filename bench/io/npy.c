#include "io/npy.h"

#include "base/half.h"
#include "base/memory.h"
#include "io/fs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "array data are copied unchanged");

static const char *const TYPES[] = {"<f2", "<f4", "<f8", "<i4", "<i8", "|i1", "|u1", "|b1"};
enum { N_TYPES = sizeof TYPES / sizeof *TYPES };
static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_LENGTH = 6, ALIGNMENT = 64, HEADER_MOST = 1 << 16 };

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
    for (size_t i = 0; i < N_TYPES; i++)
        if (strcmp(type, TYPES[i]) == 0) {
            memcpy(array->type, type + 1, sizeof array->type - 1);
            return STATUS_OK;
        }
    return error_set(err, STATUS_USAGE,
                     "type '%s': expected <f2, <f4, <f8, <i4, <i8, |i1, |u1 or |b1", type);
}

static size_t element_bytes(const npy_t *array) {
    return (size_t)(array->type[1] - '0');
}

static void widen_floats(const char *bytes, size_t size, double *values, size_t n) {
    uint16_t half;
    float single;
    if (size == sizeof half)
        for (size_t i = 0; i < n; i++)
            values[i] = half_to_float(*(uint16_t *)memcpy(&half, bytes + i * size, size));
    else if (size == sizeof single)
        for (size_t i = 0; i < n; i++)
            values[i] = (double)*(float *)memcpy(&single, bytes + i * size, size);
    else
        memcpy(values, bytes, n * size);
}

static int64_t integer_at(const char *bytes, char kind, size_t size) {
    int32_t integer;
    int64_t wide;
    if (size == sizeof wide)
        return *(int64_t *)memcpy(&wide, bytes, size);
    if (size == sizeof integer)
        return *(int32_t *)memcpy(&integer, bytes, size);
    if (kind == 'b')
        return *bytes != 0;
    return kind == 'u' ? (unsigned char)*bytes : (signed char)*bytes;
}

/* Elements from number `first`. `bytes` is unaligned, hence the copies; compilers turn them into plain loads. */
static status_t widen(const npy_t *array, const char *bytes, double *values, size_t first, size_t n,
                      error_t *err) {
    static const int64_t EXACT = (int64_t)1 << 53;
    const size_t size = element_bytes(array);
    if (array->type[0] == 'f') {
        widen_floats(bytes, size, values, n);
        return STATUS_OK;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t value = integer_at(bytes + i * size, array->type[0], size);
        if (value < -EXACT || value > EXACT)
            return error_set(err, STATUS_USAGE,
                             "element %zu: %lld, expected -2^53 to 2^53: other integers are not "
                             "compared exactly",
                             first + i, (long long)value);
        values[i] = (double)value;
    }
    return STATUS_OK;
}

/* Set the element count after checking that `available` bytes hold exactly that many. */
static status_t check_size(npy_t *array, size_t available, error_t *err) {
    size_t bytes = element_bytes(array);
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

/* ---- reading --------------------------------------------------------------------------------- */

static status_t read_exactly(npy_file_t *file, void *bytes, size_t n, const char *missing,
                             error_t *err) {
    if (fread(bytes, 1, n, file->stream) == n)
        return STATUS_OK;
    return ferror(file->stream) ? error_set(err, STATUS_USAGE, "cannot read: %s", strerror(errno))
                                : error_set(err, STATUS_USAGE, "%s", missing);
}

/* `size`: of the file */
static status_t read_header(npy_file_t *file, size_t size, error_t *err) {
    static const char SHORT[] = "the header is longer than the file";
    unsigned char start[12];
    if (size < MAGIC_LENGTH + 4)
        return error_set(err, STATUS_USAGE, "not a .npy file");
    TRY(read_exactly(file, start, 10, SHORT, err));
    if (memcmp(start, MAGIC, MAGIC_LENGTH) != 0)
        return error_set(err, STATUS_USAGE, "not a .npy file");
    const unsigned version = start[6];
    if (version != 1 && version != 2)
        return error_set(err, STATUS_USAGE, ".npy version %u: expected 1 or 2", version);
    const size_t used = version == 1 ? 10 : 12;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (version == 2) {
        TRY(read_exactly(file, start + 10, 2, SHORT, err));
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (size < used || size - used < length)
        return error_set(err, STATUS_USAGE, "%s", SHORT);
    if (length > HEADER_MOST)
        return error_set(err, STATUS_USAGE, "header: %zu bytes, expected at most %d", length,
                         HEADER_MOST);
    char *header = mem_alloc(length + 1);
    status_t status = read_exactly(file, header, length, SHORT, err);
    if (status == STATUS_OK)
        status = parse_header((cursor_t){header, header + length}, &file->array, err);
    free(header);
    TRY(status);
    return check_size(&file->array, size - used - length, err);
}

status_t npy_open(const char *path, npy_file_t *file, error_t *err) {
    int fd;
    size_t size;
    *file = (npy_file_t){0};
    TRY(fs_open_file(path, &fd, &size, err));
    file->path = mem_text(path);
    file->stream = fdopen(fd, "r");
    status_t status = STATUS_OK;
    if (file->stream == NULL) {
        close(fd);
        status = error_set(err, STATUS_USAGE, "cannot open: %s", strerror(errno));
    }
    if (status == STATUS_OK)
        status = read_header(file, size, err);
    file->left = file->array.n;
    if (status == STATUS_OK)
        return STATUS_OK;
    npy_close(file);
    return error_within(err, "%s", path);
}

status_t npy_next(npy_file_t *file, double *values, size_t *n, error_t *err) {
    char bytes[NPY_BLOCK * sizeof *values];
    *n = file->left < NPY_BLOCK ? file->left : NPY_BLOCK;
    status_t status = read_exactly(file, bytes, *n * element_bytes(&file->array),
                                   "it became shorter while it was read", err);
    if (status == STATUS_OK)
        status = widen(&file->array, bytes, values, file->array.n - file->left, *n, err);
    if (status != STATUS_OK)
        return error_within(err, "%s", file->path);
    file->left -= *n;
    return STATUS_OK;
}

void npy_close(npy_file_t *file) {
    if (file->stream != NULL)
        fclose(file->stream);
    free(file->path);
    *file = (npy_file_t){0};
}

status_t npy_read(const char *path, npy_t *array, error_t *err) {
    npy_file_t file;
    *array = (npy_t){0};
    TRY(npy_open(path, &file, err));
    *array = file.array;
    array->values = mem_alloc(array->n * sizeof *array->values);
    status_t status = STATUS_OK;
    for (size_t at = 0, n; at < array->n && status == STATUS_OK; at += n)
        status = npy_next(&file, array->values + at, &n, err);
    npy_close(&file);
    if (status != STATUS_OK)
        npy_free(array);
    return status;
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
    at += snprintf(at, (size_t)(end - at), "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                   type[1] == '1' ? '|' : '<', type);
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

status_t npy_write(const char *path, const char *type, const void *values, const size_t *shape,
                   unsigned n_dimensions, error_t *err) {
    if (n_dimensions > NPY_MAX_DIMENSIONS)
        return error_set(err, STATUS_USAGE, "%s: %u dimensions, expected at most %d", path,
                         n_dimensions, NPY_MAX_DIMENSIONS);
    size_t bytes = (size_t)(type[1] - '0');
    for (unsigned d = 0; d < n_dimensions; d++)
        bytes *= shape[d];
    char header[(1 + NPY_MAX_DIMENSIONS) * ALIGNMENT];
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
    return npy_write(path, "f4", values, shape, n_dimensions, err);
}

status_t npy_write_f64(const char *path, const double *values, const size_t *shape,
                       unsigned n_dimensions, error_t *err) {
    return npy_write(path, "f8", values, shape, n_dimensions, err);
}

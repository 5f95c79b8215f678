#include "io/npy.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "io/fs.h"

#include <errno.h>
#include <jansson.h>
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

/* The header, a Python dict literal such as "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", as JSON: other
 * brackets, quotes and flags, and no comma before a bracket. NULL if it is no such literal. */
static json_t *header_to_json(const char *header, size_t length) {
    static const char PYTHON[] = "'()FT", JSON[] = "\"[]ft";
    AUTO_FREE char *text = mem_text_n(header, length);
    char *comma = NULL;
    bool quoted = false;
    for (char *at = text; *at != '\0'; at++) {
        const char *found = strchr(PYTHON, *at);
        quoted ^= *at == '\'';
        if (found != NULL && (!quoted || *at == '\''))
            *at = JSON[found - PYTHON];
        if (comma != NULL && (*at == ']' || *at == '}'))
            *comma = ' ';
        if (*at != ' ' && *at != '\n')
            comma = *at == ',' && !quoted ? at : NULL;
    }
    return json_loads(text, JSON_REJECT_DUPLICATES, NULL);
}

static status_t parse_header(const char *text, size_t length, npy_t *array, error_t *err) {
    json_auto_t *header = header_to_json(text, length);
    const json_t *type = json_object_get(header, "descr"), *dimension,
                 *order = json_object_get(header, "fortran_order"),
                 *shape = json_object_get(header, "shape");
    size_t i;
    if (!json_is_object(header))
        return error_set(err, STATUS_USAGE, "header: expected a Python dict");
    if (type == NULL || order == NULL || shape == NULL || json_object_size(header) != 3)
        return error_set(err, STATUS_USAGE,
                         "header: expected 'descr', 'fortran_order' and 'shape'");
    if (!json_is_false(order))
        return error_set(err, STATUS_USAGE, "Fortran order: expected C order");
    if (!json_is_array(shape))
        return error_set(err, STATUS_USAGE, "header: expected a tuple for 'shape'");
    if (json_array_size(shape) > NPY_MAX_DIMENSIONS)
        return error_set(err, STATUS_USAGE, "more than %d dimensions", NPY_MAX_DIMENSIONS);
    json_array_foreach(shape, i, dimension) {
        if (!json_is_integer(dimension) || json_integer_value(dimension) < 0)
            return error_set(err, STATUS_USAGE, "header: not a number in 'shape'");
        array->shape[array->n_dimensions++] = (size_t)json_integer_value(dimension);
    }
    if (!json_is_string(type))
        return error_set(err, STATUS_USAGE, "structured type: expected a plain one");
    for (i = 0; i < N_TYPES; i++)
        if (strcmp(json_string_value(type), TYPES[i]) == 0) {
            memcpy(array->type, TYPES[i] + 1, sizeof array->type - 1);
            return STATUS_OK;
        }
    return error_set(err, STATUS_USAGE,
                     "type '%s': expected <f2, <f4, <f8, <i4, <i8, |i1, |u1 or |b1",
                     json_string_value(type));
}

size_t npy_element_bytes(const npy_t *array) {
    return (size_t)(array->type[1] - '0');
}

/* `bytes` is unaligned, hence the copies; compilers turn them into plain loads. */
WIDEST_VECTORS static void widen_singles(const char *bytes, double *values, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float single;
        memcpy(&single, bytes + i * sizeof single, sizeof single);
        values[i] = (double)single;
    }
}

static void widen_floats(const char *bytes, size_t size, double *values, size_t n) {
    uint16_t half;
    if (size == sizeof(float))
        widen_singles(bytes, values, n);
    else if (size == sizeof half)
        for (size_t i = 0; i < n; i++)
            values[i] = half_to_float(*(uint16_t *)memcpy(&half, bytes + i * size, size));
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

/* Elements from number `first`. */
static status_t widen(const npy_t *array, const char *bytes, double *values, size_t first, size_t n,
                      error_t *err) {
    static const int64_t EXACT = (int64_t)1 << 53;
    const size_t size = npy_element_bytes(array);
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
    size_t bytes = npy_element_bytes(array);
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

/* At a position of the file: threads have none in common. */
static status_t read_exactly(const npy_file_t *file, void *bytes, size_t n, size_t at,
                             const char *missing, error_t *err) {
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(file->fd, (char *)bytes + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, STATUS_USAGE, "cannot read: %s", strerror(errno));
        if (got == 0)
            return error_set(err, STATUS_USAGE, "%s", missing);
        done += (size_t)got;
    }
    return STATUS_OK;
}

/* `size`: of the file */
static status_t read_header(npy_file_t *file, size_t size, error_t *err) {
    static const char SHORT[] = "the header is longer than the file";
    unsigned char start[12];
    if (size < MAGIC_LENGTH + 4)
        return error_set(err, STATUS_USAGE, "not a .npy file");
    TRY(read_exactly(file, start, 10, 0, SHORT, err));
    if (memcmp(start, MAGIC, MAGIC_LENGTH) != 0)
        return error_set(err, STATUS_USAGE, "not a .npy file");
    const unsigned version = start[6];
    if (version != 1 && version != 2)
        return error_set(err, STATUS_USAGE, ".npy version %u: expected 1 or 2", version);
    const size_t used = version == 1 ? 10 : 12;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (version == 2) {
        TRY(read_exactly(file, start + 10, 2, 10, SHORT, err));
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (size < used || size - used < length)
        return error_set(err, STATUS_USAGE, "%s", SHORT);
    if (length > HEADER_MOST)
        return error_set(err, STATUS_USAGE, "header: %zu bytes, expected at most %d", length,
                         HEADER_MOST);
    AUTO_FREE char *header = mem_alloc(length + 1);
    TRY(read_exactly(file, header, length, used, SHORT, err));
    TRY(parse_header(header, length, &file->array, err));
    file->start = used + length;
    return check_size(&file->array, size - file->start, err);
}

status_t npy_open(const char *path, npy_file_t *file, error_t *err) {
    size_t size;
    *file = (npy_file_t){.fd = -1};
    TRY(fs_open_file(path, &file->fd, &size, err));
    file->path = mem_text(path);
    if (read_header(file, size, err) == STATUS_OK)
        return STATUS_OK;
    error_within(err, "%s", path);
    npy_close(file);
    return STATUS_USAGE;
}

status_t npy_bytes(const npy_file_t *file, size_t first, size_t n, void *bytes, error_t *err) {
    const size_t size = npy_element_bytes(&file->array);
    if (read_exactly(file, bytes, n * size, file->start + first * size,
                     "it became shorter while it was read", err) == STATUS_OK)
        return STATUS_OK;
    return error_within(err, "%s", file->path);
}

status_t npy_values(const npy_file_t *file, size_t first, size_t n, double *values, error_t *err) {
    char bytes[NPY_BLOCK * sizeof *values];
    TRY(npy_bytes(file, first, n, bytes, err));
    if (widen(&file->array, bytes, values, first, n, err) == STATUS_OK)
        return STATUS_OK;
    return error_within(err, "%s", file->path);
}

void npy_close(npy_file_t *file) {
    if (file->path != NULL)
        close(file->fd);
    free(file->path);
    *file = (npy_file_t){.fd = -1};
}

/* What is read in one part: enough that starting a thread is worth it. */
enum { READ_PART = 64 * NPY_BLOCK };

static status_t read_part(void *context, size_t part, error_t *err) {
    const npy_file_t *file = context;
    const npy_t *array = &file->array;
    const size_t first = part * READ_PART, left = array->n - first;
    const size_t end = first + (left < READ_PART ? left : READ_PART);
    for (size_t at = first, n; at < end; at += n) {
        n = end - at < NPY_BLOCK ? end - at : NPY_BLOCK;
        TRY(npy_values(file, at, n, array->values + at, err));
    }
    return STATUS_OK;
}

status_t npy_read(const char *path, npy_t *array, error_t *err) {
    npy_file_t file;
    *array = (npy_t){0};
    TRY(npy_open(path, &file, err));
    file.array.values = mem_alloc_large(file.array.n * sizeof *array->values);
    const status_t status =
        parallel_parts((file.array.n + READ_PART - 1) / READ_PART, read_part, &file, err);
    *array = file.array;
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

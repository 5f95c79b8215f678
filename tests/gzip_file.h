/* Gzipped files for tests of what reads them. */
#ifndef TESTS_GZIP_FILE_H
#define TESTS_GZIP_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <zlib.h>

static status_t write_gzip(const char *path, const void *data, size_t size, error_t *err) {
    gzFile file = gzopen(path, "wb9");
    bool written = file != NULL && gzfwrite(data, 1, size, file) == size;
    if (file == NULL || gzclose(file) != Z_OK || !written)
        return error_set(err, STATUS_USAGE, "%s: cannot write", path);
    return STATUS_OK;
}

#endif

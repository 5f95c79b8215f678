/* Files and folders. Every error names the path and what the system said. */
#ifndef BENCH_IO_FS_H
#define BENCH_IO_FS_H

#include "base/error.h"
#include "base/text.h"
#include "io/path.h"

#include <stdbool.h>
#include <stddef.h>

/* Read a whole file; `*data` is NUL-terminated beyond `*size` and owned by the caller. A file that
 * starts with the gzip magic is unpacked (zlib). Files over 4 GiB unpacked are refused. */
status_t fs_read(const char *path, char **data, size_t *size, error_t *err);

/* Write to a temporary file beside `path`, flush, rename over it: readers see the old or the new
 * file, never half of one. */
status_t fs_write_atomic(const char *path, const void *data, size_t size, error_t *err);
/* Remove the temporary files in `folder` of processes that were killed while they wrote one. */
void fs_remove_orphans(const char *folder);

status_t fs_make_folders(const char *path, error_t *err); /* like mkdir -p */
bool fs_exists(const char *path);
bool fs_is_folder(const char *path);
status_t fs_remove_tree(const char *path, error_t *err); /* a missing path is fine */

/* A new private folder under $TMPDIR or /tmp; the caller frees `*path` and removes the folder. */
status_t fs_temporary_folder(char **path, error_t *err);

/* Names (not paths) in `folder` that end in `suffix` ("" for all), sorted, without "." and "..". */
status_t fs_list(const char *folder, const char *suffix, text_list_t *names, error_t *err);

#endif

/* Files and folders. Every error names the path and the system's message. */
#ifndef BENCH_IO_FS_H
#define BENCH_IO_FS_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Paths as text, and environment variables. Reads nothing of the file system but the current folder. */

/* An environment variable, or NULL if unset or empty. */
const char *fs_variable(const char *name);
char *fs_join(const char *folder, const char *name); /* "folder/name"; owned by the caller */
/* As seen from the current folder, if it is below; owned by the caller. */
char *fs_from_here(const char *path);
/* File name without folder and without its last extension; owned by the caller. */
char *fs_stem(const char *path);
/* A file name for a text, the same if it is one already: "/" and unsafe characters become "_", and
 * digits of a hash keep the names of texts apart that lose more than slashes. Owned by the caller. */
char *fs_file_name(const char *text);

/* The first line of a file of the system, such as one in /proc, without its end; false, and "", if there is none. */
bool fs_first_line(const char *path, char *line, size_t bytes);

/* Open a file for reading: no folder, pipe or device. `*size`: in bytes. */
status_t fs_open_file(const char *path, int *fd, size_t *size, error_t *err);

/* Read a whole file; `*data` has a NUL after `*size` bytes and is owned by the caller; NULL on failure. A gzip file
 * is unpacked (zlib). Refused: what is over 256 MiB unpacked, and what unpacks to 32 times its size. */
status_t fs_read(const char *path, char **data, size_t *size, error_t *err);
/* The same for files that may be larger: up to `most` bytes. */
status_t fs_read_up_to(const char *path, size_t most, char **data, size_t *size, error_t *err);

/* Write a temporary file beside `path`, flush, rename it: readers see the old or the new file,
 * never a partial one. A pipe or device is never replaced: it is refused. For a path that the user names, which may be
 * one: output_write_file(). */
status_t fs_write_atomic(const char *path, const void *data, size_t size, error_t *err);
/* The same for a path that must not exist, also if another machine creates it at the same time. If it does,
 * `*exists` is set and nothing is written. */
status_t fs_write_new(const char *path, const void *data, size_t size, bool *exists, error_t *err);
/* Make a file of `bytes` bytes that must not exist, for this process to fill and others to read: `*values`, to be unmapped;
 * NULL for 0 bytes. Without space the error says how much was needed. */
status_t fs_map_new(const char *path, size_t bytes, void **values, error_t *err);
/* Copy a file, as it is, to a path that must not exist. */
status_t fs_copy_new(const char *from, const char *to, error_t *err);
bool fs_write_all(int fd, const void *data, size_t size); /* false: errno says why */
/* Remove temporary files that killed processes left in `folder`. */
void fs_remove_orphans(const char *folder);

status_t fs_make_folders(const char *path, error_t *err); /* like mkdir -p */
bool fs_exists(const char *path);
bool fs_has(const char *folder, const char *name); /* is there "folder/name"? */
bool fs_is_folder(const char *path);

/* Remove what is missing: no error, in all four. */
status_t fs_remove_file(const char *path, error_t *err);
/* A temporary folder of bench's own, or what is in one: anything else is refused. */
status_t fs_remove_tree(const char *path, error_t *err);
/* A folder in which, or beside which ("../run.json"), the file `mark` says that bench made it. Without it only an
 * empty folder is removed. */
status_t fs_remove_marked(const char *path, const char *mark, error_t *err);
void fs_remove_temporary(char **path); /* the tree; then frees `*path` and makes it NULL */

/* A new private folder under $TMPDIR or /tmp, for fs_remove_temporary(); NULL on failure. */
status_t fs_temporary_folder(char **path, error_t *err);
/* The same in `base`; NULL: as above. */
status_t fs_temporary_folder_in(const char *base, char **path, error_t *err);
/* The same for files of so many bytes: in memory, /dev/shm, if they take a small part of the room there; else as above. */
status_t fs_temporary_folder_for(size_t bytes, char **path, error_t *err);
/* Can one be made? For commands that take long before they need it. */
status_t fs_check_temporary(error_t *err);
/* Remove those of this user's processes that were killed. */
void fs_remove_dead_folders(void);

/* Names (not paths) in `folder` that end in `suffix` ("" for all), sorted, without "." and "..". */
status_t fs_list(const char *folder, const char *suffix, text_list_t *names, error_t *err);

/* Find programs; how to install what is missing. */

/* First program `name` on $PATH, or NULL; owned by the caller. */
char *fs_find_program(const char *name);

typedef struct package {
    const char *apt, *dnf, *pacman; /* its name in each */
} package_t;

/* "apt-get install g++", for the package manager on $PATH, or apt-get if there is none; for messages. The caller
 * frees it. reference_common/needs.py does the same. */
char *package_install(const package_t *package);

/* Path of the running executable; owned by the caller. */
status_t fs_executable(char **path, error_t *err);

#endif

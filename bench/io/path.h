/* Paths as text, and environment variables. Reads nothing of the file system but the current folder. */
#ifndef BENCH_IO_PATH_H
#define BENCH_IO_PATH_H

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

#endif

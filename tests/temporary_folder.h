/* A folder for a test's files. */
#ifndef TESTS_TEMPORARY_FOLDER_H
#define TESTS_TEMPORARY_FOLDER_H

#include "checks.h"
#include "io/fs.h"

/* Owned by the caller; fs_remove_temporary() ends it. */
static inline char *temporary_folder(void) {
    char *folder;
    assert_ok(fs_temporary_folder(&folder, &err));
    return folder;
}

/* The test's state is the folder. */
static inline int make_folder(void **state) {
    *state = temporary_folder();
    return 0;
}

static inline int remove_folder(void **state) {
    assert_ok(fs_remove_tree(*state, &err));
    assert_false(fs_exists(*state));
    free(*state);
    return 0;
}

#endif

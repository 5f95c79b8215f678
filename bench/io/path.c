#include "io/path.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *fs_variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

char *fs_join(const char *folder, const char *name) {
    return mem_format("%s%s%s", folder, text_ends(folder, "/") ? "" : "/", name);
}

char *fs_from_here(const char *path) {
    char *here = getcwd(NULL, 0);
    const size_t n = here != NULL ? strlen(here) : 0;
    const bool below = n > 0 && strncmp(path, here, n) == 0 && path[n] == '/';
    free(here);
    return mem_text(below ? path + n + 1 : path);
}

char *fs_stem(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    /* A leading dot marks a hidden file, not an extension. */
    return dot == NULL || dot == name ? mem_text(name) : mem_text_n(name, (size_t)(dot - name));
}

char *fs_file_name(const char *text) {
    static const char SAFE[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+=-";
    enum { LONGEST = 120, N_FIRST = 63 }; /* letters, digits and "_": a name may begin with them */
    char *name = mem_text(text), digits[HASH_TEXT];
    bool lost = name[0] == '\0' || strlen(name) > LONGEST || strstr(name, "..") != NULL;
    for (char *c = name; *c != '\0'; c++) {
        const char *safe = strchr(SAFE, *c);
        if (safe != NULL && (c > name || safe < SAFE + N_FIRST) && (c[0] != '.' || c[1] != '.'))
            continue;
        lost = lost || *c != '/';
        *c = '_';
    }
    if (!lost)
        return name;
    hash_t *hash = hash_new();
    hash_add_text(hash, text);
    hash_finish(hash, digits);
    char *distinct = mem_format("%.*s_%.8s", LONGEST, name, digits);
    free(name);
    return distinct;
}

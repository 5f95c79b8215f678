#include "io/path.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

const char *fs_variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

char *fs_join(const char *folder, const char *name) {
    return mem_format("%s%s%s", folder, text_ends(folder, "/") ? "" : "/", name);
}

char *fs_stem(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    /* A leading dot marks a hidden file, not an extension. */
    return dot == NULL || dot == name ? mem_text(name) : mem_text_n(name, (size_t)(dot - name));
}

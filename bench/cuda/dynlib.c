#include "cuda/dynlib.h"

#include <dlfcn.h>
#include <string.h>

/* In place of glibc's many words for the usual cause; a library that another one needs is named by
 * those. */
static void note_failure(const char *name, const char *said, error_t *err) {
    static const char MISSING[] = ": cannot open shared object file: No such file or directory";
    size_t length = strlen(name);
    if (strncmp(said, name, length) == 0 && strcmp(said + length, MISSING) == 0)
        error_set(err, STATUS_USAGE, "%s not found", name);
    else
        error_set(err, STATUS_USAGE, "%s", said);
}

status_t library_open(const char *const *names, const library_symbol_t *symbols, size_t n_symbols,
                      void *api, void **handle, error_t *err) {
    error_t first = ERROR_INIT;
    void *opened = NULL;
    for (size_t i = 0; names[i] != NULL && opened == NULL; i++) {
        opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (opened == NULL)
            note_failure(names[i], dlerror(), &first);
    }
    if (opened == NULL)
        return error_set(err, STATUS_USAGE, "%s", first.text);
    for (size_t i = 0; i < n_symbols; i++) {
        void *symbol = dlsym(opened, symbols[i].name);
        if (symbol == NULL && !symbols[i].optional) {
            dlclose(opened);
            return error_set(err, STATUS_USAGE,
                             "%s has no %s: it is older than this program needs; update it",
                             names[0], symbols[i].name);
        }
        /* ISO C has no cast from object to function pointer; POSIX guarantees the same bytes. */
        memcpy((char *)api + symbols[i].offset, &symbol, sizeof symbol);
    }
    if (handle != NULL)
        *handle = opened;
    return STATUS_OK;
}

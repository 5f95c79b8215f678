#include "cuda/dynlib.h"

#include <dlfcn.h>
#include <string.h>

/* Shorten glibc's message if `name` itself is missing, not a library that it depends on. */
static void note_failure(const char *name, const char *message, error_t *err) {
    static const char MISSING[] = ": cannot open shared object file: No such file or directory";
    size_t length = strlen(name);
    bool missing = strncmp(message, name, length) == 0 && strcmp(message + length, MISSING) == 0;
    error_set(err, STATUS_USAGE, "%s%s", missing ? name : message, missing ? " not found" : "");
}

status_t library_open(const char *const *names, const library_symbol_t *symbols, size_t n_symbols,
                      void *api, error_t *err) {
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
            return error_set(err, STATUS_USAGE, "%s has no %s: the library is too old, update it",
                             names[0], symbols[i].name);
        }
        /* ISO C cannot cast object to function pointers; POSIX guarantees the same bytes. */
        memcpy((char *)api + symbols[i].offset, &symbol, sizeof symbol);
    }
    return STATUS_OK;
}

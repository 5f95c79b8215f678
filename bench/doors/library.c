#include "doors/library.h"

#include <dlfcn.h>
#include <string.h>

status_t library_open(const char *const *names, const library_symbol_t *symbols, size_t n_symbols,
                      void *api, void **handle, error_t *err) {
    error_t first = ERROR_INIT;
    *handle = NULL;
    for (size_t i = 0; names[i] != NULL && *handle == NULL; i++) {
        *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (*handle == NULL)
            error_set(&first, STATUS_USAGE, "%s", dlerror());
    }
    if (*handle == NULL)
        return error_set(err, STATUS_USAGE, "%s", first.text);
    for (size_t i = 0; i < n_symbols; i++) {
        void *symbol = dlsym(*handle, symbols[i].name);
        if (symbol == NULL && !symbols[i].optional) {
            error_set(err, STATUS_USAGE,
                      "%s has no %s: it is older than this program needs; update it", names[0],
                      symbols[i].name);
            dlclose(*handle);
            *handle = NULL;
            return STATUS_USAGE;
        }
        /* ISO C has no cast from object to function pointer; POSIX guarantees the same bytes. */
        memcpy((char *)api + symbols[i].offset, &symbol, sizeof symbol);
    }
    return STATUS_OK;
}

#include "sweep/own_engines.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

bool is_own_engine(const char *root, const char *name) {
    size_t n;
    const char *const *engines = workload_engines(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(engines[i], name) == 0)
            return false;
    char *script = folders_worker(root, name);
    const bool exists = text_is_name(name) && fs_exists(script);
    free(script);
    return exists;
}

static status_t add_engines_in(const char *folder, const char *root, text_list_t *names,
                               error_t *err) {
    static const char PREFIX[] = "reference_";
    text_list_t folders = {0};
    const status_t status = fs_list(folder, "", &folders, err);
    for (size_t i = 0; i < folders.n; i++) {
        const char *name = folders.items[i] + strlen(PREFIX);
        if (text_starts(folders.items[i], PREFIX) && is_own_engine(root, name))
            text_list_add_new(names, name);
    }
    text_list_free(&folders);
    return status;
}

status_t own_engines(const char *root, text_list_t *names, error_t *err) {
    char *project = folders_project(root);
    status_t status = add_engines_in(root, root, names, err);
    if (status == STATUS_OK && strcmp(project, root) != 0)
        status = add_engines_in(project, root, names, err);
    free(project);
    return status;
}

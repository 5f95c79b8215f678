#include "workloads/described/host_code.h"

#include <dlfcn.h>
#include <string.h>

/* Threads of OpenMP's runtime go on after a parallel region. Were it unloaded with the last object that uses it, as from a
 * bench that has a runtime of its own, they would run what is no longer there. */
static void keep_openmp(void) {
    static const char *const RUNTIMES[] = {"libgomp.so.1", "libomp.so.5", "libomp.so"};
    for (size_t i = 0; i < sizeof RUNTIMES / sizeof *RUNTIMES; i++)
        dlopen(RUNTIMES[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

status_t host_code_open(const char *path, host_code_t *code, error_t *err) {
    code->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (code->object == NULL)
        return error_set(err, STATUS_FAILED, "cannot load its shared object: %s", dlerror());
    keep_openmp();
    void *run = dlsym(code->object, "workload_run");
    void *scale = dlsym(code->object, "workload_scale");
    const char *workspace = dlsym(code->object, "workspace_bytes");
    if (run == NULL)
        return error_set(err, STATUS_FAILED, "%s has no function workload_run", path);
    memcpy(&code->run, &run, sizeof run); /* C has no cast between them */
    memcpy(&code->scale, &scale, sizeof scale);
    code->as_graph = dlsym(code->object, "launched_as_graph") != NULL;
    code->workspace = workspace != NULL ? workspace : "";
    return STATUS_OK;
}

void host_code_close(host_code_t *code) {
    if (code->object != NULL)
        dlclose(code->object);
    *code = (host_code_t){0};
}

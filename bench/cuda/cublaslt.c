#include "cuda/cublaslt.h"

#include "base/memory.h"
#include "cuda/dynlib.h"
#include "cuda/find_library.h"

#include <stdlib.h>

#define SYMBOL(field, name)                                                                        \
    { "cublasLt" name, offsetof(cublaslt_api_t, field), false }

static const library_symbol_t SYMBOLS[] = {
    SYMBOL(version, "GetVersion"),
    SYMBOL(status_name, "GetStatusName"),
    SYMBOL(create, "Create"),
    SYMBOL(destroy, "Destroy"),
    SYMBOL(desc_create, "MatmulDescCreate"),
    SYMBOL(desc_destroy, "MatmulDescDestroy"),
    SYMBOL(desc_set, "MatmulDescSetAttribute"),
    SYMBOL(layout_create, "MatrixLayoutCreate"),
    SYMBOL(layout_destroy, "MatrixLayoutDestroy"),
    SYMBOL(preference_create, "MatmulPreferenceCreate"),
    SYMBOL(preference_destroy, "MatmulPreferenceDestroy"),
    SYMBOL(preference_set, "MatmulPreferenceSetAttribute"),
    SYMBOL(heuristic, "MatmulAlgoGetHeuristic"),
    SYMBOL(matmul, "Matmul"),
};

void cublaslt_candidates(const char *root, text_list_t *paths) {
    /* Newest first. Values of enums and layouts of structs are those of both. */
    static const char *const SONAMES[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    /* Beside NVRTC, or in a wheel of its own before CUDA 13. */
    static const char *const FOLDERS[] = {".", "../../cublas/lib", NULL};
    library_candidates(&(library_places_t){"BENCH_CUBLASLT", SONAMES, FOLDERS, SONAMES}, root,
                       paths);
}

status_t cublaslt_open(const char *root, cublaslt_api_t *api, char **path, error_t *err) {
    text_list_t paths = {0}, looked = {0};
    cublaslt_candidates(root, &paths);
    *path = NULL;
    for (size_t i = 0; i < paths.n && *path == NULL; i++) {
        const char *const names[] = {paths.items[i], NULL};
        error_t why = ERROR_INIT;
        if (library_open(names, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, api, NULL, &why) ==
            STATUS_OK)
            *path = mem_text(paths.items[i]);
        else if (paths.n == 1 || !text_ends(why.text, " not found"))
            text_list_add(&looked, why.text);
    }
    status_t status = STATUS_OK;
    if (*path == NULL) {
        char *reasons = text_list_join(&looked, "; ");
        status = error_set(err, STATUS_USAGE,
                           "cuBLASLt not found%s%.1000s%s: .venv/bin/pip install nvidia-cublas, or "
                           "name the library in $BENCH_CUBLASLT",
                           looked.n > 0 ? " (" : "", reasons, looked.n > 0 ? ")" : "");
        free(reasons);
    }
    text_list_free(&paths);
    text_list_free(&looked);
    return status;
}

status_t cublaslt_check(const cublaslt_api_t *api, cublaslt_status_t result, const char *call,
                        error_t *err) {
    if (result == CUBLASLT_OK)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cublasLt %s: %s (%d)", call, api->status_name(result),
                     result);
}

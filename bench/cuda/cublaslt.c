#include "cuda/cublaslt.h"

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

/* Newest first. Both have the same enum values and struct layouts. */
static const char *const SONAMES[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
/* Beside NVRTC; before CUDA 13 in a separate wheel. */
static const char *const FOLDERS[] = {"", "/../../cublas/lib", NULL};
static const library_places_t PLACES = {"BENCH_CUBLASLT", SONAMES, FOLDERS, SONAMES};

void cublaslt_candidates(const char *root, text_list_t *paths) {
    library_candidates(&PLACES, root, paths);
}

status_t cublaslt_open(const char *root, cublaslt_api_t *api, char **path, error_t *err) {
    text_list_t failures = {0};
    status_t status = STATUS_OK;
    *path = library_find(&PLACES, root, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, api, &failures);
    if (*path == NULL) {
        char *reasons = text_list_join(&failures, "; ");
        status = error_set(err, STATUS_USAGE,
                           "cuBLASLt not found%s%.1000s%s: .venv/bin/pip install nvidia-cublas, or "
                           "set $BENCH_CUBLASLT to the library's path",
                           failures.n > 0 ? " (" : "", reasons, failures.n > 0 ? ")" : "");
        free(reasons);
    }
    text_list_free(&failures);
    return status;
}

status_t cublaslt_check(const cublaslt_api_t *api, cublaslt_status_t result, const char *call,
                        error_t *err) {
    if (result == CUBLASLT_OK)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cublasLt %s: %s (%d)", call, api->status_name(result),
                     result);
}

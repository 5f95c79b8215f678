#include "cuda/cublaslt.h"

#include "base/memory.h"
#include "cuda/dynlib.h"

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

status_t cublaslt_open(const char *root, cublaslt_api_t *api, char **path, error_t *err) {
    AUTO(text_list_free) text_list_t failures = {0};
    status_t status = STATUS_OK;
    *path = library_find(&PLACES, root, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, api, &failures);
    if (*path == NULL) {
        AUTO_FREE char *reasons = text_list_join(&failures, "; ");
        status = error_set(err, STATUS_USAGE,
                           "cuBLASLt not found%s%.1000s%s: .venv/bin/pip install nvidia-cublas, or "
                           "set $BENCH_CUBLASLT to the library's path",
                           failures.n > 0 ? " (" : "", reasons, failures.n > 0 ? ")" : "");
    }
    return status;
}

status_t cublaslt_check(const cublaslt_api_t *api, cublaslt_status_t result, const char *call,
                        error_t *err) {
    if (result == CUBLASLT_OK)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cublasLt %s: %s (%d)", call, api->status_name(result),
                     result);
}

/* ---- products -------------------------------------------------------------------------------- */

#define LT(call) TRY(cublaslt_check(api, api->call, #call, err))

status_t cublaslt_describe(const cublaslt_api_t *api, uint64_t n, int type, int compute,
                           cublaslt_product_t *product, error_t *err) {
    static const int32_t TRANSPOSED = CUBLASLT_TRANSPOSED;
    LT(desc_create(&product->desc, compute, CUBLASLT_F32));
    LT(desc_set(product->desc, CUBLASLT_DESC_TRANSPOSE_A, &TRANSPOSED, sizeof TRANSPOSED));
    LT(layout_create(&product->layout, type, n, n, (int64_t)n));
    return STATUS_OK;
}

void cublaslt_product_free(const cublaslt_api_t *api, cublaslt_product_t *product) {
    if (product->desc != NULL)
        api->desc_destroy(product->desc);
    if (product->layout != NULL)
        api->layout_destroy(product->layout);
    *product = (cublaslt_product_t){0};
}

status_t cublaslt_find_algorithms(const cublaslt_t *library, const cublaslt_product_t *product,
                                  cublaslt_algorithm_t algorithms[CUBLASLT_ALGORITHMS], int *n,
                                  error_t *err) {
    const cublaslt_api_t *api = &library->api;
    const cublaslt_layout_t layout = product->layout;
    const uint64_t workspace_bytes = CUBLASLT_WORKSPACE_BYTES;
    cublaslt_heuristic_t found[CUBLASLT_ALGORITHMS] = {0};
    cublaslt_preference_t preference;
    int n_found = 0;
    *n = 0;
    LT(preference_create(&preference));
    const cublaslt_status_t set = api->preference_set(preference, CUBLASLT_PREFERENCE_WORKSPACE,
                                                      &workspace_bytes, sizeof workspace_bytes);
    if (set == CUBLASLT_OK &&
        api->heuristic(library->handle, product->desc, layout, layout, layout, layout, preference,
                       CUBLASLT_ALGORITHMS, found, &n_found) == CUBLASLT_OK)
        for (int i = 0; i < n_found; i++)
            if (found[i].status == CUBLASLT_OK)
                algorithms[(*n)++] = found[i].algorithm;
    api->preference_destroy(preference);
    return cublaslt_check(api, set, "preference_set()", err);
}

status_t cublaslt_multiply(const cublaslt_t *library, const cublaslt_product_t *product,
                           const cublaslt_operands_t *operands, cu_stream_t stream, error_t *err) {
    static const float ONE = 1, ZERO = 0;
    const cublaslt_api_t *api = &library->api;
    const cublaslt_operands_t *o = operands;
    const cublaslt_layout_t layout = product->layout;
    LT(matmul(library->handle, product->desc, &ONE, o->a, layout, o->b, layout, &ZERO, o->d, layout,
              o->d, layout, &product->algorithm, library->workspace, CUBLASLT_WORKSPACE_BYTES,
              stream));
    return STATUS_OK;
}

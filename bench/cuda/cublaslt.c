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

void cublaslt_candidates(const char *root, text_list_t *paths) {
    library_candidates(&PLACES, root, paths);
}

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

status_t cublaslt_describe(const cublaslt_api_t *api, const cublaslt_shape_t *shape,
                           cublaslt_product_t *product, error_t *err) {
    const cublaslt_shape_t *s = shape;
    product->half_sums = s->compute == CUBLASLT_COMPUTE_F16;
    LT(desc_create(&product->desc, s->compute, product->half_sums ? CUBLASLT_F16 : CUBLASLT_F32));
    LT(desc_set(product->desc, CUBLASLT_DESC_TRANSPOSE_A, &s->transpose_a, sizeof s->transpose_a));
    LT(desc_set(product->desc, CUBLASLT_DESC_TRANSPOSE_B, &s->transpose_b, sizeof s->transpose_b));
    LT(layout_create(&product->a, s->type, s->transpose_a ? s->k : s->m,
                     s->transpose_a ? s->m : s->k, s->a_rows));
    LT(layout_create(&product->b, s->type, s->transpose_b ? s->n : s->k,
                     s->transpose_b ? s->k : s->n, s->b_rows));
    LT(layout_create(&product->d, s->d_type, s->m, s->n, s->d_rows));
    return STATUS_OK;
}

void cublaslt_product_free(const cublaslt_api_t *api, cublaslt_product_t *product) {
    const cublaslt_layout_t layouts[] = {product->a, product->b, product->d};
    if (product->desc != NULL)
        api->desc_destroy(product->desc);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i] != NULL)
            api->layout_destroy(layouts[i]);
    *product = (cublaslt_product_t){0};
}

static status_t ask(const cublaslt_t *library, const cublaslt_product_t *product,
                    cublaslt_preference_t preference, int most, cublaslt_choices_t *choices,
                    error_t *err) {
    const cublaslt_api_t *api = &library->api;
    const uint64_t workspace_bytes = CUBLASLT_WORKSPACE_BYTES;
    cublaslt_heuristic_t found[CUBLASLT_ALGORITHMS] = {0};
    int n = 0;
    LT(preference_set(preference, CUBLASLT_PREFERENCE_WORKSPACE, &workspace_bytes,
                      sizeof workspace_bytes));
    *choices = (cublaslt_choices_t){0};
    choices->status = api->heuristic(library->handle, product->desc, product->a, product->b,
                                     product->d, product->d, preference, most, found, &n);
    for (int i = 0; i < n && choices->status == CUBLASLT_OK; i++)
        if (found[i].status == CUBLASLT_OK)
            choices->items[choices->n++] = found[i];
    if (choices->n == 0 && choices->status == CUBLASLT_OK)
        choices->status = n > 0 ? found[0].status : CUBLASLT_NOT_SUPPORTED;
    return STATUS_OK;
}

status_t cublaslt_find_algorithms(const cublaslt_t *library, const cublaslt_product_t *product,
                                  int most, cublaslt_choices_t *choices, error_t *err) {
    const cublaslt_api_t *api = &library->api;
    cublaslt_preference_t preference;
    LT(preference_create(&preference));
    const status_t status = ask(library, product, preference, most, choices, err);
    api->preference_destroy(preference);
    return status;
}

status_t cublaslt_multiply(const cublaslt_t *library, const cublaslt_product_t *product,
                           const cublaslt_operands_t *operands, cu_stream_t stream, error_t *err) {
    /* 1 and 0 in the type of the sums. */
    static const float ONE = 1, ZERO = 0;
    static const uint16_t HALF_ONE = 0x3C00, HALF_ZERO = 0;
    const cublaslt_api_t *api = &library->api;
    const cublaslt_operands_t *o = operands;
    const void *one = product->half_sums ? (const void *)&HALF_ONE : &ONE;
    const void *zero = product->half_sums ? (const void *)&HALF_ZERO : &ZERO;
    LT(matmul(library->handle, product->desc, one, o->a, product->a, o->b, product->b, zero, o->d,
              product->d, o->d, product->d, &product->algorithm, library->workspace,
              CUBLASLT_WORKSPACE_BYTES, stream));
    return STATUS_OK;
}

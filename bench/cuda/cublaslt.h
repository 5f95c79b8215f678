/* cuBLASLt, NVIDIA's matrix-product library, opened at run time: neither the build nor variants
 * with hand-written kernels need it. Declares only what the harness uses; names, values and layouts
 * are the ABI in the cuBLAS documentation (cublasLt API). */
#ifndef BENCH_CUDA_CUBLASLT_H
#define BENCH_CUDA_CUBLASLT_H

#include "base/error.h"
#include "cuda/driver.h"

#include <stdbool.h>

typedef int cublaslt_status_t; /* cublasStatus_t */
typedef struct cublasLtContext *cublaslt_handle_t;
typedef struct cublasLtMatmulDesc *cublaslt_desc_t;
typedef struct cublasLtMatrixLayout *cublaslt_layout_t;
typedef struct cublasLtMatmulPreference *cublaslt_preference_t;

enum {
    CUBLASLT_OK = 0,
    CUBLASLT_NOT_SUPPORTED = 15,
    CUBLASLT_F32 = 0, /* cudaDataType_t */
    CUBLASLT_F16 = 2,
    CUBLASLT_COMPUTE_F32 = 68,         /* cublasComputeType_t */
    CUBLASLT_COMPUTE_TF32 = 77,        /* of matrices in float32 */
    CUBLASLT_DESC_TRANSPOSE_A = 3,     /* cublasLtMatmulDescAttributes_t, an int32_t */
    CUBLASLT_TRANSPOSED = 1,           /* cublasOperation_t */
    CUBLASLT_PREFERENCE_WORKSPACE = 1, /* bytes, a uint64_t */
};

/* cublasLtMatmulAlgo_t, opaque. */
typedef struct cublaslt_algorithm {
    uint64_t data[8];
} cublaslt_algorithm_t;

/* cublasLtMatmulHeuristicResult_t */
typedef struct cublaslt_heuristic {
    cublaslt_algorithm_t algorithm;
    size_t workspace_bytes;
    cublaslt_status_t status;
    float waves;
    int reserved[4];
} cublaslt_heuristic_t;

/* D = alpha · op(A) op(B) + beta · C; matrices are column-major. */
typedef struct cublaslt_api {
    size_t (*version)(void); /* 130100 for 13.1.0 */
    const char *(*status_name)(cublaslt_status_t);
    cublaslt_status_t (*create)(cublaslt_handle_t *);
    cublaslt_status_t (*destroy)(cublaslt_handle_t);
    cublaslt_status_t (*desc_create)(cublaslt_desc_t *, int compute_type, int scale_type);
    cublaslt_status_t (*desc_destroy)(cublaslt_desc_t);
    cublaslt_status_t (*desc_set)(cublaslt_desc_t, int attribute, const void *value, size_t bytes);
    cublaslt_status_t (*layout_create)(cublaslt_layout_t *, int type, uint64_t rows,
                                       uint64_t columns, int64_t leading);
    cublaslt_status_t (*layout_destroy)(cublaslt_layout_t);
    cublaslt_status_t (*preference_create)(cublaslt_preference_t *);
    cublaslt_status_t (*preference_destroy)(cublaslt_preference_t);
    cublaslt_status_t (*preference_set)(cublaslt_preference_t, int attribute, const void *value,
                                        size_t bytes);
    cublaslt_status_t (*heuristic)(cublaslt_handle_t, cublaslt_desc_t, cublaslt_layout_t a,
                                   cublaslt_layout_t b, cublaslt_layout_t c, cublaslt_layout_t d,
                                   cublaslt_preference_t, int asked, cublaslt_heuristic_t *results,
                                   int *found);
    cublaslt_status_t (*matmul)(cublaslt_handle_t, cublaslt_desc_t, const void *alpha,
                                cu_pointer_t a, cublaslt_layout_t, cu_pointer_t b,
                                cublaslt_layout_t, const void *beta, cu_pointer_t c,
                                cublaslt_layout_t, cu_pointer_t d, cublaslt_layout_t,
                                const cublaslt_algorithm_t *, cu_pointer_t workspace,
                                size_t workspace_bytes, cu_stream_t);
} cublaslt_api_t;

/* Open the first that loads: $BENCH_CUBLASLT alone if set, else of the loader's path, toolkits and
 * Python environments (nvrtc_find_folders). The caller frees `*path`, its path. A failure's message
 * says why they failed and how to install the library. */
status_t cublaslt_open(const char *root, cublaslt_api_t *api, char **path, error_t *err);

/* STATUS_OK, or a failure that names the call and the library's name for `result`. */
status_t cublaslt_check(const cublaslt_api_t *api, cublaslt_status_t result, const char *call,
                        error_t *err);

/* ---- products -------------------------------------------------------------------------------- */

enum { CUBLASLT_WORKSPACE_BYTES = 32 << 20 }; /* NVIDIA's recommendation for Hopper */

/* An open library, with device memory of CUBLASLT_WORKSPACE_BYTES for its products. */
typedef struct cublaslt {
    cublaslt_api_t api;
    cublaslt_handle_t handle;
    cu_pointer_t workspace;
} cublaslt_t;

typedef struct cublaslt_operands {
    cu_pointer_t a, b, d;
} cublaslt_operands_t;

/* D = Aᵀ · B with sums in float32, all n x n and of one type. Starts with zeros. */
typedef struct cublaslt_product {
    cublaslt_desc_t desc;
    cublaslt_layout_t layout;
    cublaslt_algorithm_t algorithm; /* the caller's choice */
} cublaslt_product_t;

/* Make the product of matrices of CUBLASLT_F32 or _F16, computed as CUBLASLT_COMPUTE_…, without an
 * algorithm. After a failure, call cublaslt_product_free() too. */
status_t cublaslt_describe(const cublaslt_api_t *api, uint64_t n, int type, int compute,
                           cublaslt_product_t *product, error_t *err);
void cublaslt_product_free(const cublaslt_api_t *api, cublaslt_product_t *product);

/* Find algorithms for a product, by estimated time. That there are none is no failure. */
enum { CUBLASLT_ALGORITHMS = 4 };
status_t cublaslt_find_algorithms(const cublaslt_t *library, const cublaslt_product_t *product,
                                  cublaslt_algorithm_t algorithms[CUBLASLT_ALGORITHMS], int *n,
                                  error_t *err);

/* Submit the product without waiting. */
status_t cublaslt_multiply(const cublaslt_t *library, const cublaslt_product_t *product,
                           const cublaslt_operands_t *operands, cu_stream_t stream, error_t *err);

#endif

/* The door to cuBLASLt: its declarations, and what becomes of a library that is not there. */
#include "checks.h"
#include "cuda/cublaslt.h"

/* What cuda/cublaslt.h declares, against the toolkit's own where it is installed. */
#if __has_include(<cublasLt.h>) && __has_include(<cuda_runtime_api.h>)
#include <cublasLt.h>
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(CUBLASLT_F32, CUDA_R_32F);
SAME(CUBLASLT_F16, CUDA_R_16F);
SAME(CUBLASLT_COMPUTE_F32, CUBLAS_COMPUTE_32F);
SAME(CUBLASLT_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(CUBLASLT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(CUBLASLT_TRANSPOSED, CUBLAS_OP_T);
SAME(CUBLASLT_PREFERENCE_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(CUBLASLT_DESC_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA);
_Static_assert(sizeof(cublaslt_heuristic_t) == sizeof(cublasLtMatmulHeuristicResult_t), "result");
_Static_assert(sizeof(cublaslt_algorithm_t) == sizeof(cublasLtMatmulAlgo_t), "algorithm");
_Static_assert(offsetof(cublaslt_heuristic_t, status) ==
                   offsetof(cublasLtMatmulHeuristicResult_t, state),
               "status");
#endif

static void check_refusal(const char *library, const char *reason) {
    cublaslt_api_t api;
    char *path;
    error_t err = ERROR_INIT;
    setenv("BENCH_CUBLASLT", library, 1);
    assert_int_equal(cublaslt_open(".", &api, &path, &err), STATUS_USAGE);
    assert_null(path);
    assert_non_null(strstr(err.text, "cuBLASLt not found ("));
    assert_has(err.text, "$BENCH_CUBLASLT");
    assert_has(err.text, reason);
    unsetenv("BENCH_CUBLASLT");
}

static void test_door(void **state) {
    check_refusal("/no/such/libcublasLt.so", "/no/such/libcublasLt.so not found");
    check_refusal("libm.so.6", "libm.so.6 has no cublasLtGetVersion");
}

static const char *status_name(cublaslt_status_t status) {
    return status == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : "another";
}

static void test_check(void **state) {
    const cublaslt_api_t api = {.status_name = status_name};
    assert_ok(cublaslt_check(&api, CUBLASLT_OK, "matmul()", &err));
    assert_fails(cublaslt_check(&api, 15, "matmul()", &err), STATUS_FAILED,
                 "cublasLt matmul(): CUBLAS_STATUS_NOT_SUPPORTED (15)");
}

#include "run_tests.h"

/* A cuBLASLt that computes on the host, for tests: it checks that what it is given fits together.
 * `refused` names an epilogue that it does not have. */
#ifndef TESTS_HOST_CUBLASLT_H
#define TESTS_HOST_CUBLASLT_H

#include "base/half.h"
#include "checks.h"
#include "cuda/cublaslt.h"

struct cublasLtMatmulDesc {
    int compute, scale;
    int32_t transpose_a, transpose_b, epilogue;
    cu_pointer_t bias, mask;
    int64_t mask_rows;
};

struct cublasLtMatrixLayout {
    int type;
    uint64_t rows, columns;
    int64_t leading;
};

enum { FAKE_ALGORITHM = 7 };
static int refused;
static size_t n_alive; /* objects that are not destroyed yet */

static size_t fake_version(void) {
    return 130000;
}

static const char *fake_status_name(cublaslt_status_t status) {
    return status == CUBLASLT_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_OTHER";
}

static cublaslt_status_t fake_create(cublaslt_handle_t *handle) {
    *handle = mem_alloc(1);
    n_alive++;
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_destroy(cublaslt_handle_t handle) {
    free(handle);
    n_alive--;
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_desc_create(cublaslt_desc_t *desc, int compute, int scale) {
    *desc = mem_zeroed(1, sizeof **desc);
    (*desc)->compute = compute;
    (*desc)->scale = scale;
    (*desc)->epilogue = CUBLASLT_EPILOGUE_NONE;
    n_alive++;
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_desc_destroy(cublaslt_desc_t desc) {
    free(desc);
    n_alive--;
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_desc_set(cublaslt_desc_t desc, int attribute, const void *value,
                                       size_t bytes) {
    const struct {
        int attribute;
        void *at;
        size_t bytes;
    } KNOWN[] = {
        {CUBLASLT_DESC_TRANSPOSE_A, &desc->transpose_a, sizeof desc->transpose_a},
        {CUBLASLT_DESC_TRANSPOSE_B, &desc->transpose_b, sizeof desc->transpose_b},
        {CUBLASLT_DESC_EPILOGUE, &desc->epilogue, sizeof desc->epilogue},
        {CUBLASLT_DESC_BIAS, &desc->bias, sizeof desc->bias},
        {CUBLASLT_DESC_MASK, &desc->mask, sizeof desc->mask},
        {CUBLASLT_DESC_MASK_ROWS, &desc->mask_rows, sizeof desc->mask_rows},
    };
    for (size_t i = 0; i < COUNT_OF(KNOWN); i++)
        if (KNOWN[i].attribute == attribute) {
            assert_int_equal(KNOWN[i].bytes, bytes);
            memcpy(KNOWN[i].at, value, bytes);
            return CUBLASLT_OK;
        }
    fail_msg("attribute %d", attribute);
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_layout_create(cublaslt_layout_t *layout, int type, uint64_t rows,
                                            uint64_t columns, int64_t leading) {
    assert_true(leading >= (int64_t)rows);
    *layout = mem_alloc(sizeof **layout);
    **layout = (struct cublasLtMatrixLayout){type, rows, columns, leading};
    n_alive++;
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_layout_destroy(cublaslt_layout_t layout) {
    free(layout);
    n_alive--;
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_preference_create(cublaslt_preference_t *preference) {
    *preference = mem_alloc(1);
    n_alive++;
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_preference_destroy(cublaslt_preference_t preference) {
    free(preference);
    n_alive--;
    return CUBLASLT_OK;
}

static cublaslt_status_t fake_preference_set(cublaslt_preference_t preference, int attribute,
                                             const void *value, size_t bytes) {
    (void)preference;
    assert_int_equal(attribute, CUBLASLT_PREFERENCE_WORKSPACE);
    assert_int_equal(bytes, sizeof(uint64_t));
    assert_int_equal(*(const uint64_t *)value, CUBLASLT_WORKSPACE_BYTES);
    return CUBLASLT_OK;
}

static uint64_t inner(cublaslt_desc_t desc, cublaslt_layout_t a) {
    return desc->transpose_a ? a->rows : a->columns;
}

static cublaslt_status_t fake_heuristic(cublaslt_handle_t handle, cublaslt_desc_t desc,
                                        cublaslt_layout_t a, cublaslt_layout_t b,
                                        cublaslt_layout_t c, cublaslt_layout_t d,
                                        cublaslt_preference_t preference, int asked,
                                        cublaslt_heuristic_t *results, int *found) {
    (void)handle, (void)preference;
    assert_int_equal(asked, 1);
    assert_ptr_equal(c, d);
    assert_int_equal(desc->transpose_a ? a->columns : a->rows, d->rows);
    assert_int_equal(desc->transpose_b ? b->rows : b->columns, d->columns);
    assert_int_equal(desc->transpose_b ? b->columns : b->rows, inner(desc, a));
    if (desc->epilogue == refused)
        return CUBLASLT_NOT_SUPPORTED;
    results->status = CUBLASLT_OK;
    results->algorithm.data[0] = FAKE_ALGORITHM;
    *found = 1;
    return CUBLASLT_OK;
}

static float half_at(cu_pointer_t matrix, int64_t index) {
    return half_to_float(((const uint16_t *)matrix)[index]);
}

static float element(cu_pointer_t matrix, cublaslt_layout_t layout, bool transposed, uint64_t row,
                     uint64_t column) {
    const uint64_t r = transposed ? column : row, c = transposed ? row : column;
    assert_true(r < layout->rows && c < layout->columns);
    return half_at(matrix, (int64_t)r + (int64_t)c * layout->leading);
}

static float after(cublaslt_desc_t desc, float sum, uint64_t row, uint64_t column) {
    const uint64_t bit = row + column * (uint64_t)desc->mask_rows;
    unsigned char *mask = (unsigned char *)desc->mask;
    const bool masked = (desc->epilogue & 128) != 0;
    if (masked)
        assert_true(desc->mask_rows % 128 == 0);
    if (desc->epilogue == CUBLASLT_EPILOGUE_RELU_GRADIENT)
        return (mask[bit / 8] >> bit % 8 & 1) != 0 ? sum : 0;
    if (desc->epilogue != CUBLASLT_EPILOGUE_BIAS_RELU &&
        desc->epilogue != CUBLASLT_EPILOGUE_BIAS_RELU_MASK)
        return sum;
    const float y = sum + half_at(desc->bias, (int64_t)row);
    if (masked) {
        mask[bit / 8] &= (unsigned char)~(1u << bit % 8);
        mask[bit / 8] |= (unsigned char)((y > 0) << bit % 8);
    }
    return y > 0 ? y : 0;
}

static void sum_biases(cublaslt_desc_t desc, cu_pointer_t b, cublaslt_layout_t b_layout, uint64_t n,
                       uint64_t k) {
    for (uint64_t column = 0; column < n; column++) {
        float sum = 0;
        for (uint64_t i = 0; i < k; i++)
            sum += element(b, b_layout, desc->transpose_b, i, column);
        ((uint16_t *)desc->bias)[column] = half_from_float(sum);
    }
}

static cublaslt_status_t fake_matmul(cublaslt_handle_t handle, cublaslt_desc_t desc,
                                     const void *alpha, cu_pointer_t a, cublaslt_layout_t a_layout,
                                     cu_pointer_t b, cublaslt_layout_t b_layout, const void *beta,
                                     cu_pointer_t c, cublaslt_layout_t c_layout, cu_pointer_t d,
                                     cublaslt_layout_t d_layout,
                                     const cublaslt_algorithm_t *algorithm, cu_pointer_t workspace,
                                     size_t workspace_bytes, cu_stream_t stream) {
    (void)handle, (void)workspace, (void)stream;
    const bool in_half = desc->scale == CUBLASLT_F16;
    assert_int_equal(desc->compute, in_half ? CUBLASLT_COMPUTE_F16 : CUBLASLT_COMPUTE_F32);
    assert_true((in_half ? half_at((cu_pointer_t)alpha, 0) : *(const float *)alpha) == 1);
    assert_true((in_half ? half_at((cu_pointer_t)beta, 0) : *(const float *)beta) == 0);
    assert_true(c == d && c_layout == d_layout);
    assert_int_equal(algorithm->data[0], FAKE_ALGORITHM);
    assert_int_equal(workspace_bytes, CUBLASLT_WORKSPACE_BYTES);
    for (uint64_t column = 0; column < d_layout->columns; column++)
        for (uint64_t row = 0; row < d_layout->rows; row++) {
            float sum = 0;
            for (uint64_t i = 0; i < inner(desc, a_layout); i++)
                sum += element(a, a_layout, desc->transpose_a, row, i) *
                       element(b, b_layout, desc->transpose_b, i, column);
            sum = after(desc, sum, row, column);
            const uint64_t at = row + column * (uint64_t)d_layout->leading;
            if (d_layout->type == CUBLASLT_F32)
                ((float *)d)[at] = sum;
            else
                ((uint16_t *)d)[at] = half_from_float(sum);
        }
    if (desc->epilogue == CUBLASLT_EPILOGUE_BIAS_GRADIENT_B)
        sum_biases(desc, b, b_layout, d_layout->columns, inner(desc, a_layout));
    return CUBLASLT_OK;
}

static const cublaslt_api_t FAKE = {
    .version = fake_version,
    .status_name = fake_status_name,
    .create = fake_create,
    .destroy = fake_destroy,
    .desc_create = fake_desc_create,
    .desc_destroy = fake_desc_destroy,
    .desc_set = fake_desc_set,
    .layout_create = fake_layout_create,
    .layout_destroy = fake_layout_destroy,
    .preference_create = fake_preference_create,
    .preference_destroy = fake_preference_destroy,
    .preference_set = fake_preference_set,
    .heuristic = fake_heuristic,
    .matmul = fake_matmul,
};

#endif

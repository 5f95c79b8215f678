/* Row-major (n_out, n_in) is column-major (n_in, n_out): cuBLASLt sees every matrix transposed,
 * with the batch in its columns. */
#include "workloads/mnist_train/cublaslt.h"

#define LT(call) TRY(cublaslt_check(&library->api, library->api.call, #call, err))

/* D (m, n) = op(A) (m, k) · op(B) (k, n) */
typedef struct operands {
    uint64_t m, n, k;
    int32_t transpose_a, transpose_b;
    int64_t a_rows, b_rows, d_rows; /* leading dimensions of the stored matrices */
    int d_type;
    cu_pointer_t a, b, d, bias, mask;
} operands_t;

static size_t mask_rows(size_t hidden) {
    return (hidden + 127) / 128 * 128;
}

static size_t mask_bytes(size_t hidden, size_t batch) {
    return mask_rows(hidden) / 8 * batch;
}

size_t mnist_masks_bytes(size_t hidden, size_t batch) {
    return (MNIST_LAYERS - 1) * mask_bytes(hidden, batch);
}

static operands_t forward(const mnist_library_t *library, size_t l, const mnist_problem_t *p) {
    const size_t n_in = mnist_fan_in(library->hidden, l), n_out = mnist_fan_out(library->hidden, l);
    const bool last = l == MNIST_LAYERS - 1;
    return (operands_t){.m = n_out,
                        .n = library->batch,
                        .k = n_in,
                        .transpose_a = CUBLASLT_TRANSPOSED,
                        .a_rows = (int64_t)n_in,
                        .b_rows = (int64_t)n_in,
                        .d_rows = last ? MNIST_PADDED_CLASSES : (int64_t)n_out,
                        .d_type = last ? CUBLASLT_F32 : CUBLASLT_F16,
                        .a = p->w[l],
                        .b = p->a[l],
                        .d = last ? p->logits : p->a[l + 1],
                        .bias = p->b[l],
                        .mask = library->masks + l * mask_bytes(library->hidden, library->batch)};
}

static int64_t delta_rows(const mnist_library_t *library, size_t l) {
    return l == MNIST_LAYERS - 1 ? MNIST_PADDED_CLASSES : (int64_t)library->hidden;
}

static operands_t backward_data(const mnist_library_t *library, size_t l,
                                const mnist_problem_t *p) {
    const size_t n_in = mnist_fan_in(library->hidden, l);
    return (operands_t){.m = n_in,
                        .n = library->batch,
                        .k = mnist_fan_out(library->hidden, l),
                        .a_rows = (int64_t)n_in,
                        .b_rows = delta_rows(library, l),
                        .d_rows = (int64_t)n_in,
                        .d_type = CUBLASLT_F16,
                        .a = p->w[l],
                        .b = p->delta[l],
                        .d = p->delta[l - 1],
                        .mask =
                            library->masks + (l - 1) * mask_bytes(library->hidden, library->batch)};
}

static operands_t backward_weights(const mnist_library_t *library, size_t l,
                                   const mnist_problem_t *p) {
    const size_t n_in = mnist_fan_in(library->hidden, l);
    return (operands_t){.m = n_in,
                        .n = mnist_fan_out(library->hidden, l),
                        .k = library->batch,
                        .transpose_b = CUBLASLT_TRANSPOSED,
                        .a_rows = (int64_t)n_in,
                        .b_rows = delta_rows(library, l),
                        .d_rows = (int64_t)n_in,
                        .d_type = CUBLASLT_F16,
                        .a = p->a[l],
                        .b = p->delta[l],
                        .d = p->scratch + (p->w[l] - p->w[0]),
                        .bias = p->scratch + (p->b[l] - p->w[0])};
}

static operands_t (*const OPERANDS[MNIST_PARTS])(const mnist_library_t *, size_t,
                                                 const mnist_problem_t *) = {
    [MNIST_FORWARD] = forward,
    [MNIST_BACKWARD_DATA] = backward_data,
    [MNIST_BACKWARD_WEIGHTS] = backward_weights,
};

static void destroy(const mnist_library_t *library, mnist_product_t *product) {
    const cublaslt_api_t *api = &library->api;
    if (product->desc != NULL)
        api->desc_destroy(product->desc);
    const cublaslt_layout_t layouts[] = {product->a, product->b, product->d};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i] != NULL)
            api->layout_destroy(layouts[i]);
    *product = (mnist_product_t){0};
}

/* Set the epilogue's buffers beside D, which may differ in each training. */
static status_t point(const mnist_library_t *library, const mnist_product_t *product,
                      const operands_t *o, error_t *err) {
    const int64_t rows = (int64_t)mask_rows(library->hidden);
    const unsigned epilogue = product->epilogue;
    if (epilogue != CUBLASLT_EPILOGUE_NONE && epilogue != CUBLASLT_EPILOGUE_RELU_GRADIENT)
        LT(desc_set(product->desc, CUBLASLT_DESC_BIAS, &o->bias, sizeof o->bias));
    if (epilogue == CUBLASLT_EPILOGUE_BIAS_RELU_MASK ||
        epilogue == CUBLASLT_EPILOGUE_RELU_GRADIENT) {
        LT(desc_set(product->desc, CUBLASLT_DESC_MASK, &o->mask, sizeof o->mask));
        LT(desc_set(product->desc, CUBLASLT_DESC_MASK_ROWS, &rows, sizeof rows));
    }
    return STATUS_OK;
}

static status_t describe(const mnist_library_t *library, const operands_t *o,
                         mnist_product_t *product, error_t *err) {
    const int32_t epilogue = (int32_t)product->epilogue;
    product->half_sums = library->half_sums && o->d_type == CUBLASLT_F16;
    LT(desc_create(&product->desc, product->half_sums ? CUBLASLT_COMPUTE_F16 : CUBLASLT_COMPUTE_F32,
                   product->half_sums ? CUBLASLT_F16 : CUBLASLT_F32));
    const cublaslt_desc_t desc = product->desc;
    LT(desc_set(desc, CUBLASLT_DESC_TRANSPOSE_A, &o->transpose_a, sizeof o->transpose_a));
    LT(desc_set(desc, CUBLASLT_DESC_TRANSPOSE_B, &o->transpose_b, sizeof o->transpose_b));
    LT(desc_set(desc, CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    TRY(point(library, product, o, err));
    const uint64_t a_columns = o->transpose_a ? o->m : o->k,
                   b_columns = o->transpose_b ? o->k : o->n;
    LT(layout_create(&product->a, CUBLASLT_F16, o->transpose_a ? o->k : o->m, a_columns,
                     o->a_rows));
    LT(layout_create(&product->b, CUBLASLT_F16, o->transpose_b ? o->n : o->k, b_columns,
                     o->b_rows));
    LT(layout_create(&product->d, o->d_type, o->m, o->n, o->d_rows));
    return STATUS_OK;
}

/* `*status` is not OK if the library has no algorithm. */
static status_t find_algorithm(const mnist_library_t *library, cublaslt_preference_t preference,
                               mnist_product_t *product, cublaslt_status_t *status, error_t *err) {
    enum { NOT_SUPPORTED = 15 };
    const uint64_t workspace_bytes = MNIST_WORKSPACE_BYTES;
    cublaslt_heuristic_t best = {0};
    int found = 0;
    LT(preference_set(preference, CUBLASLT_PREFERENCE_WORKSPACE, &workspace_bytes,
                      sizeof workspace_bytes));
    *status = library->api.heuristic(library->handle, product->desc, product->a, product->b,
                                     product->d, product->d, preference, 1, &best, &found);
    if (*status == CUBLASLT_OK)
        *status = found > 0 ? best.status : NOT_SUPPORTED;
    product->algorithm = best.algorithm;
    return STATUS_OK;
}

/* The possible epilogues of a product, best first; 0 ends the list. */
enum { MAX_EPILOGUES = 3 };
static void epilogues(const mnist_library_t *library, mnist_part_t part, size_t layer,
                      unsigned wanted[MAX_EPILOGUES]) {
    unsigned *next = wanted;
    for (size_t i = 0; i < MAX_EPILOGUES; i++)
        wanted[i] = 0;
    if (part == MNIST_FORWARD && layer < MNIST_LAYERS - 1) {
        *next++ = CUBLASLT_EPILOGUE_BIAS_RELU_MASK;
        *next = CUBLASLT_EPILOGUE_BIAS_RELU;
        return;
    }
    if (part == MNIST_BACKWARD_DATA &&
        library->products[MNIST_FORWARD][layer - 1].epilogue == CUBLASLT_EPILOGUE_BIAS_RELU_MASK)
        *next++ = CUBLASLT_EPILOGUE_RELU_GRADIENT;
    if (part == MNIST_BACKWARD_WEIGHTS)
        *next++ = CUBLASLT_EPILOGUE_BIAS_GRADIENT_B;
    *next = CUBLASLT_EPILOGUE_NONE;
}

static status_t choose(mnist_library_t *library, cublaslt_preference_t preference,
                       mnist_part_t part, size_t layer, const mnist_problem_t *problem,
                       error_t *err) {
    const operands_t o = OPERANDS[part](library, layer, problem);
    mnist_product_t *product = &library->products[part][layer];
    cublaslt_status_t status = CUBLASLT_OK;
    unsigned wanted[MAX_EPILOGUES];
    epilogues(library, part, layer, wanted);
    for (size_t i = 0; i < MAX_EPILOGUES && wanted[i] != 0; i++) {
        destroy(library, product);
        product->epilogue = wanted[i];
        TRY(describe(library, &o, product, err));
        TRY(find_algorithm(library, preference, product, &status, err));
        if (status == CUBLASLT_OK)
            return STATUS_OK;
    }
    return error_set(err, STATUS_FAILED,
                     "cuBLASLt %zu has no algorithm for a product of %llu x %llu x %llu: %s",
                     library->api.version(), (unsigned long long)o.m, (unsigned long long)o.n,
                     (unsigned long long)o.k, library->api.status_name(status));
}

static status_t choose_all(mnist_library_t *library, cublaslt_preference_t preference,
                           const mnist_problem_t *problem, error_t *err) {
    for (unsigned part = 0; part < MNIST_PARTS; part++)
        for (size_t layer = part == MNIST_BACKWARD_DATA; layer < MNIST_LAYERS; layer++)
            TRY(choose(library, preference, (mnist_part_t)part, layer, problem, err));
    return STATUS_OK;
}

status_t mnist_library_prepare(mnist_library_t *library, const mnist_problem_t *problem,
                               error_t *err) {
    cublaslt_preference_t preference;
    LT(create(&library->handle));
    LT(preference_create(&preference));
    status_t status = choose_all(library, preference, problem, err);
    library->api.preference_destroy(preference);
    return status;
}

void mnist_library_close(mnist_library_t *library) {
    for (unsigned part = 0; part < MNIST_PARTS; part++)
        for (size_t layer = 0; layer < MNIST_LAYERS; layer++)
            destroy(library, &library->products[part][layer]);
    if (library->handle != NULL)
        library->api.destroy(library->handle);
    library->handle = NULL;
}

status_t mnist_library_multiply(const mnist_library_t *library, mnist_part_t part, size_t layer,
                                const mnist_problem_t *problem, cu_stream_t stream, error_t *err) {
    /* 1 and 0 in the type of the sums. */
    static const float ONE = 1, ZERO = 0;
    static const uint16_t HALF_ONE = 0x3C00, HALF_ZERO = 0;
    const mnist_product_t *product = &library->products[part][layer];
    const operands_t o = OPERANDS[part](library, layer, problem);
    const void *one = product->half_sums ? (const void *)&HALF_ONE : &ONE;
    const void *zero = product->half_sums ? (const void *)&HALF_ZERO : &ZERO;
    TRY(point(library, product, &o, err));
    LT(matmul(library->handle, product->desc, one, o.a, product->a, o.b, product->b, zero, o.d,
              product->d, o.d, product->d, &product->algorithm, library->workspace,
              MNIST_WORKSPACE_BYTES, stream));
    return STATUS_OK;
}

bool mnist_library_lacks(const mnist_library_t *library, mnist_part_t part, size_t layer) {
    return part != MNIST_FORWARD &&
           library->products[part][layer].epilogue == CUBLASLT_EPILOGUE_NONE;
}

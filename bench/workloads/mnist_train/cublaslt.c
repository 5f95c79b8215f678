/* Row-major (n_out, n_in) is column-major (n_in, n_out): cuBLASLt sees every matrix transposed,
 * with the batch in its columns. */
#include "workloads/mnist_train/cublaslt.h"

#include "base/half.h"

#include <string.h>

/* ==== arguments of kernels ==================================================================== */

enum { ALIGNMENT = 256, HALF_BYTES = 2 };

size_t mnist_fan_in(size_t hidden, size_t layer) {
    return layer == 0 ? MNIST_PIXELS : hidden;
}

size_t mnist_fan_out(size_t hidden, size_t layer) {
    return layer == MNIST_LAYERS - 1 ? MNIST_CLASSES : hidden;
}

/* Append `bytes` to the block; returns their offset. */
static size_t take(mnist_layout_t *layout, size_t bytes) {
    const size_t at = layout->bytes;
    layout->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

mnist_layout_t mnist_layout(size_t hidden, size_t batch, size_t steps, mnist_extras_t extras) {
    mnist_layout_t layout = {0};
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t n_in = mnist_fan_in(hidden, l), n_out = mnist_fan_out(hidden, l);
        layout.w[l] = take(&layout, n_out * n_in * HALF_BYTES);
        layout.b[l] = take(&layout, n_out * HALF_BYTES);
    }
    layout.low_halves = layout.bytes;
    if (extras.low_halves)
        take(&layout, layout.low_halves);
    layout.parameter_bytes = layout.bytes;
    layout.losses = take(&layout, steps * sizeof(float));
    layout.order = take(&layout, steps * batch * sizeof(uint32_t));
    layout.counters = take(&layout, MNIST_COUNTERS * sizeof(uint32_t));
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t columns = l == MNIST_LAYERS - 1 ? MNIST_PADDED_CLASSES : hidden;
        layout.a[l] = take(&layout, batch * mnist_fan_in(hidden, l) * HALF_BYTES);
        layout.delta[l] = take(&layout, batch * columns * HALF_BYTES);
    }
    layout.logits = take(&layout, batch * MNIST_PADDED_CLASSES * sizeof(float));
    layout.scratch = layout.bytes;
    if (extras.scratch)
        take(&layout, layout.low_halves / HALF_BYTES * sizeof(float));
    return layout;
}

void mnist_place(const mnist_layout_t *layout, cu_pointer_t block, mnist_problem_t *problem) {
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        problem->w[l] = block + layout->w[l];
        problem->b[l] = block + layout->b[l];
        problem->a[l] = block + layout->a[l];
        problem->delta[l] = block + layout->delta[l];
    }
    problem->losses = block + layout->losses;
    problem->order = block + layout->order;
    problem->counters = block + layout->counters;
    problem->low_halves =
        layout->low_halves < layout->parameter_bytes ? block + layout->low_halves : 0;
    problem->logits = block + layout->logits;
    problem->scratch = layout->scratch < layout->bytes ? block + layout->scratch : 0;
}

/* ==== split weights =========================================================================== */

static const float DOWN = 0x1p-112f, UP = 0x1p112f;

static uint32_t scaled_bits(float weight) {
    const float scaled = weight * DOWN;
    uint32_t bits;
    memcpy(&bits, &scaled, sizeof bits);
    return bits;
}

uint16_t split_low_half(float weight) {
    return (uint16_t)scaled_bits(weight);
}

float split_joined(uint16_t half, uint16_t low) {
    /* The nearest bits with this lower half: float16 rounds off 13. */
    const uint32_t upper = scaled_bits(half_to_float(half)) + 0x8000 - low;
    const uint32_t bits = (upper & 0xffff0000) | low;
    float scaled;
    memcpy(&scaled, &bits, sizeof scaled);
    return scaled * UP;
}

/* ==== products by cuBLASLt ==================================================================== */

#define LT(call) TRY(cublaslt_check(&library->lt.api, library->lt.api.call, #call, err))

typedef struct operands {
    cublaslt_shape_t shape;
    cublaslt_operands_t matrices;
    cu_pointer_t bias, mask;
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
    return (operands_t){.shape.m = n_out,
                        .shape.n = library->batch,
                        .shape.k = n_in,
                        .shape.transpose_a = CUBLASLT_TRANSPOSED,
                        .shape.a_rows = (int64_t)n_in,
                        .shape.b_rows = (int64_t)n_in,
                        .shape.d_rows = last ? MNIST_PADDED_CLASSES : (int64_t)n_out,
                        .shape.d_type = last ? CUBLASLT_F32 : CUBLASLT_F16,
                        .matrices.a = p->w[l],
                        .matrices.b = p->a[l],
                        .matrices.d = last ? p->logits : p->a[l + 1],
                        .bias = p->b[l],
                        .mask = library->masks + l * mask_bytes(library->hidden, library->batch)};
}

static int64_t delta_rows(const mnist_library_t *library, size_t l) {
    return l == MNIST_LAYERS - 1 ? MNIST_PADDED_CLASSES : (int64_t)library->hidden;
}

static operands_t backward_data(const mnist_library_t *library, size_t l,
                                const mnist_problem_t *p) {
    const size_t n_in = mnist_fan_in(library->hidden, l);
    return (operands_t){.shape.m = n_in,
                        .shape.n = library->batch,
                        .shape.k = mnist_fan_out(library->hidden, l),
                        .shape.a_rows = (int64_t)n_in,
                        .shape.b_rows = delta_rows(library, l),
                        .shape.d_rows = (int64_t)n_in,
                        .shape.d_type = CUBLASLT_F16,
                        .matrices.a = p->w[l],
                        .matrices.b = p->delta[l],
                        .matrices.d = p->delta[l - 1],
                        .mask =
                            library->masks + (l - 1) * mask_bytes(library->hidden, library->batch)};
}

static operands_t backward_weights(const mnist_library_t *library, size_t l,
                                   const mnist_problem_t *p) {
    const size_t n_in = mnist_fan_in(library->hidden, l);
    return (operands_t){.shape.m = n_in,
                        .shape.n = mnist_fan_out(library->hidden, l),
                        .shape.k = library->batch,
                        .shape.transpose_b = CUBLASLT_TRANSPOSED,
                        .shape.a_rows = (int64_t)n_in,
                        .shape.b_rows = delta_rows(library, l),
                        .shape.d_rows = (int64_t)n_in,
                        .shape.d_type = CUBLASLT_F16,
                        .matrices.a = p->a[l],
                        .matrices.b = p->delta[l],
                        .matrices.d = p->scratch + (p->w[l] - p->w[0]),
                        .bias = p->scratch + (p->b[l] - p->w[0])};
}

static operands_t (*const OPERANDS[MNIST_PARTS])(const mnist_library_t *, size_t,
                                                 const mnist_problem_t *) = {
    [MNIST_FORWARD] = forward,
    [MNIST_BACKWARD_DATA] = backward_data,
    [MNIST_BACKWARD_WEIGHTS] = backward_weights,
};

/* Set the epilogue's buffers beside D, which may differ in each training. */
static status_t point(const mnist_library_t *library, const mnist_library_product_t *product,
                      const operands_t *o, error_t *err) {
    const int64_t rows = (int64_t)mask_rows(library->hidden);
    const unsigned epilogue = product->epilogue;
    if (epilogue != CUBLASLT_EPILOGUE_NONE && epilogue != CUBLASLT_EPILOGUE_RELU_GRADIENT)
        LT(desc_set(product->lt.desc, CUBLASLT_DESC_BIAS, &o->bias, sizeof o->bias));
    if (epilogue == CUBLASLT_EPILOGUE_BIAS_RELU_MASK ||
        epilogue == CUBLASLT_EPILOGUE_RELU_GRADIENT) {
        LT(desc_set(product->lt.desc, CUBLASLT_DESC_MASK, &o->mask, sizeof o->mask));
        LT(desc_set(product->lt.desc, CUBLASLT_DESC_MASK_ROWS, &rows, sizeof rows));
    }
    return STATUS_OK;
}

static status_t describe(const mnist_library_t *library, const operands_t *o,
                         mnist_library_product_t *product, error_t *err) {
    const int32_t epilogue = (int32_t)product->epilogue;
    cublaslt_shape_t shape = o->shape;
    const bool half_sums = library->half_sums && shape.d_type == CUBLASLT_F16;
    shape.type = CUBLASLT_F16;
    shape.compute = half_sums ? CUBLASLT_COMPUTE_F16 : CUBLASLT_COMPUTE_F32;
    TRY(cublaslt_describe(&library->lt.api, &shape, &product->lt, err));
    LT(desc_set(product->lt.desc, CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    return point(library, product, o, err);
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

static status_t choose(mnist_library_t *library, mnist_part_t part, size_t layer,
                       const mnist_problem_t *problem, error_t *err) {
    const operands_t o = OPERANDS[part](library, layer, problem);
    mnist_library_product_t *product = &library->products[part][layer];
    cublaslt_choices_t choices = {0};
    unsigned wanted[MAX_EPILOGUES];
    epilogues(library, part, layer, wanted);
    for (size_t i = 0; i < MAX_EPILOGUES && wanted[i] != 0; i++) {
        cublaslt_product_free(&library->lt.api, &product->lt);
        product->epilogue = wanted[i];
        TRY(describe(library, &o, product, err));
        TRY(cublaslt_find_algorithms(&library->lt, &product->lt, 1, &choices, err));
        product->lt.algorithm = choices.items[0].algorithm;
        if (choices.n > 0)
            return STATUS_OK;
    }
    return error_set(
        err, STATUS_FAILED, "cuBLASLt %zu has no algorithm for a product of %llu x %llu x %llu: %s",
        library->lt.api.version(), (unsigned long long)o.shape.m, (unsigned long long)o.shape.n,
        (unsigned long long)o.shape.k, library->lt.api.status_name(choices.status));
}

status_t mnist_library_prepare(mnist_library_t *library, const mnist_problem_t *problem,
                               error_t *err) {
    LT(create(&library->lt.handle));
    for (unsigned part = 0; part < MNIST_PARTS; part++)
        for (size_t layer = part == MNIST_BACKWARD_DATA; layer < MNIST_LAYERS; layer++)
            TRY(choose(library, (mnist_part_t)part, layer, problem, err));
    return STATUS_OK;
}

void mnist_library_close(mnist_library_t *library) {
    for (unsigned part = 0; part < MNIST_PARTS; part++)
        for (size_t layer = 0; layer < MNIST_LAYERS; layer++)
            cublaslt_product_free(&library->lt.api, &library->products[part][layer].lt);
    if (library->lt.handle != NULL)
        library->lt.api.destroy(library->lt.handle);
    library->lt.handle = NULL;
}

status_t mnist_library_multiply(const mnist_library_t *library, mnist_part_t part, size_t layer,
                                const mnist_problem_t *problem, cu_stream_t stream, error_t *err) {
    const mnist_library_product_t *product = &library->products[part][layer];
    const operands_t o = OPERANDS[part](library, layer, problem);
    TRY(point(library, product, &o, err));
    return cublaslt_multiply(&library->lt, &product->lt, &o.matrices, stream, err);
}

bool mnist_library_lacks(const mnist_library_t *library, mnist_part_t part, size_t layer) {
    return part != MNIST_FORWARD &&
           library->products[part][layer].epilogue == CUBLASLT_EPILOGUE_NONE;
}

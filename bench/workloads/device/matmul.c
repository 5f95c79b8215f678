/* cuBLASLt's rate of large square products: the roof of computation in each data type. */
#include "base/clock.h"
#include "base/half.h"
#include "base/memory.h"
#include "cuda/cublaslt.h"
#include "io/folders.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"
#include "workloads/device/descriptor.h"

#include <math.h>
#include <stdlib.h>

enum { KINDS = 3 };

/* Sums are float32. Phases have the names of the dtypes. */
static const struct {
    const char *phase;
    int type, compute;
    size_t element_bytes;
    random_kind_t random;
    double tolerance; /* of an element, in the sum of its products' magnitudes */
} KIND[KINDS] = {
    {"f32", CUBLASLT_F32, CUBLASLT_COMPUTE_F32, 4, RANDOM_F32, 1e-5},
    {"tf32", CUBLASLT_F32, CUBLASLT_COMPUTE_TF32, 4, RANDOM_F32, 2e-3}, /* 11 bits a factor */
    {"f16", CUBLASLT_F16, CUBLASLT_COMPUTE_F32, 2, RANDOM_F16, 2e-3},   /* 11 bits a result */
};

typedef struct state {
    gpu_t *gpu;
    size_t n; /* matrices are n x n */
    cublaslt_t library;
    gpu_memory_t memory;
    cublaslt_operands_t operands[KINDS]; /* f32 and tf32 share A and B, all share D */
    cublaslt_product_t products[KINDS];
    bool known[KINDS]; /* the library has an algorithm */
    unsigned phase[KINDS];
} state_t;

#define LT(call) TRY(cublaslt_check(&s->library.api, s->library.api.call, #call, err))

static status_t multiply(const state_t *s, unsigned kind, error_t *err) {
    return cublaslt_multiply(&s->library, &s->products[kind], &s->operands[kind], s->gpu->stream,
                             err);
}

static status_t time_product(const state_t *s, unsigned kind, double *ns, error_t *err) {
    TRY(gpu_sync(s->gpu, err));
    TRY(gpu_record(s->gpu, 0, err));
    TRY(multiply(s, kind, err));
    return device_time(s->gpu, ns, err);
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    const state_t *s = session->state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        double ns;
        if (!s->known[kind])
            continue;
        TRY(time_product(s, kind, &ns, err));
        recorder_add(recorder, s->phase[kind], ns);
    }
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    for (unsigned kind = 0; kind < KINDS; kind++)
        cublaslt_product_free(&s->library.api, &s->products[kind]);
    if (s->library.handle != NULL)
        s->library.api.destroy(s->library.handle);
    gpu_memory_free(&s->memory, s->gpu);
    free(s);
}

/* ---- output: some elements of each product --------------------------------------------------- */

static double value_at(unsigned kind, const void *values, size_t i) {
    return KIND[kind].type == CUBLASLT_F16 ? half_to_float(((const uint16_t *)values)[i])
                                           : ((const float *)values)[i];
}

/* Column `column` of A times column `other` of B: A is transposed. */
static status_t check_element(const state_t *s, unsigned kind, void *columns[2], error_t *err) {
    const size_t column = random_below((uint32_t)s->n), other = random_below((uint32_t)s->n);
    const size_t bytes = KIND[kind].element_bytes;
    const cublaslt_operands_t *o = &s->operands[kind];
    double expected = 0, magnitude = 0;
    float stored; /* room for either type */
    TRY(gpu_copy_out(s->gpu, columns[0], o->a + column * s->n * bytes, s->n * bytes, err));
    TRY(gpu_copy_out(s->gpu, columns[1], o->b + other * s->n * bytes, s->n * bytes, err));
    TRY(gpu_copy_out(s->gpu, &stored, o->d + (other * s->n + column) * bytes, bytes, err));
    for (size_t k = 0; k < s->n; k++) {
        const double term = value_at(kind, columns[0], k) * value_at(kind, columns[1], k);
        expected += term;
        magnitude += fabs(term);
    }
    const double got = value_at(kind, &stored, 0);
    const bool filled = magnitude > 0; /* zeros are multiplied faster */
    return filled && fabs(got - expected) <= KIND[kind].tolerance * magnitude
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "cuBLASLt's product in %s: element (%zu, %zu) is %g, expected %g",
                           KIND[kind].phase, column, other, got, expected);
}

static status_t check_product(const state_t *s, unsigned kind, error_t *err) {
    enum { CHECKED = 16 };
    const size_t bytes = s->n * s->n * KIND[kind].element_bytes;
    TRY(gpu_random_fill(s->gpu, s->operands[kind].d, bytes, KIND[kind].random, err));
    TRY(multiply(s, kind, err));
    TRY(gpu_sync(s->gpu, err));
    AUTO_FREE void *a = mem_alloc(s->n * sizeof(float)), *b = mem_alloc(s->n * sizeof(float));
    for (unsigned i = 0; i < CHECKED; i++)
        TRY(check_element(s, kind, (void *[]){a, b}, err));
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const state_t *s = session->state;
    (void)folder;
    (void)arrays;
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (s->known[kind])
            TRY(check_product(s, kind, err));
    return STATUS_OK;
}

/* ---- open ------------------------------------------------------------------------------------ */

static status_t place(session_t *session, error_t *err) {
    state_t *s = session->state;
    const size_t wide = s->n * s->n * sizeof(float), narrow = wide / 2;
    const size_t bytes = 3 * wide + 2 * narrow + CUBLASLT_WORKSPACE_BYTES;
    cublaslt_operands_t *f32 = &s->operands[0], *f16 = &s->operands[2];
    TRY(session_skip(session, gpu_room(s->gpu, (double)bytes, err)));
    TRY(gpu_memory_device(&s->memory, s->gpu, CUBLASLT_WORKSPACE_BYTES, &s->library.workspace,
                          err));
    TRY(gpu_memory_device(&s->memory, s->gpu, wide, &f32->a, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, wide, &f32->b, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, wide, &f32->d, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, narrow, &f16->a, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, narrow, &f16->b, err));
    f16->d = f32->d;
    s->operands[1] = *f32;
    /* Zeros take less power, and so run at a higher clock. */
    TRY(gpu_random_fill(s->gpu, f32->a, wide, RANDOM_F32, err));
    TRY(gpu_random_fill(s->gpu, f32->b, wide, RANDOM_F32, err));
    TRY(gpu_random_fill(s->gpu, f16->a, narrow, RANDOM_F16, err));
    TRY(gpu_random_fill(s->gpu, f16->b, narrow, RANDOM_F16, err));
    session->resources.peak_device_bytes = (int64_t)bytes;
    return STATUS_OK;
}

/* The fastest algorithm of the best that the library knows, each timed after a run that loads it. */
static status_t choose(state_t *s, unsigned kind, error_t *err) {
    cublaslt_product_t *product = &s->products[kind];
    cublaslt_algorithm_t algorithms[CUBLASLT_ALGORITHMS], fastest = {0};
    int n;
    TRY(cublaslt_describe(&s->library.api, s->n, KIND[kind].type, KIND[kind].compute, product,
                          err));
    TRY(cublaslt_find_algorithms(&s->library, product, algorithms, &n, err));
    double least_ns = INFINITY;
    for (int i = 0; i < n; i++) {
        double ns;
        product->algorithm = algorithms[i];
        TRY(multiply(s, kind, err));
        TRY(time_product(s, kind, &ns, err));
        if (ns < least_ns) {
            least_ns = ns;
            fastest = product->algorithm;
        }
    }
    product->algorithm = fastest;
    s->known[kind] = n > 0;
    return STATUS_OK;
}

static status_t open_library(cublaslt_api_t *api, error_t *err) {
    AUTO_FREE char *root = NULL, *path = NULL;
    TRY(folders_data(&root, err));
    return cublaslt_open(root, api, &path, err);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    state_t *s = session->state;
    size_t n_known = 0;
    const int64_t start_ns = clock_ns();
    TRY(session_skip(session, open_library(&s->library.api, err)));
    s->n = device_matmul_rows(request->spec);
    TRY(place(session, err));
    LT(create(&s->library.handle));
    for (unsigned kind = 0; kind < KINDS; kind++) {
        TRY(choose(s, kind, err));
        n_known += s->known[kind];
        if (s->known[kind])
            s->phase[kind] = recorder_phase(&session->recorder, KIND[kind].phase, CLOCK_DEVICE);
    }
    if (n_known == 0)
        return session_skip(session, error_set(err, STATUS_FAILED,
                                               "cuBLASLt %zu has no algorithm for this GPU",
                                               s->library.api.version()));
    session_add_once(session, "library", (double)(clock_ns() - start_ns));
    session_add_probe(session, "matmul", probe);
    return STATUS_OK;
}

const device_part_t device_matmul = {
    {.output = output, .close = close_case}, sizeof(state_t), prepare};

size_t device_matmul_rows(const case_t *spec) {
    const double elements = (double)case_param_int(spec, "bytes", 0) / sizeof(float);
    return elements >= 1 ? (size_t)sqrt(elements) : 1;
}

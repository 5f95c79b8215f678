/* mlp_infer in C: `ref`, the float64 oracle, written to be obviously right; and `omp`, what a
 * careful C programmer would run: float32, all cores, vectorised across samples. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/target_clones.h"
#include "workloads/common/random_fill.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/sessions.h"
#include "workloads/mlp_infer/data.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Samples per tile: a whole number of cache lines and of the widest vectors. */
enum { TILE = 64, VECTOR = 16, PAGE = 4096 / sizeof(float) };

enum { PHASE_FORWARD, PHASE_TOTAL, PHASE_RESIDUAL, PHASE_HOST_TO_HOST };

typedef struct state {
    const mlp_data_t *data;
    size_t widest;
    double *y64, *scratch64; /* ref */
    double terms;            /* ref: squares of the terms of every output, summed */
    float *y32, *scratch32;  /* omp */
    float *tiles;            /* omp, of each thread: 2 tiles of the widest layer */
} state_t;

static void forward_ref(state_t *s) {
    const mlp_data_t *d = s->data;
    s->terms = 0;
    size_t n_in = d->sizes[0], n_out = d->sizes[d->n_layers];
    double *in = s->scratch64, *out = s->scratch64 + s->widest;
    for (size_t i = 0; i < d->batch; i++) {
        for (size_t k = 0; k < n_in; k++)
            in[k] = d->x[i * n_in + k];
        for (size_t l = 0; l < d->n_layers; l++) {
            size_t width = d->sizes[l];
            double squares = 0;
            for (size_t j = 0; j < d->sizes[l + 1]; j++) {
                double sum = d->b[l][j];
                squares += sum * sum;
                for (size_t k = 0; k < width; k++) {
                    const double term = (double)d->w[l][j * width + k] * in[k];
                    sum += term;
                    squares += term * term;
                }
                out[j] = l + 1 < d->n_layers && sum < 0 ? 0 : sum;
            }
            memcpy(in, out, d->sizes[l + 1] * sizeof *in);
            s->terms += l + 1 == d->n_layers ? squares : 0;
        }
        memcpy(s->y64 + i * n_out, in, n_out * sizeof *in);
    }
}

/* Samples are rows of x and columns of a tile. The study's four inputs are written out, so that the
 * compiler reads whole vectors and shuffles them. */
WIDEST_VECTORS
static void load_tile(const float *restrict x, size_t n_in, float *restrict tile) {
    if (n_in == 4) {
#pragma omp simd
        for (size_t t = 0; t < TILE; t++) {
            tile[t] = x[4 * t];
            tile[TILE + t] = x[4 * t + 1];
            tile[2 * TILE + t] = x[4 * t + 2];
            tile[3 * TILE + t] = x[4 * t + 3];
        }
        return;
    }
    for (size_t k = 0; k < n_in; k++) {
#pragma omp simd
        for (size_t t = 0; t < TILE; t++)
            tile[k * TILE + t] = x[t * n_in + k];
    }
}

/* Layer l of one tile: in and out are (units, TILE). */
WIDEST_VECTORS
static void layer_tile(const mlp_data_t *d, size_t l, const float *restrict in,
                       float *restrict out) {
    const float *restrict w = d->w[l], *restrict b = d->b[l];
    const size_t n_in = d->sizes[l], n_out = d->sizes[l + 1];
    const bool relu = l + 1 < d->n_layers;
    for (size_t j = 0; j < n_out; j++)
        for (size_t first = 0; first < TILE; first += VECTOR) {
            float sum[VECTOR]; /* in registers */
            for (size_t t = 0; t < VECTOR; t++)
                sum[t] = b[j];
            for (size_t k = 0; k < n_in; k++) {
#pragma omp simd
                for (size_t t = 0; t < VECTOR; t++)
                    sum[t] += w[j * n_in + k] * in[k * TILE + first + t];
            }
#pragma omp simd
            for (size_t t = 0; t < VECTOR; t++)
                out[j * TILE + first + t] = relu && sum[t] < 0 ? 0 : sum[t];
        }
}

static void forward_tile(const state_t *s, size_t first, float *scratch) {
    const mlp_data_t *d = s->data;
    size_t n_in = d->sizes[0], n_out = d->sizes[d->n_layers];
    size_t n = d->batch - first < TILE ? d->batch - first : TILE;
    float *in = scratch, *out = scratch + s->widest * TILE;
    const float *x = d->x + first * n_in;
    if (n == TILE)
        load_tile(x, n_in, in);
    else
        for (size_t k = 0; k < n_in; k++)
            for (size_t t = 0; t < TILE; t++)
                in[k * TILE + t] = t < n ? x[t * n_in + k] : 0;
    for (size_t l = 0; l < d->n_layers; l++) {
        layer_tile(d, l, in, out);
        float *swap = in;
        in = out;
        out = swap;
    }
    float *y = s->y32 + first * n_out;
    for (size_t o = 0; o < n_out; o++)
        for (size_t t = 0; t < n; t++)
            y[t * n_out + o] = in[o * TILE + t];
}

/* Its own pages, and an unused one between: processors read ahead, and threads that write near each
 * other, or near what all read, wait for each other. Two threads then took 1.7 times as long. */
static size_t floats_per_thread(const state_t *s) {
    return (2 * s->widest * TILE / PAGE + 2) * PAGE;
}

static void forward_omp(const state_t *s) {
    const size_t batch = s->data->batch, each = floats_per_thread(s);
    /* For fewer tiles, starting threads costs more than the work. */
#pragma omp parallel for schedule(static) if (batch > 16 * TILE)
    for (size_t first = 0; first < batch; first += TILE)
        forward_tile(s, first, s->tiles + (size_t)omp_get_thread_num() * each);
}

static void forward(const session_t *session) {
    state_t *s = session->state;
    if (s->y64 != NULL)
        forward_ref(s);
    else
        forward_omp(s);
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    int64_t start_ns = clock_ns();
    int64_t before_ns = clock_ns();
    forward(session);
    int64_t after_ns = clock_ns();
    int64_t end_ns = clock_ns();
    recorder_add_between(recorder, PHASE_FORWARD, (double)(after_ns - before_ns), before_ns,
                         after_ns);
    recorder_add_between(recorder, PHASE_TOTAL, (double)(end_ns - start_ns), start_ns, end_ns);
    recorder_add(recorder, PHASE_RESIDUAL, (double)((end_ns - start_ns) - (after_ns - before_ns)));
    return STATUS_OK;
}

static status_t probe_host_to_host(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    int64_t start_ns = clock_ns();
    forward(session);
    int64_t end_ns = clock_ns();
    recorder_add_between(recorder, PHASE_HOST_TO_HOST, (double)(end_ns - start_ns), start_ns,
                         end_ns);
    return STATUS_OK;
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    bool is_ref;
    TRY(session_is_ref(session, request->spec, &is_ref, err));
    TRY(session_skip(session, mlp_data_room(request->spec, 1, err)));
    state_t *s = mem_zeroed(1, sizeof *s);
    s->data = mlp_data_take(request->spec, request->seed);
    for (size_t l = 0; l <= s->data->n_layers; l++)
        if (s->data->sizes[l] > s->widest)
            s->widest = s->data->sizes[l];
    size_t n = s->data->batch * s->data->sizes[s->data->n_layers];
    if (is_ref) {
        s->y64 = mem_zeroed(n, sizeof *s->y64);
        s->scratch64 = mem_zeroed(2 * s->widest, sizeof *s->scratch64);
    } else {
        s->y32 = mem_zeroed(n, sizeof *s->y32);
        const size_t threads = (size_t)omp_get_max_threads();
        s->scratch32 = mem_zeroed(threads * floats_per_thread(s) + 2 * PAGE, sizeof *s->scratch32);
        const size_t past_a_page = (uintptr_t)s->scratch32 / sizeof *s->tiles % PAGE;
        s->tiles = s->scratch32 + 2 * PAGE - past_a_page;
    }
    session->state = s;
    session_add_phases(session, CLOCK_HOST, NAMES("forward", "total", "residual", "host_to_host"));
    session_add_probe(session, "phases", probe_phases);
    session_add_probe(session, "host_to_host", probe_host_to_host);
    int64_t start_ns = clock_ns();
    forward(session);
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

static status_t refill(session_t *session, uint64_t seed, error_t *err) {
    (void)err;
    mlp_data_refill(((const state_t *)session->state)->data, seed);
    return STATUS_OK;
}

static status_t fill(session_t *session, error_t *err) {
    (void)err;
    const state_t *s = session->state;
    const size_t n = s->data->batch * s->data->sizes[s->data->n_layers];
    if (s->y64 != NULL)
        random_fill(s->y64, n * sizeof *s->y64, RANDOM_F64);
    else
        random_fill(s->y32, n * sizeof *s->y32, RANDOM_F32);
    return STATUS_OK;
}

/* A sum of terms of either sign can be nearly zero, with one output in a thousand seeds. */
static status_t write_scale(const state_t *s, const char *folder, error_t *err) {
    const size_t n = s->data->batch * s->data->sizes[s->data->n_layers];
    return output_write_scale("y", sqrt(s->terms / (double)n), folder, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const state_t *s = session->state;
    if (s->y64 != NULL)
        TRY(write_scale(s, folder, err));
    const output_array_t y = {.name = "y",
                              .f32 = s->y32,
                              .f64 = s->y64,
                              .rows = s->data->batch,
                              .columns = s->data->sizes[s->data->n_layers]};
    return output_write(&y, folder, arrays, err);
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    TRY(fill(session, err));
    forward(session);
    return last(session, folder, arrays, err);
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    mlp_data_release(s->data);
    free(s->y64);
    free(s->scratch64);
    free(s->y32);
    free(s->scratch32);
    free(s);
}

const session_ops_t mlp_infer_cpu = {.workload = "mlp_infer",
                                     .open = open_case,
                                     .refill = refill,
                                     .fill = fill,
                                     .output = output,
                                     .last = last,
                                     .close = close_case};

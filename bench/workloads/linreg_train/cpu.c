/* linreg_train in C: `ref`, the float64 oracle; and `omp`, what a careful C programmer would run:
 * all cores read float32 points once per epoch, as fast as memory or caches deliver them. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/linreg_train/data.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 1024,                  /* points summed before they join the total */
    MIN_POINTS_PER_THREAD = 16384, /* fewer take less time than a barrier of many threads */
};

enum { PHASE_TRAIN, PHASE_TOTAL, PHASE_RESIDUAL, PHASE_HOST_TO_HOST, PHASE_FUSED };

/* With e = w·x + b − y: sums of e, e·x and e². */
typedef struct sums {
    double e, ex, ee;
} sums_t;

typedef struct points {
    const float *x, *y;
    size_t n;
} points_t;

/* Sums of one part of the points, padded so that no two threads write to the same cache line or to
 * the pair of lines that the processor fetches together. */
typedef struct part {
    sums_t sums;
    char padding[128 - sizeof(sums_t)];
} part_t;

typedef struct state {
    const linreg_data_t *data;
    linreg_fit_t fit;
    bool is_ref;
    size_t n_parts; /* ref: blocks; omp: threads */
    part_t *parts;  /* ref: n_parts; omp: twice as many, for even and odd epochs */
} state_t;

static size_t ceil_div(size_t a, size_t b) {
    return (a + b - 1) / b;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static points_t part_of(points_t all, size_t first, size_t n) {
    return (points_t){all.x + first, all.y + first, smaller(n, all.n - first)};
}

static points_t training_points(const linreg_data_t *data) {
    return (points_t){data->x_train, data->y_train, data->n_train};
}

/* One gradient step: the derivatives of the mean of e² are the means of 2·e·x and 2·e. */
static void step(double *w, double *b, const sums_t *sums, double n, double rate) {
    *w -= rate * (2 * sums->ex / n);
    *b -= rate * (2 * sums->e / n);
}

/* ---- ref ------------------------------------------------------------------------------------- */

static sums_t block_sums64(points_t block, double w, double b) {
    sums_t sums = {0};
    for (size_t i = 0; i < block.n; i++) {
        double x = block.x[i], e = w * x + b - block.y[i];
        sums.e += e;
        sums.ex += e * x;
        sums.ee += e * e;
    }
    return sums;
}

/* Neumaier's compensated summation (1974): `lost` sums the rounding errors. */
static void add_neumaier(double *sum, double *lost, double value) {
    double next = *sum + value;
    *lost += fabs(*sum) >= fabs(value) ? *sum - next + value : value - next + *sum;
    *sum = next;
}

/* Sums in a fixed order, independent of the number of threads: within blocks of 1024 points, then
 * over blocks with compensation. For any number of points the relative error is that of 1024
 * additions: at most 1.2e-13, typically 1e-15. */
static sums_t all_sums64(const state_t *s, points_t all, double w, double b) {
    const size_t n_blocks = ceil_div(all.n, BLOCK);
#pragma omp parallel for schedule(static) if (all.n > MIN_POINTS_PER_THREAD)
    for (size_t i = 0; i < n_blocks; i++)
        s->parts[i].sums = block_sums64(part_of(all, i * BLOCK, BLOCK), w, b);
    sums_t sums = {0}, lost = {0};
    for (size_t i = 0; i < n_blocks; i++) {
        add_neumaier(&sums.e, &lost.e, s->parts[i].sums.e);
        add_neumaier(&sums.ex, &lost.ex, s->parts[i].sums.ex);
        add_neumaier(&sums.ee, &lost.ee, s->parts[i].sums.ee);
    }
    return (sums_t){sums.e + lost.e, sums.ex + lost.ex, sums.ee + lost.ee};
}

static void train_ref(state_t *s) {
    linreg_fit_t *fit = &s->fit;
    const points_t all = training_points(s->data);
    const double n = (double)all.n;
    fit->w = LINREG_W0;
    fit->b = LINREG_B0;
    for (size_t epoch = 0; epoch < fit->epochs; epoch++) {
        sums_t sums = all_sums64(s, all, fit->w, fit->b);
        if (epoch % LINREG_LOSS_EVERY == 0)
            fit->losses[epoch / LINREG_LOSS_EVERY] = sums.ee / n;
        step(&fit->w, &fit->b, &sums, n, fit->rate);
    }
}

/* ---- omp ------------------------------------------------------------------------------------- */

/* In float32, with one partial sum per vector element: 64 to 256 additions each. */
WIDEST_VECTORS static sums_t block_sums32(const float *restrict x, const float *restrict y,
                                          size_t n, float w, float b) {
    float sum_e = 0, sum_ex = 0, sum_ee = 0;
#pragma omp simd reduction(+ : sum_e, sum_ex, sum_ee)
    for (size_t i = 0; i < n; i++) {
        float e = w * x[i] + b - y[i];
        sum_e += e;
        sum_ex += e * x[i];
        sum_ee += e * e;
    }
    return (sums_t){sum_e, sum_ex, sum_ee};
}

static void add_sums(sums_t *sums, const sums_t *more) {
    sums->e += more->e;
    sums->ex += more->ex;
    sums->ee += more->ee;
}

static sums_t part_sums32(points_t part, double w, double b) {
    sums_t sums = {0};
    for (size_t i = 0; i < part.n; i += BLOCK) {
        sums_t more =
            block_sums32(part.x + i, part.y + i, smaller(BLOCK, part.n - i), (float)w, (float)b);
        add_sums(&sums, &more);
    }
    return sums;
}

/* The work of one of `n_parts` threads. Each keeps w and b in float64 and makes the same steps from
 * the same sums in the same order. One barrier per epoch is enough: the next epoch writes the other
 * half of `parts`, and the one after it starts after that epoch's barrier. */
static void train_part(state_t *s, size_t self, size_t n_parts) {
    linreg_fit_t *fit = &s->fit;
    const points_t all = training_points(s->data);
    const size_t each = ceil_div(ceil_div(all.n, n_parts), BLOCK) * BLOCK;
    const points_t part = part_of(all, smaller(self * each, all.n), each);
    const double n = (double)all.n;
    double w = LINREG_W0, b = LINREG_B0;
    for (size_t epoch = 0; epoch < fit->epochs; epoch++) {
        part_t *parts = s->parts + (epoch % 2) * s->n_parts;
        parts[self].sums = part_sums32(part, w, b);
#pragma omp barrier
        sums_t sums = {0};
        for (size_t i = 0; i < n_parts; i++)
            add_sums(&sums, &parts[i].sums);
        if (self == 0 && epoch % LINREG_LOSS_EVERY == 0)
            fit->losses[epoch / LINREG_LOSS_EVERY] = sums.ee / n;
        step(&w, &b, &sums, n, fit->rate);
    }
    if (self == 0) {
        fit->w = w;
        fit->b = b;
    }
}

static void train_omp(state_t *s) {
#pragma omp parallel num_threads((int)s->n_parts) if (s->n_parts > 1)
    train_part(s, (size_t)omp_get_thread_num(), (size_t)omp_get_num_threads());
}

/* ---- the session ----------------------------------------------------------------------------- */

static void train(state_t *s) {
    if (s->is_ref)
        train_ref(s);
    else
        train_omp(s);
}

static double mean_squared_error(const state_t *s, points_t all) {
    const double w = s->fit.w, b = s->fit.b;
    sums_t sums = s->is_ref ? all_sums64(s, all, w, b) : part_sums32(all, w, b);
    return sums.ee / (double)all.n; /* 0 / 0 without points */
}

/* After the last epoch, outside the sample. */
static void evaluate(state_t *s) {
    linreg_fit_t *fit = &s->fit;
    const points_t test = {s->data->x_test, s->data->y_test, s->data->n_test};
    fit->losses[fit->n_losses - 1] = mean_squared_error(s, training_points(s->data));
    fit->test_loss = mean_squared_error(s, test);
}

static void train_and_evaluate(state_t *s) {
    linreg_fit_fill(&s->fit);
    train(s);
    evaluate(s);
}

/* Without copies and synchronisation, train and host_to_host are the same: one run gives all
 * phases. With one epoch, the single pass over the points is also the phase `fused`. */
static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    int64_t start_ns = clock_ns();
    int64_t before_ns = clock_ns();
    train(session->state);
    int64_t after_ns = clock_ns();
    int64_t end_ns = clock_ns();
    recorder_add_between(recorder, PHASE_TRAIN, (double)(after_ns - before_ns), before_ns,
                         after_ns);
    recorder_add_between(recorder, PHASE_TOTAL, (double)(end_ns - start_ns), start_ns, end_ns);
    recorder_add(recorder, PHASE_RESIDUAL, (double)((end_ns - start_ns) - (after_ns - before_ns)));
    recorder_add(recorder, PHASE_HOST_TO_HOST, (double)(after_ns - before_ns));
    if (((const state_t *)session->state)->fit.epochs == 1)
        recorder_add(recorder, PHASE_FUSED, (double)(after_ns - before_ns));
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    linreg_data_release(s->data);
    linreg_fit_free(&s->fit);
    free(s->parts);
    free(s);
}

/* The maximum of both variants. */
static double sums_bytes(const case_t *spec) {
    return (double)case_param_int(spec, "points", 1) / BLOCK * sizeof(part_t);
}

static state_t *new_state(const open_request_t *request, bool is_ref) {
    state_t *s = mem_zeroed(1, sizeof *s);
    s->is_ref = is_ref;
    s->data = linreg_data_take(request->spec, request->seed);
    s->fit = linreg_fit_new(request->spec);
    s->n_parts = is_ref ? ceil_div(s->data->n_train, BLOCK)
                        : smaller(ceil_div(s->data->n_train, MIN_POINTS_PER_THREAD),
                                  (size_t)omp_get_max_threads());
    size_t n = is_ref ? s->n_parts : 2 * s->n_parts;
    s->parts = mem_zeroed(n, sizeof *s->parts);
    return s;
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    bool is_ref;
    TRY(session_is_ref(session, request->spec, &is_ref, err));
    TRY(session_skip(
        session, linreg_data_room(request->spec, request->seed, sums_bytes(request->spec), err)));
    int64_t start_ns = clock_ns();
    state_t *s = session->state = new_state(request, is_ref);
    session_add_once(session, "data", (double)(clock_ns() - start_ns));
    start_ns = clock_ns();
    train_and_evaluate(s);
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    if (linreg_fit_check(&s->fit, err) != STATUS_OK) {
        close_case(session);
        return err->status;
    }
    session->results_json = linreg_fit_json(&s->fit);
    session_add_phases(session, CLOCK_HOST, NAMES("train", "total", "residual", "host_to_host"));
    if (s->fit.epochs == 1)
        recorder_phase(&session->recorder, "fused", CLOCK_HOST);
    session_add_probe(session, "train", probe);
    return STATUS_OK;
}

static status_t refill(session_t *session, uint64_t seed, error_t *err) {
    (void)err;
    linreg_data_refill(((const state_t *)session->state)->data, seed);
    return STATUS_OK;
}

static status_t fill(session_t *session, error_t *err) {
    (void)err;
    linreg_fit_fill(&((state_t *)session->state)->fit);
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    state_t *s = session->state;
    train_and_evaluate(s);
    return linreg_fit_write(&s->fit, folder, arrays, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    state_t *s = session->state;
    evaluate(s);
    return linreg_fit_write(&s->fit, folder, arrays, err);
}

const session_ops_t linreg_train_cpu = {.workload = "linreg_train",
                                        .open = open_case,
                                        .refill = refill,
                                        .fill = fill,
                                        .output = output,
                                        .last = last,
                                        .close = close_case};

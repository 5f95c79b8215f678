#include "workloads/mnist/oracle.h"

#include "base/memory.h"
#include "base/parallel.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 4,     /* per pass over a vector, so that each load serves several products; batches are
                     padded with rows of zeros */
    COLUMNS = 32, /* of a matrix, per thread and pass */
    ROWS_OF_SUM = 256, /* partial sums, because one float32 sum over 60000 rows loses four of its
                          seven digits */
    MIN_WORK_PER_THREAD = 1 << 17, /* fewer multiply-adds take less time than a barrier of more
                                      threads */
};

struct mnist_omp {
    const mnist_data_t *data;
    int n_threads;
    size_t batch; /* images of the current step */
    size_t rows;  /* the same, padded */
    float *weights, *w[MNIST_MAX_LAYERS], *b[MNIST_MAX_LAYERS];
    float *a[MNIST_MAX_LAYERS + 1];     /* (rows, sizes[l]): inputs, ReLU outputs, logits */
    float *delta[MNIST_MAX_LAYERS + 1]; /* gradient of the loss by ReLU inputs; [0] is unused */
    uint8_t *labels;
};

static size_t padded(size_t batch) {
    return (batch + ROWS - 1) / ROWS * ROWS;
}

mnist_omp_t *mnist_omp_new(const mnist_data_t *data) {
    mnist_omp_t *net = mem_zeroed(1, sizeof *net);
    net->data = data;
    net->batch = data->batch;
    net->rows = padded(data->batch);
    net->weights = mem_alloc(data->n_weights * sizeof *net->weights);
    for (size_t l = 0; l < net->data->layers; l++) {
        net->w[l] = net->weights + (data->w[l] - data->weights);
        net->b[l] = net->weights + (data->b[l] - data->weights);
        net->delta[l + 1] = mem_zeroed(net->rows * data->sizes[l + 1], sizeof(float));
    }
    for (size_t l = 0; l <= net->data->layers; l++)
        net->a[l] = mem_zeroed(net->rows * data->sizes[l], sizeof(float));
    net->labels = mem_zeroed(net->rows, sizeof *net->labels);
    const double of_matrix = mnist_elements(data->layers, data->sizes) / (double)data->layers;
    const double useful = (double)data->batch * of_matrix / MIN_WORK_PER_THREAD;
    net->n_threads = (int)fmax(1, fmin(useful, omp_get_max_threads()));
    return net;
}

void mnist_omp_free(mnist_omp_t *net) {
    for (size_t l = 0; l <= net->data->layers; l++) {
        free(net->a[l]);
        free(net->delta[l]);
    }
    free(net->weights);
    free(net->labels);
    free(net);
}

void mnist_omp_start(mnist_omp_t *net) {
    memcpy(net->weights, net->data->weights, net->data->n_weights * sizeof *net->weights);
}

float *mnist_omp_weights(mnist_omp_t *net) {
    return net->weights;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Products of `x` with four rows of `y`. */
WIDEST_VECTORS static void dot_rows(float sums[ROWS], const float *restrict x,
                                    const float *restrict y, size_t n) {
    const float *y1 = y + n, *y2 = y1 + n, *y3 = y2 + n;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (size_t i = 0; i < n; i++) {
        s0 += x[i] * y[i];
        s1 += x[i] * y1[i];
        s2 += x[i] * y2[i];
        s3 += x[i] * y3[i];
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* sum += factors · four rows of x, `stride` apart */
WIDEST_VECTORS static void add_rows(float *restrict sum, const float factors[ROWS],
                                    const float *restrict x, size_t stride, size_t n) {
    const float f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
    const float *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        sum[i] += (f0 * x[i] + f1 * x1[i]) + (f2 * x2[i] + f3 * x3[i]);
}

/* sum += factor * x */
WIDEST_VECTORS static void add_scaled(float *restrict sum, float factor, const float *restrict x,
                                      size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        sum[i] += factor * x[i];
}

/* ---- one step, run by all threads; each `omp for` ends in a barrier -------------------------- */

static void gather(mnist_omp_t *net, const uint8_t *image, uint8_t label, size_t row) {
    float *input = net->a[0] + row * MNIST_PIXELS;
    for (size_t i = 0; i < MNIST_PIXELS; i++)
        input[i] = net->data->x[image[i]];
    net->labels[row] = label;
}

static void forward_layer(mnist_omp_t *net, size_t l) {
    const size_t n_in = net->data->sizes[l], n_out = net->data->sizes[l + 1];
    const bool relu = l + 1 < net->data->layers;
#pragma omp for schedule(static)
    for (size_t o = 0; o < n_out; o++)
        for (size_t r = 0; r < net->rows; r += ROWS) {
            float sums[ROWS];
            dot_rows(sums, net->w[l] + o * n_in, net->a[l] + r * n_in, n_in);
            for (size_t i = 0; i < ROWS; i++) {
                const float z = sums[i] + net->b[l][o];
                net->a[l + 1][(r + i) * n_out + o] = relu && z < 0 ? 0 : z;
            }
        }
}

static void forward(mnist_omp_t *net) {
    for (size_t l = 0; l < net->data->layers; l++)
        forward_layer(net, l);
}

static double loss_and_delta_of_row(const float *z, float *delta, uint8_t label, float batch) {
    float largest = z[0], total = 0;
    for (size_t c = 1; c < DATASET_CLASSES; c++)
        largest = fmaxf(largest, z[c]);
    for (size_t c = 0; c < DATASET_CLASSES; c++)
        total += delta[c] = expf(z[c] - largest);
    for (size_t c = 0; c < DATASET_CLASSES; c++)
        delta[c] = (delta[c] / total - (c == label)) / batch;
    return logf(total) - (z[label] - largest);
}

/* On one thread: a few hundred operations. */
static void loss_and_delta(mnist_omp_t *net, double *loss) {
#pragma omp single
    {
        const size_t batch = net->batch;
        double sum = 0;
        for (size_t r = 0; r < batch; r++)
            sum += loss_and_delta_of_row(net->a[net->data->layers] + r * DATASET_CLASSES,
                                         net->delta[net->data->layers] + r * DATASET_CLASSES,
                                         net->labels[r], (float)batch);
        *loss = sum / (double)batch;
    }
}

/* Columns `first` … `first + n - 1` of one row of delta[l]. */
static void backward_part(mnist_omp_t *net, size_t l, size_t r, size_t first, size_t n) {
    const size_t n_in = net->data->sizes[l], n_out = net->data->sizes[l + 1];
    const float *factors = net->delta[l + 1] + r * n_out, *w = net->w[l] + first;
    const float *a = net->a[l] + r * n_in + first;
    float sum[COLUMNS] = {0};
    size_t o = 0;
    for (; o + ROWS <= n_out; o += ROWS)
        add_rows(sum, factors + o, w + o * n_in, n_in, n);
    for (; o < n_out; o++)
        add_scaled(sum, factors[o], w + o * n_in, n);
    for (size_t i = 0; i < n; i++)
        net->delta[l][r * n_in + first + i] = a[i] > 0 ? sum[i] : 0;
}

static void backward_layer(mnist_omp_t *net, size_t l) {
    const size_t n_in = net->data->sizes[l];
#pragma omp for schedule(static)
    for (size_t first = 0; first < n_in; first += COLUMNS)
        for (size_t r = 0; r < net->batch; r++)
            backward_part(net, l, r, first, n_in - first < COLUMNS ? n_in - first : COLUMNS);
}

/* Add the gradient of one row of weights over ROWS_OF_SUM rows of the batch. */
static void add_some_rows(const mnist_omp_t *net, size_t l, size_t o, size_t first, float *row,
                          float *bias) {
    const size_t n_in = net->data->sizes[l], n_out = net->data->sizes[l + 1];
    const size_t end = first + ROWS_OF_SUM < net->rows ? first + ROWS_OF_SUM : net->rows;
    for (size_t r = first; r < end; r += ROWS) {
        float factors[ROWS];
        for (size_t i = 0; i < ROWS; i++)
            *bias += factors[i] = net->delta[l + 1][(r + i) * n_out + o];
        add_rows(row, factors, net->a[l] + r * n_in, n_in, n_in);
    }
}

/* The gradient stays on the stack. */
static void update_row(mnist_omp_t *net, size_t l, size_t o, float rate, float *gradient) {
    const size_t n_in = net->data->sizes[l];
    float row[MNIST_PIXELS] = {0}, bias = 0;
    add_some_rows(net, l, o, 0, row, &bias);
    for (size_t first = ROWS_OF_SUM; first < net->rows; first += ROWS_OF_SUM) {
        float some[MNIST_PIXELS] = {0}, some_bias = 0;
        add_some_rows(net, l, o, first, some, &some_bias);
        add_scaled(row, 1, some, n_in);
        bias += some_bias;
    }
    add_scaled(net->w[l] + o * n_in, -rate, row, n_in);
    net->b[l][o] -= rate * bias;
    if (gradient == NULL)
        return;
    memcpy(gradient + o * (n_in + 1), row, n_in * sizeof *row);
    gradient[o * (n_in + 1) + n_in] = bias;
}

static void update_layer(mnist_omp_t *net, size_t l, float rate, float *gradient) {
    const size_t n_out = net->data->sizes[l + 1];
#pragma omp for schedule(static)
    for (size_t o = 0; o < n_out; o++)
        update_row(net, l, o, rate, gradient);
}

/* The last batch of an epoch may be smaller: its padding must be zero, too. */
static void set_batch(mnist_omp_t *net, size_t batch) {
#pragma omp single
    {
        net->batch = batch;
        net->rows = padded(batch);
        for (size_t l = 1; l <= net->data->layers && net->rows > batch; l++)
            memset(net->delta[l] + batch * net->data->sizes[l], 0,
                   (net->rows - batch) * net->data->sizes[l] * sizeof(float));
    }
}

static void run_step(mnist_omp_t *net, size_t step, float rate, double *loss,
                     float *const *gradients) {
    const mnist_data_t *data = net->data;
    set_batch(net, mnist_step_images(data, step));
#pragma omp for schedule(static)
    for (size_t r = 0; r < net->batch; r++) {
        const uint32_t image = data->order[step * data->batch + r];
        gather(net, data->images->train_images + (size_t)image * MNIST_PIXELS,
               data->images->train_labels[image], r);
    }
    forward(net);
    loss_and_delta(net, loss);
    for (size_t l = net->data->layers; l-- > 0;) {
        if (l > 0) /* before the update: with the weights of the forward pass */
            backward_layer(net, l);
        update_layer(net, l, rate, gradients == NULL ? NULL : gradients[l]);
    }
}

void mnist_omp_train(mnist_omp_t *net, size_t steps, double rate, double *losses,
                     float *const *gradients) {
#pragma omp parallel num_threads(net->n_threads)
    for (size_t step = 0; step < steps; step++)
        run_step(net, step, (float)rate, &losses[step], step == 0 ? gradients : NULL);
}

static void logits_of(void *of, size_t first, size_t images, double *logits) {
    mnist_omp_t *net = of;
    const dataset_t *set = net->data->images;
    net->batch = net->data->batch;
    net->rows = padded(net->batch);
    for (size_t r = 0; r < images; r++)
        gather(net, set->test_images + (first + r) * MNIST_PIXELS, set->test_labels[first + r], r);
#pragma omp parallel num_threads(net->n_threads)
    forward(net);
    for (size_t i = 0; i < images * DATASET_CLASSES; i++)
        logits[i] = (double)net->a[net->data->layers][i];
}

double mnist_omp_validate(mnist_omp_t *net, double *accuracy) {
    return mnist_validate(net->data, logits_of, net, MNIST_TEST_IMAGES, accuracy);
}

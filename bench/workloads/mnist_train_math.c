#include "workloads/mnist_train_math.h"

#include "ground/memory.h"
#include "ground/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a matrix that one thread goes through at once: their sums stay in the L1 cache. */
enum { COLUMNS = 64 };

/* Under so many multiply-adds, starting threads costs more than they save. */
enum { MIN_PARALLEL = 1 << 15 };

double mnist_net_bytes(const case_t *spec) {
    const double hidden = (double)case_param_int(spec, "hidden", 1);
    const double batch = (double)case_param_int(spec, "batch", 1);
    return sizeof(double) * (mnist_matrix_elements((size_t)hidden) +
                             batch * (MNIST_PIXELS + 6 * hidden + 2 * DATASET_CLASSES));
}

mnist_net_t *mnist_net_new(const mnist_data_t *data) {
    mnist_net_t *net = mem_zeroed(1, sizeof *net);
    net->data = data;
    net->batch = data->batch;
    for (size_t l = 0; l < net->data->layers; l++) {
        const size_t n_in = data->sizes[l], n_out = data->sizes[l + 1];
        net->w[l] = mem_alloc(n_in * n_out * sizeof(double));
        net->b[l] = mem_alloc(n_out * sizeof(double));
        net->delta[l + 1] = mem_zeroed(data->batch * n_out, sizeof(double));
    }
    for (size_t l = 0; l <= net->data->layers; l++)
        net->a[l] = mem_zeroed(data->batch * data->sizes[l], sizeof(double));
    net->labels = mem_zeroed(data->batch, sizeof *net->labels);
    return net;
}

void mnist_net_free(mnist_net_t *net) {
    for (size_t l = 0; l < net->data->layers; l++) {
        free(net->w[l]);
        free(net->b[l]);
    }
    for (size_t l = 0; l <= net->data->layers; l++) {
        free(net->a[l]);
        free(net->delta[l]);
    }
    free(net->labels);
    free(net);
}

void mnist_net_start(mnist_net_t *net) {
    const mnist_data_t *data = net->data;
    for (size_t l = 0; l < net->data->layers; l++) {
        const size_t n_in = data->sizes[l], n_out = data->sizes[l + 1];
#pragma omp parallel for schedule(static) if (n_in * n_out > MIN_PARALLEL)
        for (size_t i = 0; i < n_in * n_out; i++)
            net->w[l][i] = data->w[l][i];
        for (size_t i = 0; i < n_out; i++)
            net->b[l][i] = data->b[l][i];
    }
}

WIDEST_VECTORS static double dot(const double *restrict x, const double *restrict y, size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* sum += factor * x */
WIDEST_VECTORS static void add_scaled(double *restrict sum, double factor, const double *restrict x,
                                      size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        sum[i] += factor * x[i];
}

static void gather(mnist_net_t *net, const uint8_t *image, uint8_t label, size_t row) {
    double *input = net->a[0] + row * MNIST_PIXELS;
    for (size_t i = 0; i < MNIST_PIXELS; i++)
        input[i] = net->data->x[image[i]];
    net->labels[row] = label;
}

/* a[l + 1] = relu(a[l] W^T + b), without the ReLU in the last layer. */
static void forward_layer(mnist_net_t *net, size_t l, size_t rows) {
    const size_t n_in = net->data->sizes[l], n_out = net->data->sizes[l + 1];
    const bool relu = l + 1 < net->data->layers;
#pragma omp parallel for schedule(static) if (rows * n_in * n_out > MIN_PARALLEL)
    for (size_t o = 0; o < n_out; o++)
        for (size_t r = 0; r < rows; r++) {
            double z = dot(net->w[l] + o * n_in, net->a[l] + r * n_in, n_in) + net->b[l][o];
            net->a[l + 1][r * n_out + o] = relu && z < 0 ? 0 : z;
        }
}

static void forward(mnist_net_t *net, size_t rows) {
    for (size_t l = 0; l < net->data->layers; l++)
        forward_layer(net, l, rows);
}

/* Mean of −log softmax(z)[label], and its gradient by z: (softmax(z) − [is the label]) / batch.
 * Subtracting the largest z keeps exp() in its range and changes nothing else. */
static double loss_and_delta(mnist_net_t *net) {
    const size_t batch = net->batch;
    double sum = 0;
    for (size_t r = 0; r < batch; r++) {
        const double *z = net->a[net->data->layers] + r * DATASET_CLASSES;
        double *delta = net->delta[net->data->layers] + r * DATASET_CLASSES;
        double largest = z[0], total = 0;
        for (size_t c = 1; c < DATASET_CLASSES; c++)
            largest = fmax(largest, z[c]);
        for (size_t c = 0; c < DATASET_CLASSES; c++)
            total += exp(z[c] - largest);
        for (size_t c = 0; c < DATASET_CLASSES; c++)
            delta[c] = (exp(z[c] - largest) / total - (c == net->labels[r])) / (double)batch;
        sum += log(total) - (z[net->labels[r]] - largest);
    }
    return sum / (double)batch;
}

/* delta[l] = (delta[l + 1] W) where a[l] is positive, else 0. */
static void backward_layer(mnist_net_t *net, size_t l) {
    const size_t batch = net->batch, n_in = net->data->sizes[l];
    const size_t n_out = net->data->sizes[l + 1];
#pragma omp parallel for schedule(static) if (batch * n_in * n_out > MIN_PARALLEL)
    for (size_t first = 0; first < n_in; first += COLUMNS) {
        const size_t n = n_in - first < COLUMNS ? n_in - first : COLUMNS;
        for (size_t r = 0; r < batch; r++)
            memset(net->delta[l] + r * n_in + first, 0, n * sizeof(double));
        for (size_t o = 0; o < n_out; o++)
            for (size_t r = 0; r < batch; r++)
                add_scaled(net->delta[l] + r * n_in + first, net->delta[l + 1][r * n_out + o],
                           net->w[l] + o * n_in + first, n);
        for (size_t r = 0; r < batch; r++)
            for (size_t i = r * n_in + first; i < r * n_in + first + n; i++)
                if (!(net->a[l][i] > 0))
                    net->delta[l][i] = 0;
    }
}

/* One row of a layer's weights: its gradient, the sum over the batch of delta · a, and the step
 * down. `row` is room for n_in values. */
static void update_row(mnist_net_t *net, size_t l, size_t o, double rate, double *row,
                       float *gradient) {
    const size_t batch = net->batch, n_in = net->data->sizes[l];
    const size_t n_out = net->data->sizes[l + 1];
    double bias = 0;
    memset(row, 0, n_in * sizeof *row);
    for (size_t r = 0; r < batch; r++) {
        const double delta = net->delta[l + 1][r * n_out + o];
        add_scaled(row, delta, net->a[l] + r * n_in, n_in);
        bias += delta;
    }
    add_scaled(net->w[l] + o * n_in, -rate, row, n_in);
    net->b[l][o] -= rate * bias;
    if (gradient == NULL)
        return;
    for (size_t i = 0; i < n_in; i++)
        gradient[o * (n_in + 1) + i] = (float)row[i];
    gradient[o * (n_in + 1) + n_in] = (float)bias;
}

static void update_layer(mnist_net_t *net, size_t l, double rate, float *gradient) {
    const size_t n_in = net->data->sizes[l], n_out = net->data->sizes[l + 1];
#pragma omp parallel if (net->batch * n_in * n_out > MIN_PARALLEL)
    {
        double *row = mem_alloc(n_in * sizeof *row);
#pragma omp for schedule(static)
        for (size_t o = 0; o < n_out; o++)
            update_row(net, l, o, rate, row, gradient);
        free(row);
    }
}

double mnist_net_step(mnist_net_t *net, size_t step, double rate, float *const *gradients) {
    const mnist_data_t *data = net->data;
    net->batch = mnist_step_images(data, step);
    for (size_t r = 0; r < net->batch; r++) {
        const uint32_t image = data->order[step * data->batch + r];
        gather(net, data->images->train_images + (size_t)image * MNIST_PIXELS,
               data->images->train_labels[image], r);
    }
    forward(net, data->batch);
    const double loss = loss_and_delta(net);
    for (size_t l = net->data->layers; l-- > 0;) {
        if (l > 0) /* with the weights that the forward pass had */
            backward_layer(net, l);
        update_layer(net, l, rate, gradients == NULL ? NULL : gradients[l]);
    }
    return loss;
}

static size_t largest_of(const double *z) {
    size_t largest = 0;
    for (size_t c = 1; c < DATASET_CLASSES; c++)
        if (z[c] > z[largest])
            largest = c;
    return largest;
}

static double loss_of_row(const double *z, uint8_t label) {
    double total = 0;
    for (size_t c = 0; c < DATASET_CLASSES; c++)
        total += exp(z[c] - z[label]);
    return log(total);
}

double mnist_net_validate(mnist_net_t *net, double *accuracy) {
    const dataset_t *images = net->data->images;
    size_t n_right = 0;
    double total_loss = 0;
    net->batch = net->data->batch;
    for (size_t first = 0; first < MNIST_TEST_IMAGES; first += net->batch) {
        const size_t left = MNIST_TEST_IMAGES - first;
        const size_t rows = left < net->batch ? left : net->batch;
        for (size_t r = 0; r < rows; r++)
            gather(net, images->test_images + (first + r) * MNIST_PIXELS,
                   images->test_labels[first + r], r);
        forward(net, rows);
        for (size_t r = 0; r < rows; r++)
            total_loss +=
                loss_of_row(net->a[net->data->layers] + r * DATASET_CLASSES, net->labels[r]);
        for (size_t r = 0; r < rows; r++)
            n_right += largest_of(net->a[net->data->layers] + r * DATASET_CLASSES) == net->labels[r]
                           ? 1
                           : 0;
    }
    *accuracy = (double)n_right / MNIST_TEST_IMAGES;
    return total_loss / MNIST_TEST_IMAGES;
}

double mnist_net_accuracy(mnist_net_t *net) {
    double accuracy;
    mnist_net_validate(net, &accuracy);
    return accuracy;
}

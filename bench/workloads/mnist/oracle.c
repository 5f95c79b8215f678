#include "workloads/mnist/oracle.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/target_clones.h"
#include "workloads/mnist/matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Work per thread and turn: 1/64 of a layer's outputs or inputs, enough for many threads and
 * limited by the cache; in the update a tile of W. */
enum { PANELS = 64, MOST_IN_PANEL = 128, UPDATE_ROWS = 8, UPDATE_COLUMNS = 512 };

enum {
    ROW_PADDING = 8,
    MIN_PARALLEL = 1 << 15, /* fewer multiply-adds cost less than starting threads */
};

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t padded(size_t n) {
    return (n + MNIST_TILE_COLUMNS - 1) / MNIST_TILE_COLUMNS * MNIST_TILE_COLUMNS;
}

static size_t panel_of(size_t n) {
    return smaller(padded((n + PANELS - 1) / PANELS), MOST_IN_PANEL);
}

double mnist_net_bytes(const case_t *spec) {
    const double hidden = (double)case_param_int(spec, "hidden", 1);
    const double batch = (double)case_param_int(spec, "batch", 1) + MNIST_TILE_COLUMNS;
    const double width = MNIST_PIXELS + 3 * hidden + DATASET_CLASSES;
    const double weights = mnist_matrix_elements((size_t)hidden) + ROW_PADDING * width;
    return sizeof(double) *
           ((strcmp(spec->dtype, "mixed") == 0 ? 2 : 1) * weights + 3 * batch * width);
}

/* Are weights kept more precisely than the products take them? */
static bool rounds_factors(const mnist_net_t *net) {
    return net->data->f16 && !net->data->f16_weights;
}

mnist_net_t *mnist_net_new(const mnist_data_t *data) {
    mnist_net_t *net = mem_zeroed(1, sizeof *net);
    net->data = data;
    net->batch = data->batch;
    net->images = padded(data->batch);
    for (size_t l = 0; l <= net->data->layers; l++) {
        net->row[l] = data->sizes[l] + ROW_PADDING;
        net->a[l] = mem_zeroed(data->batch * net->row[l], sizeof(double));
        net->delta[l] = mem_zeroed(data->batch * net->row[l], sizeof(double));
        net->transposed[l] = mem_zeroed(data->sizes[l] * net->images, sizeof(double));
    }
    for (size_t l = 0; l < net->data->layers; l++) {
        net->w[l] = mem_alloc(data->sizes[l + 1] * net->row[l] * sizeof(double));
        net->b[l] = mem_alloc(data->sizes[l + 1] * sizeof(double));
        net->kept_w[l] = net->w[l], net->kept_b[l] = net->b[l];
        if (rounds_factors(net)) {
            net->kept_w[l] = mem_alloc(data->sizes[l + 1] * net->row[l] * sizeof(double));
            net->kept_b[l] = mem_alloc(data->sizes[l + 1] * sizeof(double));
        }
    }
    net->labels = mem_zeroed(data->batch, sizeof *net->labels);
    return net;
}

void mnist_net_free(mnist_net_t *net) {
    for (size_t l = 0; l < net->data->layers; l++) {
        free(net->w[l]);
        free(net->b[l]);
        if (rounds_factors(net)) {
            free(net->kept_w[l]);
            free(net->kept_b[l]);
        }
    }
    for (size_t l = 0; l <= net->data->layers; l++) {
        free(net->a[l]);
        free(net->delta[l]);
        free(net->transposed[l]);
    }
    free(net->labels);
    free(net);
}

void mnist_net_start(mnist_net_t *net) {
    mnist_net_set(net, net->data->weights);
}

/* Set the factors of products from what is kept. */
static void round_factors(const mnist_net_t *net, double *factors, const double *kept, size_t n) {
    if (!rounds_factors(net))
        return;
    memcpy(factors, kept, n * sizeof *factors);
    half_round_doubles(factors, n);
}

void mnist_net_set(mnist_net_t *net, const float *weights) {
    const mnist_data_t *data = net->data;
    for (size_t l = 0; l < net->data->layers; l++) {
        const size_t n_in = data->sizes[l], n_out = data->sizes[l + 1];
        const float *w = weights + (data->w[l] - data->weights);
        const float *b = weights + (data->b[l] - data->weights);
#pragma omp parallel for schedule(static) if (n_in * n_out > MIN_PARALLEL)
        for (size_t o = 0; o < n_out; o++) {
            for (size_t i = 0; i < n_in; i++)
                net->kept_w[l][o * net->row[l] + i] = w[o * n_in + i];
            net->kept_b[l][o] = b[o];
            round_factors(net, net->w[l] + o * net->row[l], net->kept_w[l] + o * net->row[l], n_in);
            round_factors(net, net->b[l] + o, net->kept_b[l] + o, 1);
        }
    }
}

void mnist_net_weights(const mnist_net_t *net, float *weights) {
    const mnist_data_t *data = net->data;
    for (size_t l = 0; l < data->layers; l++) {
        const size_t n_in = data->sizes[l], n_out = data->sizes[l + 1];
        float *w = weights + (data->w[l] - data->weights);
        float *b = weights + (data->b[l] - data->weights);
        for (size_t o = 0; o < n_out; o++) {
            for (size_t i = 0; i < n_in; i++)
                w[o * n_in + i] = (float)net->kept_w[l][o * net->row[l] + i];
            b[o] = (float)net->kept_b[l][o];
        }
    }
}

/* Round as contenders of this dtype do when they store activations and deltas. */
static void store(const mnist_net_t *net, double *values, size_t n) {
    if (net->data->f16)
        half_round_doubles(values, n);
}

/* A cache line of images, so that each line of `transposed` is written once. */
static void gather_tile(mnist_net_t *net, const uint8_t *const *image, size_t first, size_t n) {
    double *input = net->a[0] + first * net->row[0], *column = net->transposed[0] + first;
    for (size_t i = 0; i < MNIST_PIXELS; i++)
        for (size_t r = 0; r < n; r++)
            column[i * net->images + r] = input[r * net->row[0] + i] = net->data->x[image[r][i]];
}

/* Load the images with these numbers, or the first ones if `numbers` is NULL. */
static void gather(mnist_net_t *net, const uint8_t *images, const uint8_t *labels,
                   const uint32_t *numbers) {
#pragma omp parallel for schedule(static) if (net->batch * MNIST_PIXELS > MIN_PARALLEL)
    for (size_t first = 0; first < net->batch; first += MNIST_TILE_COLUMNS) {
        const size_t n = smaller(MNIST_TILE_COLUMNS, net->batch - first);
        const uint8_t *image[MNIST_TILE_COLUMNS];
        for (size_t r = 0; r < n; r++) {
            const size_t number = numbers == NULL ? first + r : numbers[first + r];
            image[r] = images + number * MNIST_PIXELS;
            net->labels[first + r] = labels[number];
        }
        gather_tile(net, image, first, n);
    }
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Outputs `first` … `first + n - 1`: relu(z + b). The last layer has no ReLU, and no contender
 * stores its outputs as float16. */
static void activate(mnist_net_t *net, size_t l, size_t first, size_t n) {
    const bool last = l + 1 == net->data->layers;
    for (size_t o = first; o < first + n; o++) {
        double *z = net->transposed[l + 1] + o * net->images;
        for (size_t r = 0; r < net->batch; r++) {
            z[r] += net->b[l][o];
            z[r] = !last && z[r] < 0 ? 0 : z[r];
        }
        if (!last)
            store(net, z, net->batch);
        for (size_t r = 0; r < net->batch; r++)
            net->a[l + 1][r * net->row[l + 1] + o] = z[r];
    }
}

/* Images are columns here, so that a row of W is read once for all of them. */
static void forward_layer(mnist_net_t *net, size_t l) {
    const size_t n_in = net->data->sizes[l], n_out = net->data->sizes[l + 1];
    const size_t panel = panel_of(n_out);
#pragma omp parallel for schedule(static) if (net->images * n_in * n_out > MIN_PARALLEL)
    for (size_t first = 0; first < n_out; first += panel) {
        const size_t n = smaller(panel, n_out - first);
        double *z = net->transposed[l + 1] + first * net->images;
        memset(z, 0, n * net->images * sizeof *z);
        mnist_multiply(&(mnist_product_t){.sums = z,
                                          .sums_row = net->images,
                                          .left = net->w[l] + first * net->row[l],
                                          .left_row = net->row[l],
                                          .left_step = 1,
                                          .right = net->transposed[l],
                                          .right_row = net->images,
                                          .rows = n,
                                          .columns = net->images,
                                          .n = n_in});
        activate(net, l, first, n);
    }
}

static void forward(mnist_net_t *net) {
    for (size_t l = 0; l < net->data->layers; l++)
        forward_layer(net, l);
}

/* Mean of −log softmax(z)[label], and the gradient of the sum by z: softmax(z) − [is the label].
 * Subtracting the largest z keeps exp() in range. */
static double loss_and_delta(mnist_net_t *net) {
    const size_t batch = net->batch;
    double sum = 0;
    for (size_t r = 0; r < batch; r++) {
        const double *z = net->a[net->data->layers] + r * net->row[net->data->layers];
        double *delta = net->delta[net->data->layers] + r * net->row[net->data->layers];
        double largest = z[0], total = 0;
        for (size_t c = 1; c < DATASET_CLASSES; c++)
            largest = fmax(largest, z[c]);
        for (size_t c = 0; c < DATASET_CLASSES; c++)
            total += exp(z[c] - largest);
        for (size_t c = 0; c < DATASET_CLASSES; c++)
            delta[c] = exp(z[c] - largest) / total - (c == net->labels[r]);
        store(net, delta, DATASET_CLASSES);
        sum += log(total) - (z[net->labels[r]] - largest);
    }
    return sum / (double)batch;
}

/* ---- backward -------------------------------------------------------------------------------- */

/* delta[l] = (delta[l + 1] W) where a[l] is positive, else 0. */
static void backward_layer(mnist_net_t *net, size_t l) {
    const size_t batch = net->batch, n_in = net->data->sizes[l];
    const size_t n_out = net->data->sizes[l + 1], row = net->row[l], panel = panel_of(n_in);
#pragma omp parallel for schedule(static) if (batch * n_in * n_out > MIN_PARALLEL)
    for (size_t first = 0; first < n_in; first += panel) {
        const size_t n = smaller(panel, n_in - first);
        for (size_t r = 0; r < batch; r++)
            memset(net->delta[l] + r * row + first, 0, n * sizeof(double));
        mnist_multiply(&(mnist_product_t){.sums = net->delta[l] + first,
                                          .sums_row = row,
                                          .left = net->delta[l + 1],
                                          .left_row = net->row[l + 1],
                                          .left_step = 1,
                                          .right = net->w[l] + first,
                                          .right_row = row,
                                          .rows = batch,
                                          .columns = n,
                                          .n = n_out});
        for (size_t r = 0; r < batch; r++) {
            double *delta = net->delta[l] + r * row + first;
            for (size_t i = 0; i < n; i++)
                delta[i] = net->a[l][r * row + first + i] > 0 ? delta[i] : 0;
            store(net, delta, n);
        }
    }
}

/* values -= rate * sums / batch; the sums become means. */
WIDEST_VECTORS static void subtract_mean(double *restrict values, double *restrict sums, size_t n,
                                         double rate, double batch) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        sums[i] /= batch;
        values[i] -= rate * sums[i];
    }
}

/* Update `values` and, unless NULL, store the gradient. */
static void descend(const mnist_net_t *net, double *values, double *sums, size_t n, double rate,
                    float *gradient) {
    subtract_mean(values, sums, n, rate, (double)net->batch);
    if (net->data->f16_weights)
        half_round_doubles(values, n);
    for (size_t i = 0; i < n && gradient != NULL; i++)
        gradient[i] = (float)sums[i];
}

/* Update a tile of weights: the gradient is the batch mean of delta · a. */
static void update_tile(mnist_net_t *net, size_t l, size_t first_out, size_t first_in, double rate,
                        float *gradient) {
    const size_t batch = net->batch, n_in = net->data->sizes[l], row = net->row[l];
    const size_t rows = smaller(UPDATE_ROWS, net->data->sizes[l + 1] - first_out);
    const size_t columns = smaller(UPDATE_COLUMNS, n_in - first_in);
    double sums[UPDATE_ROWS * UPDATE_COLUMNS] = {0};
    mnist_multiply(&(mnist_product_t){.sums = sums,
                                      .sums_row = UPDATE_COLUMNS,
                                      .left = net->delta[l + 1] + first_out,
                                      .left_row = 1,
                                      .left_step = net->row[l + 1],
                                      .right = net->a[l] + first_in,
                                      .right_row = row,
                                      .rows = rows,
                                      .columns = columns,
                                      .n = batch});
    for (size_t j = 0; j < rows; j++) {
        const size_t o = first_out + j;
        const size_t at = o * row + first_in;
        descend(net, net->kept_w[l] + at, sums + j * UPDATE_COLUMNS, columns, rate,
                gradient == NULL ? NULL : gradient + o * (n_in + 1) + first_in);
        round_factors(net, net->w[l] + at, net->kept_w[l] + at, columns);
    }
}

static void update_biases(mnist_net_t *net, size_t l, double rate, float *gradient) {
    const size_t n_in = net->data->sizes[l], batch = net->batch;
    for (size_t o = 0; o < net->data->sizes[l + 1]; o++) {
        double sum = 0;
        for (size_t r = 0; r < batch; r++)
            sum += net->delta[l + 1][r * net->row[l + 1] + o];
        descend(net, &net->kept_b[l][o], &sum, 1, rate,
                gradient == NULL ? NULL : gradient + o * (n_in + 1) + n_in);
        round_factors(net, &net->b[l][o], &net->kept_b[l][o], 1);
    }
}

static void update_layer(mnist_net_t *net, size_t l, double rate, float *gradient) {
    const size_t n_in = net->data->sizes[l], n_out = net->data->sizes[l + 1];
#pragma omp parallel for collapse(2) schedule(static) if (net->batch * n_in * n_out > MIN_PARALLEL)
    for (size_t in = 0; in < n_in; in += UPDATE_COLUMNS)
        for (size_t out = 0; out < n_out; out += UPDATE_ROWS)
            update_tile(net, l, out, in, rate, gradient);
    update_biases(net, l, rate, gradient);
}

double mnist_net_step(mnist_net_t *net, size_t step, double rate, float *const *gradients) {
    const mnist_data_t *data = net->data;
    net->batch = mnist_step_images(data, step);
    gather(net, data->images->train_images, data->images->train_labels,
           data->order + step * data->batch);
    forward(net);
    const double loss = loss_and_delta(net);
    for (size_t l = net->data->layers; l-- > 0;) {
        if (l > 0) /* before the update: with the weights of the forward pass */
            backward_layer(net, l);
        update_layer(net, l, rate, gradients == NULL ? NULL : gradients[l]);
    }
    return loss;
}

/* ---- validation ------------------------------------------------------------------------------ */

static size_t largest_of(const double *z) {
    size_t largest = 0;
    for (size_t c = 1; c < DATASET_CLASSES; c++)
        if (z[c] > z[largest])
            largest = c;
    return largest;
}

static double loss_of_row(const double *z, uint8_t label) {
    const double largest = z[largest_of(z)];
    double total = 0;
    for (size_t c = 0; c < DATASET_CLASSES; c++)
        total += exp(z[c] - largest);
    return log(total) - (z[label] - largest);
}

double mnist_validate(const mnist_data_t *data, mnist_logits_t *logits_of, void *net, size_t images,
                      double *accuracy) {
    double *logits = mem_alloc(data->batch * DATASET_CLASSES * sizeof *logits), total_loss = 0;
    size_t n_right = 0;
    for (size_t first = 0; first < images; first += data->batch) {
        const size_t rows = smaller(images - first, data->batch);
        logits_of(net, first, rows, logits);
        for (size_t r = 0; r < rows; r++) {
            const double *z = logits + r * DATASET_CLASSES;
            const uint8_t label = data->images->test_labels[first + r];
            total_loss += loss_of_row(z, label);
            n_right += largest_of(z) == label;
        }
    }
    free(logits);
    *accuracy = (double)n_right / (double)images;
    return total_loss / (double)images;
}

static void logits_of(void *of, size_t first, size_t images, double *logits) {
    mnist_net_t *net = of;
    const dataset_t *set = net->data->images;
    const size_t last = net->data->layers;
    net->batch = images;
    gather(net, set->test_images + first * MNIST_PIXELS, set->test_labels + first, NULL);
    forward(net);
    for (size_t r = 0; r < images; r++)
        memcpy(logits + r * DATASET_CLASSES, net->a[last] + r * net->row[last],
               DATASET_CLASSES * sizeof *logits);
}

double mnist_net_validate(mnist_net_t *net, double *accuracy) {
    return mnist_validate(net->data, logits_of, net, MNIST_TEST_IMAGES, accuracy);
}

double mnist_net_loss(mnist_net_t *net, size_t images) {
    double accuracy;
    return mnist_validate(net->data, logits_of, net, images, &accuracy);
}

#include "workloads/mnist/oracle.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "workloads/common/session_parts.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MNIST_TILE_COLUMNS = 8 }; /* products are fast with a multiple of these columns */

enum { TILE_ROWS = 4, TILE_COLUMNS = MNIST_TILE_COLUMNS };

/* A block of the right factor stays in the L2 cache: 256 KiB. */
enum { BLOCK_COLUMNS = 128, BLOCK_DEPTH = 256 };

static size_t smaller_matmul(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ==== products ================================================================================ */

/* One named array per row of sums, so that compilers keep them in registers. */
WIDEST_VECTORS static void add_tile(const mnist_product_t *p) {
    double *restrict sums = p->sums;
    const double *restrict left = p->left, *restrict right = p->right;
    double s0[TILE_COLUMNS] = {0}, s1[TILE_COLUMNS] = {0};
    double s2[TILE_COLUMNS] = {0}, s3[TILE_COLUMNS] = {0};
    const size_t left_row = p->left_row, left_step = p->left_step, right_row = p->right_row;
    for (size_t k = 0, n = p->n; k < n; k++, left += left_step, right += right_row) {
        const double l0 = left[0], l1 = left[left_row];
        const double l2 = left[2 * left_row], l3 = left[3 * left_row];
#pragma omp simd
        for (size_t i = 0; i < TILE_COLUMNS; i++) {
            s0[i] += l0 * right[i];
            s1[i] += l1 * right[i];
            s2[i] += l2 * right[i];
            s3[i] += l3 * right[i];
        }
    }
    for (size_t i = 0; i < TILE_COLUMNS; i++) {
        sums[i] += s0[i];
        sums[p->sums_row + i] += s1[i];
        sums[2 * p->sums_row + i] += s2[i];
        sums[3 * p->sums_row + i] += s3[i];
    }
}

/* Fewer rows or columns than a tile. */
static void add_corner(const mnist_product_t *p) {
    for (size_t j = 0; j < p->rows; j++)
        for (size_t i = 0; i < p->columns; i++) {
            double sum = 0;
            for (size_t k = 0; k < p->n; k++)
                sum += p->left[j * p->left_row + k * p->left_step] * p->right[k * p->right_row + i];
            p->sums[j * p->sums_row + i] += sum;
        }
}

static void add_block(const mnist_product_t *p, size_t first, size_t columns, size_t from,
                      size_t n) {
    for (size_t j = 0; j < p->rows; j += TILE_ROWS)
        for (size_t i = first; i < first + columns; i += TILE_COLUMNS) {
            mnist_product_t tile = *p;
            tile.rows = smaller_matmul(p->rows - j, TILE_ROWS);
            tile.columns = smaller_matmul(first + columns - i, TILE_COLUMNS);
            tile.n = n;
            tile.sums += j * p->sums_row + i;
            tile.left += j * p->left_row + from * p->left_step;
            tile.right += from * p->right_row + i;
            if (tile.rows == TILE_ROWS && tile.columns == TILE_COLUMNS)
                add_tile(&tile);
            else
                add_corner(&tile);
        }
}

void mnist_multiply(const mnist_product_t *p) {
    for (size_t first = 0; first < p->columns; first += BLOCK_COLUMNS)
        for (size_t from = 0; from < p->n; from += BLOCK_DEPTH)
            add_block(p, first, smaller_matmul(p->columns - first, BLOCK_COLUMNS), from,
                      smaller_matmul(p->n - from, BLOCK_DEPTH));
}

/* ==== the fit ================================================================================= */

enum { MNIST_LOSS_EVERY = 10 }; /* steps, in the results */

mnist_fit_t mnist_fit_new(size_t steps) {
    mnist_fit_t fit = {.steps = steps, .accuracy = NAN};
    fit.losses = mem_zeroed(steps, sizeof *fit.losses);
    for (size_t i = 0; i < steps; i++)
        fit.losses[i] = NAN;
    return fit;
}

mnist_fit_t mnist_fit_of_epochs(size_t steps, size_t epochs) {
    mnist_fit_t fit = mnist_fit_new(steps);
    fit.steps = 0;
    fit.epochs = mem_zeroed(epochs, sizeof *fit.epochs);
    return fit;
}

void mnist_fit_free(mnist_fit_t *fit) {
    free(fit->losses);
    free(fit->epochs);
    *fit = (mnist_fit_t){0};
}

static bool is_finite(double loss) {
    return fabs(loss) <= (double)FLT_MAX;
}

status_t mnist_fit_check(const mnist_fit_t *fit, error_t *err) {
    for (size_t step = 0; step < fit->steps; step++)
        if (!is_finite(fit->losses[step]))
            return error_set(err, STATUS_FAILED, "loss is not finite from step %zu on", step);
    return STATUS_OK;
}

status_t mnist_fit_add_floats(mnist_fit_t *fit, const float *losses, size_t n, error_t *err) {
    for (size_t i = 0; i < n; i++)
        fit->losses[fit->steps++] = losses[i];
    return mnist_fit_check(fit, err);
}

status_t mnist_fit_add_epoch(mnist_fit_t *fit, const mnist_epoch_t *epoch, error_t *err) {
    if (!is_finite(epoch->validation_loss))
        return error_set(err, STATUS_FAILED, "validation loss is not finite after epoch %zu",
                         fit->n_epochs + 1);
    fit->epochs[fit->n_epochs++] = *epoch;
    fit->accuracy = epoch->accuracy;
    return STATUS_OK;
}

static json_t *epoch_json(const mnist_epoch_t *epoch, size_t number) {
    json_t *json = json_pack("{s:I, s:f, s:f}", "epoch", (json_int_t)number, "validation_loss",
                             epoch->validation_loss, "accuracy", epoch->accuracy);
    if (epoch->has_memory) {
        json_t *memory = allocator_stats_json(&epoch->memory);
        json_object_update(json, memory);
        json_decref(memory);
    }
    return json;
}

char *mnist_fit_json(const mnist_fit_t *fit, const dataset_t *images, const char *key,
                     const char *value) {
    json_t *losses = json_array(), *epochs = json_array();
    for (size_t step = 0; step < fit->steps; step++)
        if (step % MNIST_LOSS_EVERY == 0 || step + 1 == fit->steps)
            json_array_append_new(losses, json_pack("[I, f]", (json_int_t)step, fit->losses[step]));
    for (size_t i = 0; i < fit->n_epochs; i++)
        json_array_append_new(epochs, epoch_json(&fit->epochs[i], i + 1));
    json_t *json = json_pack("{s:o, s:o}", "loss", losses, "epochs", epochs);
    if (fit->n_epochs == 0)
        json_object_del(json, "epochs");
    if (!isnan(fit->accuracy))
        json_object_set_new(json, "accuracy", json_real(fit->accuracy));
    json_object_set_new(json, "dataset", json_string(images->synthetic ? "synthetic" : "mnist"));
    if (value != NULL)
        json_object_set_new(json, key, json_string(value));
    return results_text(json);
}

status_t mnist_write_gradients(const mnist_data_t *data, float *const *gradients,
                               const char *folder, text_list_t *arrays, error_t *err) {
    status_t status = STATUS_OK;
    for (size_t l = 0; l < data->layers && status == STATUS_OK; l++) {
        char *name = mem_format("gradient_%zu", l);
        const output_array_t gradient = {.name = name,
                                         .f32 = gradients[l],
                                         .rows = data->sizes[l + 1],
                                         .columns = data->sizes[l] + 1};
        status = output_write(&gradient, folder, arrays, err);
        free(name);
    }
    return status;
}

status_t mnist_write_losses(const double *losses, size_t n, const char *folder, text_list_t *arrays,
                            error_t *err) {
    return output_write(&(output_array_t){.name = "losses", .f64 = losses, .rows = n}, folder,
                        arrays, err);
}

status_t mnist_write_weights(const float *weights, size_t n, const char *folder,
                             text_list_t *arrays, error_t *err) {
    return output_write(&(output_array_t){.name = "weights", .f32 = weights, .rows = n}, folder,
                        arrays, err);
}

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

/* ==== the oracle ============================================================================== */

static size_t padded(size_t n) {
    return (n + MNIST_TILE_COLUMNS - 1) / MNIST_TILE_COLUMNS * MNIST_TILE_COLUMNS;
}

static size_t panel_of(size_t n) {
    return smaller(padded((n + PANELS - 1) / PANELS), MOST_IN_PANEL);
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
    }
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
        free(net->transposed[l]);
    }
    free(net->labels);
    free(net);
}

void mnist_net_start(mnist_net_t *net) {
    mnist_net_set(net, net->data->weights);
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
                net->w[l][o * net->row[l] + i] = w[o * n_in + i];
            net->b[l][o] = b[o];
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
                w[o * n_in + i] = (float)net->w[l][o * net->row[l] + i];
            b[o] = (float)net->b[l][o];
        }
    }
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

/* Outputs `first` … `first + n - 1`: relu(z + b). The last layer has no ReLU. */
static void activate(mnist_net_t *net, size_t l, size_t first, size_t n) {
    const bool last = l + 1 == net->data->layers;
    for (size_t o = first; o < first + n; o++) {
        double *z = net->transposed[l + 1] + o * net->images;
        for (size_t r = 0; r < net->batch; r++) {
            z[r] += net->b[l][o];
            z[r] = !last && z[r] < 0 ? 0 : z[r];
        }
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
        descend(net, net->w[l] + at, sums + j * UPDATE_COLUMNS, columns, rate,
                gradient == NULL ? NULL : gradient + o * (n_in + 1) + first_in);
    }
}

static void update_biases(mnist_net_t *net, size_t l, double rate, float *gradient) {
    const size_t n_in = net->data->sizes[l], batch = net->batch;
    for (size_t o = 0; o < net->data->sizes[l + 1]; o++) {
        double sum = 0;
        for (size_t r = 0; r < batch; r++)
            sum += net->delta[l + 1][r * net->row[l + 1] + o];
        descend(net, &net->b[l][o], &sum, 1, rate,
                gradient == NULL ? NULL : gradient + o * (n_in + 1) + n_in);
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

#include "workloads/mnist/learned.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/npy.h"

#include <stdlib.h>

enum { BATCH = 100 }; /* images at once */

status_t mnist_learned(mnist_net_t *net, const mnist_training_t *training, double most_ns,
                       double losses[LEARNED_LOSSES], error_t *err) {
    const int64_t start_ns = clock_ns();
    const size_t steps = training->sample_steps;
    mnist_net_start(net);
    losses[0] = mnist_net_loss(net, MNIST_LEARNED_IMAGES);
    for (size_t step = 0; step < steps; step++) {
        if (step == steps / 2)
            losses[1] = mnist_net_loss(net, MNIST_LEARNED_IMAGES);
        mnist_net_step(net, step, training->rate, NULL);
        if ((double)(clock_ns() - start_ns) > most_ns)
            return error_set(err, STATUS_FAILED,
                             "the reference has done %zu of %zu steps after %.3g s", step + 1,
                             steps, most_ns / 1e9);
    }
    losses[2] = mnist_net_loss(net, MNIST_LEARNED_IMAGES);
    return STATUS_OK;
}

static double loss_of(const mnist_data_t *data, const npy_t *weights) {
    mnist_data_t network = *data;
    network.batch = BATCH;
    float *values = mem_alloc(weights->n * sizeof *values);
    for (size_t i = 0; i < weights->n; i++)
        values[i] = (float)weights->values[i];
    mnist_net_t *net = mnist_net_new(&network);
    mnist_net_set(net, values);
    const double loss = mnist_net_loss(net, MNIST_LEARNED_IMAGES);
    mnist_net_free(net);
    free(values);
    return loss;
}

static status_t read_weights(const char *folder, size_t n, npy_t *weights, error_t *err) {
    char *path = mem_format("%s/weights.npy", folder);
    npy_file_t file;
    status_t status = npy_open(path, &file, err);
    if (status == STATUS_OK) {
        if (file.array.n_dimensions != 1 || file.array.n != n)
            status = error_set(err, STATUS_FAILED, "weights has %zu elements, expected (%zu,)",
                               file.array.n, n);
        npy_close(&file);
    }
    if (status == STATUS_OK)
        status = npy_read(path, weights, err);
    free(path);
    return status;
}

/* Asked once in each pass over a contender: loading the images would take longer than the rest, so
 * they stay until the process ends. */
static status_t keep_images(error_t *err) {
    static const dataset_t *images;
    return images != NULL ? STATUS_OK : mnist_images_take(&images, err);
}

status_t mnist_loss(const case_t *spec, const mnist_cpu_workload_t *workload, const char *folder,
                    double *loss, error_t *err) {
    mnist_training_t training;
    npy_t weights;
    TRY(keep_images(err));
    TRY(workload->describe(spec, &training, err));
    const status_t status = read_weights(folder, training.data->n_weights, &weights, err);
    if (status == STATUS_OK) {
        *loss = loss_of(training.data, &weights);
        npy_free(&weights);
    }
    mnist_data_release(training.data);
    return status;
}

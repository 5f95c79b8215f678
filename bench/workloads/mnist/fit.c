#include "workloads/mnist/fit.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/npy.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

mnist_fit_t mnist_fit_new(size_t steps) {
    mnist_fit_t fit = {.steps = steps, .accuracy = NAN};
    fit.losses = mem_zeroed(steps, sizeof *fit.losses);
    for (size_t i = 0; i < steps; i++)
        fit.losses[i] = NAN;
    return fit;
}

void mnist_fit_free(mnist_fit_t *fit) {
    free(fit->losses);
    *fit = (mnist_fit_t){0};
}

status_t mnist_fit_check(const mnist_fit_t *fit, error_t *err) {
    for (size_t step = 0; step < fit->steps; step++)
        if (!(fabs(fit->losses[step]) <= (double)FLT_MAX))
            return error_set(err, STATUS_FAILED, "loss is not finite from step %zu on", step);
    return STATUS_OK;
}

char *mnist_fit_json(const mnist_fit_t *fit, const dataset_t *images, const char *accumulate) {
    json_t *losses = json_array();
    for (size_t step = 0; step < fit->steps; step++)
        if (step % MNIST_LOSS_EVERY == 0 || step + 1 == fit->steps)
            json_array_append_new(losses, json_pack("[I, f]", (json_int_t)step, fit->losses[step]));
    json_t *json = json_pack("{s:o}", "loss", losses);
    if (!isnan(fit->accuracy))
        json_object_set_new(json, "accuracy", json_real(fit->accuracy));
    json_object_set_new(json, "dataset", json_string(images->synthetic ? "synthetic" : "mnist"));
    json_object_set_new(json, "accumulate", json_string(accumulate));
    char *dumped = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    char *text = mem_text(dumped);
    free(dumped);
    return text;
}

static char *array_path(const char *folder, const char *name) {
    char *file = mem_format("%s.npy", name);
    char *path = fs_join(folder, file);
    free(file);
    return path;
}

status_t mnist_write_gradients(const mnist_data_t *data, float *const *gradients,
                               const char *folder, text_list_t *arrays, error_t *err) {
    status_t status = STATUS_OK;
    for (size_t l = 0; l < data->layers && status == STATUS_OK; l++) {
        const size_t shape[2] = {data->sizes[l + 1], data->sizes[l] + 1};
        char *name = mem_format("gradient_%zu", l);
        char *path = array_path(folder, name);
        status = npy_write_f32(path, gradients[l], shape, 2, err);
        if (status == STATUS_OK)
            text_list_add(arrays, name);
        free(path);
        free(name);
    }
    return status;
}

static status_t write_steps(const char *name, const double *values, size_t n, const char *folder,
                            text_list_t *arrays, error_t *err) {
    char *path = array_path(folder, name);
    status_t status = npy_write_f64(path, values, &n, 1, err);
    free(path);
    if (status == STATUS_OK)
        text_list_add(arrays, name);
    return status;
}

status_t mnist_write_losses(const double *losses, size_t n, const char *folder, text_list_t *arrays,
                            error_t *err) {
    return write_steps("losses", losses, n, folder, arrays, err);
}

status_t mnist_write_descent(const double *losses, size_t n, const char *folder,
                             text_list_t *arrays, error_t *err) {
    double falls[MNIST_DESCENT_STEPS];
    for (size_t step = 0; step < n; step++)
        falls[step] = losses[0] - losses[step];
    return write_steps("descent", falls, n, folder, arrays, err);
}

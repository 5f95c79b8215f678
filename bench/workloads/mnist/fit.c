#include "workloads/mnist/fit.h"

#include "base/memory.h"
#include "workloads/common/session_parts.h"

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

status_t mnist_write_descent(const char *name, const double *losses, size_t n, const char *folder,
                             text_list_t *arrays, error_t *err) {
    double falls[MNIST_DESCENT_STEPS];
    for (size_t step = 0; step < n; step++)
        falls[step] = losses[0] - losses[step];
    return output_write(&(output_array_t){.name = name, .f64 = falls, .rows = n}, folder, arrays,
                        err);
}

#include "workloads/mlp_train/fit.h"

#include "base/memory.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

mlpt_fit_t mlpt_fit_new(size_t steps, size_t epochs) {
    return (mlpt_fit_t){.losses = mem_zeroed(steps, sizeof(double)),
                        .epochs = mem_zeroed(epochs, sizeof(mlpt_epoch_t))};
}

void mlpt_fit_free(mlpt_fit_t *fit) {
    free(fit->losses);
    free(fit->epochs);
    *fit = (mlpt_fit_t){0};
}

status_t mlpt_fit_add(mlpt_fit_t *fit, const double *losses, size_t n, error_t *err) {
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(losses[i]) <= (double)FLT_MAX))
            return error_set(err, STATUS_FAILED, "loss is not finite from step %zu on",
                             fit->n_steps);
        fit->losses[fit->n_steps++] = losses[i];
    }
    return STATUS_OK;
}

status_t mlpt_fit_add_epoch(mlpt_fit_t *fit, const mlpt_epoch_t *epoch, error_t *err) {
    if (!(fabs(epoch->validation_loss) <= (double)FLT_MAX))
        return error_set(err, STATUS_FAILED, "validation loss is not finite after epoch %zu",
                         fit->n_epochs + 1);
    fit->epochs[fit->n_epochs++] = *epoch;
    return STATUS_OK;
}

static json_t *epoch_json(const mlpt_epoch_t *epoch, size_t number) {
    json_t *json = json_pack("{s:I, s:f, s:f}", "epoch", (json_int_t)number, "validation_loss",
                             epoch->validation_loss, "accuracy", epoch->accuracy);
    if (epoch->has_memory) {
        json_t *memory = allocator_stats_json(&epoch->memory);
        json_object_update(json, memory);
        json_decref(memory);
    }
    return json;
}

char *mlpt_fit_json(const mlpt_fit_t *fit, const dataset_t *images, const char *allocator) {
    json_t *losses = json_array(), *epochs = json_array();
    for (size_t step = 0; step < fit->n_steps; step++)
        if (step % MLPT_LOSS_EVERY == 0 || step + 1 == fit->n_steps)
            json_array_append_new(losses, json_pack("[I, f]", (json_int_t)step, fit->losses[step]));
    for (size_t i = 0; i < fit->n_epochs; i++)
        json_array_append_new(epochs, epoch_json(&fit->epochs[i], i + 1));
    json_t *json = json_pack("{s:o, s:o}", "loss", losses, "epochs", epochs);
    if (fit->n_epochs > 0)
        json_object_set_new(json, "accuracy", json_real(fit->epochs[fit->n_epochs - 1].accuracy));
    else
        json_object_del(json, "epochs");
    json_object_set_new(json, "dataset", json_string(images->synthetic ? "synthetic" : "mnist"));
    if (allocator != NULL)
        json_object_set_new(json, "allocator", json_string(allocator));
    char *dumped = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    char *text = mem_text(dumped);
    free(dumped);
    return text;
}

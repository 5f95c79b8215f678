#include "workloads/linreg_train/fit.h"

#include "base/memory.h"
#include "workloads/common/session_parts.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

linreg_fit_t linreg_fit_new(const case_t *spec) {
    linreg_fit_t fit = {.epochs = (size_t)case_param_int(spec, "epochs", 1),
                        .rate = case_param(spec, "rate")->real,
                        .w = NAN,
                        .b = NAN,
                        .test_loss = NAN};
    fit.n_losses = (fit.epochs + LINREG_LOSS_EVERY - 1) / LINREG_LOSS_EVERY + 1;
    fit.losses = mem_zeroed(fit.n_losses, sizeof *fit.losses);
    for (size_t i = 0; i < fit.n_losses; i++)
        fit.losses[i] = NAN;
    return fit;
}

void linreg_fit_free(linreg_fit_t *fit) {
    free(fit->losses);
    *fit = (linreg_fit_t){0};
}

void linreg_fit_fill(linreg_fit_t *fit) {
    random_fill(&fit->w, sizeof fit->w, RANDOM_F64);
    random_fill(&fit->b, sizeof fit->b, RANDOM_F64);
    random_fill(fit->losses, fit->n_losses * sizeof *fit->losses, RANDOM_F64);
    random_fill(&fit->test_loss, sizeof fit->test_loss, RANDOM_F64);
}

size_t linreg_loss_epoch(const linreg_fit_t *fit, size_t i) {
    return i + 1 < fit->n_losses ? i * LINREG_LOSS_EVERY : fit->epochs;
}

status_t linreg_fit_check(const linreg_fit_t *fit, error_t *err) {
    for (size_t i = 0; i < fit->n_losses; i++)
        if (!(fabs(fit->losses[i]) <= (double)FLT_MAX))
            return error_set(err, STATUS_FAILED, "loss is not finite from epoch %zu on",
                             linreg_loss_epoch(fit, i));
    return STATUS_OK;
}

status_t linreg_fit_write(const linreg_fit_t *fit, const char *folder, text_list_t *arrays,
                          error_t *err) {
    const double params[2] = {fit->w, fit->b};
    const output_array_t outputs[] = {{.name = "params", .f64 = params, .rows = 2},
                                      {.name = "losses", .f64 = fit->losses, .rows = fit->n_losses},
                                      {.name = "test_loss", .f64 = &fit->test_loss, .rows = 1}};
    for (size_t i = 0; i < (isnan(fit->test_loss) ? 2 : 3); i++)
        TRY(output_write(&outputs[i], folder, arrays, err));
    return STATUS_OK;
}

char *linreg_fit_json(const linreg_fit_t *fit) {
    json_t *losses = json_array();
    for (size_t i = 0; i < fit->n_losses; i++)
        json_array_append_new(
            losses, json_pack("[I, f]", (json_int_t)linreg_loss_epoch(fit, i), fit->losses[i]));
    json_t *json = json_pack("{s:f, s:f, s:o}", "w", fit->w, "b", fit->b, "loss", losses);
    if (!isnan(fit->test_loss))
        json_object_set_new(json, "test_loss", json_real(fit->test_loss));
    return results_text(json);
}

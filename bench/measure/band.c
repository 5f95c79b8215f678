#include "measure/band.h"

#include "base/memory.h"
#include "model/case_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Enough for the default widths on 16 cores, and no longer than the oracle's other requests take. */
static const double MOST_S = 10;

/* Parts of the oracle's gain over the second half of its steps, of that over all of them (a training
 * may gain nothing in its second half), and of its loss (what rounding changes). */
static const double OF_HALF = 0.5, OF_ALL = 0.03, OF_LOSS = 1e-5;

double band_most(const double losses[LEARNED_LOSSES]) {
    const double start = losses[0], half = losses[1], end = losses[2];
    const double margin = fmax(fmax(OF_HALF * (half - end), OF_ALL * (start - end)), OF_LOSS * end);
    return end < start ? end + margin : NAN; /* false for NaN */
}

static double loss_of(const json_t *value) {
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* ---- the oracle ------------------------------------------------------------------------------ */

band_t band_find(contender_t *oracle) {
    const double timeout_s = oracle->settings->timeout_s;
    band_t band = {.worker = oracle->worker, .timeout_s = timeout_s};
    json_t *request = json_pack("{s:s, s:s, s:I}", "op", "learned", "id", oracle->result.spec.id,
                                "most_ns", (json_int_t)(1e9 * fmin(MOST_S, timeout_s / 2)));
    json_t *answer = contender_ask(oracle, request);
    if (answer == NULL) {
        band.unknown = mem_text(oracle->result.reason);
        return band;
    }
    const json_t *losses = json_object_get(answer, "losses");
    for (size_t i = 0; i < LEARNED_LOSSES; i++)
        band.losses[i] = loss_of(json_array_get(losses, i));
    band.most = band_most(band.losses);
    if (losses == NULL)
        band.worker = NULL;
    else if (isnan(band.most))
        band.unknown = mem_text("the reference learns nothing in a sample");
    json_decref(answer);
    return band;
}

void band_free(band_t *band) {
    free(band->unknown);
}

/* ---- contenders ------------------------------------------------------------------------------ */

static char *not_compared(contender_t *c, const char *why) {
    flag_list_add(&c->result.flags, FLAG_WEIGHTS_UNCHECKED, why, NAN, NAN);
    return NULL;
}

static char *compare(const band_t *band, const json_t *answer) {
    const double loss = loss_of(json_object_get(answer, "loss"));
    if (!worker_answer_is_ok(answer))
        return mem_text(worker_answer_reason(answer));
    if (loss <= band->most)
        return NULL;
    char text[32] = "NaN";
    if (!isnan(loss))
        snprintf(text, sizeof text, "%.6g", loss);
    return mem_format("its weights have the loss %s on test images, allowed %.6g; the reference "
                      "has %.6g after all steps, %.6g after half of them",
                      text, band->most, band->losses[2], band->losses[1]);
}

char *band_check(const band_t *band, contender_t *c, const char *folder) {
    if (band->worker == NULL)
        return NULL;
    if (band->unknown != NULL)
        return not_compared(c, band->unknown);
    if (folder == NULL)
        return mem_text("the worker writes no weights");
    error_t err = ERROR_INIT;
    json_t *answer;
    status_t status = worker_link_start(band->worker, band->timeout_s, &err);
    if (status == STATUS_OK)
        status = worker_link_ask(band->worker,
                                 json_pack("{s:s, s:o, s:s}", "op", "loss", "case",
                                           case_to_json(&c->result.spec), "path", folder),
                                 band->timeout_s, &answer, &err);
    if (status != STATUS_OK)
        return not_compared(c, err.text);
    char *reason = compare(band, answer);
    json_decref(answer);
    return reason;
}

/* What a linreg_train training starts from and what it leaves, whatever ran it: shared by the CPU
 * and CUDA sessions.
 *
 * A sample is one training from the start values, all epochs, with the loss before the update of
 * every tenth epoch. The last training loss and the test loss, which tell how good the fit is, are
 * computed after it and are no part of a sample, in any engine. */
#ifndef BENCH_WORKLOADS_LINREG_TRAIN_FIT_H
#define BENCH_WORKLOADS_LINREG_TRAIN_FIT_H

#include "base/text.h"
#include "model/case.h"

#include <stddef.h>

enum { LINREG_LOSS_EVERY = 10 }; /* epochs */

/* The study's start values. */
#define LINREG_W0 0.83
#define LINREG_B0 0.7645

typedef struct linreg_fit {
    size_t epochs;
    double rate;
    double w, b;
    size_t n_losses; /* ⌈epochs / 10⌉ before updates, and one after the last epoch */
    double *losses;
    double test_loss; /* NaN: there is no test point */
} linreg_fit_t;

/* Sized for the case, all values NaN; free it with linreg_fit_free(). */
linreg_fit_t linreg_fit_new(const case_t *spec);
void linreg_fit_free(linreg_fit_t *fit);

/* The epoch that losses[i] belongs to; `epochs` for the last one. */
size_t linreg_loss_epoch(const linreg_fit_t *fit, size_t i);

/* Fails with "loss is not finite from epoch E on" when a loss is no finite float32: also where only
 * the oracle's range still holds it, so that one case ends alike in all engines. */
status_t linreg_fit_check(const linreg_fit_t *fit, error_t *err);

/* Write params.npy, losses.npy and, if there is a test point, test_loss.npy; add their names. */
status_t linreg_fit_write(const linreg_fit_t *fit, const char *folder, text_list_t *arrays,
                          error_t *err);

/* {"w":…,"b":…,"loss":[[epoch,value],…],"test_loss":…}; the caller frees it. */
char *linreg_fit_json(const linreg_fit_t *fit);

#endif

/* Start values and results of a linreg_train training, for the CPU and CUDA sessions.
 *
 * A sample is one training from the start values through all epochs, with the loss before the
 * update of every tenth epoch. In every engine, the last training loss and the test loss are
 * computed afterwards, outside the sample. */
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
    double test_loss; /* NaN: no test points */
} linreg_fit_t;

/* Sized for the case, all values NaN; free it with linreg_fit_free(). */
linreg_fit_t linreg_fit_new(const case_t *spec);
void linreg_fit_free(linreg_fit_t *fit);

/* Random values in place of all results. */
void linreg_fit_fill(linreg_fit_t *fit);

/* The epoch of losses[i]; `epochs` for the last one. */
size_t linreg_loss_epoch(const linreg_fit_t *fit, size_t i);

/* Fails with "loss is not finite from epoch E on" if a loss exceeds the range of float32, also for
 * the oracle, so that a case ends the same way in all engines. */
status_t linreg_fit_check(const linreg_fit_t *fit, error_t *err);

/* Write params.npy, losses.npy and, with test points, test_loss.npy; add their names. */
status_t linreg_fit_write(const linreg_fit_t *fit, const char *folder, text_list_t *arrays,
                          error_t *err);

/* {"w":…,"b":…,"loss":[[epoch,value],…],"test_loss":…}; the caller frees it. */
char *linreg_fit_json(const linreg_fit_t *fit);

#endif

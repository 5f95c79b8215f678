/* Points of a linreg_train case, from Philox: the same bits in every engine
 * (docs/workloads.md). Cases with equal size and seed share one copy. */
#ifndef BENCH_WORKLOADS_LINREG_TRAIN_DATA_H
#define BENCH_WORKLOADS_LINREG_TRAIN_DATA_H

#include "base/text.h"
#include "model/case.h"
#include "workloads/common/session_parts.h"

#include <stddef.h>
#include <stdint.h>

/* Start values and results of a linreg_train training, for the CPU and CUDA sessions.
 *
 * A sample is one training from the start values through all epochs, with the loss before the
 * update of every tenth epoch. In every engine, the last training loss and the test loss are
 * computed afterwards, outside the sample. */

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

/* Fails with "loss is not finite from epoch E on" if a loss exceeds the range of float32, also for
 * the oracle, so that a case ends the same way in all engines. */
status_t linreg_fit_check(const linreg_fit_t *fit, error_t *err);

/* Write params.npy, losses.npy and, with test points, test_loss.npy; add their names. */
status_t linreg_fit_write(const linreg_fit_t *fit, const char *folder, text_list_t *arrays,
                          error_t *err);

/* {"w":…,"b":…,"loss":[[epoch,value],…],"test_loss":…}; the caller frees it. */
char *linreg_fit_json(const linreg_fit_t *fit);

typedef struct linreg_data {
    shared_data_t shared;
    size_t points;
    uint64_t seed;
    size_t n_train, n_test;
    float *x_train, *y_train; /* n_train each */
    float *x_test, *y_test;   /* n_test each; never NULL */
} linreg_data_t;

size_t linreg_n_test(size_t points);
size_t linreg_n_train(size_t points);

/* Does free host memory have room for `more_bytes` and the points, unless an open case has them?
 * Otherwise fails with both numbers. */
status_t linreg_data_room(const case_t *spec, uint64_t seed, double more_bytes, error_t *err);

/* Every take needs a release; the last one frees. Not thread-safe. */
const linreg_data_t *linreg_data_take(const case_t *spec, uint64_t seed);
/* Give x_train the signs of this seed, until another case that shares it gives it others. */
void linreg_data_refill(const linreg_data_t *data, uint64_t seed);
void linreg_data_release(const linreg_data_t *data);

#endif

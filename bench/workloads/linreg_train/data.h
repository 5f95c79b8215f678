/* Points of a linreg_train case, from Philox: the same bits in every engine
 * (docs/workloads.md). Cases with equal size and seed share one copy. */
#ifndef BENCH_WORKLOADS_LINREG_TRAIN_DATA_H
#define BENCH_WORKLOADS_LINREG_TRAIN_DATA_H

#include "model/case.h"
#include "workloads/common/session_parts.h"

#include <stddef.h>
#include <stdint.h>

/* Every fifth point, starting with number 4, is a test point: training point k has number k + k / 4
 * of all, test point k has number 5 k + 4. */
enum { LINREG_TEST_EVERY = 5 };

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

/* Points of a linreg_train case, from Philox: the same bits as in every other engine
 * (docs/worker-protocol.md, "Data"). Cases with as many points and the same seed share one copy. */
#ifndef BENCH_WORKLOADS_LINREG_TRAIN_DATA_H
#define BENCH_WORKLOADS_LINREG_TRAIN_DATA_H

#include "model/case.h"
#include "workloads/common/shared_data.h"

#include <stddef.h>
#include <stdint.h>

/* Every fifth point, from number 4 on, is kept for the test: training point k is number k + k / 4
 * of all, test point k is number 5 k + 4. */
enum { LINREG_TEST_EVERY = 5 };

typedef struct linreg_data {
    shared_data_t shared;
    size_t points;
    uint64_t seed;
    size_t n_train, n_test;
    float *x_train, *y_train; /* n_train each */
    float *x_test, *y_test;   /* n_test each; no test point: empty, not NULL */
} linreg_data_t;

size_t linreg_n_test(size_t points);
size_t linreg_n_train(size_t points);

/* Would the points, unless another open case has them, and `more_bytes` fit into what is free of
 * the host's memory? Otherwise fails with both numbers. */
status_t linreg_data_room(const case_t *spec, uint64_t seed, double more_bytes, error_t *err);

/* Every take needs a release; the last one frees. Not for several threads at once. */
const linreg_data_t *linreg_data_take(const case_t *spec, uint64_t seed);
void linreg_data_release(const linreg_data_t *data);

#endif

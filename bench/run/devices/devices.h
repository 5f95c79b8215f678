/* `bench run --devices 0,1,…`: groups of cases on several GPUs of one host at once. A child `bench run`
 * per device measures a shard, in OUT/devices/I, on cores of its own; then the shards are merged into
 * OUT. */
#ifndef BENCH_RUN_DEVICES_H
#define BENCH_RUN_DEVICES_H

#include "run/state.h"

/* All steps of such a run. */
status_t run_on_devices(run_t *run, error_t *err);

#endif

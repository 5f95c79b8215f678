/* Streams of launches that run side by side (side_by_side() in kernels/common/workload.cuh). */
#ifndef BENCH_WORKLOADS_DESCRIBED_SIDE_STREAMS_H
#define BENCH_WORKLOADS_DESCRIBED_SIDE_STREAMS_H

#include "engine/gpu.h"

enum { SIDE_STREAMS = 8 };

/* Start with zeros. */
typedef struct side_streams {
    cu_stream_t streams[SIDE_STREAMS];
    cu_event_t forked, joined[SIDE_STREAMS];
} side_streams_t;

/* For at most `n` launches at a time; not while work is captured. */
status_t side_streams_open(side_streams_t *side, gpu_t *gpu, unsigned n, error_t *err);
/* Ignores the driver's errors. */
void side_streams_close(side_streams_t *side, gpu_t *gpu);
/* Before number `index` of `n` launches: `*stream` is what it is for, which waits for the earlier work of gpu->stream. */
status_t side_streams_fork(side_streams_t *side, gpu_t *gpu, unsigned index, cu_stream_t *stream,
                           error_t *err);
/* After it: after the last one gpu->stream waits for all. */
status_t side_streams_join(side_streams_t *side, gpu_t *gpu, unsigned index, unsigned n,
                           error_t *err);

#endif

#include "workloads/described/side_streams.h"

#define CUDA(call) TRY(cuda_check(&gpu->api, gpu->api.call, #call, err))

status_t side_streams_open(side_streams_t *side, gpu_t *gpu, unsigned n, error_t *err) {
    if (n > 0 && side->forked == NULL)
        CUDA(event_create(&side->forked, CU_EVENT_NO_TIMING));
    for (unsigned i = 0; i < n && i < SIDE_STREAMS; i++) {
        if (side->streams[i] != NULL)
            continue;
        CUDA(stream_create(&side->streams[i], CU_STREAM_NON_BLOCKING));
        CUDA(event_create(&side->joined[i], CU_EVENT_NO_TIMING));
    }
    return STATUS_OK;
}

void side_streams_close(side_streams_t *side, gpu_t *gpu) {
    for (unsigned i = 0; i < SIDE_STREAMS; i++) {
        if (side->joined[i] != NULL)
            gpu->api.event_destroy(side->joined[i]);
        if (side->streams[i] != NULL)
            gpu->api.stream_destroy(side->streams[i]);
    }
    if (side->forked != NULL)
        gpu->api.event_destroy(side->forked);
    *side = (side_streams_t){0};
}

status_t side_streams_fork(side_streams_t *side, gpu_t *gpu, unsigned index, cu_stream_t *stream,
                           error_t *err) {
    *stream = side->streams[index % SIDE_STREAMS];
    if (index == 0)
        CUDA(event_record(side->forked, gpu->stream));
    if (index < SIDE_STREAMS)
        CUDA(stream_wait(*stream, side->forked, 0));
    return STATUS_OK;
}

status_t side_streams_join(side_streams_t *side, gpu_t *gpu, unsigned index, unsigned n,
                           error_t *err) {
    for (unsigned i = 0; index + 1 == n && i < n && i < SIDE_STREAMS; i++) {
        CUDA(event_record(side->joined[i], side->streams[i]));
        CUDA(stream_wait(gpu->stream, side->joined[i], 0));
    }
    return STATUS_OK;
}

/* What stands in a buffer before a run writes its output there: values that look like outputs, or
 * NaNs where the host waits for each element to change. They come from the system's random source
 * and differ from fill to fill, so that a kernel cannot tell a check from a sample. */
#ifndef BENCH_WORKLOADS_COMMON_RANDOM_FILL_H
#define BENCH_WORKLOADS_COMMON_RANDOM_FILL_H

#include <stddef.h>
#include <stdint.h>

/* Uniform in [-1, 1), or any bytes; or negative NaNs with random payloads, which arithmetic on a GPU does not
 * produce: its NaN is positive. */
typedef enum random_kind {
    RANDOM_F16,
    RANDOM_F32,
    RANDOM_F64,
    RANDOM_BF16,
    RANDOM_BYTES,
    RANDOM_NAN_F16,
    RANDOM_NAN_F32,
    RANDOM_KINDS,
} random_kind_t;

enum { RANDOM_TILE = 65536 }; /* elements; larger buffers repeat them */

/* A tile, another at each call; it stays valid. */
const void *random_tile(random_kind_t kind);
size_t random_tile_bytes(random_kind_t kind);

/* Fill `bytes` bytes by repeating a tile; returns the tile. */
const void *random_fill(void *to, size_t bytes, random_kind_t kind);

uint32_t random_below(uint32_t n); /* 0 … n - 1 */

#endif

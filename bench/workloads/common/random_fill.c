#include "workloads/common/random_fill.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* A tile is part of a pool that is drawn once: drawing takes longer than copying. */
enum { POOL = 2 * RANDOM_TILE };

static const size_t ELEMENT_BYTES[RANDOM_KINDS] = {
    [RANDOM_F16] = sizeof(uint16_t),
    [RANDOM_F32] = sizeof(float),
    [RANDOM_F64] = sizeof(double),
    [RANDOM_BF16] = sizeof(uint16_t),
    [RANDOM_BYTES] = 1,
    [RANDOM_NAN_F16] = sizeof(uint16_t),
    [RANDOM_NAN_F32] = sizeof(uint32_t),
};

static void draw(void *pool, random_kind_t kind) {
    const rng_position_t from = {.seed = rng_secret()};
    uint16_t *halves = pool;
    uint32_t *words = pool;
    uint8_t *bytes = pool;
    double *doubles = pool;
    float value;
    if (kind == RANDOM_F32) {
        rng_fill_uniform(pool, POOL, from, -1, 1);
        return;
    }
    for (size_t i = 0; i < POOL; i++) {
        const uint32_t word = rng_word(from.seed, from.stream, i);
        rng_fill_uniform(&value, 1, (rng_position_t){.seed = from.seed, .first = i}, -1, 1);
        if (kind == RANDOM_NAN_F32)
            words[i] = 0xFF800001 + word % 0x7FFFFF;
        else if (kind == RANDOM_NAN_F16)
            halves[i] = (uint16_t)(0xFC01 + word % 0x3FF);
        else if (kind == RANDOM_F16)
            halves[i] = half_from_float(value);
        else if (kind == RANDOM_BF16)
            halves[i] = bfloat16_from_float(value);
        else if (kind == RANDOM_BYTES)
            bytes[i] = (uint8_t)word;
        else
            doubles[i] = value;
    }
}

uint32_t random_below(uint32_t n) {
    static uint64_t seed, position;
    if (position == 0)
        seed = rng_secret();
    return rng_word(seed, 0, position++) % n;
}

size_t random_tile_bytes(random_kind_t kind) {
    return RANDOM_TILE * ELEMENT_BYTES[kind];
}

const void *random_tile(random_kind_t kind) {
    static char *pools[RANDOM_KINDS];
    if (pools[kind] == NULL) {
        pools[kind] = mem_alloc(POOL * ELEMENT_BYTES[kind]);
        draw(pools[kind], kind);
    }
    return pools[kind] + random_below(RANDOM_TILE) * ELEMENT_BYTES[kind];
}

const void *random_fill(void *to, size_t bytes, random_kind_t kind) {
    const void *tile = random_tile(kind);
    const size_t tile_bytes = random_tile_bytes(kind);
    for (size_t done = 0; done < bytes; done += tile_bytes)
        memcpy((char *)to + done, tile, bytes - done < tile_bytes ? bytes - done : tile_bytes);
    return tile;
}

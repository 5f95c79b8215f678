#include "base/hash.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

hash_t *hash_new(void) {
    hash_t *hash = XXH3_createState();
    if (hash == NULL)
        abort(); /* out of memory, as in memory.h */
    XXH3_128bits_reset(hash);
    return hash;
}

void hash_add(hash_t *hash, const void *data, size_t bytes) {
    uint64_t length = bytes;
    XXH3_128bits_update(hash, &length, sizeof length);
    XXH3_128bits_update(hash, data, bytes);
}

void hash_add_text(hash_t *hash, const char *text) {
    hash_add(hash, text, strlen(text));
}

void hash_finish(hash_t *hash, char text[HASH_TEXT]) {
    XXH128_hash_t digest = XXH3_128bits_digest(hash);
    snprintf(text, HASH_TEXT, "%016" PRIx64 "%016" PRIx64, (uint64_t)digest.high64,
             (uint64_t)digest.low64);
    XXH3_freeState(hash);
}

/* XXH3-128 over a list of fields. Each field is hashed after its length, so that lists with
 * different fields have different hashes ("ab","c" is not "a","bc"). */
#ifndef BENCH_BASE_HASH_H
#define BENCH_BASE_HASH_H

#include <stddef.h>

enum { HASH_TEXT = 33 }; /* 32 hex digits and a NUL */

typedef struct XXH3_state_s hash_t;

hash_t *hash_new(void);
void hash_add(hash_t *hash, const void *data, size_t bytes);
void hash_add_text(hash_t *hash, const char *text);
/* Write the hash as hex and free `hash`. */
void hash_finish(hash_t *hash, char text[HASH_TEXT]);

#endif

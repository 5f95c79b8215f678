/* Strings that are freed together: a page, a chart or a command makes many short ones.
 * Zero-initialise it; arena_free() empties it. */
#ifndef BENCH_BASE_ARENA_H
#define BENCH_BASE_ARENA_H

#include <stddef.h>

typedef struct arena {
    char **texts;
    size_t n, capacity;
} arena_t;

/* A formatted string that lives until arena_free(). */
const char *arena_format(arena_t *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* `bytes` zeroed bytes with the same lifetime, for a function that writes into a buffer. */
char *arena_buffer(arena_t *arena, size_t bytes);
/* Take ownership of a string from malloc(); NULL stays NULL. */
const char *arena_keep(arena_t *arena, char *text);
void arena_free(arena_t *arena);

#endif

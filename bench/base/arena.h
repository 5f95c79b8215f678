/* Texts that live together: a page, a chart or a command makes many short texts and frees them all
 * at once. Zero-initialise it; arena_free() empties it. */
#ifndef BENCH_BASE_ARENA_H
#define BENCH_BASE_ARENA_H

#include <stddef.h>

typedef struct arena {
    char **texts;
    size_t n, capacity;
} arena_t;

/* A formatted text that lives until arena_free(). */
const char *arena_format(arena_t *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* `bytes` zeroed bytes that live as long, for a function that writes into a buffer. */
char *arena_buffer(arena_t *arena, size_t bytes);
/* Take over a text from malloc(), which then lives as long; NULL stays NULL. */
const char *arena_keep(arena_t *arena, char *text);
void arena_free(arena_t *arena);

#endif

/* Allocation that cannot fail: out of memory prints one line and aborts. Sizes from input are
 * checked against limits before they get here. */
#ifndef BENCH_BASE_MEMORY_H
#define BENCH_BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t bytes);                /* uninitialised */
void *mem_alloc_large(size_t bytes);          /* the same, in huge pages where it can be */
void *mem_zeroed(size_t count, size_t bytes); /* overflow-checked */
void *mem_resize(void *block, size_t count, size_t bytes);
char *mem_text(const char *text);                  /* copy; NULL stays NULL */
char *mem_text_n(const char *text, size_t length); /* copy of the first `length` bytes */
void mem_set_text(char **text, const char *other); /* frees it, then a copy of the other */

/* A formatted string; the caller frees it. */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_format_args(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* A local that is freed when its block ends, also by TRY(); what the function hands on is none. The other: one whose type
 * has a function for that, as in AUTO(text_list_free) text_list_t parts = {0}. */
#define AUTO_FREE AUTO(mem_free_local)
#define AUTO(free_it) __attribute__((cleanup(free_it)))
void mem_free_local(void *address_of_pointer);

/* Make room for one more element in a growing array: doubles `*capacity` when `count` reaches it.
 * `items` points at the array pointer. */
void mem_grow(void *items, size_t count, size_t *capacity, size_t item_bytes);

/* Strings that are freed together: a page, a chart or a command makes many short ones.
 * Zero-initialise it; arena_free() empties it. */

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

/* Allocation that cannot fail: out of memory prints one line and aborts. Sizes from input are
 * checked against limits before they get here. */
#ifndef BENCH_BASE_MEMORY_H
#define BENCH_BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t bytes);                /* uninitialised */
void *mem_zeroed(size_t count, size_t bytes); /* overflow-checked */
void *mem_resize(void *block, size_t count, size_t bytes);
char *mem_text(const char *text);                  /* copy; NULL stays NULL */
char *mem_text_n(const char *text, size_t length); /* copy of the first `length` bytes */

/* A formatted string; the caller frees it. */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_format_args(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Make room for one more element in a growing array: doubles `*capacity` when `count` reaches it.
 * `items` points at the array pointer. */
void mem_grow(void *items, size_t count, size_t *capacity, size_t item_bytes);

#endif

#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Noreturn void out_of_memory(size_t count, size_t bytes) {
    fprintf(stderr, "bench: out of memory (asked for %zu x %zu bytes)\n", count, bytes);
    abort();
}

/* malloc(0), calloc(0) and realloc(p, 0) may each return NULL without having failed. */
static size_t at_least_one(size_t n) {
    return n == 0 ? 1 : n;
}

void *mem_alloc(size_t bytes) {
    void *block = malloc(at_least_one(bytes));
    if (block == NULL)
        out_of_memory(1, bytes);
    return block;
}

/* Faults of small pages took more than half of the time of reading arrays of hundreds of megabytes. */
void *mem_alloc_large(size_t bytes) {
    enum { HUGE_PAGE = 1 << 21 };
    const size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (bytes < HUGE_PAGE || whole < bytes)
        return mem_alloc(bytes);
    void *block = aligned_alloc(HUGE_PAGE, whole);
    if (block == NULL)
        out_of_memory(1, bytes);
    madvise(block, whole, MADV_HUGEPAGE); /* without it, or in vain, pages are small */
    return block;
}

void *mem_zeroed(size_t count, size_t bytes) {
    void *block = calloc(at_least_one(count), at_least_one(bytes));
    if (block == NULL)
        out_of_memory(count, bytes);
    return block;
}

void *mem_resize(void *block, size_t count, size_t bytes) {
    if (bytes != 0 && count > SIZE_MAX / bytes)
        out_of_memory(count, bytes);
    void *resized = realloc(block, at_least_one(count * bytes));
    if (resized == NULL)
        out_of_memory(count, bytes);
    return resized;
}

void mem_free_local(void *address_of_pointer) {
    void *block;
    memcpy(&block, address_of_pointer, sizeof block);
    free(block);
}

char *mem_text(const char *text) {
    return text == NULL ? NULL : mem_text_n(text, strlen(text));
}

char *mem_text_n(const char *text, size_t length) {
    char *copy = mem_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void mem_set_text(char **text, const char *other) {
    char *copy = mem_text(other);
    free(*text);
    *text = copy;
}

char *mem_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = mem_format_args(format, args);
    va_end(args);
    return text;
}

char *mem_format_args(const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        out_of_memory(1, strlen(format));
    return text;
}

void mem_grow(void *items, size_t count, size_t *capacity, size_t item_bytes) {
    if (count < *capacity)
        return;
    size_t wanted = *capacity == 0 ? 8 : *capacity;
    while (wanted <= count) {
        if (wanted > SIZE_MAX / 2)
            out_of_memory(count, item_bytes);
        wanted *= 2;
    }
    /* `items` is the address of a T *; memcpy reads it without breaking aliasing rules. */
    void *block;
    memcpy(&block, items, sizeof block);
    block = mem_resize(block, wanted, item_bytes);
    memcpy(items, &block, sizeof block);
    *capacity = wanted;
}

static char *keep(arena_t *arena, char *text) {
    mem_grow(&arena->texts, arena->n, &arena->capacity, sizeof *arena->texts);
    return arena->texts[arena->n++] = text;
}

const char *arena_keep(arena_t *arena, char *text) {
    return text != NULL ? keep(arena, text) : NULL;
}

char *arena_buffer(arena_t *arena, size_t bytes) {
    return keep(arena, mem_zeroed(bytes, 1));
}

const char *arena_format(arena_t *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = mem_format_args(format, args);
    va_end(args);
    return arena_keep(arena, text);
}

void arena_free(arena_t *arena) {
    for (size_t i = 0; i < arena->n; i++)
        free(arena->texts[i]);
    free(arena->texts);
    *arena = (arena_t){0};
}

#include "base/arena.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdlib.h>

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

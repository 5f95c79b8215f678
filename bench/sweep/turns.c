#include "sweep/turns.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { TURNS = 4 };

/* "compile", "compile_graph", "mine+compile". */
static bool compiles(const char *variant) {
    return strstr(variant, "compile") != NULL;
}

unsigned case_turn(const case_t *spec, bool quick) {
    const bool on_cpu = strcmp(spec->device, "cpu") == 0;
    return (on_cpu ? 2 : 0) + (quick && compiles(spec->variant) ? 1 : 0);
}

void sweep_order(sweep_t *sweep, bool quick) {
    case_t *ordered = mem_alloc((sweep->n_cases + 1) * sizeof *ordered);
    size_t n = 0;
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < sweep->n_cases; i++)
            if (case_turn(&sweep->cases[i], quick) == turn)
                ordered[n++] = sweep->cases[i];
    memcpy(sweep->cases, ordered, n * sizeof *ordered);
    free(ordered);
}

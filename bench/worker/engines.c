#include "worker/engines.h"

#include <string.h>

static const engine_t *const ENGINES[] = {&engine_cpu, &engine_cuda, &engine_null};

const engine_t *engine_find(const char *name) {
    for (size_t i = 0; i < sizeof ENGINES / sizeof *ENGINES; i++)
        if (strcmp(ENGINES[i]->name, name) == 0)
            return ENGINES[i];
    return NULL;
}

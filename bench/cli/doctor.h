/* What `bench doctor` finds: doctor.c checks the machine, doctor_python.c its Python. */
#ifndef BENCH_CLI_DOCTOR_H
#define BENCH_CLI_DOCTOR_H

#include "base/error.h"
#include "base/memory.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct finding {
    const char *what;
    bool found;
    const char *detail;  /* version and path, or why it was not found */
    const char *costs;   /* what does not work without it */
    const char *install; /* a command or an instruction */
} finding_t;

typedef struct finding_list {
    finding_t *items;
    size_t n, capacity;
    arena_t texts; /* owns the formatted texts */
} finding_list_t;

/* list.c: starts a worker to get "NVIDIA H200, sm_90"; NULL and the reason in `err` if there is no
 * such device. The caller frees it. */
char *describe_device(const char *root, const char *engine, int index, const char *separator,
                      error_t *err);
/* doctor_python.c: what `worker.py --needs` of this engine prints, an array; NULL if it fails. */
json_t *doctor_ask_python(const char *root, const char *engine, error_t *err);

#endif

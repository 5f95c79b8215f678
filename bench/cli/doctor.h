/* What `bench doctor` finds: doctor.c asks the machine, doctor_python.c its Python. */
#ifndef BENCH_CLI_DOCTOR_H
#define BENCH_CLI_DOCTOR_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct finding {
    const char *what;
    bool found;
    const char *detail;  /* version and place, or why not */
    const char *costs;   /* what is not possible without it */
    const char *install; /* a command, or what else to do */
} finding_t;

typedef struct finding_list {
    finding_t *items;
    size_t n, capacity;
    arena_t texts; /* what their texts that were made live in */
} finding_list_t;

/* Append a copy, valid until the next one. */
finding_t *findings_add(finding_list_t *findings, const finding_t *finding);

/* list.c: "NVIDIA H200, sm_90", from a worker that is started for it; NULL, and why in `err`, where
 * there is none. The caller frees it. */
char *describe_device(const char *root, const char *engine, int index, const char *separator,
                      error_t *err);
/* doctor_python.c: what reference_pytorch/needs.py says of Python and its packages. */
void doctor_ask_python(finding_list_t *findings, const char *root);

#endif

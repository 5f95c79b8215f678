/* Arrays of samples in the text of cases.jsonl. */
#ifndef BENCH_MODEL_SAMPLE_TEXT_H
#define BENCH_MODEL_SAMPLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Arrays of numbers cut out of a result's text (result_text.h). */
typedef struct raw_arrays {
    const char **arrays, **ends; /* "[" and "]" */
    bool *taken;                 /* by parse_samples() */
    size_t n;
} raw_arrays_t;

/* The values of one array, which the caller frees; false if it contains anything but plain numbers,
 * or was taken before. */
bool parse_samples(const raw_arrays_t *raw_arrays, size_t index, double **values, size_t *n);

#endif

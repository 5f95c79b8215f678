/* Arrays of samples as they stand in a line of cases.jsonl. */
#ifndef BENCH_MODEL_SAMPLE_TEXT_H
#define BENCH_MODEL_SAMPLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Arrays of numbers that were cut out of a result's text: where each begins and ends. See
 * result_text.h. */
typedef struct raw_arrays {
    const char **arrays, **ends; /* "[" and "]" */
    bool *taken;                 /* has parse_samples() been asked for it? */
    size_t n;
} raw_arrays_t;

/* The values of one of the arrays, which the caller frees; false where it holds anything but plain
 * numbers, or was taken before. */
bool parse_samples(const raw_arrays_t *raw_arrays, size_t index, double **values, size_t *n);

#endif

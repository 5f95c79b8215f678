/* Progress of a run on stderr: one status line on a terminal, plain lines elsewhere, nothing if
 * quiet. */
#ifndef BENCH_MEASURE_PROGRESS_H
#define BENCH_MEASURE_PROGRESS_H

#include "base/text.h"
#include "model/result.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool quiet, terminal;
    size_t done, total;
    int64_t start_ns;
    text_list_t reasons; /* of skipped cases, without duplicates */
    size_t *n_skipped;   /* cases per reason */
} progress_t;

void progress_start(progress_t *progress, bool quiet, size_t total);
/* Show the current step, such as "compiling" or a group's name, on a terminal only. */
void progress_now(progress_t *progress, const char *what);
/* Report a finished case. On a terminal only cases that are not ok stay visible. Skipped cases are
 * counted by reason for progress_end(). */
void progress_case(progress_t *progress, const case_result_t *result);
/* Print a line that stays. */
void progress_note(progress_t *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Erase the status line before other output. */
void progress_clear(const progress_t *progress);
/* Print the number of skipped cases for each reason. */
void progress_end(progress_t *progress);

#endif

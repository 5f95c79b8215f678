/* What a person sees of a run while it goes on, on stderr: one line that renews itself on a
 * terminal, plain lines elsewhere, nothing when quiet. */
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
    text_list_t reasons; /* of skipped cases, one each */
    size_t *n_skipped;   /* cases for each of them */
} progress_t;

void progress_start(progress_t *progress, bool quiet, size_t total);
/* What is being done now: "compiling", or a group's name. Shown on a terminal only. */
void progress_now(progress_t *progress, const char *what);
/* A case is finished, with the phase that it is compared by. On a terminal only what was not ok
 * stays visible. Skipped cases are counted by their reason and told at the end. */
void progress_case(progress_t *progress, const case_result_t *result);
/* A line of its own. */
void progress_note(progress_t *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Take the line that renews itself off the terminal, for what is printed on stdout next. */
void progress_clear(const progress_t *progress);
/* The last lines: skipped cases, a line for each reason. */
void progress_end(progress_t *progress);

#endif

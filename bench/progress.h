/* What a person sees of a run while it goes on, on stderr: one line that renews itself on a
 * terminal, plain lines elsewhere, nothing when quiet. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include "nouns/result.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool quiet, terminal;
    size_t done, total;
    int64_t start_ns;
} progress_t;

void progress_start(progress_t *progress, bool quiet, size_t total);
/* What is being done now: "compiling", or a group's name. Shown on a terminal only. */
void progress_now(progress_t *progress, const char *what);
/* A case is finished; cases that were not ok stay visible. */
void progress_case(progress_t *progress, const case_result_t *result);
/* A line of its own. */
void progress_note(progress_t *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void progress_end(progress_t *progress);

#endif

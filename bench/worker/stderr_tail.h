/* The end of what a worker prints on stderr. */
#ifndef BENCH_WORKER_STDERR_TAIL_H
#define BENCH_WORKER_STDERR_TAIL_H

#include <stdbool.h>
#include <stddef.h>

enum { STDERR_KEPT = 64 * 1024 };

typedef struct stderr_tail {
    char text[STDERR_KEPT + 1];
    size_t bytes;
    size_t request; /* where that of the current request begins */
} stderr_tail_t;

/* Start with {0}. Read what there is, without waiting. */
void stderr_tail_read(stderr_tail_t *tail, int fd);
void stderr_tail_begin_request(stderr_tail_t *tail);

/* The last lines, where Python prints the exception. Valid until the next call. */
const char *stderr_tail_lines(stderr_tail_t *tail);
/* Those of the current request; "" if one of them is in `reason`, which then says the same. */
const char *stderr_tail_beyond(stderr_tail_t *tail, const char *reason);

#endif

/* The worker protocol's requests: names, keys and types in one table, checked in one place. */
#ifndef BENCH_WORKER_PROTOCOL_H
#define BENCH_WORKER_PROTOCOL_H

#include "base/error.h"

#include <jansson.h>

enum { PROTOCOL_VERSION = 1 };

typedef enum protocol_op {
    OP_HELLO,
    OP_OPEN,
    OP_OUTPUT,
    OP_SAMPLE,
    OP_TRACE_START,
    OP_TRACE,
    OP_CLOSE,
    OP_BYE
} protocol_op_t;

/* Parse and check one line. NULL, with what is wrong in `err`, for anything but a known op with
 * exactly the keys it takes, each of its type. The caller owns the object. */
json_t *protocol_parse_request(const char *line, protocol_op_t *op, error_t *err);

#endif

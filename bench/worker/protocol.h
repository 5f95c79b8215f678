/* The requests of the worker protocol: their keys and types, checked against one table. */
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

/* Parse one line and check op, keys and types; NULL with the reason in `err` if it is invalid. The
 * caller owns the object. */
json_t *protocol_parse_request(const char *line, protocol_op_t *op, error_t *err);

#endif

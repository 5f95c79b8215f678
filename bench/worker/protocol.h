/* The requests of the worker protocol: their keys and types, checked against one table. */
#ifndef BENCH_WORKER_PROTOCOL_H
#define BENCH_WORKER_PROTOCOL_H

#include "base/error.h"

#include <jansson.h>

enum { PROTOCOL_VERSION = 2 };

typedef enum protocol_op {
    OP_HELLO,
    OP_OPEN,
    OP_REFILL,
    OP_OUTPUT,
    OP_SAMPLE,
    OP_LAST,
    OP_LEARNED,
    OP_LOSS,
    OP_TRACE_START,
    OP_TRACE,
    OP_CLOSE,
    OP_BYE
} protocol_op_t;

/* Parse one line and check op, keys and types; NULL with the reason in `err` if it is invalid. The
 * caller owns the object. */
json_t *protocol_parse_request(const char *line, protocol_op_t *op, error_t *err);

/* A key of a request: 0 or NULL if it is absent. */
json_int_t request_integer(const json_t *request, const char *key);
const char *request_text(const json_t *request, const char *key);

#endif

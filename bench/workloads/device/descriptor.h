/* What the sessions of the device workload share with its descriptor. */
#ifndef BENCH_WORKLOADS_DEVICE_DESCRIPTOR_H
#define BENCH_WORKLOADS_DEVICE_DESCRIPTOR_H

#include "engine/session.h"

enum {
    DEVICE_READ_PASSES = 100, /* over the buffer in one launch of 01_read */
    DEVICE_BARRIERS = 1000,   /* in one launch of 02_barrier: 1 ms, long against the launch */
};

#define DEVICE_BARRIER_VARIANT "02_barrier"

/* Open a case that reads (it brings a program) on a GPU: sets session->ops too. */
status_t device_read_open(session_t *session, const open_request_t *request, error_t *err);
/* The same for the one in which all blocks of a grid wait for each other; it has no buffer. */
status_t device_barrier_open(session_t *session, const open_request_t *request, error_t *err);

#endif

/* What the sessions of the device workload share with its descriptor. */
#ifndef BENCH_WORKLOADS_DEVICE_DESCRIPTOR_H
#define BENCH_WORKLOADS_DEVICE_DESCRIPTOR_H

#include "workloads/common/session_parts.h"

enum {
    DEVICE_READ_PASSES = 100,  /* over the buffer in one launch of 01_read */
    DEVICE_MATMUL_ROWS = 8192, /* from there on a product fills every chip */
    DEVICE_BARRIERS = 1000,    /* in one launch of 02_barrier: 1 ms, much longer than the launch */
};

#define DEVICE_BUS_VARIANT "bus"
#define DEVICE_MATMUL_VARIANT "matmul"

/* Rows of the square matrices of `matmul`, from the size of one in float32. */
size_t device_matmul_rows(const case_t *spec);
/* What a variant of the cuda engine is opened with. */
typedef struct device_part {
    session_ops_t ops;
    size_t state_bytes;
    prepare_t *prepare;
} device_part_t;

extern const device_part_t device_matmul;

#endif

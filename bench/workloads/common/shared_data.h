/* Data shared by open cases: made for the first of them, freed with the last. Not thread-safe.
 *
 * Cases share inputs even if they are refilled with different seeds: each refills with its own before
 * it runs. */
#ifndef BENCH_WORKLOADS_COMMON_SHARED_DATA_H
#define BENCH_WORKLOADS_COMMON_SHARED_DATA_H

#include <stdbool.h>
#include <stdint.h>

/* The first member of any shared data. */
typedef struct shared_data {
    unsigned users;
    uint64_t seed; /* of the refill that its inputs have now */
    struct shared_data *next;
} shared_data_t;

/* All data of one kind. A shape is the same struct with only the members set that `same` reads. */
typedef struct shared_pool {
    bool (*same)(const void *data, const void *shape);
    void *(*make)(const void *shape); /* allocated, `shared` all zero */
    void (*free)(void *data);
    void (*refill)(void *data, uint64_t from, uint64_t to); /* all inputs, from seed to seed */
    shared_data_t *first;
} shared_pool_t;

/* Data of this shape; NULL if no open case has it. */
void *shared_data_find(const shared_pool_t *pool, const void *shape);
/* Refilled with seed 0. Every take needs a release; the last one frees. */
const void *shared_data_take(shared_pool_t *pool, const void *shape);
/* Give the inputs the values of this seed. */
void shared_data_refill(shared_pool_t *pool, const void *data, uint64_t seed);
/* The seed of the inputs' values; whoever changes them itself has to set it. */
uint64_t *shared_data_seed(const void *data);
void shared_data_release(shared_pool_t *pool, const void *data);

#endif

#include "workloads/common/shared_data.h"

#include <stddef.h>

void *shared_data_find(const shared_pool_t *pool, const void *shape) {
    shared_data_t *data = pool->first;
    while (data != NULL && !pool->same(data, shape))
        data = data->next;
    return data;
}

const void *shared_data_take(shared_pool_t *pool, const void *shape) {
    shared_data_t *data = shared_data_find(pool, shape);
    if (data == NULL) {
        data = pool->make(shape);
        data->next = pool->first;
        pool->first = data;
    }
    data->users++;
    shared_data_refill(pool, data, 0);
    return data;
}

void shared_data_refill(shared_pool_t *pool, const void *data, uint64_t seed) {
    shared_data_t *shared = (shared_data_t *)data; /* the pool's own: make() allocated it */
    if (shared->seed == seed)
        return;
    pool->refill(shared, shared->seed, seed);
    shared->seed = seed;
}

uint64_t *shared_data_seed(const void *data) {
    return &((shared_data_t *)data)->seed;
}

void shared_data_release(shared_pool_t *pool, const void *data) {
    for (shared_data_t **at = &pool->first; *at != NULL; at = &(*at)->next) {
        if (*at != data || --(*at)->users > 0)
            continue;
        shared_data_t *dead = *at;
        *at = dead->next;
        pool->free(dead);
        return;
    }
}

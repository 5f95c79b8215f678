/* Maps a block's address to its allocator's data. A hash table with open addressing: a look-up
 * takes one multiplication and usually one cache line, for ten blocks or ten thousand. */
#ifndef BENCH_ALLOCATORS_BLOCK_MAP_H
#define BENCH_ALLOCATORS_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct address_entry {
    uint64_t address; /* 0: empty slot */
    uint64_t value;
} address_entry_t;

/* Zero-initialise; address_map_free() empties it. */
typedef struct address_map {
    address_entry_t *entries;
    size_t n;
    unsigned bits; /* 2^bits slots */
} address_map_t;

/* `address` must be neither 0 nor in the map. */
void address_map_add(address_map_t *map, uint64_t address, uint64_t value);
bool address_map_get(const address_map_t *map, uint64_t address, uint64_t *value);
/* Like address_map_get(), and remove the entry. */
bool address_map_take(address_map_t *map, uint64_t address, uint64_t *value);
/* Iterate: the entry after `entry`, or the first for NULL; NULL at the end. */
const address_entry_t *address_map_next(const address_map_t *map, const address_entry_t *entry);
void address_map_free(address_map_t *map);

#endif

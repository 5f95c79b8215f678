/* From the address of a block to what an allocator knows of it. A hash table with open addressing:
 * one multiplication and mostly one cache line per look-up, with ten thousand blocks as with ten.
 */
#ifndef BENCH_ALLOCATORS_BLOCK_MAP_H
#define BENCH_ALLOCATORS_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct address_entry {
    uint64_t address; /* 0: the place is empty */
    uint64_t value;
} address_entry_t;

/* Zero-initialise it; address_map_free() empties it. */
typedef struct address_map {
    address_entry_t *entries;
    size_t n;
    unsigned bits; /* it has 2^bits places */
} address_map_t;

/* `address` must not be 0 and not be there yet. */
void address_map_add(address_map_t *map, uint64_t address, uint64_t value);
bool address_map_get(const address_map_t *map, uint64_t address, uint64_t *value);
/* Removes it, too. */
bool address_map_take(address_map_t *map, uint64_t address, uint64_t *value);
void address_map_free(address_map_t *map);

#endif

#include "allocators/block_map.h"

#include "base/memory.h"

#include <stdlib.h>

enum { FIRST_BITS = 6 };

static size_t mask(const address_map_t *map) {
    return ((size_t)1 << map->bits) - 1;
}

/* Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): the low bits of
 * aligned addresses are all equal, the high bits of the product are not. */
static size_t first_slot(const address_map_t *map, uint64_t address) {
    return (size_t)((address * 0x9E3779B97F4A7C15u) >> (64 - map->bits));
}

static void place(address_map_t *map, address_entry_t entry) {
    size_t at = first_slot(map, entry.address);
    while (map->entries[at].address != 0)
        at = (at + 1) & mask(map);
    map->entries[at] = entry;
}

static void grow(address_map_t *map) {
    address_map_t larger = {.n = map->n, .bits = map->entries == NULL ? FIRST_BITS : map->bits + 1};
    larger.entries = mem_zeroed((size_t)1 << larger.bits, sizeof *larger.entries);
    for (size_t i = 0; map->entries != NULL && i <= mask(map); i++)
        if (map->entries[i].address != 0)
            place(&larger, map->entries[i]);
    free(map->entries);
    *map = larger;
}

void address_map_add(address_map_t *map, uint64_t address, uint64_t value) {
    if (map->entries == NULL || 2 * map->n > mask(map)) /* half full: runs stay short */
        grow(map);
    place(map, (address_entry_t){.address = address, .value = value});
    map->n++;
}

static address_entry_t *find(const address_map_t *map, uint64_t address) {
    if (map->entries == NULL || address == 0)
        return NULL;
    for (size_t at = first_slot(map, address); map->entries[at].address != 0;
         at = (at + 1) & mask(map))
        if (map->entries[at].address == address)
            return &map->entries[at];
    return NULL;
}

bool address_map_get(const address_map_t *map, uint64_t address, uint64_t *value) {
    const address_entry_t *entry = find(map, address);
    if (entry != NULL)
        *value = entry->value;
    return entry != NULL;
}

/* Move later entries of the run into the gap where a look-up would otherwise miss them (Knuth,
 * ibid., algorithm R): no slot has to be marked as deleted. */
static void close_gap(address_map_t *map, size_t gap) {
    for (size_t at = (gap + 1) & mask(map); map->entries[at].address != 0;
         at = (at + 1) & mask(map)) {
        size_t distance = (at - first_slot(map, map->entries[at].address)) & mask(map);
        if (distance >= ((at - gap) & mask(map))) {
            map->entries[gap] = map->entries[at];
            gap = at;
        }
    }
    map->entries[gap].address = 0;
}

bool address_map_take(address_map_t *map, uint64_t address, uint64_t *value) {
    address_entry_t *entry = find(map, address);
    if (entry == NULL)
        return false;
    *value = entry->value;
    close_gap(map, (size_t)(entry - map->entries));
    map->n--;
    return true;
}

const address_entry_t *address_map_next(const address_map_t *map, const address_entry_t *entry) {
    for (size_t at = entry != NULL ? (size_t)(entry - map->entries) + 1 : 0;
         map->entries != NULL && at <= mask(map); at++)
        if (map->entries[at].address != 0)
            return &map->entries[at];
    return NULL;
}

void address_map_free(address_map_t *map) {
    free(map->entries);
    *map = (address_map_t){0};
}

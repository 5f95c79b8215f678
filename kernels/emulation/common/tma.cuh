// kernels/common/tma.cuh on the host. A load ends while threads wait for its barrier; a store takes effect when its group
// is waited for: what is used too early, or never waited for, is not there.
#pragma once
#include "ptx.cuh"
#include "tensor_map.h"
#include "tensor_maps.cuh"

inline emulated_map_t emulated_map(const tensor_map_t &map) {
    emulated_map_t content;
    memcpy(&content, &map, sizeof content);
    return content;
}

// Calls use(element of the array or NULL, bytes from the tile's beginning) for each element of a tile.
template <class Use> void emulated_elements(const emulated_map_t &map, const int (&corner)[5], Use use) {
    unsigned counts[5], n = 1, at = 0;
    for (unsigned d = 0; d < map.rank; d++)
        n *= counts[d] = (map.box[d] + map.steps[d] - 1) / map.steps[d];
    for (unsigned i = 0; i < n; i++, at += map.element_bytes) {
        unsigned char *element = map.data;
        for (unsigned d = 0, rest = i; d < map.rank; rest /= counts[d++]) {
            const int64_t place = corner[d] + (int64_t)(rest % counts[d]) * map.steps[d];
            if (place < 0 || (uint64_t)place >= map.sizes[d])
                element = nullptr;
            if (element != nullptr)
                element += place * (d == 0 ? map.element_bytes : map.strides[d - 1]);
        }
        use(element, at);
    }
}

inline void emulated_tile_check(const emulated_map_t &map, unsigned address, unsigned rank) {
    if (map.rank != rank)
        give_up("a tile with more or fewer coordinates than its map has sizes");
    if (address % 128 != 0)
        give_up("a tile whose address in shared memory is not a multiple of 128");
    if (map.swizzle > 0 && map.box[0] * map.element_bytes != 16u << map.swizzle)
        give_up("a swizzled tile with rows shorter than the span, which is not emulated");
}

template <class... Coordinates>
std::vector<char> emulated_tile(unsigned to, const emulated_map_t &from, Coordinates... coordinates) {
    std::vector<char> tile;
    emulated_tile_check(from, to, sizeof...(coordinates));
    emulated_elements(from, {coordinates...}, [&](const unsigned char *element, unsigned at) {
        tile.resize(at + from.element_bytes);  // with zeros
        if (element != nullptr)
            memcpy(&tile[at], element, from.element_bytes);
    });
    return tile;
}
template <class... Coordinates>
void load_tile(unsigned to, const tensor_map_t &map, unsigned barrier, Coordinates... coordinates) {
    const emulated_map_t from = emulated_map(map);
    emulated_tile_copy(to, emulated_tile(to, from, coordinates...), from.swizzle, barrier);
}
// At once: what a block waits for may be there early.
template <class... Coordinates>
void load_tile_to(unsigned short blocks, unsigned to, const tensor_map_t &map, unsigned barrier,
                  Coordinates... coordinates) {
    const emulated_map_t from = emulated_map(map);
    const std::vector<char> tile = emulated_tile(to, from, coordinates...);
    for (unsigned block = 0; block < 16; block++) {
        if ((blocks >> block & 1) == 0)
            continue;
        for (unsigned at = 0; at < tile.size(); at += 16)
            memcpy(from_remote(address_in(block, emulated_place(to + at, from.swizzle))), &tile[at], 16);
        barrier_count(from_remote(address_in(block, barrier)), -(int32_t)tile.size(), 0);
    }
}

inline void prefetch_map(const tensor_map_t &) {}
inline void show_to_tma() {}

struct tile_store_t {
    emulated_map_t to;
    unsigned from;
    int corner[5];
};
static thread_local std::vector<std::vector<std::vector<tile_store_t>>> store_groups;  // of each thread

inline std::vector<std::vector<tile_store_t>> &emulated_stores() {
    store_groups.resize(fibers->size());
    std::vector<std::vector<tile_store_t>> &own = store_groups[running];
    if (own.empty())
        own.emplace_back();
    return own;
}
template <class... Coordinates>
void store_tile(const tensor_map_t &map, unsigned from, Coordinates... coordinates) {
    const emulated_map_t to = emulated_map(map);
    emulated_tile_check(to, from, sizeof...(coordinates));
    emulated_stores().back().push_back({to, from, {coordinates...}});
}
inline void end_store_group() {
    emulated_stores().emplace_back();
}
template <unsigned LEFT> void wait_for_stores() {
    std::vector<std::vector<tile_store_t>> &groups = emulated_stores();
    while (groups.size() - 1 > LEFT) {
        for (const tile_store_t &store : groups.front())
            emulated_elements(store.to, store.corner, [&](unsigned char *element, unsigned at) {
                const char *from = from_shared(emulated_place(store.from + at, store.to.swizzle));
                if (element != nullptr)
                    memcpy(element, from, store.to.element_bytes);
            });
        groups.erase(groups.begin());
    }
}

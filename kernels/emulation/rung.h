// The end of a rung's program on the host: all kernels of a workload have the same parameters. What it is told, a line
// each, comes from bench/workloads/described/emulation.c:
//   tables FILE MAPS     write WORKSPACE, 64 bytes, and LAUNCHES to FILE, TENSOR_MAPS to MAPS
//   run             then from stdin:
//   array ROLE BYTES NAME PATH    an argument: input, by_value, in_place, output or workspace; PATH is what it holds
//   value BITS                    an argument: the eight bytes of a scalar or param
//   map ARGUMENT BYTES SWIZZLE RANK SIZE BOX STEP STRIDE …    a tensor map: of which argument, bytes of an element;
//                                 four numbers for each dimension, strides in bytes (the last has none: 0)
//   launch ENTRY grid.x … z threads.x … z shared cluster.x … z cooperative
// Outputs replace the files of their arrays. What is wrong but for a result is said on stderr.
#pragma once
#include "tensor_map.h"

#include <dlfcn.h>
#include <link.h>

static constexpr unsigned MOST_MAPS = 8;
struct alignas(128) map_argument_t {
    unsigned char bytes[128];
};

// An array with a rim on both sides. Rims and outputs hold NaNs: what is read there shows in the result.
struct emulated_array_t {
    enum { RIM = 256, FILL = 0xFF };
    char role[16], name[128], path[4096];
    size_t bytes;
    std::vector<unsigned char> memory, before;
    unsigned char *data;

    void read() {
        memory.assign(bytes + 3 * RIM, FILL);
        data = memory.data() + RIM + (RIM - (uintptr_t)memory.data() % RIM) % RIM;
        unsigned dice = 1;
        if (is("workspace"))
            for (size_t i = 0; i < bytes; i++, dice = dice * 1664525 + 1013904223)
                data[i] = (unsigned char)(dice >> 24);
        FILE *file = is("output") || is("workspace") ? nullptr : fopen(path, "rb");
        if (file != nullptr) {
            if (fread(data, 1, bytes, file) != bytes)
                give_up("cannot read the inputs");
            fclose(file);
        }
        before = memory;
    }
    void write() const {
        FILE *file = is("in_place") || is("output") ? fopen(path, "wb") : nullptr;
        if (file != nullptr && (fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0))
            give_up("cannot write the outputs");
    }
    bool is(const char *what) const { return strcmp(role, what) == 0; }
    bool same(size_t from, size_t to) const { return memcmp(&memory[from], &before[from], to - from) == 0; }
    void check() const {
        const size_t start = data - memory.data(), end = start + bytes;
        const char *wrong = !same(0, start)                   ? "is written before its beginning"
                            : !same(end, memory.size())       ? "is written past its end"
                            : is("input") && !same(start, end) ? "is an input, and changed"
                                                              : nullptr;
        if (wrong == nullptr)
            return;
        fprintf(stderr, "%s %s\n", name, wrong);
        exit(1);
    }
};

// TENSOR_MAPS, if the rung has them.
static void write_maps(const char *path) {
    Dl_info info;
    const ElfW(Sym) *symbol = nullptr;
    const void *table = dlsym(RTLD_DEFAULT, "tensor_maps");
    if (table != nullptr && dladdr1(table, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0)
        give_up("cannot find the tensor maps");
    FILE *file = fopen(path, "wb");
    if (file == nullptr || (table != nullptr && fwrite(table, symbol->st_size, 1, file) != 1) || fclose(file) != 0)
        give_up("cannot write the tensor maps");
}

static int write_tables(const char *path) {
    char workspace[64] = "";
    const void *text = dlsym(RTLD_DEFAULT, "workspace_bytes");
    if (text != nullptr)
        memcpy(workspace, text, sizeof workspace);
    FILE *file = fopen(path, "wb");
    if (file == nullptr || fwrite(workspace, sizeof workspace, 1, file) != 1 ||
        fwrite(launches, sizeof launches, 1, file) != 1 || fclose(file) != 0)
        give_up("cannot write the tables");
    return 0;
}

// All kernels of a rung have the workload's parameters; those with maps have all of them. One without ignores them.
template <class... Maps>
static void launch_with(unsigned maps, void *kernel, void **arguments, dim3 blocks, dim3 threads, dim3 clusters,
                        bool cooperative) {
    if (maps == sizeof...(Maps))
        launch_on_host((void (*)(WORKLOAD_ARGUMENTS, Maps...))kernel, arguments, blocks, threads, clusters, 1,
                       cooperative);
    else if constexpr (sizeof...(Maps) < MOST_MAPS)
        launch_with<Maps..., map_argument_t>(maps, kernel, arguments, blocks, threads, clusters, cooperative);
}

static void emulate_launch(void **arguments, unsigned maps) {
    char entry[64];
    dim3 blocks, threads, clusters;
    unsigned shared, cooperative;
    if (scanf("%63s %u %u %u %u %u %u %u %u %u %u %u", entry, &blocks.x, &blocks.y, &blocks.z, &threads.x, &threads.y,
              &threads.z, &shared, &clusters.x, &clusters.y, &clusters.z, &cooperative) != 12)
        give_up("cannot read a launch");
    void *kernel = dlsym(RTLD_DEFAULT, entry);
    if (kernel == nullptr) {
        fprintf(stderr, "LAUNCHES has \"%s\", which is no kernel of this rung\n", entry);
        exit(1);
    }
    launch_with<>(maps, kernel, arguments, blocks, threads, clusters, cooperative != 0);
}

static map_argument_t read_map(void *const *pointers) {
    map_argument_t argument;
    emulated_map_t map = {};
    unsigned array;
    if (scanf("%u %" SCNu8 " %" SCNu8 " %" SCNu8, &array, &map.element_bytes, &map.swizzle, &map.rank) != 4)
        give_up("cannot read a map");
    map.data = (unsigned char *)pointers[array];
    for (unsigned i = 0; i < map.rank && i < 5; i++) {
        uint64_t stride;
        if (scanf("%" SCNu64 " %" SCNu16 " %" SCNu8 " %" SCNu64, &map.sizes[i], &map.box[i], &map.steps[i], &stride) != 4)
            give_up("cannot read a map");
        if (i + 1 < map.rank)
            map.strides[i] = stride;
    }
    memcpy(argument.bytes, &map, sizeof map);
    return argument;
}

int main(int n_words, char **words) {
    if (n_words == 4 && strcmp(words[1], "tables") == 0) {
        write_maps(words[3]);
        return write_tables(words[2]);
    }
    std::vector<std::unique_ptr<emulated_array_t>> arrays;
    void *pointers[64];
    uint64_t values[64];
    map_argument_t maps[MOST_MAPS];
    void *arguments[64];
    unsigned n = 0, n_maps = 0;
    for (char what[16]; scanf("%15s", what) == 1 && n < 64;)
        if (strcmp(what, "launch") == 0) {
            emulate_launch(arguments, n_maps);
        } else if (strcmp(what, "map") == 0 && n_maps < MOST_MAPS) {
            maps[n_maps] = read_map(pointers);
            arguments[n++] = &maps[n_maps++];
        } else if (strcmp(what, "array") == 0) {
            arrays.emplace_back(new emulated_array_t);
            emulated_array_t &array = *arrays.back();
            if (scanf("%15s %zu %127s %4095[^\n]", array.role, &array.bytes, array.name, array.path) != 4)
                give_up("cannot read an array");
            array.read();
            pointers[n] = array.bytes > 0 ? array.data : nullptr;
            arguments[n] = array.is("by_value") ? pointers[n] : &pointers[n];
            n++;
        } else {
            if (scanf("%" SCNu64, &values[n]) != 1)
                give_up("cannot read a value");
            arguments[n] = &values[n];
            n++;
        }
    for (const auto &array : arrays)
        array->check();
    for (const auto &array : arrays)
        array->write();
    return 0;
}

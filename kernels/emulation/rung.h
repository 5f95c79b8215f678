// The end of a rung's program on the host: all kernels of a workload have the same parameters. What it is told, a line
// each, comes from bench/emulate/program.c:
//   tables FILE MAPS TEMPORARIES    write WORKSPACE, 64 bytes, and LAUNCHES to FILE, the other tables to theirs
//   run             then from stdin:
//   list N                        the N arrays, or temporaries, that follow are one argument
//   array ROLE BYTES NAME PATH    an argument: input, weight, in_place, output or workspace; PATH is what it holds
//   value BITS                    an argument: the eight bytes of a scalar or param
//   map ARRAY BYTES SWIZZLE RANK SIZE BOX STEP STRIDE …    a tensor map: of which array, bytes of an element;
//                                 four numbers for each dimension, strides in bytes (the last has none: 0)
//   step            an argument: the number of a training's step, before the maps
//   temporary BYTES NAME          an argument, before the maps: NULL until
//   take N, give_back N           changes its temporary number N
//   launch ENTRY grid.x … z threads.x … z shared cluster.x … z cooperative STEP INDEX    INDEX -1: the kernel gets none
// Outputs replace the files of their arrays. What is wrong but for a result is said on stderr.
#pragma once
#include "tensor_map.h"

#include <dlfcn.h>
#include <link.h>

static constexpr unsigned MOST_MAPS = 8, MOST_TEMPORARIES = 128, MOST_ARGUMENTS = 96;
struct alignas(128) map_argument_t {
    unsigned char bytes[128];
};

// Bytes that a kernel leaves by chance only.
static void scramble(unsigned char *at, size_t n) {
    unsigned dice = 1;
    for (size_t i = 0; i < n; i++, dice = dice * 1664525 + 1013904223)
        at[i] = (unsigned char)(dice >> 24);
}

// An array with a rim on both sides. Outputs hold NaNs, and rims of what is only read: what is read there shows in the
// result. Other rims do not: a NaN computed from one that was read beside an array would be what is there already.
struct emulated_array_t {
    enum { ALIGNMENT = 256, RIM = 1 << 16, FILL = 0xFF };
    char role[16], name[128], path[4096];
    size_t bytes;
    std::vector<unsigned char> memory, before;
    unsigned char *data;

    void read() {
        memory.assign(bytes + 2 * RIM + ALIGNMENT, FILL);
        data = memory.data() + RIM;
        data += (ALIGNMENT - (uintptr_t)data % ALIGNMENT) % ALIGNMENT;
        if (!is("input") && !is("weight"))
            scramble(memory.data(), memory.size());
        if (is("output"))
            memset(data, FILL, bytes);
        FILE *file = is("output") || is_scratch() ? nullptr : fopen(path, "rb");
        if (file != nullptr) {
            if (fread(data, 1, bytes, file) != bytes)
                give_up("cannot read the inputs");
            fclose(file);
        }
        before = memory;
    }
    void fill() { scramble(data, bytes); }
    void write() const {
        FILE *file = is("in_place") || is("output") ? fopen(path, "wb") : nullptr;
        if (file != nullptr && (fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0))
            give_up("cannot write the outputs");
    }
    bool is(const char *what) const { return strcmp(role, what) == 0; }
    bool is_scratch() const { return is("workspace") || is("temporary"); }
    bool is_by_value() const { return is("weight") && dlsym(RTLD_DEFAULT, "weights_by_value") != nullptr; }
    bool same(size_t from, size_t to) const { return memcmp(&memory[from], &before[from], to - from) == 0; }
    void check() const {
        const size_t start = data - memory.data(), end = start + bytes;
        const char *wrong = !same(0, start)                   ? "is written before its beginning"
                            : !same(end, memory.size())       ? "is written past its end"
                            : (is("input") || is("weight")) && !same(start, end) ? "is an input, and changed"
                                                              : nullptr;
        if (wrong == nullptr)
            return;
        fprintf(stderr, "%s %s\n", name, wrong);
        exit(1);
    }
};

// A table, if the rung has it.
static void write_table(const char *name, const char *path) {
    Dl_info info;
    const ElfW(Sym) *symbol = nullptr;
    const void *table = dlsym(RTLD_DEFAULT, name);
    if (table != nullptr && dladdr1(table, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0)
        give_up("cannot find a table");
    FILE *file = fopen(path, "wb");
    if (file == nullptr || (table != nullptr && fwrite(table, symbol->st_size, 1, file) != 1) || fclose(file) != 0)
        give_up("cannot write a table");
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

// What a kernel is launched with.
struct program_arguments_t {
    void *all[MOST_ARGUMENTS];
    unsigned n = 0; // without maps
    emulated_array_t *temporaries[MOST_TEMPORARIES];
    void *held[MOST_TEMPORARIES]; // what they point to
    unsigned n_temporaries = 0;
    map_argument_t maps[MOST_MAPS];
    unsigned n_maps = 0;
    int step = 0, index = -1;

    void list_last() {
        unsigned last = n;
        if (index >= 0)
            all[last++] = &index;
        for (unsigned i = 0; i < n_maps; i++)
            all[last++] = &maps[i];
    }
};

// All kernels of a rung have the workload's parameters, its temporaries, then its index, then its maps. One without the last ones ignores
// them.
template <class... Last>
static void launch_with(program_arguments_t &arguments, void *kernel, dim3 blocks, dim3 threads, dim3 clusters,
                        bool cooperative) {
    if (arguments.n_maps + (arguments.index >= 0) == sizeof...(Last))
        launch_on_host((void (*)(KERNEL_ARGUMENTS, Last...))kernel, arguments.all, blocks, threads, clusters, 1,
                       cooperative);
    else if constexpr (sizeof...(Last) <= MOST_MAPS)
        launch_with<Last..., map_argument_t>(arguments, kernel, blocks, threads, clusters, cooperative);
}

static void emulate_launch(program_arguments_t &arguments) {
    char entry[64];
    dim3 blocks, threads, clusters;
    unsigned shared, cooperative;
    if (scanf("%63s %u %u %u %u %u %u %u %u %u %u %u %d %d", entry, &blocks.x, &blocks.y, &blocks.z, &threads.x,
              &threads.y, &threads.z, &shared, &clusters.x, &clusters.y, &clusters.z, &cooperative, &arguments.step,
              &arguments.index) != 14)
        give_up("cannot read a launch");
    arguments.list_last();
    void *kernel = dlsym(RTLD_DEFAULT, entry);
    if (kernel == nullptr) {
        fprintf(stderr, "LAUNCHES has \"%s\", which is no kernel of this rung\n", entry);
        exit(1);
    }
    if (arguments.index >= 0)
        launch_with<int>(arguments, kernel, blocks, threads, clusters, cooperative != 0);
    else
        launch_with<>(arguments, kernel, blocks, threads, clusters, cooperative != 0);
}

static void change_temporary(program_arguments_t &arguments, bool is_held) {
    unsigned i;
    if (scanf("%u", &i) != 1 || i >= arguments.n_temporaries)
        give_up("cannot read a temporary");
    arguments.temporaries[i]->fill();
    arguments.held[i] = is_held ? arguments.temporaries[i]->data : nullptr;
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

// Of a list only the first, where the others follow.
static void add_argument(void **arguments, unsigned &n, unsigned &listed, void *argument) {
    if (listed == 0)
        arguments[n++] = argument;
    else if (arguments[n - 1] == nullptr)
        arguments[n - 1] = argument;
    listed -= listed > 0;
}

int main(int n_words, char **words) {
    if (n_words == 5 && strcmp(words[1], "tables") == 0) {
        write_table("tensor_maps", words[3]);
        write_table("temporaries", words[4]);
        return write_tables(words[2]);
    }
    std::vector<std::unique_ptr<emulated_array_t>> arrays;
    void *pointers[64];
    uint64_t values[MOST_ARGUMENTS];
    static program_arguments_t program;
    void **const arguments = program.all;
    unsigned &n = program.n;
    unsigned listed = 0; // of a list, arrays still to come
    std::vector<unsigned char> values_of[MOST_ARGUMENTS]; // of arguments that are by value
    for (char what[16]; scanf("%15s", what) == 1 && n + MOST_MAPS < MOST_ARGUMENTS;)
        if (strcmp(what, "launch") == 0) {
            emulate_launch(program);
        } else if (strcmp(what, "take") == 0 || strcmp(what, "give_back") == 0) {
            change_temporary(program, what[0] == 't');
        } else if (strcmp(what, "temporary") == 0 && program.n_temporaries < MOST_TEMPORARIES) {
            arrays.emplace_back(new emulated_array_t);
            emulated_array_t &array = *arrays.back();
            strcpy(array.role, what);
            if (scanf("%zu %127s", &array.bytes, array.name) != 2)
                give_up("cannot read a temporary");
            array.read();
            program.temporaries[program.n_temporaries] = &array;
            program.held[program.n_temporaries] = nullptr;
            add_argument(arguments, n, listed, &program.held[program.n_temporaries++]);
        } else if (strcmp(what, "map") == 0 && program.n_maps < MOST_MAPS) {
            program.maps[program.n_maps++] = read_map(pointers);
        } else if (strcmp(what, "step") == 0) {
            arguments[n++] = &program.step;
        } else if (strcmp(what, "array") == 0) {
            arrays.emplace_back(new emulated_array_t);
            emulated_array_t &array = *arrays.back();
            if (scanf("%15s %zu %127s %4095[^\n]", array.role, &array.bytes, array.name, array.path) != 4)
                give_up("cannot read an array");
            array.read();
            void **pointer = &pointers[arrays.size() - 1];
            *pointer = array.bytes > 0 ? array.data : nullptr;
            add_argument(arguments, n, listed, pointer);
            if (!array.is_by_value())
                continue;
            std::vector<unsigned char> &values = values_of[n - 1];
            values.insert(values.end(), array.data, array.data + array.bytes);
            arguments[n - 1] = values.data();
        } else if (strcmp(what, "list") == 0) {
            if (scanf("%u", &listed) != 1)
                give_up("cannot read a list");
            arguments[n++] = nullptr; // of its first array
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

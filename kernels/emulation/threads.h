// Threads, warps, blocks, clusters, and launches of grids.
#pragma once

// A program that cannot go on, such as one that reads at an address that hardware refuses.
[[noreturn]] inline void give_up(const char *why) {
    fprintf(stderr, "%s\n", why);
    abort();
}

static constexpr unsigned MOST_CLUSTER_BLOCKS = 16, FIBER_STACK = 64 * 1024, STACK_MARK = 0x5AFEC0DE;

struct cluster_state_t {
    std::atomic<unsigned> arrived{0};
    unsigned threads = 0;
    char *of_block[MOST_CLUSTER_BLOCKS] = {};
};

// Of a cooperative launch.
struct grid_state_t {
    std::atomic<unsigned> arrived{0};
    unsigned threads = 0;
};

static thread_local dim3 threadIdx, blockIdx;
static dim3 gridDim, blockDim;
static constexpr unsigned warpSize = 32;
static grid_state_t *grid;
thread_local __align__(1024) unsigned char dynamic_shared[228 * 1024];

struct fiber_t {
    std::unique_ptr<char[]> stack;
    ucontext_t start;
    jmp_buf at;
    enum { NEW, RUNS, ENDED } state;
};

// Threads that wait for others; those that have ended are not waited for.
struct meeting_t {
    unsigned arrived = 0, turn = 0;
};

// The lanes of a warp that meet, and what they exchange: in turns of two places, for a lane that writes a place again has
// seen all lanes leave the exchange before.
struct lanes_t {
    unsigned mask;
    meeting_t meeting;
    uint64_t slots[2][32][8];
};
struct warp_t {
    unsigned alive = 0;  // lanes that exist and have not ended
    std::vector<std::unique_ptr<lanes_t>> meetings;
};

// Of the running block. Threads count x first, then y, then z.
static thread_local jmp_buf scheduler;
static thread_local std::vector<fiber_t> *fibers;
static thread_local std::vector<warp_t> *warps;
static thread_local unsigned running, rank_in_cluster, threads_alive;
static thread_local meeting_t *block_meeting;
static thread_local cluster_state_t *cluster;

inline void let_others_run() {
    if (_setjmp((*fibers)[running].at) == 0)
        _longjmp(scheduler, 1);
}

// Until as many are here as `expected()` says; some may end meanwhile.
template <class Expected> void meet(meeting_t &meeting, Expected expected) {
    const unsigned turn = meeting.turn;
    meeting.arrived++;
    while (meeting.turn == turn) {
        if (meeting.arrived >= expected()) {
            meeting.arrived = 0;
            meeting.turn++;
        } else {
            let_others_run();
        }
    }
}

inline void __syncthreads() {
    meet(*block_meeting, [] { return threads_alive; });
}

inline lanes_t &lanes_of(unsigned mask) {
    warp_t &warp = (*warps)[running / 32];
    for (auto &lanes : warp.meetings)
        if (lanes->mask == mask)
            return *lanes;
    warp.meetings.emplace_back(new lanes_t{mask, {}, {}});
    return *warp.meetings.back();
}
inline unsigned alive_of(unsigned mask) {
    return mask & (*warps)[running / 32].alive;
}
inline void meet_lanes(lanes_t &lanes) {
    meet(lanes.meeting, [&] { return (unsigned)__builtin_popcount(alive_of(lanes.mask)); });
}

inline void __syncwarp(unsigned mask = ~0u) {
    meet_lanes(lanes_of(mask));
}

// Each lane gives a value and sees those of all: use(values).
template <class Value, class Use> auto exchange_in(unsigned mask, const Value &own, Use use) {
    static_assert(sizeof(Value) <= 64, "a slot has eight words");
    lanes_t &lanes = lanes_of(mask);
    auto &slots = lanes.slots[lanes.meeting.turn % 2];
    memcpy(slots[running % 32], &own, sizeof own);
    meet_lanes(lanes);
    return use([&](unsigned lane) {
        Value value;
        memcpy((void *)&value, slots[lane % 32], sizeof value);
        return value;
    });
}
template <class Value, class Use> auto exchange(const Value &own, Use use) {
    return exchange_in(~0u, own, use);
}

// From lane `from` of the segment that this lane is in; its own value if that is none of the segment's.
template <class Value> Value shuffled(unsigned mask, Value value, int from, int first, int width) {
    const int lane = from >= first && from < first + width ? from : running % 32;
    return exchange_in(mask, value, [&](auto of_lane) { return of_lane(lane); });
}
inline int first_of(int width) {
    return running % 32 / width * width;
}
template <class Value> Value __shfl_xor_sync(unsigned mask, Value value, int of_lanes, int width = 32) {
    const int lane = running % 32 ^ of_lanes;  // never above the segment; below is allowed
    return shuffled(mask, value, lane, 0, first_of(width) + width);
}
template <class Value> Value __shfl_sync(unsigned mask, Value value, int lane, int width = 32) {
    return shuffled(mask, value, first_of(width) + (lane & (width - 1)), 0, 32);
}
template <class Value> Value __shfl_up_sync(unsigned mask, Value value, unsigned lanes, int width = 32) {
    return shuffled(mask, value, (int)(running % 32) - (int)lanes, first_of(width), width);
}
template <class Value> Value __shfl_down_sync(unsigned mask, Value value, unsigned lanes, int width = 32) {
    return shuffled(mask, value, (int)(running % 32) + (int)lanes, first_of(width), width);
}

template <class Value, class Combine> Value combined(unsigned mask, Value value, Combine combine) {
    const unsigned lanes = alive_of(mask);
    return exchange_in(mask, value, [&](auto of_lane) {
        Value all = value;
        for (unsigned lane = 0; lane < 32; lane++)
            if (lane != running % 32 && (lanes >> lane & 1))
                all = combine(all, of_lane(lane));
        return all;
    });
}
inline unsigned __ballot_sync(unsigned mask, int holds) {
    return combined(mask, holds != 0 ? 1u << running % 32 : 0u, [](unsigned a, unsigned b) { return a | b; });
}
inline int __all_sync(unsigned mask, int holds) {
    return combined(mask, holds != 0, [](int a, int b) { return a & b; });
}
inline int __any_sync(unsigned mask, int holds) {
    return combined(mask, holds != 0, [](int a, int b) { return a | b; });
}
template <class Value> Value __reduce_add_sync(unsigned mask, Value value) {
    return combined(mask, value, [](Value a, Value b) { return a + b; });
}
template <class Value> Value __reduce_min_sync(unsigned mask, Value value) {
    return combined(mask, value, [](Value a, Value b) { return a < b ? a : b; });
}
template <class Value> Value __reduce_max_sync(unsigned mask, Value value) {
    return combined(mask, value, [](Value a, Value b) { return a > b ? a : b; });
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
    return combined(mask, value, [](unsigned a, unsigned b) { return a | b; });
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
    return combined(mask, value, [](unsigned a, unsigned b) { return a & b; });
}
inline unsigned __activemask() {
    return (*warps)[running / 32].alive;
}

static thread_local unsigned block_count[2];  // one is filled while the other is read

inline int __syncthreads_count(int holds) {
    const unsigned turn = block_meeting->turn % 2;
    block_count[turn] += holds != 0;
    __syncthreads();
    const int count = block_count[turn];
    __syncthreads();
    block_count[turn] = 0;
    __syncthreads();
    return count;
}
inline int __syncthreads_or(int holds) {
    return __syncthreads_count(holds) > 0;
}
inline int __syncthreads_and(int holds) {
    return __syncthreads_count(holds == 0) == 0;
}

// All threads of a cooperative launch.
inline void meet_grid() {
    if (grid == nullptr)
        give_up("a barrier of the grid in a launch that is not cooperative");
    const unsigned all = grid->threads, until = (grid->arrived++ / all + 1) * all;
    while (grid->arrived < until)
        let_others_run();
}

// ---- launches ---------------------------------------------------------------------------------

static thread_local const std::function<void()> *kernel_body;

static void run_thread() {
    (*kernel_body)();
    (*fibers)[running].state = fiber_t::ENDED;
    (*warps)[running / 32].alive &= ~(1u << running % 32);
    threads_alive--;
    _longjmp(scheduler, 1);
}

// Until it lets others run. Contexts only start threads: to switch between them costs two calls of the system.
static void run_fiber(fiber_t &fiber) {
    if (_setjmp(scheduler) != 0)
        return;
    if (fiber.state == fiber_t::RUNS)
        _longjmp(fiber.at, 1);
    fiber.state = fiber_t::RUNS;
    setcontext(&fiber.start);
}

static void prepare_fiber(fiber_t &fiber) {
    fiber.stack.reset(new char[FIBER_STACK]);  // not filled: most of it is never used
    memcpy(fiber.stack.get(), &STACK_MARK, sizeof STACK_MARK);
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = FIBER_STACK;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, run_thread, 0);
}

static dim3 place(unsigned i, dim3 size) {
    return {i % size.x, i / size.x % size.y, i / size.x / size.y};
}

static void run_block(const std::function<void()> &body, dim3 block, unsigned rank, cluster_state_t *of) {
    const unsigned n = blockDim.x * blockDim.y * blockDim.z;
    std::vector<fiber_t> threads(n);
    std::vector<warp_t> of_warps((n + 31) / 32);
    meeting_t meeting;
    fibers = &threads;
    warps = &of_warps;
    block_meeting = &meeting;
    kernel_body = &body;
    cluster = of;
    rank_in_cluster = rank;
    of->of_block[rank] = (char *)dynamic_shared;
    blockIdx = block;
    threads_alive = n;
    for (unsigned i = 0; i < n; i++) {
        of_warps[i / 32].alive |= 1u << i % 32;
        prepare_fiber(threads[i]);
    }
    for (unsigned left = n; left > 0;) {
        for (unsigned i = 0; i < n; i++) {
            if (threads[i].state == fiber_t::ENDED)
                continue;
            running = i;
            threadIdx = place(i, blockDim);
            run_fiber(threads[i]);
            left -= threads[i].state == fiber_t::ENDED;
            if (memcmp(threads[i].stack.get(), &STACK_MARK, sizeof STACK_MARK) != 0)
                give_up("a thread needs more than 64 KiB of stack");
        }
        std::this_thread::yield();
    }
}

template <class... Parameters, size_t... I>
static std::function<void()> bound(void (*kernel)(Parameters...), void **arguments, std::index_sequence<I...>) {
    return [=] { kernel(*(Parameters *)arguments[I]...); };
}

static dim3 times(dim3 a, dim3 b) {
    return {a.x * b.x, a.y * b.y, a.z * b.z};
}
static dim3 plus(dim3 a, dim3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
static unsigned product(dim3 size) {
    return size.x * size.y * size.z;
}

// Runs a grid, so many clusters at the same time; all of them if it is cooperative.
template <class... Parameters>
static void launch_on_host(void (*kernel)(Parameters...), void **arguments, dim3 blocks, dim3 threads,
                           dim3 cluster_size, unsigned clusters = 1, bool cooperative = false) {
    const auto body = bound(kernel, arguments, std::index_sequence_for<Parameters...>());
    const unsigned each = product(cluster_size), all = product(blocks) / each;
    const dim3 in_clusters = {blocks.x / cluster_size.x, blocks.y / cluster_size.y, blocks.z / cluster_size.z};
    grid_state_t of_grid;
    gridDim = blocks;
    blockDim = threads;
    of_grid.threads = product(blocks) * product(threads);
    grid = cooperative ? &of_grid : nullptr;
    if (cooperative)
        clusters = all;
    for (unsigned first = 0; first < all; first += clusters) {
        std::vector<cluster_state_t> states(clusters);
        std::vector<std::thread> running_blocks;
        for (unsigned c = 0; c < clusters && first + c < all; c++) {
            states[c].threads = product(threads) * each;
            const dim3 corner = times(place(first + c, in_clusters), cluster_size);
            for (unsigned i = 0; i < each; i++)
                running_blocks.emplace_back(
                    [&, c, i, corner] { run_block(body, plus(corner, place(i, cluster_size)), i, &states[c]); });
        }
        for (std::thread &block : running_blocks)
            block.join();
    }
}

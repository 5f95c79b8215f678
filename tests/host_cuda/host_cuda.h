// CUDA on the host, for tests of kernels without a GPU: what the rungs of operators use of it. Included before a rung
// that is compiled as C++ (tests/cli/host_kernels.py). A block is a thread of the system, so that blocks of a cluster
// run at the same time, and `__shared__` is thread_local; a CUDA thread is a fiber, which is left at barriers and where
// a warp exchanges values. What it cannot show: data races, and what an instruction really does.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ thread_local
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_FEAT_SM90_ALL

template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) {
    return a > b ? a : b;
}
template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) {
    return a < b ? a : b;
}

struct dim3 {
    unsigned x, y, z;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
    return {x, y};
}
inline float2 make_float2(float x, float y) {
    return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}

// ---- element types ----------------------------------------------------------------------------

typedef _Float16 __half;
typedef __half half;
struct half2 {
    half x, y;
};
inline half2 __floats2half2_rn(float x, float y) {
    return {(half)x, (half)y};
}
inline half2 __float2half2_rn(float x) {
    return __floats2half2_rn(x, x);
}
inline float2 __half22float2(half2 pair) {
    return {(float)pair.x, (float)pair.y};
}
inline half __float2half_rn(float x) {
    return (half)x;
}
inline float __half2float(half x) {
    return (float)x;
}
inline unsigned __float_as_uint(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const uint64_t bytes = (uint64_t)y << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++)
        result |= (unsigned)(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}

struct __nv_bfloat16 {
    uint16_t bits;

    __nv_bfloat16() = default;
    explicit __nv_bfloat16(float value) {
        uint32_t wide;
        memcpy(&wide, &value, sizeof wide);
        bits = (uint16_t)((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);  // no NaNs here
    }
    explicit operator float() const {
        const uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
};

// ---- threads ----------------------------------------------------------------------------------

static constexpr unsigned MOST_CLUSTER_BLOCKS = 16, FIBER_STACK = 64 * 1024;

struct cluster_state_t {
    std::atomic<unsigned> arrived{0};
    unsigned threads = 0;
    char *of_block[MOST_CLUSTER_BLOCKS] = {};
};

static thread_local dim3 threadIdx, blockIdx;
static dim3 gridDim, blockDim;
thread_local __align__(1024) unsigned char dynamic_shared[228 * 1024];

// Of the running block.
struct fiber_t {
    std::unique_ptr<char[]> stack;
    ucontext_t start;
    jmp_buf at;
    unsigned exchanges;  // so far
    enum { NEW, RUNS, ENDED } state;
};
static thread_local jmp_buf scheduler;
static thread_local std::vector<fiber_t> *fibers;
static thread_local unsigned running, rank_in_cluster, block_arrived;
static thread_local std::vector<unsigned> *warp_arrived;
static thread_local std::vector<std::vector<uint64_t>> *warp_slots;
static thread_local cluster_state_t *cluster;

inline void let_others_run() {
    if (_setjmp((*fibers)[running].at) == 0)
        _longjmp(scheduler, 1);
}

inline void __syncthreads() {
    const unsigned all = blockDim.x, until = (block_arrived++ / all + 1) * all;
    while (block_arrived < until)
        let_others_run();
}

inline void warp_barrier() {
    const unsigned lanes = min(32u, blockDim.x - threadIdx.x / 32 * 32);
    unsigned &arrived = (*warp_arrived)[threadIdx.x / 32];
    const unsigned until = (arrived++ / lanes + 1) * lanes;
    while (arrived < until)
        let_others_run();
}

inline void __syncwarp() {
    warp_barrier();
}

// Each lane gives a value and sees those of all: use(values).
template <class Value, class Use> auto exchange(const Value &own, Use use) {
    static_assert(sizeof(Value) <= 64, "a slot has eight words");
    // In turns of two places: a lane that writes a place again has seen all lanes leave the exchange before.
    const unsigned turn = (*fibers)[threadIdx.x].exchanges++ % 2;
    uint64_t *slots = &(*warp_slots)[threadIdx.x / 32][turn * 32 * 8];
    memcpy(slots + threadIdx.x % 32 * 8, &own, sizeof own);
    warp_barrier();
    return use([&](unsigned lane) {
        Value value;
        memcpy((void *)&value, slots + lane * 8, sizeof value);
        return value;
    });
}

template <class Value> Value __shfl_xor_sync(unsigned, Value value, unsigned mask) {
    return exchange(value, [&](auto of_lane) { return of_lane(threadIdx.x % 32 ^ mask); });
}
template <class Value> Value __shfl_sync(unsigned, Value value, unsigned lane) {
    return exchange(value, [&](auto of_lane) { return of_lane(lane); });
}
inline bool __all_sync(unsigned, bool holds) {
    return exchange(holds, [](auto of_lane) {
        bool all = true;
        for (unsigned lane = 0; lane < 32; lane++)
            all &= of_lane(lane);
        return all;
    });
}

// ---- memory and arithmetic ----------------------------------------------------------------------

template <class Value> Value __ldg(const Value *from) {
    if ((uintptr_t)from % alignof(Value) != 0)
        abort();
    return *from;
}
template <class Value> Value __ldcg(const Value *from) {
    return __ldg(from);
}
template <class Value> void __stcs(Value *to, Value value) {
    if ((uintptr_t)to % alignof(Value) != 0)
        abort();
    *to = value;
}
template <class Value> void __stcg(Value *to, Value value) {
    __stcs(to, value);
}
inline void __threadfence() {}
inline unsigned atomicInc(unsigned *counter, unsigned most) {
    const unsigned before = *counter;
    *counter = before >= most ? 0 : before + 1;
    return before;
}
inline unsigned atomicAdd(unsigned *counter, unsigned n) {
    return __atomic_fetch_add(counter, n, __ATOMIC_SEQ_CST);
}
inline long long __float2ll_rn(float x) {
    return llrintf(x);
}
inline int __float2int_rn(float x) {
    return (int)lrintf(x);
}
inline long long __double_as_longlong(double x) {
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline double __longlong_as_double(long long bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
inline double __dadd_rn(double a, double b) {
    return a + b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}
inline double __ddiv_rn(double a, double b) {
    return a / b;
}
inline double __dsqrt_rn(double x) {
    return sqrt(x);
}
inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fsub_rn(float a, float b) {
    return a - b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline float __expf(float x) {
    return expf(x);
}
inline float __logf(float x) {
    return logf(x);
}
inline float __fdividef(float x, float y) {
    return x / y;
}

// ---- launches ---------------------------------------------------------------------------------

static thread_local const std::function<void()> *kernel_body;

static void run_thread() {
    (*kernel_body)();
    (*fibers)[running].state = fiber_t::ENDED;
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
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = FIBER_STACK;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, run_thread, 0);
}

static void run_block(const std::function<void()> &body, unsigned block, unsigned rank, cluster_state_t *of) {
    const unsigned n = blockDim.x;
    std::vector<fiber_t> threads(n);
    std::vector<unsigned> arrived((n + 31) / 32, 0);
    std::vector<std::vector<uint64_t>> slots((n + 31) / 32, std::vector<uint64_t>(2 * 32 * 8));
    fibers = &threads;
    warp_arrived = &arrived;
    warp_slots = &slots;
    kernel_body = &body;
    cluster = of;
    rank_in_cluster = rank;
    of->of_block[rank] = (char *)dynamic_shared;
    blockIdx = {block, 0, 0};
    block_arrived = 0;
    for (fiber_t &fiber : threads)
        prepare_fiber(fiber);
    for (unsigned left = n; left > 0;) {
        for (unsigned i = 0; i < n; i++) {
            if (threads[i].state == fiber_t::ENDED)
                continue;
            running = i;
            threadIdx = {i, 0, 0};
            run_fiber(threads[i]);
            left -= threads[i].state == fiber_t::ENDED;
        }
        std::this_thread::yield();
    }
}

template <class... Parameters, size_t... I>
static std::function<void()> bound(void (*kernel)(Parameters...), void **arguments, std::index_sequence<I...>) {
    return [=] { kernel(*(Parameters *)arguments[I]...); };
}

// Runs a grid of one dimension, so many clusters at the same time.
template <class... Parameters>
static void launch_on_host(void (*kernel)(Parameters...), void **arguments, unsigned grid, unsigned threads,
                           unsigned cluster_blocks, unsigned clusters = 1) {
    const auto body = bound(kernel, arguments, std::index_sequence_for<Parameters...>());
    gridDim = {grid, 1, 1};
    blockDim = {threads, 1, 1};
    const unsigned together = cluster_blocks * clusters;
    for (unsigned first = 0; first < grid; first += together) {
        std::vector<cluster_state_t> states(clusters);
        std::vector<std::thread> blocks;
        for (cluster_state_t &state : states)
            state.threads = threads * cluster_blocks;
        for (unsigned i = 0; i < together && first + i < grid; i++)
            blocks.emplace_back([&, i, first] {
                run_block(body, first + i, i % cluster_blocks, &states[i / cluster_blocks]);
            });
        for (std::thread &block : blocks)
            block.join();
    }
}

// CUDA on the host: right or wrong without a GPU, for `bench workload check --emulate` and for tests. Included before a
// rung that is compiled as C++. A block is a thread of the system, so that blocks of a cluster run at the same time, and
// `__shared__` is thread_local; a CUDA thread is a fiber, which is left at barriers and where a warp exchanges values.
// What it cannot show: data races, and what an instruction really does. Headers of kernels/common that consist of PTX have
// a counterpart in common/, by the same name; those of CUDA are in cuda/.
#pragma once
#include <algorithm>
#include <atomic>
#include <cassert>
#include <cfloat>
#include <cinttypes>
#include <climits>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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
#define __noinline__
#define __constant__ static
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

#include "types.h"

#include "threads.h"

#include "arithmetic.h"

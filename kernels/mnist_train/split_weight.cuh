// dtype mixed: a float32 weight as two words of 16 bits. The first is its float16, which products take as they take
// the weights of dtype f16; the second is the lower half of the bits of weight * 2^-112. That number has float16's
// exponents, subnormals included, so a float16's bits, shifted left by 13, are at most 2^12 from it: the lower half
// tells the rest. Exact from 2^-14 on; smaller weights are multiples of 2^-37. The sign is only in the first.
// bench/workloads/mnist_train/cublaslt.h is the same on the host. Needs subnormals: no --use_fast_math.
#pragma once

constexpr float SPLIT_DOWN = 1.0f / (1ull << 56) / (1ull << 56), SPLIT_UP = 1.0f * (1ull << 56) * (1ull << 56);

// From a float16, and a word whose lower (upper) half is the weight's second.
template <bool UPPER> __device__ __forceinline__ float joined(float half_value, unsigned low) {
    const unsigned near = __float_as_uint(half_value * SPLIT_DOWN) + 0x8000 - (UPPER ? low >> 16 : low & 0xffff);
    return __uint_as_float(__byte_perm(near, low, UPPER ? 0x3276 : 0x3254)) * SPLIT_UP;
}

__device__ __forceinline__ unsigned low_halves(float first, float second) {
    return __byte_perm(__float_as_uint(first * SPLIT_DOWN), __float_as_uint(second * SPLIT_DOWN), 0x5410);
}

// Several elements of a workload's type T in one load or store of up to 16 bytes.
#pragma once
#include "workload.cuh"

// The largest power of two that divides `bytes`, at most 16.
__host__ __device__ constexpr unsigned widest_load(unsigned long long bytes) {
    return bytes % 16 == 0 ? 16 : (unsigned)(bytes & (0 - bytes));
}

template <unsigned BYTES> struct word_t;
template <> struct word_t<16> {
    typedef uint4 type;
};
template <> struct word_t<8> {
    typedef uint2 type;
};
template <> struct word_t<4> {
    typedef unsigned type;
};
template <> struct word_t<2> {
    typedef unsigned short type;
};

template <unsigned N> struct vector_t {
    typedef typename word_t<N * sizeof(T)>::type word;
    word bits;

    __device__ __forceinline__ float operator[](unsigned i) const {
        return (float)reinterpret_cast<const T *>(&bits)[i];
    }
    __device__ __forceinline__ void set(unsigned i, float value) { reinterpret_cast<T *>(&bits)[i] = (T)value; }
};

// Vector number i of an array.
template <unsigned N> __device__ __forceinline__ vector_t<N> load_vector(const T *from, size_t i) {
    return {__ldg(reinterpret_cast<const typename vector_t<N>::word *>(from) + i)};
}

// Streaming: the kernel does not read it again.
template <unsigned N> __device__ __forceinline__ void store_vector(T *to, size_t i, const vector_t<N> &vector) {
    __stcs(reinterpret_cast<typename vector_t<N>::word *>(to) + i, vector.bits);
}

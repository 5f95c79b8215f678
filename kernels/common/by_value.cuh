// In the place of workload.cuh: the kernels take inputs with "weights": true by value, in their parameters, which are
// constant memory, where a word that all lanes read is free. They are used as otherwise: `w[j]`, and in a list `w[l][j]`.
// The host defines BY_VALUE_ARGUMENTS, the parameters, and BY_VALUE_BYTES, those of all weights; there is one program for
// each of their sizes.
#pragma once
#include "workload.cuh"

#ifdef WORKLOAD_HOST
#error by_value.cuh is for rungs with LAUNCHES: host code chooses the parameters of its kernels
#endif
#if BY_VALUE_BYTES > 3840
#error SKIP: the weights are over 3840 bytes, so they are not passed by value
#endif

template <class element, unsigned long long count> struct by_value { // names in capitals may be constant params
    element value[count];
    __host__ __device__ operator const element *() const { return value; }
};

// Arrays of so many elements each, one after the other. Without a loop, so that a constant index costs nothing.
template <class element, unsigned long long... counts> struct by_value_list {
    element value[(counts + ...)];
    __host__ __device__ const element *operator[](int list_index) const {
        unsigned long long first = 0;
        int passed = 0;
        ((first += passed++ < list_index ? counts : 0), ...);
        return value + first;
    }
};

#undef WORKLOAD_ARGUMENTS
#define WORKLOAD_ARGUMENTS BY_VALUE_ARGUMENTS
extern "C" __device__ const char weights_by_value = 1; // the host reads whether there is one

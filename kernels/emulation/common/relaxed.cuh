// kernels/common/relaxed.cuh on the host. Words of other blocks are read and written atomically. Loads are polled: other
// threads of the block have to run meanwhile.
#pragma once
#include "host_cuda.h"

template <class Word> void store_word(Word *to, Word word) {
    __atomic_store_n(to, word, __ATOMIC_RELAXED);
}
template <class Word> Word load_word(const Word *from) {
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}

inline void store_relaxed(unsigned *to, unsigned word) {
    store_word(to, word);
}
inline void store_relaxed(unsigned long long *to, unsigned long long word) {
    store_word(to, word);
}
inline void store_relaxed(ulonglong2 *to, ulonglong2 words) {
    if ((uintptr_t)to % 16 != 0)
        abort();
    store_word(&to->x, words.x);
    store_word(&to->y, words.y);
}
inline void store_relaxed(float *to, float value) {
    store_word((unsigned *)to, __float_as_uint(value));
}
inline void store_relaxed(uint4 *to, uint4 words) {
    if ((uintptr_t)to % 16 != 0)
        abort();
    for (unsigned i = 0; i < 4; i++)
        store_word((unsigned *)to + i, (&words.x)[i]);
}
inline void store_relaxed(float4 *to, float4 v) {
    store_relaxed((uint4 *)to, {__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w)});
}

inline unsigned load_relaxed(const unsigned *from) {
    let_others_run();
    return load_word(from);
}
inline unsigned long long load_relaxed(const unsigned long long *from) {
    let_others_run();
    return load_word(from);
}
inline uint2 load_relaxed(const uint2 *from) {
    let_others_run();
    return {load_word(&from->x), load_word(&from->y)};
}
inline ulonglong2 load_relaxed(const ulonglong2 *from) {
    let_others_run();
    return {load_word(&from->x), load_word(&from->y)};
}
inline uint4 load_relaxed(const uint4 *from) {
    if ((uintptr_t)from % 16 != 0)
        abort();
    let_others_run();
    return {load_word(&from->x), load_word(&from->y), load_word(&from->z), load_word(&from->w)};
}
inline float4 load_relaxed(const float4 *from) {
    const uint4 v = load_relaxed((const uint4 *)from);
    return {__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w)};
}
inline void load_relaxed_if(bool needed, float4 &v, const float4 *from) {
    if (needed)
        v = load_relaxed(from);
}

inline unsigned with_last_bit(float value, unsigned step) {
    return (__float_as_uint(value) & ~1u) | step % 2;
}
struct common_bits_t {
    unsigned of_all, of_any;

    explicit common_bits_t(unsigned last) : of_all(last), of_any(last) {}
    void add(unsigned x, unsigned y) { of_all &= x & y, of_any |= x | y; }
    void add(uint2 v) { add(v.x, v.y); }
    void add(float4 v) {
        add(__float_as_uint(v.x), __float_as_uint(v.y)), add(__float_as_uint(v.z), __float_as_uint(v.w));
    }
    void add(uint4 v) { add(v.x, v.y), add(v.z, v.w); }
    bool are(unsigned bits, bool set) const { return ((set ? of_all : ~of_any) & bits) == bits; }
};

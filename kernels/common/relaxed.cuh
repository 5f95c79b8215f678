// Exchanges between blocks of a launch that wait for each other: through the L2, whole words, in no order with other
// accesses. A number's last bit can tell which step it belongs to: the number is its own flag. It costs at most one
// unit in the last place.
#pragma once

__device__ __forceinline__ void store_relaxed(unsigned *to, unsigned word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
}

__device__ __forceinline__ void store_relaxed(float *to, float value) {
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}

__device__ __forceinline__ void store_relaxed(unsigned long long *to, unsigned long long word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ void store_relaxed(ulonglong2 *to, ulonglong2 words) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(words.x), "l"(words.y) : "memory");
}

__device__ __forceinline__ void store_relaxed(uint4 *to, uint4 words) {
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x), "r"(words.y),
                 "r"(words.z), "r"(words.w)
                 : "memory");
}

__device__ __forceinline__ void store_relaxed(float4 *to, float4 v) {
    asm volatile("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
                 : "memory");
}

__device__ __forceinline__ unsigned load_relaxed(const unsigned *from) {
    unsigned word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ unsigned long long load_relaxed(const unsigned long long *from) {
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ uint2 load_relaxed(const uint2 *from) {
    uint2 words;
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(words.x), "=r"(words.y) : "l"(from) : "memory");
    return words;
}

__device__ __forceinline__ ulonglong2 load_relaxed(const ulonglong2 *from) {
    ulonglong2 words;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(words.x), "=l"(words.y) : "l"(from) : "memory");
    return words;
}

__device__ __forceinline__ uint4 load_relaxed(const uint4 *from) {
    uint4 words;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(from)
                 : "memory");
    return words;
}

__device__ __forceinline__ float4 load_relaxed(const float4 *from) {
    float4 v;
    asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

// Without a branch, so that several of them are under way at the same time.
__device__ __forceinline__ void load_relaxed_if(bool needed, float4 &v, const float4 *from) {
    asm volatile("{\n\t.reg .pred needed;\n\t"
                 "setp.ne.u32 needed, %5, 0;\n\t"
                 "@needed ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];\n\t}"
                 : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w)
                 : "l"(from), "r"((unsigned)needed)
                 : "memory");
}

__device__ __forceinline__ unsigned with_last_bit(float value, unsigned step) {
    return (__float_as_uint(value) & ~1u) | step % 2;
}

// What polled words have in common. Begin with the word that was loaded last: a check of another one could be compiled
// to stand before the later loads, which would then wait for it, one after the other. So the order of the checks is
// kept, too.
struct common_bits_t {
    unsigned of_all, of_any;

    __device__ __forceinline__ explicit common_bits_t(unsigned last) : of_all(last), of_any(last) {}
    __device__ __forceinline__ void add(unsigned x, unsigned y) {
        asm volatile("lop3.b32 %0, %0, %1, %2, 0x80;" : "+r"(of_all) : "r"(x), "r"(y));
        asm volatile("lop3.b32 %0, %0, %1, %2, 0xFE;" : "+r"(of_any) : "r"(x), "r"(y));
    }
    __device__ __forceinline__ void add(uint2 v) { add(v.x, v.y); }
    __device__ __forceinline__ void add(float4 v) {
        add(__float_as_uint(v.x), __float_as_uint(v.y)), add(__float_as_uint(v.z), __float_as_uint(v.w));
    }
    __device__ __forceinline__ void add(uint4 v) { add(v.x, v.y), add(v.z, v.w); }
    // Whether these bits are set, or clear, in all words.
    __device__ __forceinline__ bool are(unsigned bits, bool set) const {
        return ((set ? of_all : ~of_any) & bits) == bits;
    }
};

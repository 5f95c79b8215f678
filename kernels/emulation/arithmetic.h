// Memory and arithmetic.
#pragma once

template <class Value> void check_alignment(const Value *at) {
    if ((uintptr_t)at % alignof(Value) != 0)
        give_up("a misaligned address");
}

template <class Value> Value __ldg(const Value *from) {
    check_alignment(from);
    return *from;
}
template <class Value> Value __ldcg(const Value *from) {
    return __ldg(from);
}
template <class Value> void __stcs(Value *to, Value value) {
    check_alignment(to);
    *to = value;
}
template <class Value> void __stcg(Value *to, Value value) {
    __stcs(to, value);
}
template <class Value> Value __ldcs(const Value *from) {
    return __ldg(from);
}
template <class Value> Value __ldca(const Value *from) {
    return __ldg(from);
}
template <class Value> Value __ldcv(const Value *from) {
    return __ldg(from);
}
template <class Value> void __stwt(Value *to, Value value) {
    __stcs(to, value);
}
template <class Value> void __stwb(Value *to, Value value) {
    __stcs(to, value);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {
    let_others_run();
}
inline long long clock64() {
    let_others_run();
    return 0;
}
[[noreturn]] inline void __trap() {
    give_up("__trap()");
}

// Blocks of a cluster, and of a cooperative launch, run at the same time.
template <class Value, class Change> Value changed(Value *at, Change change) {
    typedef std::conditional_t<sizeof(Value) == 8, uint64_t, std::conditional_t<sizeof(Value) == 4, uint32_t, uint16_t>>
        bits_t;
    static_assert(sizeof(Value) == sizeof(bits_t), "atomics are of 2, 4 or 8 bytes");
    check_alignment(at);
    bits_t before = __atomic_load_n((bits_t *)at, __ATOMIC_SEQ_CST), after;
    Value value, next;
    do {
        memcpy((void *)&value, &before, sizeof value);
        next = change(value);
        memcpy((void *)&after, &next, sizeof after);
    } while (!__atomic_compare_exchange_n((bits_t *)at, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    let_others_run();
    return value;
}
template <class Value> Value atomicAdd(Value *at, std::common_type_t<Value> n) {
    return changed(at, [=](Value value) { return (Value)(value + n); });
}
template <class Value> Value atomicSub(Value *at, std::common_type_t<Value> n) {
    return changed(at, [=](Value value) { return (Value)(value - n); });
}
template <class Value> Value atomicMax(Value *at, std::common_type_t<Value> n) {
    return changed(at, [=](Value value) { return value > n ? value : n; });
}
template <class Value> Value atomicMin(Value *at, std::common_type_t<Value> n) {
    return changed(at, [=](Value value) { return value < n ? value : n; });
}
template <class Value> Value atomicExch(Value *at, std::common_type_t<Value> n) {
    return changed(at, [=](Value) { return n; });
}
template <class Value> Value atomicCAS(Value *at, std::common_type_t<Value> expected, std::common_type_t<Value> n) {
    return changed(at, [=](Value value) { return value == expected ? n : value; });
}
template <class Value> Value atomicOr(Value *at, std::common_type_t<Value> n) {
    return changed(at, [=](Value value) { return value | n; });
}
template <class Value> Value atomicAnd(Value *at, std::common_type_t<Value> n) {
    return changed(at, [=](Value value) { return value & n; });
}
template <class Value> Value atomicXor(Value *at, std::common_type_t<Value> n) {
    return changed(at, [=](Value value) { return value ^ n; });
}
inline unsigned atomicInc(unsigned *at, unsigned most) {
    return changed(at, [=](unsigned value) { return value >= most ? 0 : value + 1; });
}
inline unsigned atomicDec(unsigned *at, unsigned most) {
    return changed(at, [=](unsigned value) { return value == 0 || value > most ? most : value - 1; });
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
inline float __fdiv_rn(float x, float y) {
    return x / y;
}
inline float __fmaf_rn(float x, float y, float z) {
    return fmaf(x, y, z);
}
inline float __fsqrt_rn(float x) {
    return sqrtf(x);
}
inline float __frcp_rn(float x) {
    return 1 / x;
}
inline float __frsqrt_rn(float x) {
    return 1 / sqrtf(x);
}
inline float rsqrtf(float x) {
    return 1 / sqrtf(x);
}
inline double rsqrt(double x) {
    return 1 / sqrt(x);
}
inline float rsqrt(float x) {
    return 1 / sqrtf(x);
}
inline float __exp10f(float x) {
    return powf(10, x);
}
inline float __log2f(float x) {
    return log2f(x);
}
inline float __sinf(float x) {
    return sinf(x);
}
inline float __cosf(float x) {
    return cosf(x);
}
inline float __powf(float x, float y) {
    return powf(x, y);
}
inline float __saturatef(float x) {
    return x > 0 ? fminf(x, 1) : 0;
}
inline int __float_as_int(float x) {
    return (int)__float_as_uint(x);
}
inline float __int_as_float(int bits) {
    return __uint_as_float((unsigned)bits);
}
inline int __float2int_rz(float x) {
    return (int)x;
}
inline float __int2float_rn(int x) {
    return (float)x;
}
inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++)
        reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}
inline unsigned __umulhi(unsigned x, unsigned y) {
    return (unsigned)((uint64_t)x * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}

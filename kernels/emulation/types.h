// Vectors and element types.
#pragma once

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
};
struct uint3 {
    unsigned x, y, z;
};

#define VECTORS(name, type)                                                                                            \
    struct name##1 {                                                                                                   \
        type x;                                                                                                        \
    };                                                                                                                 \
    struct alignas(2 * sizeof(type)) name##2 {                                                                         \
        type x, y;                                                                                                     \
    };                                                                                                                 \
    struct alignas(sizeof(type) < 8 ? 4 * sizeof(type) : 16) name##4 {                                                 \
        type x, y, z, w;                                                                                               \
    };                                                                                                                 \
    inline name##1 make_##name##1(type x) {                                                                            \
        return {x};                                                                                                    \
    }                                                                                                                  \
    inline name##2 make_##name##2(type x, type y) {                                                                    \
        return {x, y};                                                                                                 \
    }                                                                                                                  \
    inline name##4 make_##name##4(type x, type y, type z, type w) {                                                    \
        return {x, y, z, w};                                                                                           \
    }
VECTORS(char, signed char)
VECTORS(uchar, unsigned char)
VECTORS(short, short)
VECTORS(ushort, unsigned short)
VECTORS(int, int)
VECTORS(uint, unsigned)
VECTORS(long, long)
VECTORS(ulong, unsigned long)
VECTORS(longlong, long long)
VECTORS(ulonglong, unsigned long long)
VECTORS(float, float)
VECTORS(double, double)
#undef VECTORS
struct int3 {
    int x, y, z;
};
struct float3 {
    float x, y, z;
};
inline int3 make_int3(int x, int y, int z) {
    return {x, y, z};
}
inline float3 make_float3(float x, float y, float z) {
    return {x, y, z};
}
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
    return {x, y, z};
}

// ---- element types ----------------------------------------------------------------------------

typedef _Float16 __half;
typedef __half half;
struct alignas(4) __half2 {
    half x, y;
};
typedef __half2 half2;
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
inline half __float2half(float x) {
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
    __nv_bfloat16(float value) {
        uint32_t wide;
        memcpy(&wide, &value, sizeof wide);
        bits = value != value ? 0x7FFF : (uint16_t)((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
    }
    operator float() const {
        const uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
};
typedef __nv_bfloat16 nv_bfloat16;
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
typedef __nv_bfloat162 nv_bfloat162;

// Rounded to nearest even, and down to the largest number.
template <int MANTISSA, int BIAS, int LARGEST> struct fp8_of {
    unsigned char __x;

    fp8_of() = default;
    explicit fp8_of(float value) {
        const int least = 1 - BIAS; // exponent of the smallest normal number
        const float size = fminf(fabsf(value), 65536), normal = ldexpf(1, least);
        const int exponent = size < normal ? least : ilogbf(size);
        // A carry into the next power of two is right in the bits, too.
        const int whole = (int)rintf(ldexpf(size, MANTISSA - exponent)) + ((exponent - least) << MANTISSA);
        __x = value != value ? 0x7F : (unsigned char)((whole < LARGEST ? whole : LARGEST) | (std::signbit(value) << 7));
    }
    explicit operator float() const {
        const int exponent = (__x & 0x7F) >> MANTISSA, mantissa = __x & ((1 << MANTISSA) - 1);
        const int whole = exponent > 0 ? mantissa | 1 << MANTISSA : mantissa;
        const float size = ldexpf((float)whole, (exponent > 0 ? exponent : 1) - BIAS - MANTISSA);
        return (__x & 0x7F) > LARGEST ? NAN : __x & 0x80 ? -size : size;
    }
};
typedef fp8_of<3, 7, 0x7E> __nv_fp8_e4m3;
typedef fp8_of<2, 15, 0x7B> __nv_fp8_e5m2;

#define OPERATOR(op)                                                                                                   \
    inline __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) {                                               \
        return (float)a op(float) b;                                                                                   \
    }                                                                                                                  \
    inline __nv_bfloat16 &operator op##=(__nv_bfloat16 &a, __nv_bfloat16 b) {                                          \
        return a = a op b;                                                                                             \
    }
OPERATOR(+) OPERATOR(-) OPERATOR(*) OPERATOR(/)
#undef OPERATOR
#define COMPARISON(op)                                                                                                 \
    inline bool operator op(__nv_bfloat16 a, __nv_bfloat16 b) {                                                        \
        return (float)a op(float) b;                                                                                   \
    }
COMPARISON(<) COMPARISON(>) COMPARISON(<=) COMPARISON(>=) COMPARISON(==) COMPARISON(!=)
#undef COMPARISON

inline __nv_bfloat16 __float2bfloat16(float x) {
    return x;
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    return x;
}
inline float __bfloat162float(__nv_bfloat16 x) {
    return x;
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {x, y};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
    return {x, y};
}
inline float2 __bfloat1622float2(__nv_bfloat162 pair) {
    return {pair.x, pair.y};
}

// Functions of both, rounded after each, but __hfma().
#define FUNCTIONS(type, pair)                                                                                          \
    inline type __hadd(type a, type b) { return (type)((float)a + (float)b); }                                         \
    inline type __hsub(type a, type b) { return (type)((float)a - (float)b); }                                         \
    inline type __hmul(type a, type b) { return (type)((float)a * (float)b); }                                         \
    inline type __hdiv(type a, type b) { return (type)((float)a / (float)b); }                                         \
    inline type __hfma(type a, type b, type c) { return (type)fmaf((float)a, (float)b, (float)c); }                    \
    inline type __hmax(type a, type b) { return (type)fmaxf((float)a, (float)b); }                                     \
    inline type __hmin(type a, type b) { return (type)fminf((float)a, (float)b); }                                     \
    inline type __habs(type a) { return (type)fabsf((float)a); }                                                       \
    inline type __hneg(type a) { return (type)-(float)a; }                                                             \
    inline type hexp(type a) { return (type)expf((float)a); }                                                          \
    inline type hlog(type a) { return (type)logf((float)a); }                                                          \
    inline type hsqrt(type a) { return (type)sqrtf((float)a); }                                                        \
    inline type hrsqrt(type a) { return (type)(1 / sqrtf((float)a)); }                                                 \
    inline bool __hgt(type a, type b) { return (float)a > (float)b; }                                                  \
    inline bool __hlt(type a, type b) { return (float)a < (float)b; }                                                  \
    inline bool __heq(type a, type b) { return (float)a == (float)b; }                                                 \
    inline pair __hadd2(pair a, pair b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }                               \
    inline pair __hsub2(pair a, pair b) { return {__hsub(a.x, b.x), __hsub(a.y, b.y)}; }                               \
    inline pair __hmul2(pair a, pair b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }                               \
    inline pair __hmax2(pair a, pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                               \
    inline pair __hmin2(pair a, pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                               \
    inline pair __hfma2(pair a, pair b, pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }             \
    inline float __low2float(pair a) { return (float)a.x; }                                                            \
    inline float __high2float(pair a) { return (float)a.y; }
FUNCTIONS(__half, __half2)
FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
#undef FUNCTIONS
inline half __low2half(half2 pair) {
    return pair.x;
}
inline half __high2half(half2 pair) {
    return pair.y;
}
inline half2 __halves2half2(half x, half y) {
    return {x, y};
}
inline half2 make_half2(half x, half y) {
    return {x, y};
}
inline half2 __half2half2(half x) {
    return {x, x};
}

// Fills an input of a workload on the device, with the bits of fill_again() in bench/workloads/described/fill.c; or finds
// out whether it still has them. A program of its own, which the worker launches between samples: a rung can neither
// replace nor see it. A test compiles this file for the host and compares the bits, `make check-gpu` on the device.
#include "launch.cuh"
#include "normal.cuh"
#include "philox.cuh"

constexpr unsigned THREADS = 256, WORDS = 4; // a thread takes the words of one block of the stream
LAUNCH = {THREADS, THREADS * WORDS, 0, 0};

// As element_t and fill_kind_t in bench/workloads/described/. Permutations and constants are left to the host.
enum refill_element { F32, F16, BF16, F64, I32, I64, U8, BOOL, I8, E4M3, E5M2 };
enum refill_kind { UNIFORM, NORMAL, INTEGERS };
constexpr unsigned FIRST_STREAM = 64; // that of input 0

// As in bench/workloads/described/fill.h.
struct fill_t {
    unsigned kind;
    double low, high, times, of_low, of_high;
    unsigned of_kind, of;
};
static_assert(sizeof(fill_t) == 56, "as in bench/workloads/described/cuda.c");

__device__ __forceinline__ double value_of(unsigned word, unsigned kind, double low, double high) {
    if (kind == UNIFORM)
        return philox_uniform(word, (float)low, (float)high);
    if (kind == NORMAL)
        return __dadd_rn(low, __dmul_rn(high, normal_of_word(word)));
    const unsigned long long n = (unsigned long long)__dadd_rn(high, -low);
    return __dadd_rn(low, (double)(word * n >> 32));
}

// bench/base/half.c
__device__ __forceinline__ unsigned short half_bits(float value) {
    const unsigned bits = __float_as_uint(value), magnitude = bits & 0x7FFFFFFFu, sign = bits >> 16 & 0x8000u;
    if (magnitude >= 0x477FF000u) // 65520: rounds to infinity
        return (unsigned short)(sign | 0x7C00u);
    if (magnitude < 0x38800000u) // 2^-14: subnormal, a multiple of 2^-24
        return (unsigned short)(sign | (unsigned)__float2int_rn(__fmul_rn(fabsf(value), 16777216.0f)));
    unsigned half = magnitude - (112u << 23);
    half += 0xFFFu + (half >> 13 & 1);
    return (unsigned short)(sign | half >> 13);
}

// bench/base/half.c
__device__ __forceinline__ unsigned short bfloat16_bits(float value) {
    const unsigned bits = __float_as_uint(value);
    return (unsigned short)(bits + 0x7FFFu + (bits >> 16 & 1) >> 16);
}

// bench/base/half.c
template <unsigned MANTISSA, unsigned BIAS, unsigned LARGEST>
__device__ __forceinline__ unsigned char fp8_bits(float value) {
    constexpr unsigned DROPPED = 23 - MANTISSA, REBIAS = (127 - BIAS) << 23;
    const unsigned bits = __float_as_uint(value), magnitude = bits & 0x7FFFFFFFu;
    unsigned rounded;
    if (magnitude < REBIAS + (1u << 23))
        rounded = (unsigned)__float2int_rn(__fmul_rn(fabsf(value), (float)(1u << (BIAS - 1 + MANTISSA))));
    else
        rounded = (magnitude - REBIAS + (1u << (DROPPED - 1)) - 1 + (magnitude >> DROPPED & 1)) >> DROPPED;
    return (unsigned char)((bits >> 24 & 0x80u) | (rounded < LARGEST ? rounded : LARGEST));
}

__device__ __forceinline__ double bounded(double value, double least, double most) {
    return fmin(fmax(rint(value), least), most);
}

__device__ __forceinline__ void store(void *to, unsigned long long i, unsigned element, double value) {
    switch (element) {
    case F32:
        ((float *)to)[i] = (float)value;
        break;
    case F16:
        ((unsigned short *)to)[i] = half_bits((float)value);
        break;
    case BF16:
        ((unsigned short *)to)[i] = bfloat16_bits((float)value);
        break;
    case F64:
        ((double *)to)[i] = value;
        break;
    case I32:
        ((int *)to)[i] = (int)bounded(value, -2147483648.0, 2147483647.0);
        break;
    case I64: // up to the largest double below 2^63
        ((long long *)to)[i] = (long long)bounded(value, -9223372036854775808.0, 9223372036854774784.0);
        break;
    case U8:
        ((unsigned char *)to)[i] = (unsigned char)bounded(value, 0, 255);
        break;
    case I8:
        ((signed char *)to)[i] = (signed char)bounded(value, -128, 127);
        break;
    case E4M3:
        ((unsigned char *)to)[i] = fp8_bits<3, 7, 0x7E>((float)value);
        break;
    case E5M2:
        ((unsigned char *)to)[i] = fp8_bits<2, 15, 0x7B>((float)value);
        break;
    default:
        ((bool *)to)[i] = value != 0;
    }
}

__device__ __forceinline__ unsigned long long bits_at(const void *values, unsigned long long i, unsigned element) {
    switch (element) {
    case F64:
    case I64:
        return ((const unsigned long long *)values)[i];
    case F32:
    case I32:
        return ((const unsigned *)values)[i];
    case F16:
    case BF16:
        return ((const unsigned short *)values)[i];
    default:
        return ((const unsigned char *)values)[i];
    }
}

__device__ __forceinline__ bool has(const void *values, unsigned long long i, unsigned element, double value) {
    unsigned long long right = 0;
    store(&right, 0, element, value);
    return bits_at(values, i, element) == bits_at(&right, 0, element);
}

// `differs` NULL: write; else set it to 1 where a bit is another.
extern "C" __global__ void refill(void *values, unsigned long long n, unsigned long long key, unsigned input,
                                  unsigned element, fill_t fill, unsigned *differs) {
    const unsigned long long block = (unsigned long long)blockIdx.x * THREADS + threadIdx.x;
    unsigned word[WORDS], of_word[WORDS];
    philox_block(key, FIRST_STREAM + input, block, word);
    if (fill.times != 0)
        philox_block(key, FIRST_STREAM + fill.of, block, of_word);
    for (unsigned k = 0; k < WORDS && block * WORDS + k < n; k++) {
        const unsigned long long i = block * WORDS + k;
        double value = value_of(word[k], fill.kind, fill.low, fill.high);
        if (fill.times != 0) {
            const double of = value_of(of_word[k], fill.of_kind, fill.of_low, fill.of_high);
            value = __dadd_rn(value, __dmul_rn(fill.times, element == F32 ? (float)of : of));
        }
        if (differs == nullptr)
            store(values, i, element, value);
        else if (!has(values, i, element, value))
            *differs = 1;
    }
}

// Standard normal numbers from random words, bit for bit those of bench/workloads/described/fill.c, which has the source
// of the constants and the reason for each step. A test compiles this file for the host and compares the bits. Every
// operation is rounded by itself: a fused one would change the bits.
#pragma once

__device__ const double NORMAL_CENTRE_ABOVE[] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                                 1.9715909503065514427e3, 1.3731693765509461125e4,
                                                 4.5921953931549871457e4, 6.7265770927008700853e4,
                                                 3.3430575583588128105e4, 2.5090809287301226727e3};
__device__ const double NORMAL_CENTRE_BELOW[] = {1.0,
                                                 4.2313330701600911252e1,
                                                 6.8718700749205790830e2,
                                                 5.3941960214247511077e3,
                                                 2.1213794301586595867e4,
                                                 3.9307895800092710610e4,
                                                 2.8729085735721942674e4,
                                                 5.2264952788528545610e3};
__device__ const double NORMAL_TAIL_ABOVE[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                               5.76949722146069140550e0,  3.64784832476320460504e0,
                                               1.27045825245236838258e0,  2.41780725177450611770e-1,
                                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
__device__ const double NORMAL_TAIL_BELOW[] = {1.0,
                                               2.05319162663775882187e0,
                                               1.67638483018380384940e0,
                                               6.89767334985100004550e-1,
                                               1.48103976427480074590e-1,
                                               1.51986665636164571966e-2,
                                               5.47593808499534494600e-4,
                                               1.05075007164441684324e-9};
__device__ const double NORMAL_LOG_SERIES[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                               1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};

template <int N> __device__ __forceinline__ double normal_polynomial(const double (&coefficients)[N], double x) {
    double sum = coefficients[N - 1];
#pragma unroll
    for (int i = N - 2; i >= 0; i--)
        sum = __dadd_rn(__dmul_rn(sum, x), coefficients[i]);
    return sum;
}

// Of 0 < x < 1, and not subnormal.
__device__ __forceinline__ double normal_log(double x) {
    const long long bits = __double_as_longlong(x);
    int exponent = (int)(bits >> 52) - 1022;
    double mantissa = __longlong_as_double((bits & 0xFFFFFFFFFFFFF) | 1022LL << 52); // in [1/2, 1)
    if (mantissa < 0.707106781186547524401) {
        mantissa = __dmul_rn(mantissa, 2);
        exponent = exponent - 1;
    }
    const double s = __ddiv_rn(__dadd_rn(mantissa, -1), __dadd_rn(mantissa, 1));
    const double series = normal_polynomial(NORMAL_LOG_SERIES, __dmul_rn(s, s));
    return __dadd_rn(__dmul_rn(exponent, 0.693147180559945309417), __dmul_rn(__dmul_rn(2, s), series));
}

__device__ __forceinline__ double normal_of_word(unsigned word) {
    const double p = __dmul_rn(__dadd_rn(word, 0.5), 1.0 / 4294967296.0), q = __dadd_rn(p, -0.5);
    if (fabs(q) <= 0.425) {
        const double r = __dadd_rn(0.180625, -__dmul_rn(q, q));
        return __ddiv_rn(__dmul_rn(normal_polynomial(NORMAL_CENTRE_ABOVE, r), q),
                         normal_polynomial(NORMAL_CENTRE_BELOW, r));
    }
    const double r = __dadd_rn(__dsqrt_rn(-normal_log(q < 0 ? p : __dadd_rn(1, -p))), -1.6);
    const double size =
        __ddiv_rn(normal_polynomial(NORMAL_TAIL_ABOVE, r), normal_polynomial(NORMAL_TAIL_BELOW, r));
    return q < 0 ? -size : size;
}

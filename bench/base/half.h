/* IEEE 754 binary16 ("half", f16) as bits in a uint16_t, for inputs and outputs of f16 kernels. */
#ifndef BENCH_BASE_HALF_H
#define BENCH_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

uint16_t half_from_float(float value); /* nearest, ties to even; overflow gives infinity */
float half_to_float(uint16_t half);    /* exact */

/* Round each value to the nearest f16, ties to even; the type stays. */
void half_round(float *values, size_t n);
void half_round_doubles(double *values, size_t n);

#endif

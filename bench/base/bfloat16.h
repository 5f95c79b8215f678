/* bfloat16 (bf16): the upper half of a float32, as bits in a uint16_t. */
#ifndef BENCH_BASE_BFLOAT16_H
#define BENCH_BASE_BFLOAT16_H

#include <stdint.h>

uint16_t bfloat16_from_float(float value); /* nearest, ties to even; overflow gives infinity */
float bfloat16_to_float(uint16_t bfloat);  /* exact */

#endif

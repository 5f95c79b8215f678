/* Normal numbers from random words. */
#ifndef BENCH_WORKLOADS_OPERATOR_NORMAL_H
#define BENCH_WORKLOADS_OPERATOR_NORMAL_H

#include <stddef.h>
#include <stdint.h>

/* The standard normal distribution's quantile at (word + 0.5) · 2^-32, right to about 1e-15. It takes only
 * + - * / and sqrt, whose results IEEE 754 defines to the last bit: the same number in every language. */
double normal_of_word(uint32_t word);
/* Of many. */
void normal_of_words(double *values, const uint32_t *words, size_t n);

#endif

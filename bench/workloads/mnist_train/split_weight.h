/* A float32 weight as two words of 16 bits, as kernels/mnist_train/split_weight.cuh keeps it with dtype
 * mixed: its float16, which products take, and the lower half of the bits of weight · 2^-112. That
 * number has float16's exponents, subnormals included, so these bits are next to those of the float16.
 * Exact from 2^-14 on; smaller weights are multiples of 2^-37. */
#ifndef BENCH_WORKLOADS_MNIST_TRAIN_SPLIT_WEIGHT_H
#define BENCH_WORKLOADS_MNIST_TRAIN_SPLIT_WEIGHT_H

#include <stdint.h>

uint16_t split_low_half(float weight);
float split_joined(uint16_t half, uint16_t low);

#endif

// kernels/common/tensor_cores.cuh on the host (PTX ISA: ldmatrix, "Matrix Fragments for mma.m16n8k16").
#pragma once
#include "ptx.cuh"

inline float half_of(unsigned word, unsigned i) {
    half value;
    memcpy(&value, (char *)&word + 2 * i, 2);
    return (float)value;
}

struct words4_t {
    unsigned word[4];
};

// Where a lane's word of matrix m begins, from the addresses of all rows; the halves of a transposed one lie in two rows.
template <bool TRANSPOSED> void load_matrices(unsigned (&to)[4], unsigned address) {
    if (address % 16 != 0)
        abort();
    const unsigned lane = running % 32;
    const words4_t own = exchange(address, [&](auto of_lane) {
        words4_t words;
        for (unsigned m = 0; m < 4; m++)
            for (unsigned i = 0; i < 2; i++) {
                const unsigned along = lane % 4 * 2 + i, row = TRANSPOSED ? along : lane / 4;
                const unsigned column = TRANSPOSED ? lane / 4 : along;
                memcpy((char *)&words.word[m] + 2 * i, from_shared(of_lane(m * 8 + row)) + 2 * column, 2);
            }
        return words;
    });
    memcpy(to, own.word, sizeof own);
}

struct row_of_words_t {
    unsigned address, word[4];
};

template <bool TRANSPOSED> void store_matrices(unsigned address, const unsigned (&from)[4]) {
    if (address % 16 != 0)
        abort();
    const unsigned lane = running % 32;
    const row_of_words_t own = {address, {from[0], from[1], from[2], from[3]}};
    exchange(own, [&](auto of_lane) {
        for (unsigned m = 0; m < 4; m++)
            for (unsigned i = 0; i < 2; i++) {
                const unsigned along = lane % 4 * 2 + i, row = TRANSPOSED ? along : lane / 4;
                const unsigned column = TRANSPOSED ? lane / 4 : along;
                memcpy(from_shared(of_lane(m * 8 + row).address) + 2 * column, (char *)&own.word[m] + 2 * i, 2);
            }
        return 0;
    });
}

inline unsigned transposed(unsigned matrix) {
    const unsigned lane = running % 32;
    return exchange(matrix, [&](auto of_lane) {
        unsigned word;
        for (unsigned i = 0; i < 2; i++) {
            const unsigned from = of_lane((lane % 4 * 2 + i) * 4 + lane / 8);
            memcpy((char *)&word + 2 * i, (const char *)&from + lane / 4 % 2 * 2, 2);
        }
        return word;
    });
}

struct fragments_t {
    unsigned a[4], b[2];
};
struct sums4_t {
    float of[4];
};

inline void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    const fragments_t own = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    const unsigned g = running % 32 / 4, t = threadIdx.x % 4;
    const sums4_t added = exchange(own, [&](auto of_lane) {
        sums4_t sums = {};
        for (unsigned i = 0; i < 4; i++)
            for (unsigned k = 0; k < 16; k++) {
                // Word of a: row g or g + 8, k below 8 or not; of b: k below 8 or not. Lane k / 2 % 4 of the row has it.
                const fragments_t row = of_lane(g * 4 + k / 2 % 4), column = of_lane((2 * t + i % 2) * 4 + k / 2 % 4);
                sums.of[i] += half_of(row.a[i / 2 + k / 8 * 2], k % 2) * half_of(column.b[k / 8], k % 2);
            }
        return sums;
    });
    for (unsigned i = 0; i < 4; i++)
        d[i] += added.of[i];
}

// Rounded once for each product of 16: hardware may round more often.
inline void multiply_add(unsigned (&d)[2], const unsigned (&a)[4], const unsigned (&b)[2]) {
    float sums[4] = {half_of(d[0], 0), half_of(d[0], 1), half_of(d[1], 0), half_of(d[1], 1)};
    multiply_add(sums, a, b);
    for (unsigned i = 0; i < 4; i++) {
        const half rounded = __float2half_rn(sums[i]);
        memcpy((char *)&d[i / 2] + 2 * (i % 2), &rounded, 2);
    }
}

// Forward operators of rung 03 and those behind it, for the steps and for the validation.
#pragma once
#include "wide_product.cuh"

template <bool RELU> __device__ __forceinline__ void forward(const op_t &p) {
    float *memory = (float *)shared_memory;
    wide_t wide;
    const tile_t tile = begin_wide(wide, p.n_in, p.n_out);
    wide.a = {p.x, p.order, p.n_in, tile.row, p.rows, 0, 0};
    wide.b = {p.w, nullptr, p.n_in, tile.column, p.n_out, 0, 0};
    sums_t sums = {};
    add_up<true>(memory, wide, p.flags & OP_FIRST_LAYER, sums);
    gather_sums(memory, sums, [&](unsigned row, unsigned column, float4 sum) {
        row += tile.row, column += tile.column;
        if (row >= p.rows)
            return;
        float y[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
        for (unsigned k = 0; k < 4; k++) {
            y[k] += column + k < p.n_out ? __ldcg(p.b + column + k) : 0.0f;
            y[k] = RELU ? fmaxf(y[k], 0.0f) : y[k];
        }
        store_four(p.y + (size_t)row * p.n_out, column, p.n_out, make_float4(y[0], y[1], y[2], y[3]));
    });
}

WIDE_KERNEL(linear_relu) {
    forward<true>(p);
}

WIDE_KERNEL(linear) {
    forward<false>(p);
}

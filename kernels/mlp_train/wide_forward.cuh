// Forward operators from rung 03 on, fused with what follows.
#pragma once
#include "wide_product.cuh"

template <bool RELU> __device__ __forceinline__ void forward(const op_t &p) {
    wide_t wide;
    const tile_t tile = begin_wide(wide, p.n_in, p.n_out);
    wide.a = {p.x, p.order, p.n_in, tile.row, p.rows, 0, 0};
    wide.b = {p.w, nullptr, p.n_in, tile.column, p.n_out, 0, 0};
    const auto load = [&](unsigned, unsigned column) { return load_four(p.b, tile.column + column, p.n_out); };
    multiply<true>(wide, p.is_first, load, [&](unsigned row, unsigned column, float4 y, float4 bias) {
        y = add(y, bias);
        if (RELU)
            y = make_float4(fmaxf(y.x, 0), fmaxf(y.y, 0), fmaxf(y.z, 0), fmaxf(y.w, 0));
        if (tile.row + row < p.rows)
            store_four(p.y + (size_t)(tile.row + row) * p.n_out, tile.column + column, p.n_out, y);
    });
}

WIDE_KERNEL(linear_relu) {
    forward<true>(p);
}


// A block's share of the network in rung 06. Layers 1 and 2 are in shared memory, one copy for all products: forward and
// the update use a tile of 16 x 16 weights as ldmatrix gives it, backward as ldmatrix.trans does. Layer 0, which has no
// backward product, and the last layer are in registers.
#pragma once

// Warps forward: 16 of the cluster's neurons and IMAGE_TILES times 16 images each.
constexpr unsigned NEURON_TILES = PANEL / 16, IMAGE_TILES = 2 * NEURON_TILES / WARPS;
// Backward: 16 of the rank's inputs; SPLIT warps share a tile's images, or its neurons in the update.
constexpr unsigned INPUT_TILES = SHARE / 16, SPLIT = INPUT_TILES < WARPS ? WARPS / INPUT_TILES : 1;
constexpr unsigned BACK_IMAGES = 2 / SPLIT;
constexpr unsigned LAST_TILES = (INPUT_TILES + WARPS - 1) / WARPS;  // of inputs, per warp; some may not exist
static_assert(NEURON_TILES * 2 == WARPS * IMAGE_TILES && BACK_IMAGES * SPLIT == 2, "warps have equal shares");

// Where a lane's row of tiles begins: tile j has columns 16 * j ….
struct plain_row_t {
    unsigned address;
    __device__ __forceinline__ unsigned tile(unsigned j) const { return address + j * 32; }
};
struct swizzled_row_t {
    unsigned address, key;
    __device__ __forceinline__ unsigned tile(unsigned j) const { return address + j / 4 * 128 + (j % 4 * 32 ^ key); }
};

// Matrices in shared memory. A lane's row for ldmatrix is row(lane_row, eight): the rows of eight lanes lie in different
// banks, and rows 16 further down have the same key.
struct pixels_t {
    static constexpr unsigned ROW_BYTES = PIXEL_ROW * 2;
    unsigned address;
    __device__ __forceinline__ plain_row_t row(unsigned row, unsigned eight) const {
        return {address + row * ROW_BYTES + eight * 16};
    }
};
template <unsigned COLUMNS> struct swizzled_t {
    static constexpr unsigned ROW_BYTES = COLUMNS * 2;
    static_assert(COLUMNS % 64 == 0, "eight pieces of 16 bytes are permuted");
    unsigned address;
    __device__ __forceinline__ swizzled_row_t row(unsigned row, unsigned eight) const {
        return {address + row * ROW_BYTES, (eight ^ row % 8) * 16};
    }
};
struct class_rows_t {
    static constexpr unsigned ROW_BYTES = PADDED_CLASSES * 2;
    unsigned address;
    __device__ __forceinline__ plain_row_t row(unsigned row, unsigned eight) const {
        return {address + row * ROW_BYTES + (eight ^ row / 4 % 2) * 16};
    }
};

// As a fragment's rows (or, transposed, those of operand B), and as columns: the transposed operand A.
template <class Matrix> __device__ __forceinline__ auto rows_of(const Matrix &m) {
    return m.row(lane_of() % 16, lane_of() / 16);
}
template <class Matrix> __device__ __forceinline__ auto columns_of(const Matrix &m) {
    return m.row(lane_of() % 8 + lane_of() / 16 * 8, lane_of() / 8 % 2);
}

// In registers; with dtype mixed, the weights' second words (split_weight.cuh) are another.
struct network_t {
    fragment_t w0[PIXEL_TILES];  // 16 neurons of the warp's forward product, this rank's pixels
    fragment_t w3[LAST_TILES];   // classes, 16 of this rank's inputs: tile warp + i * WARPS
    fragment_t back3;            // 16 neurons of the warp's forward product, classes
};

__device__ __forceinline__ unsigned first_neuron() {
    return cluster_of() * PANEL;
}
__device__ __forceinline__ unsigned first_input() {
    return rank_of() * SHARE;
}
__device__ __forceinline__ unsigned neuron_tile() {
    return warp_of() % NEURON_TILES;
}
__device__ __forceinline__ unsigned image_tile() {
    return warp_of() / NEURON_TILES * IMAGE_TILES;
}

// Copies between device memory and this block's part of W_1 or W_2: use(place in W, place in shared memory).
template <class Use> __device__ __forceinline__ void each_vector(half *w, weights_t &shared, Use use) {
    constexpr unsigned CHUNKS = SHARE / 8;
    for (unsigned i = threadIdx.x; i < PANEL * CHUNKS; i += THREADS) {
        const unsigned row = i / CHUNKS, chunk = i % CHUNKS;
        const unsigned neuron = first_neuron() + row, input = first_input() + chunk * 8;
        if (neuron < HIDDEN && input < HIDDEN)
            use((uint4 *)(w + (size_t)neuron * HIDDEN + input), (uint4 *)&shared[row][(chunk ^ row % 8) * 8]);
    }
}

// The matrices of p.w, or those of the weights' second words, which have the same type here.
struct matrices_t {
    half *w[LAYERS];

    __device__ __forceinline__ matrices_t(const mnist_t &p, bool low) {
#pragma unroll
        for (unsigned layer = 0; layer < LAYERS; layer++)
            w[layer] = low ? (half *)low_of(p, p.w[layer]) : p.w[layer];
    }
};

__device__ __forceinline__ void load_network(network_t &net, weights_t *shared, const matrices_t &p) {
    const unsigned neuron = first_neuron() + neuron_tile() * 16;
#pragma unroll
    for (unsigned j = 0; j < PIXEL_TILES; j++)
        load_weights(net.w0[j], {p.w[0], PIXELS, 1, HIDDEN, PIXELS}, neuron, (rank_of() * PIXEL_TILES + j) * 16);
#pragma unroll
    for (unsigned i = 0; i < LAST_TILES; i++)
        load_weights(net.w3[i], {p.w[3], HIDDEN, 1, CLASSES, HIDDEN}, 0,
                     first_input() + (warp_of() + i * WARPS) * 16);
    load_weights(net.back3, {p.w[3], 1, HIDDEN, HIDDEN, CLASSES}, neuron, 0);
    for (unsigned layer = 1; layer < 3; layer++)
        each_vector(p.w[layer], shared[layer - 1], [](const uint4 *from, uint4 *to) { *to = *from; });
}

__device__ __forceinline__ void store_network(const network_t &net, weights_t *shared, const matrices_t &p) {
    unsigned neuron = first_neuron() + neuron_tile() * 16;
    hide_from_compiler(neuron);  // not what load_network() computed: no register holds it during the training
    if (image_tile() == 0)
#pragma unroll
        for (unsigned j = 0; j < PIXEL_TILES; j++)
            store_weights(net.w0[j], p.w[0], HIDDEN, PIXELS, neuron, (rank_of() * PIXEL_TILES + j) * 16);
    if (cluster_of() == 0)
#pragma unroll
        for (unsigned i = 0; i < LAST_TILES; i++)
            if (warp_of() + i * WARPS < INPUT_TILES)
                store_weights(net.w3[i], p.w[3], CLASSES, HIDDEN, 0, first_input() + (warp_of() + i * WARPS) * 16);
    for (unsigned layer = 1; layer < 3; layer++)
        each_vector(p.w[layer], shared[layer - 1], [](uint4 *to, const uint4 *from) { *to = *from; });
}

// sums[16 images][8 neurons] += inputs · Wᵀ; get(w, j) gives tile j of 16 neurons' weights.
template <unsigned TILES, class Matrix, class Get>
__device__ __forceinline__ void multiply_forward(tile_t (&sums)[IMAGE_TILES][2], const Matrix &inputs, Get get) {
    const auto from = rows_of(Matrix{inputs.address + image_tile() * 16 * Matrix::ROW_BYTES});
#pragma unroll
    for (unsigned j = 0; j < TILES; j++) {
        fragment_t w;
        get(w, j);
#pragma unroll
        for (unsigned m = 0; m < IMAGE_TILES; m++) {
            fragment_t images;
            load_matrices<false>(images, from.tile(j) + m * 16 * Matrix::ROW_BYTES);
            multiply_add(sums[m][0], images, w[0], w[2]);
            multiply_add(sums[m][1], images, w[1], w[3]);
        }
    }
}

// Calls use(sums, image, input) for tiles of 16 images and 8 inputs of delta · W. A warp's tiles share those of delta.
template <class Use>
__device__ __forceinline__ void multiply_backward(const swizzled_t<PANEL> &delta, const swizzled_t<SHARE> &weights,
                                                  Use use) {
    const auto w_row = rows_of(weights);
    const unsigned first = warp_of() / INPUT_TILES * BACK_IMAGES * 16, input = warp_of() % INPUT_TILES;
    const auto from = rows_of(swizzled_t<PANEL>{delta.address + first * PANEL * 2});
    tile_t sums[LAST_TILES][BACK_IMAGES][2];
#pragma unroll
    for (unsigned n = 0; n < NEURON_TILES; n++) {
        fragment_t images[BACK_IMAGES], w;
#pragma unroll
        for (unsigned m = 0; m < BACK_IMAGES; m++)
            load_matrices<false>(images[m], from.tile(n) + m * 16 * PANEL * 2);
#pragma unroll
        for (unsigned i = 0; i < LAST_TILES; i++) {
            if (input + i * WARPS >= INPUT_TILES)
                break;
            load_matrices<true>(w, w_row.tile(input + i * WARPS) + n * 16 * SHARE * 2);
#pragma unroll
            for (unsigned m = 0; m < BACK_IMAGES; m++) {
                multiply_add(sums[i][m][0], images[m], w[0], w[1]);
                multiply_add(sums[i][m][1], images[m], w[2], w[3]);
            }
        }
    }
#pragma unroll
    for (unsigned i = 0; i < LAST_TILES; i++)
#pragma unroll
        for (unsigned m = 0; m < BACK_IMAGES; m++)
#pragma unroll
            for (unsigned h = 0; h < 2; h++)
                if (input + i * WARPS < INPUT_TILES)
                    use(sums[i][m][h], first + m * 16, (input + i * WARPS) * 16 + h * 8);
}

// ---- updates ----------------------------------------------------------------------------------------------------

// Column tile `tile` of a matrix as operand B (or, as columns, operand A) of a sum over the 32 images.
template <class Row>
__device__ __forceinline__ void load_over_images(fragment_t (&to)[2], const Row &row, unsigned tile,
                                                 unsigned row_bytes) {
    load_matrices<true>(to[0], row.tile(tile));
    load_matrices<true>(to[1], row.tile(tile) + 16 * row_bytes);
}

// W -= rate · leftᵀ · right for a tile of 16 x 16 weights.
__device__ __forceinline__ void descend_tile(fragment_t &w, fragment_t &low, const fragment_t (&left)[2],
                                             const fragment_t (&right)[2], float rate) {
    tile_t g[2];
#pragma unroll
    for (unsigned k = 0; k < 2; k++) {
        multiply_add(g[0], left[k], right[k][0], right[k][1]);
        multiply_add(g[1], left[k], right[k][2], right[k][3]);
    }
#pragma unroll
    for (unsigned h = 0; h < 2; h++) {
        const float2 upper = g[h].upper(), lower = g[h].lower();
        update_pair(w[2 * h], low[2 * h], upper.x, upper.y, rate);
        update_pair(w[2 * h + 1], low[2 * h + 1], lower.x, lower.y, rate);
    }
}

// This block's part of W_1 or W_2. A warp's tiles share those of delta.
__device__ __forceinline__ void descend_shared(const mnist_t &p, unsigned layer, const swizzled_t<SHARE> &weights,
                                               const swizzled_t<PANEL> &delta, const swizzled_t<SHARE> &inputs) {
    const auto w_row = rows_of(weights), of_inputs = rows_of(inputs), of_delta = columns_of(delta);
    const unsigned input = warp_of() % INPUT_TILES;
    fragment_t right[LAST_TILES][2];
#pragma unroll
    for (unsigned i = 0; i < LAST_TILES; i++)
        if (input + i * WARPS < INPUT_TILES)
            load_over_images(right[i], of_inputs, input + i * WARPS, SHARE * 2);
#pragma unroll
    for (unsigned k = 0; k < NEURON_TILES / SPLIT; k++) {
        const unsigned n = warp_of() / INPUT_TILES + k * SPLIT;
        fragment_t left[2], w, low;
        load_over_images(left, of_delta, n, PANEL * 2);
#pragma unroll
        for (unsigned i = 0; i < LAST_TILES; i++) {
            if (input + i * WARPS >= INPUT_TILES)
                break;
            const unsigned place = w_row.tile(input + i * WARPS) + n * 16 * SHARE * 2;
            load_matrices<false>(w, place);
            if (DTYPE_MIXED)
                load_matrices<false>(low, place + LOW_BYTES);
            descend_tile(w, low, left, right[i], p.rate / BATCH);
            store_matrices<false>(place, w);
            if (DTYPE_MIXED)
                store_matrices<false>(place + LOW_BYTES, low);
        }
    }
}

__device__ __forceinline__ void descend_first(const mnist_t &p, network_t &net, network_t &low,
                                              const swizzled_t<PANEL> &delta, const pixels_t &pixels) {
    fragment_t left[2], right[2];
    load_over_images(left, columns_of(delta), neuron_tile(), PANEL * 2);
    const auto of_pixels = rows_of(pixels);
#pragma unroll
    for (unsigned j = 0; j < PIXEL_TILES; j++) {
        load_over_images(right, of_pixels, j, pixels_t::ROW_BYTES);
        descend_tile(net.w0[j], low.w0[j], left, right, p.rate / BATCH);
    }
}

// Both copies of the last layer, from the same products. `panel`: activations 3 of the warp's 16 neurons, as in
// receive_panel().
__device__ __forceinline__ void descend_last(const mnist_t &p, network_t &net, network_t &low,
                                             const class_rows_t &delta, const swizzled_t<SHARE> &inputs,
                                             const unsigned (&panel)[4][2]) {
    fragment_t left[2], right[2];
    load_over_images(left, columns_of(delta), 0, class_rows_t::ROW_BYTES);
    const auto of_inputs = rows_of(inputs);
#pragma unroll
    for (unsigned i = 0; i < LAST_TILES; i++) {
        const unsigned tile = warp_of() + i * WARPS;
        if (tile >= INPUT_TILES)
            break;
        load_over_images(right, of_inputs, tile, SHARE * 2);
        descend_tile(net.w3[i], low.w3[i], left, right, p.rate / BATCH);
    }
#pragma unroll
    for (unsigned k = 0; k < 2; k++)
#pragma unroll
        for (unsigned word = 0; word < 4; word++)
            left[k][word] = transposed(panel[k * 2 + word / 2][word % 2]);
    load_over_images(right, rows_of(delta), 0, class_rows_t::ROW_BYTES);
    descend_tile(net.back3, low.back3, left, right, p.rate / BATCH);
}

// By one warp, N (a power of two) columns from `column` of a matrix of deltas in shared memory: value(image, column).
template <unsigned N, class Value>
__device__ __forceinline__ void descend_biases(float *bias, Value value, float rate) {
    constexpr unsigned PARTS = 32 / N;
    const unsigned i = lane_of() % N, part = lane_of() / N;
    float g = 0;
#pragma unroll
    for (unsigned image = 0; image < ROWS / PARTS; image++)
        g += value(image * PARTS + part, i);
#pragma unroll
    for (unsigned lanes = N; lanes < 32; lanes *= 2)
        g += __shfl_xor_sync(EVERY_LANE, g, lanes);
    if (part != 0)
        return;
    const float updated = fmaf(-rate, g, bias[i]);
    bias[i] = DTYPE_MIXED ? updated : __half2float(__float2half_rn(updated));
}

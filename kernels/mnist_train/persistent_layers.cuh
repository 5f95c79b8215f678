// What a block of rung 05 does with its share of the network, whose weights its warps hold in registers. A warp has 16
// of the block's OWN neurons (`part`), and of their weights the 16-column tiles first, first + stride, …: it multiplies
// all images by those, and the block adds up its warps' sums in shared memory, in one order.
#pragma once

struct network_t {
    fragment_t w0[PIXEL_TILES], w1[TILES], w2[TILES], w3[LAST_TILES];
    // Columns of W instead of rows, for what goes backward. They see the same gradients in the same order as the rows
    // do elsewhere, so that both stay equal; that is cheaper than to send sums.
    fragment_t back1[TILES], back2[TILES], back3;
};

// Where the gradient of a step's weights goes in a check: of the rows from `row` and the columns of the tile.
struct report_t {
    float *gradient;
    unsigned row, n_out, n_in;
};

__device__ __forceinline__ unsigned lane_of() {
    return threadIdx.x % 32;
}
__device__ __forceinline__ unsigned part_of() {
    return threadIdx.x / 32 % PARTS;
}
__device__ __forceinline__ unsigned group_of() {
    return threadIdx.x / 32 / PARTS;
}
__device__ __forceinline__ unsigned first_own() {
    return blockIdx.x * OWN;
}

// Calls use(word, row, column) for each pair of halves of a lane's fragment.
template <class Use> __device__ __forceinline__ void each_word(unsigned row, unsigned column, Use use) {
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        use(k, row + lane_of() / 4 + k % 2 * 8, column + lane_of() % 4 * 2 + k / 2 * 8);
}

// Elements (row, column) at w[row * row_step + column * column_step], and 0 beyond them.
__device__ __forceinline__ void load_weights(fragment_t &to, const half *w, unsigned row_step, unsigned column_step,
                                             unsigned rows, unsigned columns, unsigned row, unsigned column) {
    each_word(row, column, [&](unsigned word, unsigned r, unsigned c) {
        half2 pair = __float2half2_rn(0);
        if (r < rows && c < columns)
            pair.x = w[(size_t)r * row_step + (size_t)c * column_step];
        if (r < rows && c + 1 < columns)
            pair.y = w[(size_t)r * row_step + (size_t)(c + 1) * column_step];
        to[word] = *(const unsigned *)&pair;
    });
}

__device__ __forceinline__ void store_weights(const fragment_t &from, half *w, unsigned rows, unsigned columns,
                                              unsigned row, unsigned column) {
    each_word(row, column, [&](unsigned word, unsigned r, unsigned c) {
        if (r < rows && c < columns)  // columns are even
            *(unsigned *)(w + (size_t)r * columns + c) = from[word];
    });
}

__device__ __forceinline__ void load_network(network_t &net, const mnist_t &p) {
    const unsigned own = first_own() + part_of() * 16;
#pragma unroll
    for (unsigned j = 0; j < PIXEL_TILES; j++)
        load_weights(net.w0[j], p.w[0], PIXELS, 1, HIDDEN, PIXELS, own, (group_of() + j * GROUPS) * 16);
#pragma unroll
    for (unsigned j = 0; j < TILES; j++) {
        const unsigned column = (group_of() + j * GROUPS) * 16;
        load_weights(net.w1[j], p.w[1], HIDDEN, 1, HIDDEN, HIDDEN, own, column);
        load_weights(net.w2[j], p.w[2], HIDDEN, 1, HIDDEN, HIDDEN, own, column);
        load_weights(net.back1[j], p.w[1], 1, HIDDEN, HIDDEN, HIDDEN, own, column);
        load_weights(net.back2[j], p.w[2], 1, HIDDEN, HIDDEN, HIDDEN, own, column);
    }
#pragma unroll
    for (unsigned j = 0; j < LAST_TILES; j++)
        load_weights(net.w3[j], p.w[3], HIDDEN, 1, CLASSES, HIDDEN, 0, (threadIdx.x / 32 + j * WARPS) * 16);
    load_weights(net.back3, p.w[3], 1, HIDDEN, HIDDEN, CLASSES, own, 0);
}

__device__ __forceinline__ void store_network(const network_t &net, const mnist_t &p) {
    const unsigned own = first_own() + part_of() * 16;
#pragma unroll
    for (unsigned j = 0; j < PIXEL_TILES; j++)
        store_weights(net.w0[j], p.w[0], HIDDEN, PIXELS, own, (group_of() + j * GROUPS) * 16);
#pragma unroll
    for (unsigned j = 0; j < TILES; j++) {
        store_weights(net.w1[j], p.w[1], HIDDEN, HIDDEN, own, (group_of() + j * GROUPS) * 16);
        store_weights(net.w2[j], p.w[2], HIDDEN, HIDDEN, own, (group_of() + j * GROUPS) * 16);
    }
    if (blockIdx.x == 0)
#pragma unroll
        for (unsigned j = 0; j < LAST_TILES; j++)
            store_weights(net.w3[j], p.w[3], CLASSES, HIDDEN, 0, (threadIdx.x / 32 + j * WARPS) * 16);
}

// Tiles of 16 columns that a warp really has: the last of the image's may be beyond it.
template <unsigned ROW> __device__ __forceinline__ bool has_tile(unsigned tile) {
    return ROW != PIXEL_ROW || tile < PIXELS / 16;
}

// sums[16 images][8 neurons] += activations · Wᵀ.
template <unsigned N, unsigned ROW>
__device__ __forceinline__ void multiply(tile_t (&sums)[2][2], const half (&activations)[ROWS][ROW],
                                         const fragment_t (&w)[N], unsigned first, unsigned stride) {
    const unsigned from = shared_address(&activations[lane_of() % 16][first * 16 + lane_of() / 16 * 8]);
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
        if (!has_tile<ROW>(first + j * stride))
            break;
#pragma unroll
        for (unsigned m = 0; m < 2; m++) {
            fragment_t images;
            load_matrices<false>(images, from + (m * 16 * ROW + j * stride * 16) * sizeof(half));
            multiply_add(sums[m][0], images, w[j][0], w[j][2]);
            multiply_add(sums[m][1], images, w[j][1], w[j][3]);
        }
    }
}

// A warp's sums for the others: partial[row of warps][image][neuron].
template <unsigned STRIDE>
__device__ __forceinline__ void put_sums(float *partial, const tile_t (&sums)[2][2], unsigned index, unsigned column) {
    float *to = partial + (index * ROWS + lane_of() / 4) * STRIDE + column + lane_of() % 4 * 2;
#pragma unroll
    for (unsigned m = 0; m < 2; m++)
#pragma unroll
        for (unsigned n = 0; n < 2; n++) {
            *(float2 *)(to + m * 16 * STRIDE + n * 8) = sums[m][n].upper();
            *(float2 *)(to + (m * 16 + 8) * STRIDE + n * 8) = sums[m][n].lower();
        }
}

__device__ __forceinline__ unsigned descended(unsigned packed, float rate, float2 g) {
    const float2 w = __half22float2(*(const half2 *)&packed);
    const half2 next = __floats2half2_rn(fmaf(-rate, g.x, w.x), fmaf(-rate, g.y, w.y));
    return *(const unsigned *)&next;
}

__device__ __forceinline__ void report_tile(const report_t &to, const tile_t (&g)[2], unsigned tile) {
    each_word(to.row, tile * 16, [&](unsigned word, unsigned r, unsigned c) {
        const float2 value = word % 2 == 0 ? g[word / 2].upper() : g[word / 2].lower();
        float *place = to.gradient + (size_t)r * (to.n_in + 1) + c;
        if (r < to.n_out && c < to.n_in)
            place[0] = value.x / BATCH, place[1] = value.y / BATCH;
    });
}

// W -= rate · leftᵀ · right over all images: 16 columns of `left`, from `column` on, are the fragments' rows, those of
// `right` their columns. then(tile) comes when `right` has been read.
template <bool REPORTS, unsigned N, unsigned LEFT, unsigned RIGHT, class Then>
__device__ __forceinline__ void descend(fragment_t (&w)[N], const half (&left)[ROWS][LEFT], unsigned column,
                                        const half (&right)[ROWS][RIGHT], unsigned first, unsigned stride, float rate,
                                        report_t report, Then then) {
    const unsigned lane = lane_of();
    const unsigned from = shared_address(&right[lane % 16][first * 16 + lane / 16 * 8]);
    fragment_t rows[2];
#pragma unroll
    for (unsigned k = 0; k < 2; k++)
        load_matrices<true>(rows[k],
                            shared_address(&left[k * 16 + lane % 8 + lane / 16 * 8][column + lane / 8 % 2 * 8]));
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
        const unsigned tile = first + j * stride;
        if (!has_tile<RIGHT>(tile))
            break;
        tile_t g[2];
#pragma unroll
        for (unsigned k = 0; k < 2; k++) {
            fragment_t columns;
            load_matrices<true>(columns, from + (k * 16 * RIGHT + j * stride * 16) * sizeof(half));
            multiply_add(g[0], rows[k], columns[0], columns[1]);
            multiply_add(g[1], rows[k], columns[2], columns[3]);
        }
        then(tile);
        w[j][0] = descended(w[j][0], rate, g[0].upper());
        w[j][1] = descended(w[j][1], rate, g[0].lower());
        w[j][2] = descended(w[j][2], rate, g[1].upper());
        w[j][3] = descended(w[j][3], rate, g[1].lower());
        if (REPORTS && report.gradient != nullptr)
            report_tile(report, g, tile);
    }
}

template <bool REPORTS, unsigned N, unsigned LEFT, unsigned RIGHT>
__device__ __forceinline__ void descend(fragment_t (&w)[N], const half (&left)[ROWS][LEFT], unsigned column,
                                        const half (&right)[ROWS][RIGHT], unsigned first, unsigned stride, float rate,
                                        report_t report) {
    descend<REPORTS>(w, left, column, right, first, stride, rate, report, [](unsigned) {});
}

// Biases of up to 32 neurons, by the last warp, a lane each: those of the columns of `delta` from `column` on.
template <bool REPORTS, unsigned ROW>
__device__ __forceinline__ void descend_biases(float *bias, unsigned n, const half (&delta)[ROWS][ROW], unsigned column,
                                               float rate, report_t report) {
    const unsigned lane = lane_of();
    if (threadIdx.x / 32 != WARPS - 1 || lane >= n)
        return;
    float sums[4] = {};
#pragma unroll 8
    for (unsigned row = 0; row < ROWS; row++)
        sums[row % 4] += __half2float(delta[row][column + lane]);
    const float g = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    bias[lane] = __half2float(__float2half_rn(fmaf(-rate, g, bias[lane])));
    if (REPORTS && report.gradient != nullptr && report.row + lane < report.n_out)
        report.gradient[(size_t)(report.row + lane) * (report.n_in + 1) + report.n_in] = g / BATCH;
}

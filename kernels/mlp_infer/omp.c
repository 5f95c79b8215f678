/* The forward pass as a careful C programmer writes it: float32, all cores, vectorised across samples; the study's shape,
 * 4-5-1, keeps its weights and a sample's units in registers. */
#include <stddef.h>
#include <string.h>

#if !DTYPE_F32
#error SKIP: for dtype f32 only
#endif

enum { TILE = 64, N_IN = LAYERS_0 };
static const size_t SIZES[] = {LAYERS};

#if N_LAYERS == 3 && LAYERS_0 == 4 && LAYERS_1 == 5 && LAYERS_2 == 1

enum { PART = 16 * TILE };

static void forward(const float *restrict x, const float *const *w, const float *const *b, float *restrict y,
                    size_t n) {
    float w1[LAYERS_1][N_IN], b1[LAYERS_1], w2[LAYERS_1];
    memcpy(w1, w[0], sizeof w1);
    memcpy(b1, b[0], sizeof b1);
    memcpy(w2, w[1], sizeof w2);
    const float last = b[1][0];
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float *in = x + i * N_IN;
        float sum = last;
#pragma GCC unroll 8
        for (int j = 0; j < LAYERS_1; j++) {
            const float unit = b1[j] + w1[j][0] * in[0] + w1[j][1] * in[1] + w1[j][2] * in[2] + w1[j][3] * in[3];
            sum += w2[j] * (0 > unit ? 0 : unit);
        }
        y[i] = sum;
    }
}

#else

enum { PART = TILE, WIDEST = 4096 };

/* One layer of a tile: in and out are (units, TILE). */
static void layer(const float *restrict w, const float *restrict b, const float *restrict in, float *restrict out,
                  size_t l) {
    for (size_t j = 0; j < SIZES[l + 1]; j++) {
        float sum[TILE];
        for (size_t t = 0; t < TILE; t++)
            sum[t] = b[j];
        for (size_t k = 0; k < SIZES[l]; k++)
#pragma omp simd
            for (size_t t = 0; t < TILE; t++)
                sum[t] += w[j * SIZES[l] + k] * in[k * TILE + t];
        for (size_t t = 0; t < TILE; t++)
            out[j * TILE + t] = l + 2 < N_LAYERS && sum[t] < 0 ? 0 : sum[t];
    }
}

static void forward(const float *restrict x, const float *const *w, const float *const *b, float *restrict y,
                    size_t n) {
    static _Thread_local float layers[2][WIDEST * TILE];
    for (size_t k = 0; k < SIZES[0]; k++)
        for (size_t t = 0; t < TILE; t++)
            layers[0][k * TILE + t] = t < n ? x[t * SIZES[0] + k] : 0;
    for (size_t l = 0; l + 1 < N_LAYERS; l++)
        layer(w[l], b[l], layers[l % 2], layers[(l + 1) % 2], l);
    const float *out = layers[(N_LAYERS - 1) % 2];
    const size_t n_out = SIZES[N_LAYERS - 1];
    for (size_t o = 0; o < n_out; o++)
        for (size_t t = 0; t < n; t++)
            y[t * n_out + o] = out[o * TILE + t];
}

#endif

void run(WORKLOAD_ARGUMENTS) {
    const size_t n_out = SIZES[N_LAYERS - 1], n = (size_t)batch;
    /* For fewer samples, starting threads costs more than the work. */
#pragma omp parallel for schedule(static) if (n > 16 * TILE)
    for (size_t first = 0; first < n; first += PART)
        forward(x + first * N_IN, w, b, y + first * n_out, n - first < PART ? n - first : PART);
}

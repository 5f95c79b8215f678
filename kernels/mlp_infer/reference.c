/* The forward pass, sample by sample, written to be obviously right. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 4096 };

static const size_t SIZES[] = {LAYERS};

/* y of one sample; returns the sum of the squares of its terms. */
static double forward(const T *x, const T *const *w, const T *const *b, T *y) {
    T layers[2][WIDEST];
    double squares = 0;
    memcpy(layers[0], x, SIZES[0] * sizeof(T));
    for (size_t l = 0; l + 1 < N_LAYERS; l++) {
        const T *in = layers[l % 2];
        T *out = layers[(l + 1) % 2];
        squares = 0;
        for (size_t j = 0; j < SIZES[l + 1]; j++) {
            T sum = b[l][j];
            squares += (double)(sum * sum);
            for (size_t k = 0; k < SIZES[l]; k++) {
                const T term = w[l][j * SIZES[l] + k] * in[k];
                sum += term;
                squares += (double)(term * term);
            }
            out[j] = l + 2 < N_LAYERS && sum < 0 ? 0 : sum;
        }
    }
    memcpy(y, layers[(N_LAYERS - 1) % 2], SIZES[N_LAYERS - 1] * sizeof(T));
    return squares;
}

void run(WORKLOAD_ARGUMENTS) {
#ifndef ONE_CORE
#pragma omp parallel for schedule(static)
#endif
    for (long long i = 0; i < batch; i++)
        forward(x + i * (long long)SIZES[0], w, b, y + i * (long long)SIZES[N_LAYERS - 1]);
}

/* A sum of terms of both signs can be nearly zero. */
void scale(WORKLOAD_ARGUMENTS, double *scales) {
    double squares = 0;
    T out[WIDEST];
    for (long long i = 0; i < batch; i++)
        squares += forward(x + i * (long long)SIZES[0], w, b, out);
    scales[0] = sqrt(squares / (double)(batch * (long long)SIZES[N_LAYERS - 1]));
}

// The loss of one row of logits; `delta` becomes softmax - one-hot.
#pragma once

template <unsigned CLASSES>
__device__ __forceinline__ float cross_entropy(const float (&logit)[CLASSES], unsigned label,
                                               float (&delta)[CLASSES]) {
    float largest = logit[0], sum = 0, of_label = 0;
#pragma unroll
    for (unsigned k = 1; k < CLASSES; k++)
        largest = fmaxf(largest, logit[k]);
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++) {
        delta[k] = expf(logit[k] - largest);
        sum += delta[k];
        of_label = k == label ? logit[k] : of_label;
    }
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++)
        delta[k] = delta[k] / sum - (k == label ? 1.0f : 0.0f);
    return logf(sum) + largest - of_label;
}

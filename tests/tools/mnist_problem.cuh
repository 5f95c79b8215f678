// A training of mnist_train for probes: zeros, at most 2000 steps.
#pragma once

static mnist_t problem() {
    mnist_t p = {};
    half *parameters = (half *)zeros(PARAMETERS * sizeof(half));
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        p.w[layer] = parameters + parameter_offset(layer, false);
        p.b[layer] = parameters + parameter_offset(layer, true);
    }
    p.images = (half *)zeros(BATCH * PIXELS * sizeof(half)), p.images_n = BATCH;
    p.labels = (unsigned char *)zeros(BATCH), p.order = (unsigned *)zeros(2000 * BATCH * 4);
    for (unsigned layer = 1; layer < LAYERS; layer++) {
        p.a[layer] = (half *)zeros(BATCH * HIDDEN * sizeof(half));
        p.delta[layer] = (half *)zeros(BATCH * HIDDEN * sizeof(half));
    }
    p.scratch = (float *)zeros(PARAMETERS * sizeof(float));
    p.losses = (float *)zeros(2000 * 4), p.counters = (unsigned *)zeros(256);
    p.rate = 0.003f;
    return p;
}

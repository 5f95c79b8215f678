#include "workloads/mnist_train/kernel_args.h"

enum { ALIGNMENT = 256, HALF_BYTES = 2 };

size_t mnist_fan_in(size_t hidden, size_t layer) {
    return layer == 0 ? MNIST_PIXELS : hidden;
}

size_t mnist_fan_out(size_t hidden, size_t layer) {
    return layer == MNIST_LAYERS - 1 ? MNIST_CLASSES : hidden;
}

/* Append `bytes` to the block; returns their offset. */
static size_t take(mnist_layout_t *layout, size_t bytes) {
    const size_t at = layout->bytes;
    layout->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

mnist_layout_t mnist_layout(size_t hidden, size_t batch, size_t steps, mnist_extras_t extras) {
    mnist_layout_t layout = {0};
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t n_in = mnist_fan_in(hidden, l), n_out = mnist_fan_out(hidden, l);
        layout.w[l] = take(&layout, n_out * n_in * HALF_BYTES);
        layout.b[l] = take(&layout, n_out * HALF_BYTES);
    }
    layout.low_halves = layout.bytes;
    if (extras.low_halves)
        take(&layout, layout.low_halves);
    layout.parameter_bytes = layout.bytes;
    layout.losses = take(&layout, steps * sizeof(float));
    layout.order = take(&layout, steps * batch * sizeof(uint32_t));
    layout.counters = take(&layout, MNIST_COUNTERS * sizeof(uint32_t));
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t columns = l == MNIST_LAYERS - 1 ? MNIST_PADDED_CLASSES : hidden;
        layout.a[l] = take(&layout, batch * mnist_fan_in(hidden, l) * HALF_BYTES);
        layout.delta[l] = take(&layout, batch * columns * HALF_BYTES);
    }
    layout.logits = take(&layout, batch * MNIST_PADDED_CLASSES * sizeof(float));
    layout.scratch = layout.bytes;
    if (extras.scratch)
        take(&layout, layout.low_halves / HALF_BYTES * sizeof(float));
    return layout;
}

void mnist_place(const mnist_layout_t *layout, cu_pointer_t block, mnist_problem_t *problem) {
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        problem->w[l] = block + layout->w[l];
        problem->b[l] = block + layout->b[l];
        problem->a[l] = block + layout->a[l];
        problem->delta[l] = block + layout->delta[l];
    }
    problem->losses = block + layout->losses;
    problem->order = block + layout->order;
    problem->counters = block + layout->counters;
    problem->low_halves =
        layout->low_halves < layout->parameter_bytes ? block + layout->low_halves : 0;
    problem->logits = block + layout->logits;
    problem->scratch = layout->scratch < layout->bytes ? block + layout->scratch : 0;
}

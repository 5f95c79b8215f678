// Probes of docs/on-chip.md with the code of mnist_train's 06_on_chip: its products, and its steps with parts left out.
#pragma once

enum product { FORWARD, BACKWARD, UPDATE, FORWARD_0, UPDATE_0, FORWARD_CONFLICTS, PRODUCTS };

// Without the permutation of 16-byte pieces: eight rows lie in the same banks.
struct unpermuted_t {
    static constexpr unsigned ROW_BYTES = SHARE * 2;
    unsigned address;
    __device__ __forceinline__ plain_row_t row(unsigned row, unsigned eight) const {
        return {address + row * ROW_BYTES + eight * 16};
    }
};

// A layer's product in one block, on zeros; clocks of all repetitions.
template <product WHAT> __global__ void __launch_bounds__(THREADS, 1) products(mnist_t p, long long *clocks, unsigned n) {
    extern __shared__ uint4 probe_shared[];
    shared_t &shared = *(shared_t *)probe_shared;
    for (unsigned i = threadIdx.x; i < sizeof(shared_t) / 4; i += THREADS)
        ((unsigned *)&shared)[i] = 0;
    network_t net = {}, low = {};
    const swizzled_t<SHARE> weights = {shared_address(shared.weights[0])}, inputs = {shared_address(shared.inputs[0])};
    const swizzled_t<PANEL> delta = {shared_address(shared.delta[0])};
    const unpermuted_t plain_weights = {weights.address}, plain_inputs = {inputs.address};
    const pixels_t pixels = {shared_address(shared.pixels[0])};
    const unsigned tile = neuron_tile() * 16 * SHARE * 2;
    float used = 0;
    __syncthreads();
    const long long start = clock64();
    for (unsigned i = 0; i < n; i++) {
        tile_t sums[IMAGE_TILES][2];
        if (WHAT == FORWARD)
            multiply_forward<INPUT_TILES>(sums, inputs, [&](fragment_t &w, unsigned j) {
                load_matrices<false>(w, rows_of(weights).tile(j) + tile);
            });
        else if (WHAT == FORWARD_CONFLICTS)
            multiply_forward<INPUT_TILES>(sums, plain_inputs, [&](fragment_t &w, unsigned j) {
                load_matrices<false>(w, rows_of(plain_weights).tile(j) + tile);
            });
        else if (WHAT == FORWARD_0)
            multiply_forward<PIXEL_TILES>(sums, pixels, [&](fragment_t &w, unsigned j) {
                for (unsigned word = 0; word < 4; word++)
                    w[word] = net.w0[j][word];
            });
        else if (WHAT == BACKWARD)
            multiply_backward(delta, weights, [&](const tile_t &s, unsigned, unsigned) { used += s.upper().x; });
        else if (WHAT == UPDATE)
            descend_shared(p, 1, weights, delta, inputs);
        else
            descend_first(p, net, low, delta, pixels);
        for (unsigned m = 0; m < IMAGE_TILES; m++)
            used += sums[m][0].upper().x + sums[m][1].lower().y;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        clocks[0] = clock64() - start;
    for (unsigned j = 0; j < PIXEL_TILES; j++)
        used += net.w0[j][0];
    if (used == 1)
        clocks[1] = 0;
}

enum left_out { NOTHING, UPDATES, UPDATES_AND_PRODUCTS, VARIANTS };

// The exchanges of a step, each of zeros, and the last layer, which is small.
__device__ __forceinline__ void exchange_step(trainer_t &t, unsigned s) {
    const tile_t zeros[IMAGE_TILES][2];
    const auto share_zeros = [&](unsigned layer) {
        for (unsigned unit = warp_of(); unit < INPUT_TILES * SPLIT; unit += WARPS)
            for (unsigned m = 0; m < BACK_IMAGES; m++)
                for (unsigned h = 0; h < 2; h++)
                    share_sums(layer, s, (unit / INPUT_TILES * BACK_IMAGES + m) * 16, unit % INPUT_TILES * 16 + h * 8,
                               zeros[0][0]);
    };
    t.images.wait(t.shared, s);
    t.send_forward(SUMS_0, s, zeros);
    __syncthreads();
    t.images.fetch(t.p, t.shared, s + 1);
    t.template finish_forward<SUMS_0>(s);
    receive_activations(t.shared.inputs[0], 0, s, [] {});
    t.send_forward(SUMS_1, s, zeros);
    t.template finish_forward<SUMS_1>(s);
    receive_activations(t.shared.inputs[1], 1, s, [] {});
    t.send_forward(SUMS_2, s, zeros);
    t.template finish_forward<SUMS_2>(s);
    receive_activations(t.shared.sums[0].activations_3, 2, s, [] { __syncthreads(); });
    sum_losses(t.shared.losses, t.forward_3(s));
    t.backward_3();
    share_zeros(1);
    __syncthreads();
    write_loss(t.p, t.shared.losses, s);
    t.template finish_backward<2>(s);
    share_zeros(0);
    __syncthreads();
    t.template finish_backward<1>(s);
}

__device__ __forceinline__ void products_step(trainer_t &t, unsigned s) {
    t.forward_0(s);
    t.template forward<SUMS_1>(s);
    t.template forward<SUMS_2>(s);
    sum_losses(t.shared.losses, t.forward_3(s));
    t.backward_3();
    t.template backward<2>(s);
    write_loss(t.p, t.shared.losses, s);
    t.template finish_backward<2>(s);
    t.template backward<1>(s);
    t.template finish_backward<1>(s);
}

template <left_out WITHOUT>
__global__ void
#if CLUSTERED
    __cluster_dims__(RANKS, 1, 1)
#endif
        __launch_bounds__(THREADS, 1) steps(const __grid_constant__ mnist_t p) {
    extern __shared__ uint4 probe_shared[];
    trainer_t trainer(p, *(shared_t *)probe_shared);
    for (unsigned s = 0; s < p.steps; s++)
        if (WITHOUT == NOTHING)
            trainer.step(s);
        else {
            cluster_expect(trainer.shared);
            if (WITHOUT == UPDATES)
                products_step(trainer, s);
            else
                exchange_step(trainer, s);
        }
    trainer.finish();
}

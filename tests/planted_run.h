/* Runs with a planted truth, for tests of what is said about them. */
#ifndef TESTS_PLANTED_RUN_H
#define TESTS_PLANTED_RUN_H

#include "base/memory.h"
#include "base/rng.h"
#include "made_case.h"
#include "results/record.h"

#include <string.h>

enum { N_PASSES = 6, PASS_ROUNDS = 4, ROUND_SAMPLES = 8 };

typedef struct planted {
    const char *engine, *device, *variant;
    int64_t batch;
    double median_ns;
    case_status_t status;
    const char *reason;
} planted_t;

/* Uniform noise of ±1 %, with a drift of ±1 % that all samples of a round share. */
static inline void plant_passes(case_result_t *result, const char *name, double median_ns,
                                size_t n_passes, uint64_t seed) {
    phase_t *phase = result_add_phase(result, name, CLOCK_HOST);
    for (size_t r = 0; r < n_passes * PASS_ROUNDS; r++) {
        float noise[1 + ROUND_SAMPLES];
        double samples[ROUND_SAMPLES];
        const rng_position_t position = {seed, 3, r * (1 + ROUND_SAMPLES)};
        rng_fill_uniform(noise, 1 + ROUND_SAMPLES, position, -0.01F, 0.01F);
        for (size_t i = 0; i < ROUND_SAMPLES; i++)
            samples[i] = median_ns * (1 + (double)noise[0] + (double)noise[i + 1]);
        if (r % PASS_ROUNDS == 0)
            phase_start_pass(phase);
        phase_add_round(phase, samples, ROUND_SAMPLES);
    }
    phase_summarise(phase);
}

static inline void plant_phase(case_result_t *result, const char *name, double median_ns,
                               uint64_t seed) {
    plant_passes(result, name, median_ns, N_PASSES, seed);
}

static inline phase_t *plant_device_phase(case_result_t *result, const char *name,
                                          double median_ns) {
    plant_phase(result, name, median_ns, 3);
    phase_t *phase = &result->phases[result->n_phases - 1];
    phase->clock = CLOCK_DEVICE;
    return phase;
}

static inline void plant_case(record_t *run, planted_t what, size_t n_passes, uint64_t seed) {
    AUTO(case_free) case_t spec = made_case("mlp_infer", what.engine, what.device, what.variant);
    int64_t layers[] = {4, 5, 1};
    add_integer(&spec, "batch", what.batch);
    case_add_param(&spec, "layers", &(value_t){.kind = VALUE_INTS, .ints = layers, .n_ints = 3});
    char label[32];
    spec.id = mem_format("mlp_infer/%s/%s/batch=%lld", case_engine_label(&spec, label),
                         what.variant, (long long)what.batch);
    case_result_t result;
    result_init(&result, &spec);
    result.status = what.status;
    result.reason = mem_text(what.reason);
    plant_passes(&result, "total", what.median_ns, n_passes, seed);
    plant_passes(&result, "host_to_host", what.median_ns, n_passes, seed + 1);
    plant_passes(&result, strcmp(what.engine, "cuda") == 0 ? "kernel" : "forward",
                 what.median_ns / 2, n_passes, seed + 7);
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases++] = result;
}

/* The case was compiled once more, in `ns`; its passes load that code. */
static inline void plant_draw(case_result_t *result, const char *phase, double ns) {
    const draw_t draw = {mem_alloc(sizeof *draw.medians), 1, 1e9};
    draw.medians[0] = (named_ns_t){mem_text(phase), ns};
    result->draws = mem_resize(result->draws, result->n_draws + 1, sizeof draw);
    result->draws[result->n_draws++] = draw;
    result->draw = (unsigned)result->n_draws;
}

static inline void plant(record_t *run, planted_t what, uint64_t seed) {
    plant_case(run, what, N_PASSES, seed);
}

/* One pass: CUDA is 3.44 times as fast as PyTorch eager at batch 1, and a fifth as fast at batch 2. */
static inline record_t plant_one_pass(void) {
    record_t run = {.name = mem_text("planted")};
    plant_case(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, 1, 1);
    plant_case(&run, (planted_t){"pytorch", "cuda", "eager", 1, 3440, CASE_OK, NULL}, 1, 2);
    plant_case(&run, (planted_t){"cuda", "cuda", "01_study", 2, 5000, CASE_OK, NULL}, 1, 3);
    plant_case(&run, (planted_t){"pytorch", "cuda", "eager", 2, 1000, CASE_OK, NULL}, 1, 4);
    return run;
}

/* CUDA takes 1000 ns at every batch, PyTorch eager `ratios[i]` times as long at batch 2^i. */
static inline record_t plant_ratios(const double *ratios, size_t n) {
    record_t run = {.name = mem_text("planted")};
    for (size_t i = 0; i < n; i++) {
        plant(&run, (planted_t){"cuda", "cuda", "01_study", 1LL << i, 1000, CASE_OK, NULL}, 10 * i);
        plant(&run,
              (planted_t){"pytorch", "cuda", "eager", 1LL << i, 1000 * ratios[i], CASE_OK, NULL},
              10 * i + 5000);
    }
    return run;
}

#endif

/* Runs with a planted truth, for tests of what is said about them. */
#ifndef TESTS_PLANTED_RUN_H
#define TESTS_PLANTED_RUN_H

#include "base/memory.h"
#include "base/rng.h"
#include "results/record.h"

#include <string.h>

enum { N_ROUNDS = 12, ROUND_SAMPLES = 8 };

typedef struct planted {
    const char *engine, *device, *variant;
    int64_t batch;
    double median_ns;
    case_status_t status;
    const char *reason;
} planted_t;

/* Uniform noise of ±1 %, with a drift of ±1 % that all samples of a round share. */
static inline void plant_phase(case_result_t *result, const char *name, double median_ns,
                               uint64_t seed) {
    float noise[N_ROUNDS * (ROUND_SAMPLES + 1)];
    rng_fill_uniform(noise, N_ROUNDS * (ROUND_SAMPLES + 1), (rng_position_t){seed, 3, 0}, -0.01F,
                     0.01F);
    phase_t *phase = result_add_phase(result, name, CLOCK_HOST);
    for (size_t r = 0; r < N_ROUNDS; r++) {
        const float *round = noise + r * (ROUND_SAMPLES + 1);
        double samples[ROUND_SAMPLES];
        for (size_t i = 0; i < ROUND_SAMPLES; i++)
            samples[i] = median_ns * (1 + (double)round[0] + (double)round[i + 1]);
        phase_add_round(phase, samples, ROUND_SAMPLES);
    }
    phase_summarise(phase);
}

static inline void plant(record_t *run, planted_t what, uint64_t seed) {
    case_t spec = {.workload = mem_text("mlp_infer"),
                   .engine = mem_text(what.engine),
                   .device = mem_text(what.device),
                   .variant = mem_text(what.variant),
                   .dtype = mem_text("f32")};
    int64_t layers[] = {4, 5, 1};
    case_add_param(&spec, "batch", &(value_t){.kind = VALUE_INT, .integer = what.batch});
    case_add_param(&spec, "layers", &(value_t){.kind = VALUE_INTS, .ints = layers, .n_ints = 3});
    char label[32];
    spec.id = mem_format("mlp_infer/%s/%s/batch=%lld", case_engine_label(&spec, label),
                         what.variant, (long long)what.batch);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    result.status = what.status;
    result.reason = mem_text(what.reason);
    plant_phase(&result, "total", what.median_ns, seed);
    plant_phase(&result, "host_to_host", what.median_ns, seed + 1);
    plant_phase(&result, strcmp(what.engine, "cuda") == 0 ? "kernel" : "forward",
                what.median_ns / 2, seed + 7);
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases++] = result;
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

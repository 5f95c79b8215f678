/* A run's folder as tests of results make one: cases of mlp_infer with chosen times. */
#ifndef TESTS_RESULTS_FOLDER_H
#define TESTS_RESULTS_FOLDER_H

#include "checks.h"
#include "io/fs.h"
#include "made_case.h"
#include "results/record.h"
#include "temporary_folder.h"

#include <stdio.h>

/* The first pass of a case of mlp_infer, with one round of samples per named phase. */
static inline case_result_t make_result(const char *engine, const char *variant, int64_t batch,
                                        const char *const *phases, double first_ns) {
    case_t spec =
        made_case("mlp_infer", engine, strcmp(engine, "cpu") == 0 ? "cpu" : "cuda", variant);
    add_integer(&spec, "batch", batch);
    int64_t layers[] = {4, 5, 1};
    case_add_param(&spec, "layers", &(value_t){.kind = VALUE_INTS, .ints = layers, .n_ints = 3});
    char label[32];
    spec.id = mem_format("mlp_infer/%s/%s/batch=%lld", case_engine_label(&spec, label), variant,
                         (long long)batch);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    for (size_t i = 0; phases[i] != NULL; i++) {
        phase_t *phase = result_add_phase(&result, phases[i], CLOCK_HOST);
        double ns = first_ns * (double)(i + 1);
        phase_add_round(phase, (double[]){ns - 1, ns, ns + 1}, 3);
        phase_summarise(phase);
    }
    result.pass = 1;
    result.seed = 42;
    result.stop = STOP_PRECISE;
    return result;
}

static const char *const CUDA_PHASES[] = {"malloc", "h2d", "kernel", "d2h", "free", "total", NULL};

static inline void write_header(const char *folder, const char *finished, const char *gpu,
                                const char *sweep) {
    record_t run = {.folder = mem_text(folder),
                    .started = mem_text("2026-03-02T10:15:00Z"),
                    .finished = mem_text(finished),
                    .seed = 42};
    text_list_add(&run.argv, "bench");
    text_list_add(&run.argv, "run");
    run.sweeps = mem_zeroed(1, sizeof *run.sweeps);
    run.sweeps[0] = (sweep_text_t){.path = mem_text("sweeps/a.json"), .text = mem_text(sweep)};
    run.n_sweeps = 1;
    environment_set(&run.environment, "gpu.name", gpu);
    environment_set_flag(&run.environment, "gpu.ecc", true);
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 4.3e12);
    environment_set_number(&run.environment, "host.load", 0.25);
    assert_ok(record_write_header(&run, &err));
    record_free(&run);
}

static inline void append(const char *folder, case_result_t result) {
    journal_t journal;
    assert_ok(journal_open(folder, &journal, &err));
    assert_ok(journal_append(&journal, &result, &err));
    journal_close(&journal);
    result_free(&result);
}

static inline void append_text(const char *folder, const char *text) {
    AUTO_FREE char *path = fs_join(folder, "cases.jsonl");
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline char *read_file(const char *folder, const char *name) {
    char *path = fs_join(folder, name), *text = NULL;
    size_t size;
    if (fs_exists(path))
        assert_ok(fs_read(path, &text, &size, &err));
    free(path);
    return text;
}

#endif

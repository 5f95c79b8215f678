/* Runs of a few planted cases, written by the journal into a temporary folder and read back as what
 * charts are drawn from. */
#ifndef TESTS_PLANTED_PLOT_H
#define TESTS_PLANTED_PLOT_H

#include "checks.h"
#include "io/fs.h"
#include "made_case.h"
#include "plot/axes.h"
#include "plot/source.h"
#include "temporary_folder.h"

/* One case: six passes, whose medians lie within ±0.5 % of its median, of one round each. */
typedef struct planted {
    const char *engine, *device, *variant, *copy; /* copy: NULL for the default */
    int size;
    double total_ns, compute_ns; /* host_to_host is half of the total */
    case_status_t status;
    double limit_ns;      /* 0 for none */
    const char *workload; /* NULL: mlp_infer; else linreg_train */
    int epochs;           /* of linreg_train */
    bool algorithmic, without_total;
} planted_t;

static inline void add_phase(case_result_t *result, const char *name, double median_ns) {
    phase_t *phase = result_add_phase(result, name, CLOCK_HOST);
    for (int p = 0; p < 6; p++) {
        const double median = median_ns * exp(0.002 * (p - 2.5));
        phase_start_pass(phase);
        phase_add_round(phase, (double[]){0.999 * median, 1.001 * median}, 2);
    }
    phase_summarise(phase);
}

static inline case_t planted_case(const planted_t *planted) {
    const char *workload = planted->workload != NULL ? planted->workload : "mlp_infer";
    const char *size = planted->workload != NULL ? "points" : "batch";
    bool worker = !case_engine_is_built_in(planted->engine);
    case_t spec = made_case(workload, planted->engine, planted->device, planted->variant);
    spec.id = mem_format("%s/%s%s%s/%s/%s=%d%s%s/epochs=%d", workload, planted->engine,
                         worker ? "-" : "", worker ? planted->device : "", planted->variant, size,
                         planted->size, planted->copy != NULL ? "/copy=" : "",
                         planted->copy != NULL ? planted->copy : "", planted->epochs);
    if (planted->epochs == 0)
        *strrchr(spec.id, '/') = '\0';
    add_integer(&spec, size, planted->size);
    if (planted->epochs > 0)
        add_integer(&spec, "epochs", planted->epochs);
    case_add_technique(&spec, "copy", planted->copy != NULL ? planted->copy : "pageable");
    return spec;
}

static inline void append_result(const char *folder, const case_result_t *result) {
    journal_t journal;
    assert_ok(journal_open(folder, &journal, &err));
    assert_ok(journal_append(&journal, result, &err));
    journal_close(&journal);
}

static inline void append(const char *folder, const planted_t *planted) {
    AUTO(case_free) case_t spec = planted_case(planted);
    AUTO(result_free) case_result_t result;
    result_init(&result, &spec);
    result.status = planted->status;
    add_phase(&result, strcmp(planted->engine, "cuda") == 0 ? "kernel" : "forward",
              planted->compute_ns);
    if (strcmp(planted->engine, "cuda") == 0)
        add_phase(&result, "kernel_graph", planted->compute_ns / 2);
    if (!planted->without_total)
        add_phase(&result, "total", planted->total_ns);
    add_phase(&result, "host_to_host", planted->total_ns / 2);
    if (planted->limit_ns > 0) {
        result.limit.limit_ns = planted->limit_ns;
        result.limit.bound = mem_text("dram");
    }
    if (planted->algorithmic)
        result.results_json = mem_text("{\"algorithmic\":true}");
    result_add_once(&result, "context", 2e8);
    append_result(folder, &result);
}

static const planted_t PLANTED[] = {
    {"cuda", "cuda", "01_study", NULL, 1, 100e3, 5e3, CASE_OK, .limit_ns = 10},
    {"cuda", "cuda", "01_study", NULL, 2, 300e3, 6e3, CASE_THROTTLED, .limit_ns = 20},
    {"cuda", "cuda", "01_study", NULL, 4, 654321e3, 7e3, CASE_WRONG, .limit_ns = 40},
    {"cuda", "cuda", "01_study", NULL, 8, 500e3, 8e3, CASE_OK, .limit_ns = 80},
    {"cuda", "cuda", "02_fast", NULL, 1, 90e3, 2e3, CASE_OK, .limit_ns = 10},
    {"cuda", "cuda", "02_fast", NULL, 2, 91e3, 2e3, CASE_OK, .limit_ns = 20},
    {"cuda", "cuda", "02_fast", NULL, 4, 92e3, 2e3, CASE_OK, .limit_ns = 40},
    {"cuda", "cuda", "02_fast", NULL, 8, 93e3, 2e3, CASE_FAILED, .limit_ns = 80},
    {"cuda", "cuda", "02_fast", "pinned", 1, 50e3, 2e3, CASE_OK, .limit_ns = 10},
    {"pytorch", "cuda", "eager", NULL, 1, 200e3, 80e3, CASE_OK, .limit_ns = 0},
    {"pytorch", "cuda", "eager", NULL, 2, 301e3, 80e3, CASE_OK, .limit_ns = 0},
    {"pytorch", "cuda", "eager", NULL, 4, 200e3, 80e3, CASE_OK, .limit_ns = 0},
    {"pytorch", "cuda", "eager", NULL, 8, 250e3, 80e3, CASE_OK, .limit_ns = 0},
    {"cpu", "cpu", "ref", NULL, 1, 1e3, 1e3, CASE_OK, .limit_ns = 0},
    {"cpu", "cpu", "omp", NULL, 1, 9e3, 9e3, CASE_OK, .limit_ns = 0},
    {"pytorch", "cpu", "eager", NULL, 1, 3e3, 2e3, CASE_OK, .limit_ns = 0},
    {"mine", "cuda", "jit", NULL, 1, 70e3, 9e3, CASE_OK, .limit_ns = 0},
};
enum { N_PLANTED = COUNT_OF(PLANTED) };

/* The head of a run that has no cases yet. */
static inline void write_header(const char *folder, const char *gpu) {
    AUTO(record_free) record_t run = {.folder = mem_text(folder), .name = mem_text("t")};
    run.started = mem_text("2026-03-02T10:15:00Z");
    environment_set(&run.environment, "gpu.name", gpu);
    environment_set(&run.environment, "host.cpu", "Some CPU");
    assert_ok(fs_make_folders(folder, &err));
    assert_ok(record_write_header(&run, &err));
}

/* Those of PLANTED that `wanted` (an engine's device, or NULL for all) lets in. */
static inline void write_run(const char *folder, const char *gpu, const char *wanted) {
    write_header(folder, gpu);
    for (size_t i = 0; i < N_PLANTED; i++)
        if (wanted == NULL || strcmp(PLANTED[i].device, wanted) == 0)
            append(folder, &PLANTED[i]);
}

typedef struct world {
    char *folder, *run;
    plot_source_t source;
    const plot_data_t *data; /* its first shape */
    chart_t chart;           /* drawn last */
} world_t;

typedef char *drawing_t(const plot_data_t *data, chart_t *chart);

/* All that load something return the world, a test's state. */
static inline world_t *load_run(world_t *world) {
    assert_ok(plot_source_from_run(world->run, &world->source, &err));
    assert_true(world->source.n_shapes > 0);
    world->data = &world->source.shapes[0];
    return world;
}

static inline world_t *load(world_t *world, const char *gpu, const char *wanted) {
    write_run(world->run, gpu, wanted);
    return load_run(world);
}

static inline world_t *load_cases(world_t *world, const planted_t *cases, size_t n) {
    write_header(world->run, "Some GPU");
    for (size_t i = 0; i < n; i++)
        append(world->run, &cases[i]);
    return load_run(world);
}

static inline int set_up(void **state) {
    world_t *world = mem_zeroed(1, sizeof *world);
    world->folder = temporary_folder();
    world->run = fs_join(world->folder, "run");
    *state = world;
    return 0;
}

static inline int tear_down(void **state) {
    AUTO_FREE world_t *world = *state;
    chart_free(&world->chart);
    plot_source_free(&world->source);
    fs_remove_temporary(&world->folder);
    free(world->run);
    return 0;
}

/* The table of a chart, after the last write. */
static inline const char *table_of(chart_t *chart) {
    fflush(chart->table);
    return chart->data;
}

static inline void assert_drawn(char *why) {
    if (why != NULL)
        fail_msg("not drawn: %s", why);
}

/* Draws the world's chart, and returns its table. */
static inline const char *drawn(world_t *world, drawing_t *draw) {
    chart_free(&world->chart);
    world->chart = (chart_t){0};
    assert_drawn(draw(world->data, &world->chart));
    return table_of(&world->chart);
}

static inline void not_drawn(const world_t *world, drawing_t *draw, const char *expected) {
    AUTO(chart_free) chart_t chart = {0};
    AUTO_FREE char *why = draw(world->data, &chart);
    assert_non_null(why);
    assert_string_equal(why, expected);
}

#endif

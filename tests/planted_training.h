/* Cases of linreg_train with planted times and losses, for tests of the charts of trainings. */
#ifndef TESTS_PLANTED_TRAINING_H
#define TESTS_PLANTED_TRAINING_H

#include "planted_plot.h"

typedef struct training_phase {
    const char *name;
    double ns;
} training_phase_t;

typedef struct training {
    const char *engine, *device, *variant;
    int points, epochs;
    case_status_t status;
    const char *results;        /* JSON, or NULL */
    training_phase_t phases[6]; /* ends with a name NULL */
} training_t;

static inline void append_training(const char *folder, const training_t *training) {
    const planted_t planted = {.engine = training->engine,
                               .device = training->device,
                               .variant = training->variant,
                               .size = training->points,
                               .workload = "linreg_train",
                               .epochs = training->epochs};
    AUTO(case_free) case_t spec = planted_case(&planted);
    AUTO(result_free) case_result_t result;
    result_init(&result, &spec);
    result.status = training->status;
    for (const training_phase_t *phase = training->phases; phase->name != NULL; phase++)
        add_phase(&result, phase->name, phase->ns);
    if (training->results != NULL)
        result.results_json = mem_text(training->results);
    append_result(folder, &result);
}

static inline world_t *load_trainings(world_t *world, const training_t *trainings, size_t n) {
    write_header(world->run, "Some GPU");
    for (size_t i = 0; i < n; i++)
        append_training(world->run, &trainings[i]);
    return load_run(world);
}

#define LOAD_TRAININGS(world, ...)                                                                 \
    load_trainings(world, (const training_t[]){__VA_ARGS__},                                       \
                   sizeof((const training_t[]){__VA_ARGS__}) / sizeof(training_t))

#endif

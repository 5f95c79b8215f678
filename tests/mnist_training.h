/* Trainings of mnist_train on the synthetic set, for tests: they see a project's folder without
 * MNIST, nor any beside it. */
#ifndef TESTS_MNIST_TRAINING_H
#define TESTS_MNIST_TRAINING_H

#include "checks.h"
#include "io/fs.h"
#include "made_case.h"
#include "temporary_folder.h"
#include "workloads/common/workload.h"
#include "workloads/mnist/data.h"

typedef struct training {
    int64_t hidden, batch, steps;
    double rate;
    const char *dtype;
} training_t;

static const training_t SMALL = {8, 4, 3, 0.003, "f32"};

static inline case_t make_case(const char *variant, const training_t *training) {
    case_t spec = {.engine = mem_text("cpu"),
                   .variant = mem_text(variant),
                   .dtype = mem_text(training->dtype)};
    add_integer(&spec, "hidden", training->hidden);
    add_integer(&spec, "batch", training->batch);
    add_integer(&spec, "steps", training->steps);
    case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = training->rate});
    workload_complete(workload_find("mnist_train"), &spec);
    return spec;
}

static inline const mnist_data_t *data_of(const training_t *training) {
    const mnist_data_t *data;
    case_t spec = make_case("ref", training);
    assert_ok(mnist_data_take(&spec, &data, &err));
    case_free(&spec);
    return data;
}

/* The folder, with room for files beside the project's; `kept` holds the images, which are made
 * once, until the end. */
typedef struct mnist_world {
    char *folder;
    const mnist_data_t *kept;
} mnist_world_t;

static inline mnist_world_t open_world(void) {
    mnist_world_t world;
    world.folder = temporary_folder();
    char *root = fs_join(world.folder, "project");
    char *kernels = fs_join(root, "kernels"), *sweeps = fs_join(root, "sweeps");
    assert_ok(fs_make_folders(kernels, &err));
    assert_ok(fs_make_folders(sweeps, &err));
    setenv("BENCH_ROOT", root, 1);
    unsetenv("MNIST_DIR");
    free(sweeps);
    free(kernels);
    free(root);
    world.kept = data_of(&SMALL);
    return world;
}

static inline void close_world(mnist_world_t *world) {
    mnist_data_release(world->kept);
    fs_remove_temporary(&world->folder);
}

/* The world of a whole binary, for cmocka's group set-up and tear-down. */
static mnist_world_t world;

static inline int open_all(void **state) {
    world = open_world();
    return 0;
}

static inline int close_all(void **state) {
    close_world(&world);
    return 0;
}

#endif

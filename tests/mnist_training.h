/* Networks of four layers on the synthetic set, for tests: they see a project's folder without MNIST,
 * nor any beside it. */
#ifndef TESTS_MNIST_TRAINING_H
#define TESTS_MNIST_TRAINING_H

#include "checks.h"
#include "io/fs.h"
#include "made_case.h"
#include "temporary_folder.h"
#include "workloads/common/workload.h"
#include "workloads/mnist/data.h"

enum { LAYERS = 4 };

typedef struct training {
    size_t hidden, batch, steps;
    double rate;
} training_t;

static const training_t SMALL = {8, 4, 3, 0.003};

static inline mnist_data_t shape_of_training(const training_t *training) {
    mnist_data_t shape = {.layers = LAYERS,
                          .hidden = training->hidden,
                          .batch = training->batch,
                          .steps = training->steps,
                          .n_order = (training->steps * training->batch + MNIST_IMAGES - 1) /
                                     MNIST_IMAGES * MNIST_IMAGES,
                          .seed = 1};
    mnist_sizes(shape.layers, shape.hidden, shape.sizes);
    return shape;
}

static inline const mnist_data_t *data_of(const training_t *training) {
    const mnist_data_t *data;
    mnist_data_t shape = shape_of_training(training);
    assert_ok(mnist_shape_take(&shape, &data, &err));
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

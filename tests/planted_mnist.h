/* Cases of mnist_train with planted times and results, for tests of its charts and its report. */
#ifndef TESTS_PLANTED_MNIST_H
#define TESTS_PLANTED_MNIST_H

#include "made_case.h"
#include "planted_plot.h"

typedef struct network_phase {
    const char *name;
    double ns;
} network_phase_t;

typedef struct network {
    const char *engine, *variant;
    int hidden, seed, steps;
    case_status_t status;
    const char *results;        /* JSON, or NULL */
    network_phase_t phases[10]; /* ends with a name NULL */
} network_t;

static inline case_t network_case(const network_t *network) {
    const bool worker = !case_engine_is_built_in(network->engine);
    case_t spec = made_case("mnist_train", network->engine,
                            strcmp(network->engine, "cpu") == 0 ? "cpu" : "cuda", network->variant);
    set_text(&spec.dtype, "f16");
    spec.id = mem_format("mnist_train/%s%s/%s/hidden=%d/steps=%d/seed=%d", network->engine,
                         worker ? "-cuda" : "", network->variant, network->hidden, network->steps,
                         network->seed);
    add_integer(&spec, "hidden", network->hidden);
    add_integer(&spec, "batch", 32);
    add_integer(&spec, "steps", network->steps);
    case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = 0.003});
    add_integer(&spec, "seed", network->seed);
    return spec;
}

static inline case_result_t network_result(const network_t *network) {
    case_t spec = network_case(network);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    result.status = network->status;
    for (const network_phase_t *phase = network->phases; phase->name != NULL; phase++)
        add_phase(&result, phase->name, phase->ns);
    if (network->results != NULL)
        result.results_json = mem_text(network->results);
    return result;
}

static inline void load_networks(world_t *world, const network_t *networks, size_t n) {
    write_header(world->run, "Some GPU");
    for (size_t i = 0; i < n; i++) {
        case_result_t result = network_result(&networks[i]);
        append_result(world->run, &result);
        result_free(&result);
    }
    load_run(world);
}

#define LOAD_NETWORKS(world, ...)                                                                  \
    load_networks(world, (const network_t[]){__VA_ARGS__},                                         \
                  sizeof((const network_t[]){__VA_ARGS__}) / sizeof(network_t))

#endif

/* Cases of linreg_train on the CPU, and tests/fixtures/linreg.json as a test's state: points and
 * trainings that the PyTorch side is tested against too. */
#ifndef TESTS_KNOWN_LINREG_H
#define TESTS_KNOWN_LINREG_H

#include "checks.h"
#include "made_case.h"
#include "workloads/common/workload.h"

#include <jansson.h>

enum { SEED = 42 };

typedef struct training {
    int64_t points, epochs;
    double rate;
} training_t;

static inline int read_fixture(void **state) {
    *state = read_json("tests/fixtures/linreg.json");
    return 0;
}

static inline int free_fixture(void **state) {
    json_decref(*state);
    return 0;
}

static inline case_t make_case(const char *variant, const training_t *training) {
    case_t spec = {.engine = mem_text("cpu"), .variant = mem_text(variant)};
    add_integer(&spec, "points", training->points);
    add_integer(&spec, "epochs", training->epochs);
    case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = training->rate});
    workload_complete(workload_find("linreg_train"), &spec);
    return spec;
}

#endif

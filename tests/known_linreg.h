/* Cases of linreg_train on the CPU, and tests/fixtures/linreg.json as a test's state: points and
 * trainings that the PyTorch side is tested against too. */
#ifndef TESTS_KNOWN_LINREG_H
#define TESTS_KNOWN_LINREG_H

#include "checks.h"
#include "workloads/common/workload.h"

#include <jansson.h>

enum { SEED = 42 };

typedef struct training {
    int64_t points, epochs;
    double rate;
} training_t;

static inline int read_fixture(void **state) {
    json_error_t wrong;
    *state = json_load_file("tests/fixtures/linreg.json", JSON_REJECT_DUPLICATES, &wrong);
    if (*state == NULL)
        fail_msg("%s:%d: %s", wrong.source, wrong.line, wrong.text);
    return 0;
}

static inline int free_fixture(void **state) {
    json_decref(*state);
    return 0;
}

static inline case_t make_case(const char *variant, const training_t *training) {
    case_t spec = {.engine = mem_text("cpu"), .variant = mem_text(variant)};
    case_add_param(&spec, "points", &(value_t){.kind = VALUE_INT, .integer = training->points});
    case_add_param(&spec, "epochs", &(value_t){.kind = VALUE_INT, .integer = training->epochs});
    case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = training->rate});
    workload_complete(workload_find("linreg_train"), &spec);
    return spec;
}

#endif

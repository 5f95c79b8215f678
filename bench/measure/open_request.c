#include "measure/open_request.h"

#include "base/memory.h"
#include "model/case_json.h"
#include "workloads/operator/operators.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

json_t *open_request_make(const case_t *spec, const program_t *program, uint64_t seed,
                          bool profile) {
    json_t *built = json_null();
    if (program != NULL)
        built = json_pack("{s:s, s:s}", "cubin", program->cubin, "arch", program->arch);
    json_t *request =
        json_pack("{s:s, s:o, s:I, s:o, s:b}", "op", "open", "case", case_to_json(spec), "seed",
                  (json_int_t)seed, "program", built, "profile", profile);
    const operator_description_t *description = operators_find(spec->workload);
    json_t *described;
    error_t impossible = ERROR_INIT; /* the sweep's checks have computed its shapes */
    if (description != NULL &&
        operators_request(description, spec, &described, &impossible) == STATUS_OK)
        json_object_set_new(request, "operator", described);
    return request;
}

void open_request_set_refill(json_t *request, const char *cubin) {
    json_t *program = json_object_get(request, "program");
    if (cubin != NULL && json_is_object(program) && json_object_get(request, "operator") != NULL)
        json_object_set_new(program, "refill", json_string(cubin));
}

bool open_request_is_tuned(const json_t *hello, const case_t *spec) {
    size_t i;
    json_t *variant;
    const char *name = operators_find(spec->workload) != NULL ? "operator" : spec->workload;
    json_array_foreach(json_object_get(json_object_get(hello, "compiles"), name), i, variant) {
        if (json_is_string(variant) &&
            fnmatch(json_string_value(variant), spec->variant, 0) == 0) /* "*+compile" */
            return true;
    }
    return false;
}

bool open_request_may_have(const json_t *hello, const char *name) {
    size_t i;
    json_t *key;
    json_array_foreach(json_object_get(hello, "open_keys"), i, key) {
        if (json_is_string(key) && strcmp(json_string_value(key), name) == 0)
            return true;
    }
    return false;
}

void open_request_set_cache(json_t *request, const char *folder, unsigned draw) {
    char *path = mem_format("%s/%u", folder, draw);
    json_object_set_new(request, "compile_cache", json_string(path));
    free(path);
}

void open_request_without_results(json_t *request, const json_t *hello) {
    if (open_request_may_have(hello, "results"))
        json_object_set_new(request, "results", json_false());
}

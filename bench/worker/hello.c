#include "worker/hello.h"

#include "worker/engines.h"
#include "worker/protocol.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

/* {"name": …} of all facts "device.name", …, for prefix "device.". */
static json_t *facts_under(const environment_t *facts, const char *prefix) {
    json_t *object = json_object();
    size_t length = strlen(prefix);
    for (size_t i = 0; i < facts->n; i++) {
        const fact_t *fact = &facts->facts[i];
        if (strncmp(fact->key, prefix, length) != 0)
            continue;
        json_t *value = fact->kind == FACT_NUMBER ? json_real(strtod(fact->value, NULL))
                                                  : json_string(fact->value);
        json_object_set_new(object, fact->key + length, value);
    }
    return object;
}

/* For CUDA "*": `open` supplies the program. */
static json_t *variants_of(const engine_t *engine, const workload_t *workload) {
    static const char *const ANY[] = {"*", NULL};
    const char *const *names = engine == &engine_cpu    ? workload->cpu_variants
                               : engine == &engine_null ? workload->null_variants
                                                        : ANY;
    json_t *variants = json_array();
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        json_array_append_new(variants, json_string(names[i]));
    return variants;
}

static json_t *capabilities_of(const engine_t *engine) {
    json_t *capabilities = json_object();
    for (size_t i = 0; engine->workloads[i] != NULL; i++) {
        const char *name = engine->workloads[i]->workload;
        json_object_set_new(capabilities, name, variants_of(engine, workload_find(name)));
    }
    return capabilities;
}

json_t *worker_hello(const engine_t *engine, const environment_t *facts) {
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o}", "protocol", PROTOCOL_VERSION, "engine",
                     engine->name, "device", facts_under(facts, "device."), "versions",
                     facts_under(facts, "versions."), "capabilities", capabilities_of(engine),
                     "once_ns", facts_under(facts, "once_ns."));
}

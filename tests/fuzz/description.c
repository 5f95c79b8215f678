/* Descriptions of operators: any text is refused with a message, or gives arrays that have a shape, or a message, with
 * any params, and is read the same again. */
#include "fuzz.h"

#include "base/memory.h"
#include "io/json.h"
#include "workloads/described/description.h"

#include <stdlib.h>
#include <string.h>

/* `by_default`: with the default params and dtype, for which every array has a shape. */
static void check_case(const description_t *description, const case_t *spec, bool by_default) {
    error_t err = ERROR_INIT;
    bool allowed;
    workload_cost_t cost;
    status_t status = description_where(description, spec, &allowed, &err);
    FUZZ_CHECK(!by_default || (status == STATUS_OK && allowed));
    for (size_t i = 0; i < description->n_arrays; i++) {
        described_shape_t shape;
        error_clear(&err);
        status = description_shape(description, i, spec, &shape, &err);
        FUZZ_CHECK(!by_default || status == STATUS_OK);
        if (status != STATUS_OK) {
            fuzz_check_refusal(status, &err);
            continue;
        }
        size_t n = 1;
        for (size_t k = 0; k < description->arrays[i].n_dimensions; k++)
            n *= shape.sizes[k];
        FUZZ_CHECK(n >= 1 && n == shape.n && shape.bytes == n * element_bytes(shape.element));
    }
    error_clear(&err);
    status = description_cost(description, spec, &cost, &err);
    FUZZ_CHECK(!by_default || status == STATUS_OK);
    FUZZ_CHECK(status != STATUS_OK || (!(cost.bytes < 0) && !(cost.flops < 0)));
}

static void check_description(const description_t *description) {
    FUZZ_CHECK(text_is_name(description->name) && description->n_arrays >= 1);
    FUZZ_CHECK(text_list_has(&description->params, description->workload.size_param));
    case_t by_default = {.dtype = description->dtypes.items[0]};
    AUTO(case_free) case_t least = by_default, most = by_default;
    least.dtype = most.dtype = description->dtypes.items[description->dtypes.n - 1];
    for (size_t i = 0; i < description->params.n; i++) {
        const char *name = description->params.items[i];
        case_add_param(&least, name, &(value_t){VALUE_INT, .integer = description->least[i]});
        case_add_param(&most, name, &(value_t){VALUE_INT, .integer = description->most[i]});
    }
    check_case(description, &by_default, true);
    check_case(description, &least, false);
    check_case(description, &most, false);
    least.dtype = most.dtype = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO_FREE char *text = fuzz_text(data, size);
    description_t description, again;
    error_t err = ERROR_INIT;
    json_auto_t *json = NULL;
    status_t status = node_parse("workload.json", text, &json, &err);
    if (status == STATUS_OK)
        status = description_parse("workload.json", json, &description, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
    } else {
        check_description(&description);
        FUZZ_CHECK(description_parse("run.json", description.json, &again, &err) == STATUS_OK);
        FUZZ_CHECK(strcmp(again.name, description.name) == 0);
        description_free(&again);
        description_free(&description);
    }
    return 0;
}

#include "analysis/epochs.h"

#include "analysis/labels.h"

#include "base/memory.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static epoch_t epoch_of(const json_t *json) {
    return (epoch_t){.number = number_of(json, "epoch"),
                     .validation_loss = number_of(json, "validation_loss"),
                     .accuracy = number_of(json, "accuracy"),
                     .driver_calls = number_of(json, "driver_calls"),
                     .driver_ns = number_of(json, "driver_ns"),
                     .calls = number_of(json, "calls"),
                     .hits = number_of(json, "hits"),
                     .reserved_bytes = number_of(json, "reserved_bytes"),
                     .peak_bytes = number_of(json, "peak_bytes"),
                     .fragmentation = number_of(json, "fragmentation")};
}

static json_t *results_of(const case_result_t *result) {
    bool any = result_has_times(result) && result->results_json != NULL;
    return any ? json_loads(result->results_json, 0, NULL) : NULL;
}

/* The file is not trusted: the list ends at the first number that is missing or not ascending. */
epoch_list_t epochs_of(const case_result_t *result) {
    epoch_list_t list = {.n = 0};
    json_t *results = results_of(result);
    const json_t *epochs = json_object_get(results, "epochs");
    const size_t n = json_array_size(epochs);
    if (n > 0)
        list.items = mem_zeroed(n, sizeof *list.items);
    for (size_t i = 0; i < n; i++) {
        const epoch_t epoch = epoch_of(json_array_get(epochs, i));
        if (!(epoch.number > (list.n > 0 ? list.items[list.n - 1].number : 0)))
            break;
        list.items[list.n++] = epoch;
    }
    json_decref(results);
    return list;
}

void epoch_list_free(epoch_list_t *epochs) {
    free(epochs->items);
    *epochs = (epoch_list_t){.n = 0};
}

double later_driver_calls(const epoch_list_t *epochs) {
    double most = epochs->n > 1 ? 0 : NAN;
    for (size_t i = 1; i < epochs->n && isfinite(most); i++) {
        const double calls = epochs->items[i].driver_calls;
        most = calls > most || !isfinite(calls) ? calls : most;
    }
    return most;
}

bool time_split_of(const case_result_t *result, time_split_t *split) {
    json_t *results = results_of(result);
    const json_t *json = json_object_get(results, "split");
    *split = (time_split_t){.kernels_ns = number_of(json, "kernels_ns"),
                            .driver_ns = number_of(json, "driver_ns"),
                            .epoch_ns = number_of(json, "epoch_ns")};
    split->gaps_ns = split->epoch_ns - split->kernels_ns - split->driver_ns;
    json_decref(results);
    return split->kernels_ns >= 0 && split->driver_ns >= 0 && split->epoch_ns > 0 &&
           split->gaps_ns >= 0;
}

const char *allocator_of(const case_t *spec) {
    return case_technique(spec, "allocator");
}

bool has_other_allocator(const case_t *spec) {
    return has_changed_technique(spec, "allocator=");
}

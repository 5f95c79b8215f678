#include "sweep/param_node.h"

#include "base/memory.h"

#include <stdio.h>

static status_t read_integers(const node_t *node, const param_spec_t *param, value_t *value,
                              error_t *err) {
    size_t n = node_length(node);
    if (!json_is_array(node->json) || n < param->min_items || n > param->max_items) {
        char what[80];
        snprintf(what, sizeof what, "an array of %zu…%zu integers", param->min_items,
                 param->max_items);
        return node_expected(node, err, what);
    }
    *value = (value_t){.kind = VALUE_INTS, .ints = mem_zeroed(n, sizeof *value->ints), .n_ints = n};
    for (size_t i = 0; i < n; i++) {
        node_t item = node_item(node, i);
        if (node_integer(&item, param->min, param->max, &value->ints[i], err) != STATUS_OK) {
            value_free(value);
            return STATUS_USAGE;
        }
    }
    return STATUS_OK;
}

status_t node_param(const node_t *node, const param_spec_t *param, value_t *value, error_t *err) {
    *value = (value_t){.kind = param->kind};
    const char *name = NULL;
    switch (param->kind) {
    case VALUE_INT:
        return node_integer(node, param->min, param->max, &value->integer, err);
    case VALUE_REAL:
        return node_number(node, param->min, param->max, &value->real, err);
    case VALUE_INTS:
        return read_integers(node, param, value, err);
    case VALUE_TEXT:
        TRY(node_name(node, &name, err));
        value->text = mem_text(name);
        break;
    }
    return STATUS_OK;
}

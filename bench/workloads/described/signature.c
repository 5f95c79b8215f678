#include "workloads/described/signature.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef enum language { IN_CUDA, IN_C, IN_WIDE_C } language_t;

/* C has no FP8 (kernels/common/workload.h). In the reference in C all floats are doubles. */
static const char *const TYPES[ELEMENT_KINDS][IN_WIDE_C + 1] = {
    [ELEMENT_F32] = {"float", "float", "double"},
    [ELEMENT_F16] = {"__half", "_Float16", "double"},
    [ELEMENT_BF16] = {"__nv_bfloat16", "__bf16", "double"},
    [ELEMENT_F64] = {"double", "double", "double"},
    [ELEMENT_I32] = {"int", "int", "int"},
    [ELEMENT_I64] = {"long long", "long long", "long long"},
    [ELEMENT_U8] = {"unsigned char", "unsigned char", "unsigned char"},
    [ELEMENT_BOOL] = {"bool", "_Bool", "_Bool"},
    [ELEMENT_I8] = {"signed char", "signed char", "signed char"},
    [ELEMENT_E4M3] = {"__nv_fp8_e4m3", "unsigned char", "double"},
    [ELEMENT_E5M2] = {"__nv_fp8_e5m2", "unsigned char", "double"},
};

typedef struct signature {
    language_t language;
    text_list_t parameters, values;
    text_list_t by_value; /* the parameters of a rung that takes weights by value */
    size_t weight_bytes;
} signature_t;

/* `type`: with the "*" of a pointer. */
static void add_one(signature_t *to, const char *type, const char *qualifier, const char *name) {
    text_list_add_format(&to->parameters, "%s%s%s", type, qualifier, name);
    text_list_add_format(&to->values, "*(%s const *)arguments[%zu]", type, to->values.n);
}

static void add(signature_t *to, const char *type, const char *qualifier, const char *name) {
    add_one(to, type, qualifier, name);
    text_list_add_format(&to->by_value, "%s%s%s", type, qualifier, name);
}

static bool is_in_c(const case_t *spec) {
    return strcmp(spec->engine, "cpu") == 0;
}

bool signature_is_wide(const case_t *spec) {
    return is_in_c(spec) && strcmp(spec->variant, C_REFERENCE) == 0;
}

/* "by_value<float, 20>"; of a list "by_value_list<float, 20, 5>". */
static void add_by_value(signature_t *to, const char *element, const described_shape_t *shapes,
                         size_t n) {
    const described_array_t *array = shapes->array;
    AUTO(text_list_free) text_list_t counts = {0};
    for (size_t i = 0; i < n; i++) {
        text_list_add_format(&counts, "%zu", shapes[i].n);
        to->weight_bytes += shapes[i].bytes;
    }
    AUTO_FREE char *joined = text_list_join(&counts, ", ");
    text_list_add_format(&to->by_value, "by_value%s<%s, %s> const WORKLOAD_CONSTANT %s",
                         array->repeat != NULL ? "_list" : "", element, joined, array->name);
}

/* In C a list is an array of pointers, in CUDA a struct, so that it is in the kernel's parameters. */
static void add_arrays(const description_t *d, const case_t *spec, signature_t *to) {
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t order[DESCRIBED_SHAPES], n = 0;
    description_arrays(d, spec, shapes, &n, NULL); /* the case has passed workload_check() */
    described_order(shapes, n, order);
    for (size_t o = 0; o < n; o++) {
        const described_array_t *array = shapes[order[o]].array;
        const size_t length = described_length(&shapes[order[o]], n - order[o]);
        const char letter[] = {array->letter, '\0'};
        const char *element = array->letter != '\0' ? letter : TYPES[array->element][to->language];
        const bool is_list = array->repeat != NULL, in_cuda = to->language == IN_CUDA;
        if (!described_starts(&shapes[order[o]]))
            continue;
        const char *constant = array->is_output ? "" : "const ";
        AUTO_FREE char *type = is_list && !in_cuda ? mem_format("%s%s *const *", constant, element)
                               : is_list
                                   ? mem_format("array_list<%s%s, %zu>", constant, element, length)
                                   : mem_format("%s%s *", constant, element);
        (array->is_weight ? add_one : add)(
            to, type, is_list && in_cuda ? " const WORKLOAD_CONSTANT " : "__restrict__ ",
            array->name);
        if (array->is_weight)
            add_by_value(to, element, &shapes[order[o]], length);
    }
}

/* `end` follows what is joined by `between`. */
static void add_define(const char *name, const char *between, text_list_t *parts, const char *end,
                       text_list_t *defines) {
    AUTO_FREE char *joined = text_list_join(parts, between);
    text_list_add_format(defines, "%s=%s%s", name, joined, end);
    text_list_free(parts);
}

/* Each type letter as a type: "typedef __half T; typedef float W;". */
static void add_types(const described_dtype_t *type, const signature_t *to, text_list_t *defines) {
    text_list_t parts = {0};
    for (int i = 0; i < ELEMENT_LETTERS; i++)
        if (type->itemsizes[i] > 0)
            text_list_add_format(&parts, "typedef %s %c;", TYPES[type->elements[i]][to->language],
                                 'A' + i);
    add_define("WORKLOAD_TYPES", " ", &parts, "", defines);
}

void signature_add(const description_t *d, const case_t *spec, text_list_t *defines) {
    const bool in_c = is_in_c(spec);
    signature_t to = {.language = signature_is_wide(spec) ? IN_WIDE_C : in_c ? IN_C : IN_CUDA};
    add_arrays(d, spec, &to);
    if (!in_c)
        add(&to, "unsigned char *", "", "workspace");
    for (size_t i = 0; i < d->n_scalars; i++)
        add(&to, TYPES[d->scalars[i].element][IN_CUDA], " ", d->scalars[i].name);
    for (size_t i = 0; i < d->params.n; i++)
        if (!d->constant[i])
            add(&to, "long long", " ", d->params.items[i]);
    add_types(&d->types[description_dtype(d, spec)], &to, defines);
    /* Kernels are launched in each step, functions of the host called once. */
    const char *step = d->steps != NULL && !in_c ? " WORKLOAD_STEP" : "";
    add_define("WORKLOAD_ARGUMENTS", ", ", &to.parameters, step, defines);
    add_define("WORKLOAD_CALL", ", ", &to.values, "", defines);
    add_define("BY_VALUE_ARGUMENTS", ", ", &to.by_value, step, defines);
    text_list_add_format(defines, "BY_VALUE_BYTES=%zu", to.weight_bytes);
    if (d->steps != NULL)
        text_list_add_format(defines, "WORKLOAD_STEPS=%zu", description_steps_of(d, spec));
}

size_t signature_constants(const description_t *d, const case_t *spec,
                           signature_constants_t *constants, void **arguments) {
    size_t n = 0;
    for (size_t i = 0; i < d->n_scalars; i++) {
        constants->scalars[i] = description_scalar_value(d, i, spec);
        arguments[n++] = &constants->scalars[i];
    }
    for (size_t i = 0; i < d->params.n; i++) {
        constants->params[i] = case_param_int(spec, d->params.items[i], 0);
        if (!d->constant[i])
            arguments[n++] = &constants->params[i];
    }
    return n;
}

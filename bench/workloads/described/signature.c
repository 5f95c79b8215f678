#include "workloads/described/signature.h"

#include "base/memory.h"

#include <stdlib.h>

static const char *const CUDA_TYPES[ELEMENT_KINDS] = {
    [ELEMENT_F32] = "float",
    [ELEMENT_F16] = "__half",
    [ELEMENT_BF16] = "__nv_bfloat16",
    [ELEMENT_F64] = "double",
    [ELEMENT_I32] = "int",
    [ELEMENT_I64] = "long long",
    [ELEMENT_U8] = "unsigned char",
    [ELEMENT_BOOL] = "bool",
    [ELEMENT_I8] = "signed char",
    [ELEMENT_E4M3] = "__nv_fp8_e4m3",
    [ELEMENT_E5M2] = "__nv_fp8_e5m2",
};

/* C has no FP8 (kernels/common/workload.h). */
static const char *const C_TYPES[ELEMENT_KINDS] = {
    [ELEMENT_F32] = "float",
    [ELEMENT_F16] = "_Float16",
    [ELEMENT_BF16] = "__bf16",
    [ELEMENT_F64] = "double",
    [ELEMENT_I32] = "int",
    [ELEMENT_I64] = "long long",
    [ELEMENT_U8] = "unsigned char",
    [ELEMENT_BOOL] = "_Bool",
    [ELEMENT_I8] = "signed char",
    [ELEMENT_E4M3] = "unsigned char",
    [ELEMENT_E5M2] = "unsigned char",
};

typedef struct signature {
    const char *const *types;
    text_list_t parameters, values;
} signature_t;

/* `type`: with the "*" of a pointer. */
static void add(signature_t *to, const char *type, const char *qualifier, const char *name) {
    text_list_add_format(&to->parameters, "%s%s%s", type, qualifier, name);
    text_list_add_format(&to->values, "*(%s const *)arguments[%zu]", type, to->values.n);
}

/* In C all arrays are pointers. */
static void add_arrays(const description_t *d, const case_t *spec, signature_t *to) {
    size_t order[DESCRIBED_ARRAYS];
    error_t ignored = ERROR_INIT; /* the case has passed workload_check() */
    description_order(d, order);
    for (size_t o = 0; o < d->n_arrays; o++) {
        const described_array_t *array = &d->arrays[order[o]];
        const bool by_value = array->is_by_value && to->types != C_TYPES;
        const char *element = array->of_case ? "WORKLOAD_T" : to->types[array->element];
        described_shape_t shape = {0};
        description_shape(d, order[o], spec, &shape, &ignored);
        char *type = by_value ? mem_format("by_value<%s, %zu>", element, shape.n)
                              : mem_format("%s%s *", array->is_output ? "" : "const ", element);
        add(to, type, by_value ? " const WORKLOAD_CONSTANT " : "__restrict__ ", array->name);
        free(type);
    }
}

static void add_define(const char *name, text_list_t *parts, text_list_t *defines) {
    char *joined = text_list_join(parts, ", ");
    text_list_add_format(defines, "%s=%s", name, joined);
    free(joined);
    text_list_free(parts);
}

void signature_add(const description_t *d, const case_t *spec, bool in_c, text_list_t *defines) {
    signature_t to = {.types = in_c ? C_TYPES : CUDA_TYPES};
    element_t dtype = ELEMENT_F32;
    element_find(spec->dtype, &dtype);
    add_arrays(d, spec, &to);
    if (!in_c)
        add(&to, "unsigned char *", "", "workspace");
    for (size_t i = 0; i < d->n_scalars; i++)
        add(&to, to.types[d->scalars[i].element], " ", d->scalars[i].name);
    for (size_t i = 0; i < d->params.n; i++)
        if (!d->constant[i])
            add(&to, "long long", " ", d->params.items[i]);
    text_list_add_format(defines, "WORKLOAD_T=%s", to.types[dtype]);
    add_define("WORKLOAD_ARGUMENTS", &to.parameters, defines);
    add_define("WORKLOAD_CALL", &to.values, defines);
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

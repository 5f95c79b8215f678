#include "workloads/operator/description_read.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_NAME = 64 };

/* Names that mean something else in kernels, in expressions or in a case's id. */
static const char *const RESERVED[] = {
    /* C++20 */
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return",
    "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
    /* CUDA */
    "blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize",
    /* operators */
    "T", "dtype", "sm_count", "workspace"};

static bool is_listed(const char *name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_reserved(const char *name) {
    size_t n;
    const char *const *functions = expression_functions(&n);
    return is_listed(name, functions, n) ||
           is_listed(name, RESERVED, sizeof RESERVED / sizeof RESERVED[0]);
}

static bool is_identifier(const char *name) {
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const size_t length = strlen(name);
    /* What begins with "_" is the compiler's. */
    return length > 0 && length <= LONGEST_NAME && strspn(name, LETTERS) == length &&
           strchr("_0123456789", name[0]) == NULL;
}

static const char *taken_by(const operator_description_t *description, const char *name) {
    if (text_list_has(&description->params, name))
        return "a param";
    for (size_t i = 0; i < description->n_arrays; i++)
        if (strcmp(description->arrays[i].name, name) == 0)
            return "an array";
    for (size_t i = 0; i < description->n_scalars; i++)
        if (strcmp(description->scalars[i].name, name) == 0)
            return "a scalar";
    return NULL;
}

status_t check_identifier(const node_t *node, const char *name,
                          const operator_description_t *description, error_t *err) {
    if (!is_identifier(name))
        return node_error(node, err,
                          "found the name \"%s\", expected a letter, then letters, digits and "
                          "\"_\", at most %d",
                          name, LONGEST_NAME);
    if (is_reserved(name))
        return node_error(node, err, "found the name \"%s\", which is reserved", name);
    for (size_t i = 0; i < description->params.n; i++)
        if (strcasecmp(description->params.items[i], name) == 0 &&
            strcmp(description->params.items[i], name) != 0)
            return node_error(node, err,
                              "found the name \"%s\", which differs from \"%s\" in upper and "
                              "lower case only: programs have constants in upper case",
                              name, description->params.items[i]);
    const char *other = taken_by(description, name);
    if (other != NULL)
        return node_error(node, err, "found the name \"%s\", which is that of %s", name, other);
    return STATUS_OK;
}

status_t read_expression(const node_t *node, const operator_description_t *description,
                         int64_t least, expression_t **expression, error_t *err) {
    const scope_t scope = {.names = (const char *const *)description->params.items,
                           .n = description->params.n};
    error_t wrong = ERROR_INIT;
    status_t status;
    if (json_is_integer(node->json)) {
        int64_t value = 0;
        TRY(node_integer(node, (double)least, OPERATOR_LARGEST, &value, err));
        char *text = mem_format("%" PRId64, value);
        status = expression_parse(text, &scope, expression, &wrong);
        free(text);
    } else if (json_is_string(node->json)) {
        status = expression_parse(json_string_value(node->json), &scope, expression, &wrong);
    } else {
        return node_expected(node, err, "an integer or a string with an expression");
    }
    return status == STATUS_OK ? STATUS_OK : node_error(node, err, "%s", wrong.text);
}

element_t array_element(const operator_description_t *description, const operator_array_t *array,
                        size_t dtype) {
    element_t element = array->element;
    if (array->of_case)
        element_find(description->dtypes.items[dtype], &element);
    return element;
}

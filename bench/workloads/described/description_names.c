#include "workloads/described/description_names.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

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
    /* expressions, and kernels/common */
    "T", "dtype", "sm_count", "workspace", "itemsize", "ceil_div", "min", "max", "array_list",
    "by_value", "by_value_list"};

static bool is_reserved(const char *name) {
    return text_is_one_of(name, RESERVED, sizeof RESERVED / sizeof RESERVED[0]);
}

bool is_item_of(const char *list, const char *name) {
    const size_t length = strlen(list);
    return strncasecmp(name, list, length) == 0 && name[length] == '_' &&
           name[length + 1] != '\0' &&
           strspn(name + length + 1, "0123456789") == strlen(name + length + 1);
}

/* The list whose macros or files have this name; NULL: none. */
static const char *list_with(const description_t *description, const char *name) {
    for (size_t i = 0; i < description->params.n; i++) {
        const char *list = description->params.items[i];
        const bool is_length = strncasecmp(name, "n_", 2) == 0 && strcasecmp(name + 2, list) == 0;
        if (description->lists[i].n > 0 && (is_length || is_item_of(list, name)))
            return list;
    }
    for (size_t i = 0; i < description->n_arrays; i++)
        if (description->arrays[i].repeat != NULL && is_item_of(description->arrays[i].name, name))
            return description->arrays[i].name;
    return NULL;
}

static const char *taken_by(const description_t *description, const char *name) {
    if (text_list_has(&description->params, name))
        return "a param";
    for (size_t i = 0; i < description->n_arrays; i++)
        if (strcmp(description->arrays[i].name, name) == 0)
            return "an array";
    for (size_t i = 0; i < description->n_scalars; i++)
        if (strcmp(description->scalars[i].name, name) == 0)
            return "a scalar";
    for (size_t i = 0; i < description->n_own; i++)
        if (strcmp(description->own[i].name, name) == 0)
            return "a technique";
    return NULL;
}

status_t check_identifier(const node_t *node, const char *name, const description_t *description,
                          error_t *err) {
    if (!text_is_identifier(name, DESCRIBED_WORD))
        return node_error(node, err,
                          "found the name \"%s\", expected a letter, then letters, digits and "
                          "\"_\", at most %d",
                          name, DESCRIBED_WORD);
    if (is_reserved(name))
        return node_error(node, err, "found the name \"%s\", which is reserved", name);
    for (size_t i = 0; i < description->params.n; i++)
        if (strcasecmp(description->params.items[i], name) == 0 &&
            strcmp(description->params.items[i], name) != 0)
            return node_error(node, err,
                              "found the name \"%s\", which differs from \"%s\" in upper and "
                              "lower case only: programs have constants in upper case",
                              name, description->params.items[i]);
    if (name[1] == '\0' && name[0] >= 'A' && name[0] <= 'Z' &&
        description->types[0].itemsizes[name[0] - 'A'] > 0)
        return node_error(node, err, "found the name \"%s\", which is a type letter", name);
    if (description->steps != NULL && strcmp(name, DESCRIBED_STEP) == 0)
        return node_error(node, err, "found the name \"%s\", which a training has for its steps",
                          name);
    const char *other = taken_by(description, name), *list = list_with(description, name);
    if (other != NULL)
        return node_error(node, err, "found the name \"%s\", which is that of %s", name, other);
    if (list != NULL)
        return node_error(
            node, err, "found the name \"%s\", which is that of a part of the list %s", name, list);
    return STATUS_OK;
}

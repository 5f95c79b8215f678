#include "workloads/operator/table_text.h"

#include <string.h>

bool table_text_ends(const char *text, size_t size) {
    return memchr(text, '\0', size) != NULL;
}

status_t table_text_value(const char *text, const operator_values_t *values, int64_t otherwise,
                          int64_t *value, error_t *err) {
    expression_t *expression;
    *value = otherwise;
    if (text[0] == '\0')
        return STATUS_OK;
    TRY(expression_parse(text, &values->scope, &expression, err));
    const status_t status = expression_value(expression, &values->scope, value, err);
    expression_free(expression);
    return status;
}

scope_t table_text_scope(const operator_description_t *description,
                         const char *names[OPERATOR_PARAMS + 1]) {
    const size_t n = description->params.n;
    for (size_t i = 0; i < n; i++)
        names[i] = description->params.items[i];
    names[n] = "sm_count";
    return (scope_t){.names = names, .n = n + 1};
}

status_t table_text_check(const char *text, const scope_t *scope, error_t *err) {
    expression_t *expression;
    if (text[0] == '\0')
        return STATUS_OK;
    TRY(expression_parse(text, scope, &expression, err));
    expression_free(expression);
    return STATUS_OK;
}

bool table_text_is_constant(const char *text) {
    static const scope_t NO_NAMES;
    error_t ignored = ERROR_INIT;
    return text[0] != '\0' && strstr(text, "itemsize") == NULL &&
           table_text_check(text, &NO_NAMES, &ignored) == STATUS_OK;
}

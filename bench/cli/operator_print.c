#include "cli/operator_print.h"

#include "base/memory.h"
#include "io/fs.h"
#include "workloads/operator/operators.h"

#include <stdlib.h>
#include <string.h>

/* A line of what there may be none of. */
static void print_names(const char *what, const text_list_t *names, const char *none, FILE *out) {
    char *joined = text_list_join(names, ", ");
    fprintf(out, "  %-16s %s\n", what, names->n > 0 ? joined : none);
    free(joined);
}

static status_t print_variants(const workload_t *workload, const char *root, FILE *out,
                               error_t *err) {
    text_list_t rungs = {0}, scripts = {0};
    status_t status = workload_variants(workload, "cuda", root, &rungs, err);
    if (status == STATUS_OK)
        status = workload_scripts(workload, root, &scripts, err);
    if (status == STATUS_OK) {
        print_names("rungs", &rungs, "none: NN_NAME.cu is one", out);
        print_names("implementations", &scripts, "none: NAME.py with a function run is one", out);
    }
    text_list_free(&rungs);
    text_list_free(&scripts);
    return status;
}

status_t operator_print(const workload_t *workload, const char *root, FILE *out, error_t *err) {
    const operator_description_t *d = operators_find(workload->name);
    char *folder = fs_from_here(d->folder);
    fprintf(out, "%s%s%s\n  %-16s %s\n", d->name, d->summary[0] != '\0' ? ": " : "", d->summary,
            "folder", folder);
    free(folder);
    for (size_t p = 0; p < workload->n_params; p++) {
        const param_spec_t *param = &workload->params[p];
        fprintf(out, "  %-16s %s = %s (%s)\n", p == 0 ? "params" : "", param->name,
                param->default_json, param->summary);
    }
    print_names("dtypes", &d->dtypes, "", out);
    return print_variants(workload, root, out, err);
}

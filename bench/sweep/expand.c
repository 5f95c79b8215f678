#include "base/memory.h"
#include "sweep/plan.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Modes of PyTorch that capture CUDA graphs (CAPTURING in reference_pytorch/session.py). */
static const char *const CAPTURING[] = {"graph",   "compile_graph",   "combo_graph", "manual_graph",
                                        "overlap", "compile_overlap", "mapped"};

/* CUDA graphs need a CUDA device: "*" leaves out these modes on the CPU; if the sweep names one, the
 * worker skips it with the reason. */
static bool is_offered(const contender_t *contender, const char *variant, const char *device) {
    if (strcmp(device, "cpu") != 0 || text_list_has(&contender->named, variant))
        return true;
    if (strcmp(contender->engine, "pytorch") != 0)
        return !text_list_has(&contender->for_gpu, variant);
    for (size_t i = 0; i < sizeof CAPTURING / sizeof *CAPTURING; i++)
        if (strcmp(variant, CAPTURING[i]) == 0)
            return false;
    return true;
}

/* A double, since the product may overflow an integer. */
static double product_size(const axis_t *axes, size_t n) {
    double size = 1;
    for (size_t i = 0; i < n; i++)
        size *= (double)axes[i].n;
    return size;
}

static double contender_size(const contender_t *contender) {
    double runs = 0;
    for (size_t d = 0; d < contender->devices.n; d++)
        for (size_t v = 0; v < contender->variants.n; v++)
            runs +=
                is_offered(contender, contender->variants.items[v], contender->devices.items[d]);
    return runs * product_size(contender->axes, contender->n_axes) *
           product_size(contender->techniques, contender->n_techniques);
}

static status_t check_size(const sweep_plan_t *plan, const node_t *top, error_t *err) {
    double n_points = product_size(plan->axes, plan->n_axes), n_cases = 0;
    if (n_points > SWEEP_CASE_LIMIT)
        return node_error(top, err, "the axes multiply to %.0f points, expected at most %d",
                          n_points, SWEEP_CASE_LIMIT);
    for (size_t i = 0; i < plan->n_contenders; i++)
        n_cases += contender_size(&plan->contenders[i]);
    if (n_cases > SWEEP_CASE_LIMIT)
        return node_error(top, err, "expands to %.0f cases, expected at most %d", n_cases,
                          SWEEP_CASE_LIMIT);
    return STATUS_OK;
}

/* Step to the next combination, the last axis fastest; false after the last combination. */
static bool next_combination(size_t *index, const axis_t *axes, size_t n) {
    for (size_t i = n; i-- > 0;) {
        if (++index[i] < axes[i].n)
            return true;
        index[i] = 0;
    }
    return false;
}

static bool runs_at(const contender_t *contender, const axis_t *axes, const size_t *point) {
    for (size_t a = 0; a < contender->n_axes; a++)
        if (!axis_has(&contender->axes[a], &axes[a].values[point[a]]))
            return false;
    return true;
}

typedef struct expansion {
    const sweep_plan_t *plan;
    const node_t *top;
    sweep_t *sweep;
    const size_t *point; /* index into each axis of the plan */
    void *ids;           /* tsearch() tree; its strings belong to the cases */
} expansion_t;

static int compare_ids(const void *a, const void *b) {
    return strcmp(a, b);
}

static status_t add_case(expansion_t *to, case_t spec, error_t *err) {
    const workload_t *workload = to->plan->workload;
    workload_complete(workload, &spec);
    if (workload->allows != NULL && !workload->allows(&spec)) {
        case_free(&spec);
        return STATUS_OK;
    }
    error_t reason = ERROR_INIT;
    if (workload->validate != NULL && workload->validate(&spec, &reason) != STATUS_OK) {
        node_error(to->top, err, "%s: %s", spec.id, reason.text);
        case_free(&spec);
        return STATUS_USAGE;
    }
    const char **entry = tsearch(spec.id, &to->ids, compare_ids);
    if (entry == NULL)
        abort(); /* out of memory, as everywhere in mem_*() */
    if (*entry != spec.id) {
        case_free(&spec);
        return STATUS_OK;
    }
    sweep_t *sweep = to->sweep;
    mem_grow(&sweep->cases, sweep->n_cases, &sweep->cases_capacity, sizeof *sweep->cases);
    sweep->cases[sweep->n_cases++] = spec;
    return STATUS_OK;
}

/* One case per combination of techniques. */
static status_t add_cases(expansion_t *to, const contender_t *contender, const char *device,
                          const char *variant, error_t *err) {
    const sweep_plan_t *plan = to->plan;
    size_t *choice = mem_zeroed(contender->n_techniques + 1, sizeof *choice);
    status_t status = STATUS_OK;
    do {
        case_t spec = {.engine = mem_text(contender->engine),
                       .device = mem_text(device),
                       .variant = mem_text(variant)};
        size_t n_params = plan->workload->n_params;
        for (size_t a = 0; a < n_params; a++)
            case_add_param(&spec, plan->axes[a].name, &plan->axes[a].values[to->point[a]]);
        spec.dtype = mem_text(plan->axes[n_params].values[to->point[n_params]].text);
        for (size_t t = 0; t < contender->n_techniques; t++) {
            const axis_t *technique = &contender->techniques[t];
            case_add_technique(&spec, technique->name, technique->values[choice[t]].text);
        }
        status = add_case(to, spec, err);
    } while (status == STATUS_OK &&
             next_combination(choice, contender->techniques, contender->n_techniques));
    free(choice);
    return status;
}

static status_t add_contender(expansion_t *to, const contender_t *contender, error_t *err) {
    for (size_t d = 0; d < contender->devices.n; d++)
        for (size_t v = 0; v < contender->variants.n; v++) {
            const char *device = contender->devices.items[d];
            const char *variant = contender->variants.items[v];
            if (is_offered(contender, variant, device))
                TRY(add_cases(to, contender, device, variant, err));
        }
    return STATUS_OK;
}

static void keep_string(void *id) {
    (void)id;
}

status_t sweep_expand(const sweep_plan_t *plan, const node_t *top, sweep_t *sweep, error_t *err) {
    TRY(check_size(plan, top, err));
    size_t *point = mem_zeroed(plan->n_axes, sizeof *point);
    expansion_t to = {.plan = plan, .top = top, .sweep = sweep, .point = point};
    status_t status = STATUS_OK;
    do {
        for (size_t i = 0; i < plan->n_contenders && status == STATUS_OK; i++)
            if (runs_at(&plan->contenders[i], plan->axes, point))
                status = add_contender(&to, &plan->contenders[i], err);
    } while (status == STATUS_OK && next_combination(point, plan->axes, plan->n_axes));
    tdestroy(to.ids, keep_string);
    free(point);
    const workload_t *workload = plan->workload;
    if (status != STATUS_OK || sweep->n_cases > 0)
        return status;
    if (workload->condition != NULL)
        return node_error(top, err, "no case is left: %s needs %s", workload->name,
                          workload->condition);
    return node_error(top, err, "no case is left: %s does not allow these parameters",
                      workload->name);
}

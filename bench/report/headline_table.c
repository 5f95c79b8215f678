/* How the headline's rows are shown: a table for a terminal or in markdown. */
#include "report/headline.h"

#include "analysis/labels.h"
#include "base/memory.h"
#include "base/units.h"
#include "report/page.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns whose value may be the same in all rows, and then stands above the table. */
enum { COLUMN_WORKLOAD, COLUMN_MACHINE, COLUMN_WHEN, COLUMN_PHASE, N_COMMON };

/* ---- cells --------------------------------------------------------------------------------------
 */

static const case_t *any_case(const headline_row_t *row) {
    const case_result_t *result = row->row->best      ? row->row->best
                                  : row->row->fastest ? row->row->fastest
                                                      : row->row->other;
    return &result->spec;
}

/* "mlp_infer f32", "mlp_train depth=3, tf32": parameters only where they are not the defaults. */
static char *workload_label(const headline_row_t *row) {
    const case_t *spec = any_case(row);
    const workload_t *workload = workload_find(spec->workload);
    text_list_t parts = {0};
    case_t defaults = {0};
    if (workload != NULL)
        defaults = workload_defaults(workload);
    for (size_t i = 0; i < spec->n_params; i++) {
        const char *name = spec->params[i].name;
        const value_t *default_value = case_param(&defaults, name);
        if (strcmp(name, row->set->size_param) == 0 || strcmp(name, "seed") == 0 ||
            (default_value != NULL && value_equal(default_value, &spec->params[i].value)))
            continue;
        char *value = value_text(&spec->params[i].value);
        text_list_add_format(&parts, "%s=%s", name, value);
        free(value);
    }
    text_list_add(&parts, spec->dtype);
    char *list = text_list_join(&parts, ", "), *label = mem_format("%s %s", spec->workload, list);
    text_list_free(&parts);
    case_free(&defaults);
    free(list);
    return label;
}

static char *common_label(const headline_row_t *row, size_t column) {
    const environment_t *env = &row->part->run->environment;
    const char *gpu = environment_get(env, "gpu.name");
    switch (column) {
    case COLUMN_WORKLOAD:
        return workload_label(row);
    case COLUMN_MACHINE:
        if (strcmp(row->set->platform->device, "cuda") != 0)
            return mem_text("CPU");
        return mem_text(gpu != NULL ? gpu : "GPU");
    case COLUMN_WHEN:
        return mem_text(row->part->when != NULL ? row->part->when : "");
    default:
        return mem_text(row->set->phase);
    }
}

/* The fastest that is not ours, and our ratio to it. */
static const case_result_t *rival_of(const headline_row_t *row, const speedup_t **speedup) {
    const size_row_t *sizes = row->row;
    const bool other = sizes->other != NULL && (sizes->fastest == NULL ||
                                                result_median(sizes->other, row->set->phase) <
                                                    result_median(sizes->fastest, row->set->phase));
    *speedup = other ? &sizes->against_other : &sizes->headline;
    return other ? sizes->other : sizes->fastest;
}

/* "CUDA 04_four_in_flight", "PyTorch graph", "jax-cuda jit". */
static char *owner_and_variant(const headline_row_t *row, const case_result_t *result) {
    char label[32];
    if (result == NULL)
        return mem_text("–");
    const char *owner = case_engine_label(&result->spec, label);
    if (result == row->row->best)
        owner = row->set->platform->name;
    else if (strcmp(result->spec.engine, "pytorch") == 0)
        owner = "PyTorch";
    return mem_format("%s %s", owner, result->spec.variant);
}

/* "CUDA 3.4× (3.3–3.5)", "PyTorch 1.2× (1.1–1.3)", "no difference, 1.00× (0.98–1.02)". */
static char *faster_text(const headline_row_t *row, const speedup_t *speedup,
                         const case_result_t *rival) {
    const stats_ratio_t *r = &speedup->ratio;
    char text[UNITS_TEXT], label[32];
    switch (speedup->verdict) {
    case VERDICT_OURS:
        return mem_format("%s %s", row->set->platform->name,
                          units_ratio(text, r->ratio, r->low, r->high));
    case VERDICT_THEIRS:
        return mem_format("%s %s",
                          strcmp(rival->spec.engine, "pytorch") == 0
                              ? "PyTorch"
                              : case_engine_label(&rival->spec, label),
                          units_ratio(text, 1 / r->ratio, 1 / r->high, 1 / r->low));
    case VERDICT_NO_DIFFERENCE:
        return mem_format("no difference, %s", units_ratio(text, r->ratio, r->low, r->high));
    case VERDICT_UNDECIDED:
        return mem_format("%s, no interval", units_ratio(text, r->ratio, NAN, NAN));
    case VERDICT_NONE:
        break;
    }
    return mem_text("–");
}

/* ---- the table ----------------------------------------------------------------------------------
 */

static void add_owned(table_t *table, char *text, table_style_t style) {
    char *safe = style == TABLE_MARKDOWN ? markdown_text(text) : mem_text(text);
    table_add(table, safe);
    free(safe);
    free(text);
}

static void add_row(table_t *table, const headline_row_t *row, const bool common[N_COMMON],
                    table_style_t style) {
    const char *phase = row->set->phase;
    const speedup_t *speedup;
    const case_result_t *rival = rival_of(row, &speedup);
    char size[UNITS_TEXT];
    for (size_t c = 0; c < N_COMMON; c++)
        if (!common[c])
            add_owned(table, common_label(row, c), style);
    table_add(table, named_size(size, row->set, row->row->size));
    add_time(table, row->row->best, phase);
    add_owned(table, owner_and_variant(row, row->row->best), style);
    add_time(table, rival, phase);
    add_owned(table, owner_and_variant(row, rival), style);
    add_owned(table, faster_text(row, speedup, rival), style);
}

static char *shared_label(const headline_t *headline, size_t column) {
    char *first = common_label(&headline->rows[0], column);
    for (size_t i = 1; i < headline->n; i++) {
        char *other = common_label(&headline->rows[i], column);
        const bool same = strcmp(first, other) == 0;
        free(other);
        if (!same) {
            free(first);
            return NULL;
        }
    }
    return first;
}

/* What all rows have in common; with it the caveat, which a table of one workload has. */
static void print_title(FILE *out, const headline_t *headline, char *const shared[N_COMMON],
                        table_style_t style) {
    const bool markdown = style == TABLE_MARKDOWN;
    const char *caveat = headline_caveat(headline->rows[0].set->workload);
    text_list_t parts = {0};
    for (size_t c = 0; c < N_COMMON; c++)
        if (shared[c] != NULL && shared[c][0] != '\0')
            text_list_add_format(&parts, c == COLUMN_PHASE ? "median %s" : "%s", shared[c]);
    if (caveat != NULL)
        text_list_add(&parts, caveat);
    char *title = text_list_join(&parts, ", "), *safe = markdown_text(title);
    if (parts.n > 0)
        fprintf(out, "%s\n\n", markdown ? safe : title);
    text_list_free(&parts);
    free(title);
    free(safe);
}

char *headline_text(const headline_t *headline, table_style_t style) {
    static const char *const COMMON[N_COMMON] = {"workload", "on", "measured", "phase"};
    static const char *const OWN[] = {"size",       "ours", "",
                                      "best rival", "",     "faster (95 % interval)"};
    enum { N_OWN = sizeof OWN / sizeof *OWN };
    const char *headings[N_COMMON + N_OWN];
    char align[N_COMMON + N_OWN + 1] = "", *shared[N_COMMON] = {NULL}, *text;
    bool common[N_COMMON];
    size_t n = 0, size;
    if (headline->n == 0)
        return mem_text("");
    FILE *out = open_memstream(&text, &size);
    for (size_t c = 0; c < N_COMMON; c++) {
        shared[c] = shared_label(headline, c);
        common[c] = shared[c] != NULL;
        if (!common[c])
            headings[n++] = COMMON[c];
    }
    memset(align, 'l', n);
    memcpy(align + n, "lrlrll", N_OWN);
    memcpy(headings + n, OWN, sizeof OWN);
    table_t table;
    table_init(&table, headings, n + N_OWN);
    table_set_align(&table, align);
    for (size_t i = 0; i < headline->n; i++)
        add_row(&table, &headline->rows[i], common, style);
    print_title(out, headline, shared, style);
    char *lines = table_text(&table, style);
    fputs(lines, out);
    free(lines);
    table_free(&table);
    for (size_t c = 0; c < N_COMMON; c++)
        free(shared[c]);
    fclose(out);
    return text;
}

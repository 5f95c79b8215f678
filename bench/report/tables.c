
#include "analysis/contenders.h"
#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "limits/limits.h"
#include "report/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *heading_of(const report_t *report, const views_t *views) {
    return views->n > 0 ? size_heading(report, views->items[0].set) : "Size";
}

/* The comparison that a row is of; nothing where there is only one. */
static const char *view_cell(const views_t *views, size_t v) {
    return views->n > 1 ? views->items[v].name : NULL;
}

/* Names what all rows are of, if that is one comparison. */
static const char *intro(const report_t *report, const views_t *views, const char *text) {
    return views->n == 1 ? report_text(report, "%s. %s", views->items[0].name, text) : text;
}

/* ---- by size --------------------------------------------------------------------------------- */

static text_list_t rivals_of(const views_t *views) {
    text_list_t rivals = {0};
    for (size_t v = 0; v < views->n; v++)
        for (size_t r = 0; r < views->items[v].set->n_rivals; r++)
            text_list_add_new(&rivals, views->items[v].set->rivals[r]);
    sort_engines((const char **)rivals.items, rivals.n);
    return rivals;
}

static const rival_t *rival_at(const comparison_set_t *set, const size_row_t *row,
                               const char *engine) {
    for (size_t r = 0; r < set->n_rivals; r++)
        if (strcmp(set->rivals[r], engine) == 0)
            return &row->rivals[r];
    return NULL;
}

/* "11.6 ms omp, 27× (26–28)" */
static const char *host_cell(const report_t *report, const comparison_set_t *set,
                             const case_result_t *host, const case_result_t *best) {
    if (host == NULL)
        return NULL;
    const speedup_t speedup = speedup_make(best, set->phase, host, set->phase);
    return report_text(report, "%s %s%s%s", time_cell(report, host, set->phase),
                       who_and_name(report, host), speedup.verdict != VERDICT_NONE ? ", " : "",
                       speedup.verdict != VERDICT_NONE ? ratio_cell(report, &speedup) : "");
}

/* Of its time from host to host, what the copies take at least: "97 %". */
static const char *bus_cell(const report_t *report, const comparison_set_t *set,
                            const case_result_t *result, const device_rates_t *rates) {
    if (result == NULL || strcmp(set->phase, "host_to_host") != 0 ||
        strcmp(set->platform->device, "cuda") != 0)
        return NULL;
    return percent_text(report,
                        bus_limit_ns(&result->spec, rates) / result_median(result, set->phase));
}

/* "93 % dram" */
static const char *bound_cell(const report_t *report, const case_result_t *result) {
    const char *cell = limit_cell(report, result);
    return result != NULL && result->limit.bound != NULL && isfinite(result->limit.frac)
               ? report_text(report, "%s %s", cell, report_safe(report, result->limit.bound))
               : cell;
}

enum { BEFORE_RIVALS = 3, AFTER_RIVALS = 8 };

typedef struct size_table {
    const report_t *report;
    const views_t *views;
    text_list_t rivals;
    device_rates_t rates;
    rows_t rows;
} size_table_t;

static void add_size(size_table_t *table, size_t v, const size_row_t *row) {
    const report_t *report = table->report;
    const comparison_set_t *set = table->views->items[v].set;
    const size_t n = table->rivals.n;
    const char **cells = rows_add(&table->rows);
    *cells++ = view_cell(table->views, v);
    *cells++ = size_cell(report, row->size);
    *cells++ = standing_cell(report, &row->ours, set->phase, false);
    for (size_t r = 0; r < n; r++) {
        const rival_t *rival = rival_at(set, row, table->rivals.items[r]);
        const bool bold = n > 1 && rival != NULL && rival->standing.fastest != NULL &&
                          rival->standing.fastest == row->strongest;
        *cells++ = rival != NULL ? standing_cell(report, &rival->standing, set->phase, bold) : NULL;
        *cells++ = rival != NULL ? ratio_cell(report, &rival->speedup) : NULL;
    }
    *cells++ = row->eager != row->strongest ? versus_cell(report, row->best, row->eager, set->phase)
                                            : NULL;
    *cells++ = ratio_cell(report, &row->plain_against_eager);
    *cells++ = waiting_cell(report, set, row);
    *cells++ = host_cell(report, set, row->host, row->best);
    *cells++ = host_cell(report, set, row->host_rival, row->best);
    *cells++ = versus_cell(report, row->study, row->eager, "total");
    *cells++ = bus_cell(report, set, row->best, &table->rates);
    *cells++ = bound_cell(report, row->best);
}

static column_t *size_columns(const report_t *report, const views_t *views,
                              const text_list_t *rivals) {
    const char *ours = views->n > 0 ? views->items[0].set->platform->name : "";
    for (size_t v = 1; v < views->n; v++)
        if (strcmp(views->items[v].set->platform->name, ours) != 0)
            ours = "Ours";
    column_t *columns = report_array(report, BEFORE_RIVALS + 2 * rivals->n + AFTER_RIVALS,
                                     sizeof *columns),
             *next = columns;
    *next++ = (column_t){"Comparison", 'l'};
    *next++ = (column_t){heading_of(report, views), 'r'};
    *next++ = (column_t){ours, 'l'};
    for (size_t r = 0; r < rivals->n; r++) {
        const char *name = report_safe(report, engine_name(rivals->items[r]));
        *next++ = (column_t){name, 'l'};
        *next++ = (column_t){report_text(report, "vs %s", name), 'r'};
    }
    *next++ = (column_t){"vs eager", 'r'};
    *next++ = (column_t){"one eager call of each", 'r'};
    *next++ = (column_t){"without polling", 'r'};
    *next++ = (column_t){"C on the CPU", 'l'};
    *next++ = (column_t){"rival on the CPU", 'l'};
    *next++ = (column_t){"the study's, by total", 'r'};
    *next++ = (column_t){"of the bus", 'r'};
    *next = (column_t){"of the limit", 'r'};
    return columns;
}

void table_by_size(const report_t *report, const views_t *views) {
    size_table_t table = {.report = report,
                          .views = views,
                          .rivals = rivals_of(views),
                          .rates = device_rates_of_record(report->run)};
    table.rows.n_columns = BEFORE_RIVALS + 2 * table.rivals.n + AFTER_RIVALS;
    for (size_t v = 0; v < views->n; v++) {
        const comparison_set_t *set = views->items[v].set;
        for (size_t i = 0; i < set->n_rows; i++)
            add_size(&table, v, &set->rows[i]);
    }
    rows_end(report, &table.rows, size_columns(report, views, &table.rivals), "By size",
             intro(report, views,
                   "Medians of each side's fastest. *vs*: its median over ours, with its 95 % "
                   "interval; above 1, ours has the lower time; bold: the strongest rival. "
                   "Techniques after a + differ from the defaults. † throttled, § on a busy "
                   "machine, ‡ two values. *Of the limit*: the least time of the computation "
                   "on this hardware over its time, and what bounds it; *of the bus*: that of "
                   "its copies. *The study's*: its two set-ups."));
    text_list_free(&table.rivals);
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* In the order of a sample, then the times of a kernel or forward pass. */
static const struct shown_phase {
    const char *heading, *name, *other; /* other: where it has not that one; or NULL */
} PHASES[] = {
    {"init", "init", NULL},
    {"malloc", "malloc", NULL},
    {"h2d", "h2d", NULL},
    {"kernel, forward", "kernel", "forward"},
    {"train", "train", NULL},
    {"validate", "validate", NULL},
    {"d2h", "d2h", NULL},
    {"allocate", "allocate", NULL},
    {"free", "free", NULL},
    {"residual", "residual", NULL},
    {"total", "total", NULL},
    {"one, device clock", "forward_device", "train_device"},
    {"back to back", "kernel_stream", NULL},
    {"in a graph", CALL_IN_GRAPH, NULL},
    {"cold", "kernel_cold", NULL},
};
enum { N_PHASES = sizeof PHASES / sizeof *PHASES };

static void add_phases(const report_t *report, rows_t *rows, const views_t *views, size_t v,
                       const case_result_t *result) {
    const comparison_set_t *set = views->items[v].set;
    const char **cells = rows_add(rows);
    *cells++ = views->n > 1 ? set_name(report, set) : NULL;
    *cells++ = size_cell(report, size_of_case(set, &result->spec));
    *cells++ = who_and_name(report, result);
    for (size_t i = 0; i < N_PHASES; i++) {
        const bool has = result_phase(result, PHASES[i].name) != NULL || PHASES[i].other == NULL;
        *cells++ = time_cell(report, result, has ? PHASES[i].name : PHASES[i].other);
    }
    *cells = limit_cell(report, result);
}

/* A host-to-host graph has no phases; then the fastest case by `total`. */
static const case_result_t *fastest_with_phases(const comparison_set_t *set, int64_t size,
                                                const char *whose) {
    const case_result_t *best = comparison_set_fastest(set, size, whose, set->phase);
    if (best != NULL && isfinite(result_median(best, "total")))
        return best;
    return comparison_set_fastest(set, size, whose, "total");
}

/* At a size of one side: the study's, then the fastest. */
static void add_side(const report_t *report, rows_t *rows, const views_t *views, size_t v,
                     const size_row_t *row, const char *whose) {
    const comparison_set_t *set = views->items[v].set;
    const case_result_t *of_study[] = {row->study, row->eager};
    const case_result_t *best = fastest_with_phases(set, row->size, whose);
    for (size_t k = 0; k < 2; k++)
        if (of_study[k] != NULL && result_has_times(of_study[k]) && of_study[k] != best &&
            comparison_set_has(set, of_study[k], whose))
            add_phases(report, rows, views, v, of_study[k]);
    if (best != NULL)
        add_phases(report, rows, views, v, best);
}

void table_of_phases(const report_t *report, const views_t *views) {
    column_t columns[N_PHASES + 4] = {
        {"Comparison", 'l'}, {heading_of(report, views), 'r'}, {"Case", 'l'}};
    for (size_t i = 0; i < N_PHASES; i++)
        columns[3 + i] = (column_t){PHASES[i].heading, 'r'};
    columns[3 + N_PHASES] = (column_t){"of the limit", 'r'};
    rows_t rows = {.n_columns = N_PHASES + 4};
    for (size_t v = 0; v < views->n; v++) {
        const comparison_set_t *set = views->items[v].set;
        const size_row_t *key[3];
        const bool again = v + 1 < views->n && views->items[v + 1].set->key == set->key;
        const size_t n = again ? 0 : key_rows(set, has_contender, key); /* by the whole sample */
        for (size_t i = 0; i < n; i++) {
            add_side(report, &rows, views, v, key[i], OURS);
            for (size_t r = 0; r < set->n_rivals; r++)
                add_side(report, &rows, views, v, key[i], set->rivals[r]);
        }
    }
    rows_end(report, &rows, columns, "Phases of a sample",
             "Of the fastest case with phases of each side, and of the study's set-ups, at the "
             "smallest size, the study's and the largest. Phases are separated by "
             "synchronisation; `residual` is what of `total` lies between them. Each is a "
             "median of its own, so rows add up only roughly. *Back to back*, *in a graph*: "
             "many calls, divided by their number; *cold*: after a flush of the L2, the others "
             "find there what fits.");
}

/* ---- the ladder ------------------------------------------------------------------------------ */

enum { MOST_SIZES = 8 };

typedef struct sizes {
    int64_t items[MOST_SIZES];
    size_t n;
} sizes_t;

/* All, or evenly chosen ones with both ends. */
static sizes_t sizes_of(const report_t *report, const views_t *views) {
    size_t n = 0, n_all = 0;
    for (size_t v = 0; v < views->n; v++)
        n_all += views->items[v].set->n_rows;
    int64_t *all = report_array(report, n_all, sizeof *all);
    for (size_t v = 0; v < views->n; v++)
        for (size_t i = 0; i < views->items[v].set->n_rows; i++)
            all[n++] = views->items[v].set->rows[i].size;
    sizes_t sizes;
    sizes.n = sizes_spread(all, sizes_once(all, n), sizes.items, MOST_SIZES);
    return sizes;
}

/* The computation alone, by the device's clock where there is one. */
static const char *rung_phase(const case_result_t *result) {
    static const char *const PREFERRED[] = {CALL_IN_GRAPH, "step_device", "train_device",
                                            "step",        "train",       "forward_device",
                                            "kernel",      "forward",     "total"};
    size_t i = 0;
    while (i + 1 < sizeof PREFERRED / sizeof *PREFERRED &&
           !isfinite(result_median(result, PREFERRED[i])))
        i++;
    return PREFERRED[i];
}

/* Techniques of the host do not change a kernel: only those of a training are rungs of their own. */
static const char *rung_name(const report_t *report, const comparison_set_t *set,
                             const case_result_t *result) {
    const bool trains = strcmp(set->phase, "step") == 0 || strcmp(set->phase, "train") == 0;
    const char *name = trains
                           ? name_cell(report, result)
                           : report_text(report, "%s%s", report_safe(report, result->spec.variant),
                                         trust_mark(result));
    return report_text(report, "%s %s%s", who(report, result), name, algorithmic_mark(result));
}

/* "4.51 µs, 73 %" */
static const char *rung_cell(const report_t *report, const case_result_t *result) {
    if (result == NULL || is_not_applicable(result))
        return NULL;
    const char *time = time_cell(report, result, rung_phase(result));
    return result_has_times(result) && isfinite(result->limit.frac)
               ? report_text(report, "%s, %s", time, limit_cell(report, result))
               : time;
}

static const case_result_t *rung_at(const report_t *report, const comparison_set_t *set,
                                    const char *whose, int64_t size, const char *name) {
    const case_result_t *result = NULL, *found = NULL;
    while ((result = comparison_set_next(set, result, whose, size)) != NULL)
        if (strcmp(rung_name(report, set, result), name) == 0 &&
            (found == NULL || (!result_has_times(found) && result_has_times(result))))
            found = result;
    return found;
}

static void add_rungs(const report_t *report, rows_t *rows, const views_t *views, size_t v,
                      const char *whose, const sizes_t *sizes) {
    const comparison_set_t *set = views->items[v].set;
    text_list_t names = {0};
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, whose, EVERY_SIZE)) != NULL)
        if (!is_not_applicable(result))
            text_list_add_new(&names, rung_name(report, set, result));
    text_list_sort(&names);
    for (size_t i = 0; i < names.n; i++) {
        const char **cells = rows_add(rows);
        size_t n = 0;
        cells[0] = views->n > 1 ? set_name(report, set) : NULL;
        cells[1] = report_text(report, "%s", names.items[i]);
        for (size_t s = 0; s < sizes->n; s++) {
            cells[2 + s] =
                rung_cell(report, rung_at(report, set, whose, sizes->items[s], names.items[i]));
            n += cells[2 + s] != NULL;
        }
        rows->n -= n == 0; /* it was run at other sizes only */
    }
    text_list_free(&names);
}

void table_of_ladder(const report_t *report, const views_t *views) {
    const sizes_t sizes = sizes_of(report, views);
    column_t columns[2 + MOST_SIZES] = {{"Comparison", 'l'}, {"Rung", 'l'}};
    for (size_t s = 0; s < sizes.n; s++)
        columns[2 + s] = (column_t){size_name(report, views->items[0].set, sizes.items[s]), 'r'};
    rows_t rows = {.n_columns = 2 + sizes.n};
    for (size_t v = 0; v < views->n; v++) {
        if (v > 0 && views->items[v].set->key == views->items[v - 1].set->key)
            continue; /* the same cases */
        add_rungs(report, &rows, views, v, OURS, &sizes);
        add_rungs(report, &rows, views, v, RIVALS, &sizes);
    }
    rows_end(report, &rows, columns, "The ladder",
             "The computation alone, by the device's clock where there is one: a call (of many "
             "in a graph), a step, an epoch or a whole training; and its share of the limit. "
             "*(algorithmic)*: another algorithm with the same result, which is not compared.");
}

/* ---- parts of a call or a step --------------------------------------------------------------- */

static bool is_at_key_size(const comparison_set_t *set, const case_result_t *result) {
    const size_row_t *key[3];
    for (size_t i = key_rows(set, has_contender, key); i > 0; i--)
        if (key[i - 1]->size == size_of_case(set, &result->spec))
            return true;
    return false;
}

/* Steps that are timed by operation have no other table: that says of every case why it has no times. */
static bool shows_parts(const comparison_set_t *set, const case_result_t *result) {
    if (!has_parts(result) && result_has_times(result))
        return false;
    if (set_is_by_operation(set)) /* which looks at all cases */
        return !is_not_applicable(result) && (!result_has_times(result) || has_parts(result));
    AUTO(text_list_free) text_list_t changed = changed_techniques(&result->spec);
    const bool is_default = changed.n == 0;
    return is_default && has_parts(result) && is_at_key_size(set, result);
}

static const case_result_t *next_with_parts(const comparison_set_t *set,
                                            const case_result_t *after) {
    do
        after = comparison_set_next(set, after, ANYONE, EVERY_SIZE);
    while (after != NULL && !shows_parts(set, after));
    return after;
}

static const char *part_cell(const report_t *report, const case_result_t *result, double ns) {
    if (!result_has_times(result))
        return case_status_name(result->status);
    return report_text(report, "%s%s", time_text(report, ns),
                       isfinite(ns) && result->status == CASE_THROTTLED ? " †" : "");
}

static void add_parts(const report_t *report, rows_t *rows, const comparison_set_t *set,
                      const parts_t *parts, const case_result_t *result) {
    const char **cells = rows_add(rows);
    *cells++ = set_name(report, set);
    *cells++ = size_cell(report, size_of_case(set, &result->spec));
    *cells++ = report_text(report, "%s %s%s", who(report, result), name_cell(report, result),
                           algorithmic_mark(result));
    for (size_t i = 0; i < parts->n; i++)
        *cells++ = part_cell(report, result, part_ns(parts, i, result));
    *cells = time_text(report, parts_sum_ns(result));
}

static parts_t parts_of(const comparison_set_list_t *sets, bool *by_operation) {
    parts_t parts = {0};
    *by_operation = false;
    for (size_t i = 0; i < sets->n; i++)
        for (const case_result_t *r = NULL; (r = next_with_parts(&sets->items[i], r)) != NULL;) {
            parts_add(&parts, r);
            *by_operation = *by_operation || is_by_operation(r);
        }
    return parts;
}

void table_of_parts(const report_t *report, const comparison_set_list_t *sets) {
    column_t columns[4 + MOST_PARTS] = {{"Comparison", 'l'}, {"Size", 'r'}, {"Contender", 'l'}};
    bool by_operation;
    const parts_t parts = parts_of(sets, &by_operation);
    for (size_t i = 0; i < parts.n; i++)
        columns[3 + i] = (column_t){report_safe(report, parts.names[i]), 'r'};
    columns[3 + parts.n] = (column_t){"sum", 'r'};
    rows_t rows = {.n_columns = 4 + parts.n};
    for (size_t i = 0; i < sets->n; i++)
        for (const case_result_t *r = NULL; (r = next_with_parts(&sets->items[i], r)) != NULL;)
            add_parts(report, &rows, &sets->items[i], &parts, r);
    rows_end(report, &rows, columns, "Parts of a step",
             by_operation
                 ? "Medians; each part is timed separately, with its launches, on an idle device; "
                   "*sum*: of these. *fused*: all parts together, timed the same way, with what a "
                   "training does once. Who has no time for the loss or the update does that work "
                   "in the backward pass."
                 : "Medians of rungs with several kernels, at up to three sizes. Each launch of a "
                   "call is timed separately, on an idle device, and those of a kernel are added "
                   "up; *sum*: of all, which is not the time of a call.");
}

/* ---- contenders: their cases, errors, programs and what they cost once ------------------------ */

typedef struct contender {
    const record_t *run;
    const char *workload;
    const case_result_t *member; /* one of its cases */
} contender_t;

static bool has_case(const contender_t *contender, const case_result_t *result) {
    const case_t *a = &contender->member->spec, *b = &result->spec;
    char label[32], other_label[32];
    return strcmp(b->workload, contender->workload) == 0 && strcmp(a->variant, b->variant) == 0 &&
           strcmp(a->dtype, b->dtype) == 0 &&
           strcmp(case_engine_label(a, label), case_engine_label(b, other_label)) == 0;
}

/* The contender's next case after `previous` (NULL: its first); NULL at the end. */
static const case_result_t *next_case(const contender_t *contender, const case_result_t *previous) {
    const case_result_t *result = record_next(contender->run, previous);
    while (result != NULL && !has_case(contender, result))
        result = record_next(contender->run, result);
    return result;
}

/* True for one case of each contender: its first applicable one. */
static bool is_first_case(const contender_t *contender) {
    const case_result_t *first = next_case(contender, NULL);
    while (first != NULL && is_not_applicable(first))
        first = next_case(contender, first);
    return first == contender->member;
}

static const char *contender_cell(const report_t *report, const contender_t *contender) {
    bool algorithmic = false;
    for (const case_result_t *r = NULL; !algorithmic && (r = next_case(contender, r)) != NULL;)
        algorithmic = result_is_algorithmic(r);
    return report_text(report, "%s%s", key_cell(report, contender->member),
                       algorithmic ? " *(algorithmic)*" : "");
}

/* "9", "9: 6 ok, 3 skipped" */
static const char *cases_cell(const report_t *report, const contender_t *contender) {
    status_counts_t counts = {0};
    for (const case_result_t *result = NULL; (result = next_case(contender, result)) != NULL;)
        count_status(&counts, result);
    if (counts.all == counts.of[CASE_OK])
        return report_text(report, "%zu", counts.all);
    return report_text(report, "%zu: %s", counts.all, statuses_text(report, &counts));
}

/* The lowest and the highest number, each as text: "2–4 kB". */
static const char *range_cell(const report_t *report, double low, double high,
                              const char *(*show)(char *text, double value)) {
    const char *from = show(report_buffer(report), low), *to = show(report_buffer(report), high);
    return strcmp(from, to) == 0 ? from : report_text(report, "%s–%s", from, to);
}

static const char *whole_number(char *text, double value) {
    snprintf(text, UNITS_TEXT, "%.0f", value);
    return text;
}

static const char *percent_of(char *text, double value) {
    snprintf(text, UNITS_TEXT, "%.2f %%", 100 * value);
    return text;
}

static const struct number {
    const char *heading;
    const char *(*print)(char *text, double value);
} NUMBERS[] = {{"accuracy", percent_of}, {"registers", whole_number}, {"shared", units_bytes},
               {"spills", units_bytes},  {"compile", units_time},     {"first run", units_time}};
enum { N_NUMBERS = sizeof NUMBERS / sizeof *NUMBERS, BEFORE_NUMBERS = 6 };

/* The lowest and the highest of a contender's cases. */
static void fill_numbers(const report_t *report, const contender_t *contender, const char **cells) {
    double low[N_NUMBERS], high[N_NUMBERS];
    for (size_t i = 0; i < N_NUMBERS; i++)
        low[i] = high[i] = NAN;
    for (const case_result_t *result = NULL; (result = next_case(contender, result)) != NULL;) {
        const resources_t *program = &result->resources;
        const bool timed = result_has_times(result), compiled = program->arch != NULL;
        const double numbers[N_NUMBERS] = {
            timed ? result_number(result, "accuracy") : (double)NAN,
            compiled ? (double)program->registers : (double)NAN,
            compiled ? (double)program->shared_bytes : (double)NAN,
            compiled ? (double)program->spill_bytes : (double)NAN,
            timed ? result_once(result, "compile") : (double)NAN,
            timed ? result_once(result, "first_run") : (double)NAN,
        };
        for (size_t i = 0; i < N_NUMBERS; i++) {
            low[i] = fmin(low[i], numbers[i]); /* of a number and NaN: the number */
            high[i] = fmax(high[i], numbers[i]);
        }
    }
    for (size_t i = 0; i < N_NUMBERS; i++)
        cells[i] = isnan(low[i]) ? NULL : range_cell(report, low[i], high[i], NUMBERS[i].print);
}

/* The worst error before or after timing, the tolerance, and whether two runs gave equal bits. */
static void fill_checks(const report_t *report, const contender_t *contender, const char **cells) {
    double worst = -INFINITY, tolerance = NAN;
    determinism_t determinism = DETERMINISM_UNKNOWN;
    bool any = false, several = false, varies = false;
    for (const case_result_t *result = NULL; (result = next_case(contender, result)) != NULL;) {
        const check_t *checks[2] = {&result->before, &result->after};
        const phase_t *whole = result_whole_phase(result);
        determinism = result->determinism > determinism ? result->determinism : determinism;
        several = several || (result->before.done && whole != NULL && whole->n_passes > 1);
        varies = varies || result->before.varies;
        for (size_t k = 0; k < 2; k++) {
            if (!checks[k]->done)
                continue;
            any = true;
            /* NaN counts as the largest error. */
            if (!(checks[k]->rel_l2 <= worst))
                worst = checks[k]->rel_l2;
            if (!(checks[k]->tolerance <= tolerance))
                tolerance = checks[k]->tolerance;
        }
    }
    cells[0] = !any ? NULL : isnan(worst) ? "no number" : report_text(report, "%.2g", worst);
    cells[1] = isnan(tolerance) ? NULL : report_text(report, "%.2g", tolerance);
    cells[2] = determinism == DETERMINISM_UNKNOWN ? NULL
               : determinism == DETERMINISTIC     ? "equal"
                                                  : "differ";
    cells[3] = !several ? NULL : varies ? "differ" : "equal";
}

void table_of_contenders(const report_t *report, const char *workload) {
    column_t columns[BEFORE_NUMBERS + N_NUMBERS] = {{"Contender", 'l'},   {"cases", 'l'},
                                                    {"worst error", 'r'}, {"tolerance", 'r'},
                                                    {"two runs", 'l'},    {"processes", 'l'}};
    for (size_t i = 0; i < N_NUMBERS; i++)
        columns[BEFORE_NUMBERS + i] = (column_t){NUMBERS[i].heading, 'r'};
    rows_t rows = {.n_columns = BEFORE_NUMBERS + N_NUMBERS};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const contender_t contender = {report->run, workload, result};
        if (!is_first_case(&contender))
            continue;
        const char **cells = rows_add(&rows);
        cells[0] = contender_cell(report, &contender);
        cells[1] = cases_cell(report, &contender);
        fill_checks(report, &contender, cells + 2);
        fill_numbers(report, &contender, cells + BEFORE_NUMBERS);
    }
    rows_end(report, &rows, columns, "Contenders",
             "*Worst error*: the largest relative L2 error against the float64 reference "
             "output, before or after timing, over all cases; wrong, failed, implausible and "
             "skipped cases have no time anywhere. *Two runs* on the same inputs give equal "
             "bits, or differ in some case; *processes*: so do the errors that they find. "
             "Registers are per thread, shared memory and spills "
             "per block, over all sizes. *Compile*, *first run*: paid once, in no other time.");
}

/* ---- compilations ---------------------------------------------------------------------------- */

/* "655 µs, **1.20 ms**, 4.20 ms": the draw that the passes run is bold. */
static const char *times_cell(const report_t *report, const case_result_t *result,
                              const char *phase) {
    text_list_t times = {0};
    for (size_t i = 0; i < result->n_draws; i++) {
        char time[UNITS_TEXT];
        const char *bold = i + 1 == result->draw ? "**" : "";
        text_list_add_format(&times, "%s%s%s", bold,
                             units_time(time, draw_median(&result->draws[i], phase)), bold);
    }
    return report_join(report, &times, ", ");
}

/* "868 µs", and whether that code was faster in the process that compiled it. */
static const char *passes_cell(const report_t *report, const case_result_t *result,
                               const phase_t *phase) {
    const char *time = units_time(report_buffer(report), phase->summary.median);
    return isfinite(speedup_unreached_draw(result, phase)) ? report_text(report, "%s, slower", time)
                                                           : time;
}

void table_of_compilations(const report_t *report) {
    static const column_t COLUMNS[] = {{"case", 'l'},
                                       {"phase", 'l'},
                                       {"median, by compilation", 'r'},
                                       {"of the passes", 'r'},
                                       {"slowest / fastest", 'r'},
                                       {"longest compilation", 'r'}};
    rows_t rows = {.n_columns = sizeof COLUMNS / sizeof *COLUMNS};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const phase_t *phase = result_has_times(result) ? compared_phase(result) : NULL;
        double least = INFINITY, most = 0, longest_ns = NAN;
        if (result->n_draws == 0 || phase == NULL)
            continue;
        for (size_t i = 0; i < result->n_draws; i++) {
            const double ns = draw_median(&result->draws[i], phase->name);
            least = fmin(least, ns);
            most = fmax(most, ns);
            longest_ns = fmax(longest_ns, result->draws[i].compile_ns);
        }
        const char **cells = rows_add(&rows);
        cells[0] = report_code(report, result->spec.id);
        cells[1] = phase->name;
        cells[2] = times_cell(report, result, phase->name);
        cells[3] = passes_cell(report, result, phase);
        cells[4] = most > 0 ? report_text(report, "%.2f×", most / least) : "–";
        cells[5] = time_text(report, longest_ns);
    }
    rows_end(report, &rows, COLUMNS, "Compilations",
             "A compiler that tunes chooses by timing, so its code differs from one compilation "
             "to the next. Each of these cases was compiled several times, in a new process "
             "without earlier choices; all passes load the one in bold. *Slower*: all passes "
             "took longer than the process that compiled it, by more than they differ; the "
             "interval of a ratio covers that time, too.");
}

/* ---- every case ------------------------------------------------------------------------------ */

void table_of_times(const report_t *report, const char *workload) {
    static const column_t COLUMNS[] = {
        {"Case", 'l'}, {"total", 'r'}, {"95 % interval over passes", 'r'}};
    rows_t rows = {.n_columns = sizeof COLUMNS / sizeof *COLUMNS};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const phase_t *total = result_has_times(result) ? result_phase(result, "total") : NULL;
        if (strcmp(result->spec.workload, workload) != 0)
            continue;
        const char **cells = rows_add(&rows);
        cells[0] = report_code(report, result->spec.id);
        cells[1] =
            report_text(report, "%s%s", time_cell(report, result, "total"), trust_mark(result));
        cells[2] = total != NULL ? interval_cell(report, total) : NULL;
    }
    rows_end(report, &rows, COLUMNS, "Times", "");
}

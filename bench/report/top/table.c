/* The headline of all workloads in one table. */
#include "report/columns.h"
#include "report/top/top.h"

#include "base/memory.h"
#include "base/text.h"
#include "limits/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns before and after those of the rivals, one for each. */
enum { WORKLOAD, MACHINE, SIZE, RATIO, BOOTS, OURS_BEST, N_BEFORE };
enum { EAGER, LIMIT, GAP, PHASE, N_AFTER };

static int by_engine(const void *a, const void *b) {
    return engine_order(*(const char *const *)a, *(const char *const *)b);
}

/* All that have a time in some row, in the order of tables. */
static text_list_t rivals_of(const headline_t *headline) {
    text_list_t rivals = {0};
    for (size_t i = 0; i < headline->n; i++)
        for (size_t r = 0; r < headline->rows[i].set->n_rivals; r++)
            if (rival_shown(&headline->rows[i].row->rivals[r]) != NULL)
                text_list_add_new(&rivals, headline->rows[i].set->rivals[r]);
    if (rivals.n > 0)
        qsort(rivals.items, rivals.n, sizeof *rivals.items, by_engine);
    return rivals;
}

/* "5.58 µs 02_thread_per_sample + mapped, poll"; techniques that are not the default */
static const char *best_cell(const report_t *report, const headline_row_t *row,
                             const case_result_t *result) {
    if (result == NULL)
        return "–";
    const char *bold = result == row->row->strongest ? "**" : "";
    return report_text(report, "%s%s%s %s", bold, time_cell(report, result, row->set->phase), bold,
                       name_cell(report, result));
}

static const case_result_t *of_rival(const headline_row_t *row, const char *engine) {
    for (size_t i = 0; i < row->set->n_rivals; i++)
        if (strcmp(row->set->rivals[i], engine) == 0)
            return rival_shown(&row->row->rivals[i]);
    return NULL;
}

/* What the copies of a time with copies take at least, where that is more than the computation does; else
 * NaN. */
static double copies_ns(const headline_row_t *row) {
    const case_result_t *ours = row->row->best;
    if (strcmp(row->set->phase, "host_to_host") != 0 || ours == NULL || !isfinite(ours->limit.frac))
        return NAN;
    const workload_cost_t cost = workload_find(row->set->workload)->cost(&ours->spec);
    const device_rates_t rates = device_rates_of_record(row->part->run);
    const double ns = bus_limit_ns(&cost, &rates);
    return ns > ours->limit.limit_ns ? ns : NAN;
}

static const char *nearness_cell(const report_t *report, const headline_row_t *row) {
    const double least_ns = copies_ns(row);
    if (isnan(least_ns))
        return limit_cell(report, row->row->best);
    const double ns = result_median(row->row->best, row->set->phase);
    return case_link(report, row->row->best, percent_text(report, least_ns / ns));
}

static double gap_closed_frac(const headline_row_t *row) {
    const case_result_t *ours = row->row->best, *theirs = row->row->strongest;
    const double least_ns = copies_ns(row);
    if (ours == NULL || theirs == NULL)
        return NAN;
    if (isnan(least_ns))
        return limit_gap_closed_frac(ours, theirs);
    return limit_share_closed(result_median(ours, row->set->phase),
                              result_median(theirs, row->set->phase), least_ns);
}

/* "88 %"; "none" if ours is no nearer to the limit; "–" where no difference to the rival was found. */
static const char *gap_cell(const report_t *report, const headline_row_t *row) {
    const double frac = gap_closed_frac(row);
    if (isnan(frac) || row->row->headline.verdict == VERDICT_NO_DIFFERENCE)
        return "–";
    const char *ours = limit_mark(row->row->best), *theirs = limit_mark(row->row->strongest);
    return report_text(report, "%s%s", frac > 0 ? share_cell(report, frac) : "none",
                       *ours != '\0' ? ours : theirs);
}

/* The name of a GPU without that of its maker, which the facts above the table have. */
static const char *machine_cell(const report_t *report, const record_t *run) {
    static const char MAKER[] = "NVIDIA ";
    const char *name = shown_machine(report, run);
    return text_starts(name, MAKER) ? name + strlen(MAKER) : name;
}

static void fill_row(const report_t *top, const headline_row_t *row, const text_list_t *rivals,
                     const char **cells) {
    const report_t of_run = report_on(top, row->part->run), *report = &of_run;
    const bool on_gpu = strcmp(row->set->platform->device, "cuda") == 0;
    const size_row_t *sized = row->row;
    const char **after = cells + N_BEFORE + rivals->n;
    const char *run = row->part->when; /* of workloads that are in two runs */
    cells[WORKLOAD] =
        report_safe(report, report_text(report, "%s %s%s%s%s", row->set->workload,
                                        headline_setting(report, row), run != NULL ? " (" : "",
                                        run != NULL ? run : "", run != NULL ? ")" : ""));
    cells[MACHINE] = on_gpu ? machine_cell(report, row->part->run) : "CPU";
    after[PHASE] = report_safe(report, row->set->phase);
    cells[SIZE] = size_name(report, row->set, sized->size);
    cells[OURS_BEST] = best_cell(report, row, standing_shown(&sized->ours));
    for (size_t i = 0; i < rivals->n; i++)
        cells[N_BEFORE + i] = best_cell(report, row, of_rival(row, rivals->items[i]));
    cells[RATIO] = case_link(report, sized->best, ratio_cell(report, &sized->headline));
    cells[BOOTS] = case_link(report, sized->best, headline_range(report, row, false));
    after[EAGER] = report_safe(report, headline_eager(report, sized));
    after[LIMIT] = nearness_cell(report, row);
    after[GAP] = case_link(report, sized->best, gap_cell(report, row));
}

static void print_table(const report_t *report, const headline_t *headline,
                        const text_list_t *rivals) {
    const size_t n = N_BEFORE + rivals->n + N_AFTER;
    column_t *columns = mem_zeroed(n, sizeof *columns);
    const char **cells = mem_zeroed(n * headline->n, sizeof *cells);
    const column_t before[N_BEFORE] = {{"workload", 'l', false},
                                       {"on", 'l', true},
                                       {"size", 'l', false},
                                       {"ratio", 'r', false},
                                       {headline_range_title(report, headline), 'r', true},
                                       {"ours", 'l', false}};
    const column_t after[N_AFTER] = {{"one eager call of each", 'l', true},
                                     {"of the limit", 'r', false},
                                     {"gap closed", 'r', false},
                                     {"timed", 'l', false}};
    memcpy(columns, before, sizeof before);
    for (size_t i = 0; i < rivals->n; i++)
        columns[N_BEFORE + i] = (column_t){
            report_text(report, "%s's best", report_safe(report, engine_name(rivals->items[i]))),
            'l', false};
    memcpy(columns + N_BEFORE + rivals->n, after, sizeof after);
    for (size_t r = 0; r < headline->n; r++) {
        const char **row = cells + r * n;
        fill_row(report, &headline->rows[r], rivals, row);
        columns[MACHINE].hidden =
            columns[MACHINE].hidden && strcmp(row[MACHINE], cells[MACHINE]) == 0;
        columns[BOOTS].hidden = columns[BOOTS].hidden && *row[BOOTS] == '\0';
        column_t *eager = &columns[N_BEFORE + rivals->n + EAGER];
        eager->hidden = eager->hidden && *row[N_BEFORE + rivals->n + EAGER] == '\0';
    }
    columns_t table = columns_begin(report, columns, n);
    for (size_t r = 0; r < headline->n; r++)
        columns_row(&table, cells + r * n);
    columns_end(&table, "");
    free(columns);
    free(cells);
}

/* They become fewer where the sentences take more than seven lines. */
static size_t most_rows(const report_t *report, const top_t *top) {
    size_t lines;
    top_n_leads(report, top, &lines);
    return lines > 7 ? TOP_ROWS - (lines - 7) : TOP_ROWS;
}

static bool has_boots(const top_t *top) {
    for (size_t i = 0; i < top->n_parts; i++)
        if (top->parts[i].shown->boots.n > 0)
            return true;
    return false;
}

void top_table(const report_t *report, const top_t *top) {
    headline_part_t *parts = mem_zeroed(top->n_parts + 1, sizeof *parts);
    passes_t passes = {0};
    for (size_t i = 0; i < top->n_parts; i++) {
        parts[i] = top->parts[i].headline;
        passes = passes_join(passes, passes_of(parts[i].run));
    }
    headline_t headline = headline_select(parts, top->n_parts, most_rows(report, top));
    text_list_t rivals = rivals_of(&headline);
    if (headline.n > 0) {
        print_table(report, &headline, &rivals);
        const char *modes_of_jax =
            report_text(report, ", %s", doc_link(report, "docs/jax.md", "", "docs/jax.md"));
        print(
            report,
            "Medians. *Ratio*: the strongest rival (bold) over ours; above 1, ours has the lower "
            "time. %s*Timed* by the host's clock: host_to_host from input in host memory to output "
            "there (a training's data set is on the device before), step and train without copies; "
            "by the device's: call_in_graph, one of many calls in a CUDA graph, without copies. "
            "*Of the limit*: how near ours comes, in the computation alone, to what the hardware "
            "allows, or with copies to what the bus does, if that takes longer; "
            "*gap closed*: how much of the strongest rival's distance to that limit ours removes "
            "(by the host's clock where the rival has no other). *Sealed*: timed by this program; "
            "*audited*: by the script itself; for whole runs, with copies, this program's clock "
            "finds at most 10 %% more than it claims, and may find less (%s). *Sizes*: the "
            "study's, of operators the largest; then, where there is room, a workload's largest. "
            "All modes of rivals, and what was "
            "tried: %s%s. %s\n\n",
            has_boots(top) ? "*Over boots*: its range over runs after other starts of machines, of "
                             "some of the cases. The interval covers it, and is still none over "
                             "machines. "
                           : "",
            doc_link(report, "docs/cheating.md", "#trust", "docs/cheating.md#trust"),
            doc_link(report, "docs/pytorch.md", "", "docs/pytorch.md"),
            text_list_has(&rivals, "jax") ? modes_of_jax : "", passes_note(report, passes));
    }
    text_list_free(&rivals);
    headline_free(&headline);
    free(parts);
}

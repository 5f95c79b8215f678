/* mlp_infer's tables: who is how fast at each batch, where the time goes, and how near the
 * computation comes to the limit. */
#include "report_page.h"

#include "ground/fs.h"
#include "ground/memory.h"
#include "ground/units.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool any_study(const family_t *family) {
    for (size_t i = 0; i < family->n_rows; i++)
        if (family->rows[i].study != NULL)
            return true;
    return false;
}

static void add_name(table_t *table, const case_result_t *result, bool markdown) {
    char *name = result == NULL ? mem_text("–")
                 : markdown     ? shown_name(result)
                                : contender_name(&result->spec);
    table_add(table, name);
    free(name);
}

void headline_table(const family_t *family, table_t *table, bool markdown) {
    bool study = any_study(family);
    char *best = mem_format("Best %s", family->side->name);
    const char *headings[] = {"Batch", best,       "Case",    "PyTorch eager", "PyTorch best",
                              "Mode",  "vs eager", "vs best", "Study's CUDA"};
    table_init(table, headings, study ? 9 : 8);
    table_set_align(table, "rrlrrlrrr");
    for (size_t i = 0; i < family->n_rows; i++) {
        const batch_row_t *row = &family->rows[i];
        char text[2 * UNITS_TEXT];
        table_add(table, units_count(text, row->batch));
        add_time(table, row->best, family->phase);
        add_name(table, row->best, markdown);
        add_time(table, row->eager, family->phase);
        add_time(table, row->fastest, family->phase);
        add_name(table, row->fastest, markdown);
        table_add(table, ratio_text(text, sizeof text, &row->against_eager));
        table_add(table, ratio_text(text, sizeof text, &row->headline));
        if (study)
            add_time(table, row->study, family->phase);
    }
    free(best);
}

/* How many samples stand behind the medians of a table, and how far off they can be. */
typedef struct spread {
    size_t fewest, most;
    double widest_frac; /* half width of the 95 % interval over the median */
} spread_t;

static void widen(spread_t *spread, const case_result_t *result, const char *name) {
    const phase_t *phase =
        result != NULL && result_has_times(result) ? result_phase(result, name) : NULL;
    if (phase == NULL || phase->summary.n == 0)
        return;
    const summary_t *s = &phase->summary;
    double half_frac = (s->ci95[1] - s->ci95[0]) / 2 / s->median;
    if (s->n < spread->fewest)
        spread->fewest = s->n;
    if (s->n > spread->most)
        spread->most = s->n;
    if (half_frac > spread->widest_frac)
        spread->widest_frac = half_frac;
}

static void print_spread(const page_t *page, const family_t *family) {
    spread_t spread = {.fewest = SIZE_MAX};
    for (size_t i = 0; i < family->n_rows; i++) {
        const batch_row_t *row = &family->rows[i];
        const case_result_t *shown[] = {row->best, row->study, row->eager, row->fastest};
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            widen(&spread, shown[k], family->phase);
    }
    if (spread.most == 0)
        return;
    char text[UNITS_TEXT];
    fprintf(page->out,
            "Behind each median are at least %zu samples (at most %zu); the widest 95 %% interval "
            "of one is ± %s.",
            spread.fewest, spread.most, units_percent(text, spread.widest_frac));
    char *path = fs_join(page->run->folder, "timings.csv");
    if (fs_exists(path)) {
        char *link = page_link(page, path);
        fprintf(page->out, " All of them: [timings.csv](%s).", link);
        free(link);
    }
    free(path);
    fputs("\n\n", page->out);
}

/* The fastest of three at one batch and of twelve at the next is not the same question. */
static void print_unequal_choice(const page_t *page, const family_t *family) {
    size_t fewest = SIZE_MAX, most = 0;
    for (size_t i = 0; i < family->n_rows; i++) {
        size_t n = 0;
        for (size_t k = 0; k < family->run->n_cases; k++)
            n +=
                case_param_int(&family->run->cases[k].spec, "batch", -1) == family->rows[i].batch &&
                family_has(family, &family->run->cases[k], false);
        fewest = n < fewest ? n : fewest;
        most = n > most ? n : most;
    }
    if (most > fewest)
        fprintf(page->out,
                "Not every %s case was run at every batch (%zu to %zu of them): the fastest at one "
                "batch may not have been tried at the next, which makes steps in the table.\n\n",
                family->side->name, fewest, most);
}

static void section_headline(const page_t *page, const family_t *family) {
    fprintf(page->out,
            "Medians of `%s`. *vs eager* and *vs best* are PyTorch's median over ours, with a "
            "bootstrap 95 %% interval: above 1, %s is the faster; where the interval holds 1, no "
            "difference was found. † marks a throttled case, whose time is shown and wins "
            "nothing.\n\n",
            family->phase, family->side->name);
    print_spread(page, family);
    print_unequal_choice(page, family);
    table_t table;
    headline_table(family, &table, true);
    page_table(page, &table);
}

static bool has_contender(const batch_row_t *row) {
    return row->best != NULL || row->fastest != NULL;
}

typedef struct phase_columns {
    const char *title;
    bool pytorch;
    const char *compute;
    const char *const *phases; /* NULL-terminated */
} phase_columns_t;

static void add_phase_row(table_t *table, const phase_columns_t *columns, int64_t batch,
                          const case_result_t *result) {
    char text[UNITS_TEXT];
    table_add(table, units_count(text, batch));
    add_name(table, result, true);
    for (size_t i = 0; columns->phases[i] != NULL; i++)
        add_time(table, result, columns->phases[i]);
    double share = 1 - result_median(result, columns->compute) / result_median(result, "total");
    table_add(table, units_percent(text, share >= 0 ? share : NAN));
}

static void section_phases(const page_t *page, const family_t *family,
                           const phase_columns_t *columns) {
    const char *headings[16] = {"Batch", "Case"};
    char align[17] = "rl";
    size_t n = 2;
    for (size_t i = 0; columns->phases[i] != NULL; i++)
        headings[n++] = columns->phases[i];
    char *outside = mem_format("outside %s", columns->compute);
    headings[n++] = outside;
    memset(align + 2, 'r', n - 2);
    table_t table;
    table_init(&table, headings, n);
    table_set_align(&table, align);
    const batch_row_t *rows[3];
    size_t n_rows = key_rows(family, has_contender, rows);
    for (size_t i = 0; i < n_rows; i++) {
        const case_result_t *fixed = columns->pytorch ? rows[i]->eager : rows[i]->study;
        const case_result_t *best = columns->pytorch ? rows[i]->fastest : rows[i]->best;
        if (fixed != NULL && result_has_times(fixed))
            add_phase_row(&table, columns, rows[i]->batch, fixed);
        if (best != NULL && best != fixed)
            add_phase_row(&table, columns, rows[i]->batch, best);
    }
    if (table_rows(&table) == 0) {
        table_free(&table);
    } else {
        fprintf(page->out, "%s:\n\n", columns->title);
        page_table(page, &table);
    }
    free(outside);
}

static void sections_phases(const page_t *page, const family_t *family) {
    static const char *const CUDA[] = {"malloc", "h2d",      "kernel", "d2h",
                                       "free",   "residual", "total",  NULL};
    static const char *const CPU[] = {"forward", "residual", "total", NULL};
    static const char *const PYTORCH[] = {"init",     "h2d",   "forward", "d2h",
                                          "residual", "total", NULL};
    bool gpu = strcmp(family->side->device, "cuda") == 0;
    page_heading(page, 4, "Where the time goes");
    fputs("Medians, phases separated by synchronisation. `residual` is what `total` spends between "
          "the phases; since each column is a median of its own, a row adds up only nearly.\n\n",
          page->out);
    phase_columns_t ours = {gpu ? "CUDA: the study's set-up and the fastest case"
                                : "C: the fastest case",
                            false, gpu ? "kernel" : "forward", gpu ? CUDA : CPU};
    section_phases(page, family, &ours);
    phase_columns_t theirs = {"PyTorch: eager and the fastest mode", true, "forward", PYTORCH};
    section_phases(page, family, &theirs);
}

/* Of the cases of one variant at one batch, the first in the run: techniques of the host do not
 * change the kernel, so one of them stands for all. */
static bool is_first_of_variant(const family_t *family, size_t index, bool pytorch) {
    const case_t *spec = &family->run->cases[index].spec;
    for (size_t i = 0; i < index; i++) {
        const case_result_t *other = &family->run->cases[i];
        if (strcmp(other->spec.variant, spec->variant) == 0 &&
            case_param_int(&other->spec, "batch", -1) == case_param_int(spec, "batch", -1) &&
            family_has(family, other, pytorch))
            return false;
    }
    return true;
}

static void add_limit(table_t *table, const case_result_t *result) {
    const limit_t *limit = &result->limit;
    char text[UNITS_TEXT];
    if (!result_has_times(result) || !isfinite(limit->frac)) {
        table_add(table, "–");
        table_add(table, "–");
        return;
    }
    table_add(table, units_time(text, limit->limit_ns));
    char *bound = markdown_text(limit->bound != NULL ? limit->bound : "not named");
    char *phase = markdown_text(limit->phase != NULL ? limit->phase : "compute");
    table_add_format(table, "%s (%s, %s)", units_percent(text, limit->frac), bound, phase);
    free(bound);
    free(phase);
}

static const char *const KERNEL_PHASES[] = {"kernel_stream", "kernel_graph", "kernel_cold"};
enum { N_KERNEL_PHASES = sizeof KERNEL_PHASES / sizeof *KERNEL_PHASES };

static void add_compute_rows(table_t *table, const family_t *family, int64_t batch, bool pytorch,
                             bool gpu) {
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (case_param_int(&result->spec, "batch", -1) != batch ||
            !family_has(family, result, pytorch) || !is_first_of_variant(family, i, pytorch))
            continue;
        char text[UNITS_TEXT], label[32];
        char *variant = markdown_text(result->spec.variant);
        const phase_t *compute = result_compute_phase(result);
        table_add(table, units_count(text, batch));
        table_add_format(table, "%s %s", case_engine_label(&result->spec, label), variant);
        add_time(table, result, compute != NULL ? compute->name : "");
        for (size_t k = 0; k < N_KERNEL_PHASES && gpu; k++)
            add_time(table, result_phase(result, KERNEL_PHASES[k]) != NULL ? result : NULL,
                     KERNEL_PHASES[k]);
        add_limit(table, result);
        free(variant);
    }
}

static void section_compute(const page_t *page, const family_t *family) {
    static const char *const GPU[] = {"Batch",      "Contender", "single", "in a stream",
                                      "in a graph", "cold L2",   "limit",  "of the limit"};
    static const char *const CPU[] = {"Batch", "Contender", "forward", "limit", "of the limit"};
    bool gpu = strcmp(family->side->device, "cuda") == 0;
    table_t table;
    table_init(&table, gpu ? GPU : CPU, gpu ? 8 : 5);
    table_set_align(&table, "rlrrrrrr");
    const batch_row_t *rows[3];
    size_t n = key_rows(family, has_contender, rows);
    for (size_t i = 0; i < n; i++) {
        add_compute_rows(&table, family, rows[i]->batch, false, gpu);
        add_compute_rows(&table, family, rows[i]->batch, true, gpu);
    }
    if (table_rows(&table) == 0) {
        table_free(&table);
        return;
    }
    page_heading(page, 4, "Computation alone, and the limit");
    if (gpu)
        fputs("Kernels by the device's clock: one launch between two events (*single*), back to "
              "back in a stream, in a graph of many launches, and with the L2 cache flushed "
              "before. A single launch near the floor of an event pair says little about the "
              "kernel; the graph's figure is its own. PyTorch's `forward` is by the host's clock "
              "and includes launching. ",
              page->out);
    fputs("The limit is the least time in which this device can move the bytes and do the "
          "arithmetic; in brackets, what binds and which figure is held against it.\n\n",
          page->out);
    page_table(page, &table);
}

void mlp_infer_tables(const page_t *page, const family_t *family) {
    char *key = markdown_text(family->key);
    char *heading = mem_format("mlp_infer %s, %s: tables", key, family->side->place);
    page_heading(page, 3, heading);
    section_headline(page, family);
    sections_phases(page, family);
    section_compute(page, family);
    free(heading);
    free(key);
}

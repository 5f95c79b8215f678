/* Print the headline as a table, for a terminal or in markdown. */
#include "report/headline.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/columns.h"
#include "workloads/common/workload.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A value common to all rows of one of the first N_COMMON columns is shown above the table. */
enum {
    COLUMN_WORKLOAD,
    COLUMN_MACHINE,
    COLUMN_WHEN,
    COLUMN_PHASE,
    N_COMMON,
    COLUMN_BOOTS = 10,
    COLUMN_EAGER,
    COLUMN_OTHERS,
    COLUMN_EXCLUDED,
    N_COLUMNS
};

/* ---- cells ----------------------------------------------------------------------------------- */

static const char *safe(const report_t *report, table_style_t style, const char *text) {
    return style == TABLE_MARKDOWN ? report_safe(report, text) : text;
}

const char *headline_setting(const report_t *report, const headline_row_t *row) {
    /* A set's cases differ only in size. */
    const case_t *spec = &comparison_set_next(row->set, NULL, ANYONE, EVERY_SIZE)->spec;
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
        text_list_add_format(&parts, "%s=%s", name,
                             report_keep(report, value_text(&spec->params[i].value)));
    }
    text_list_add(&parts, spec->dtype);
    case_free(&defaults);
    return report_join(report, &parts, ", ");
}

const char *headline_contender(const report_t *report, const case_result_t *result) {
    return result != NULL ? report_text(report, "%s %s", engine_name(result->spec.engine),
                                        result->spec.variant)
                          : "–";
}

/* "ours is self-reported"; NULL if the side has a time that may be compared. */
static const char *side_without(const report_t *report, const char *side, const char *none,
                                const standing_t *standing, const char *phase) {
    const case_result_t *shown = standing_shown(standing);
    if (standing->fastest != NULL)
        return NULL;
    return shown == NULL ? none
                         : report_text(report, "%s %s", side,
                                       report_keep(report, exclusion_text(shown, phase)));
}

static const char *no_ratio(const report_t *report, const headline_row_t *row) {
    const char *ours =
        side_without(report, "ours", "ours was not run", &row->row->ours, row->set->phase);
    const char *theirs =
        side_without(report, "the rival", "no rival was run", &row->row->theirs, row->set->phase);
    if (ours == NULL || theirs == NULL)
        return ours != NULL ? ours : theirs != NULL ? theirs : "–";
    return report_text(report, "%s, %s", ours, theirs);
}

const char *headline_faster(const report_t *report, const headline_row_t *row) {
    const speedup_t *speedup = &row->row->headline;
    if (speedup->verdict == VERDICT_NONE)
        return no_ratio(report, row);
    const char *lead = lead_text(report, speedup);
    if (speedup->verdict == VERDICT_NO_DIFFERENCE)
        return report_text(report, "no difference, %s", lead);
    const case_result_t *leader = theirs_leads(speedup) ? row->row->strongest : row->row->best;
    return report_text(report, "%s %s", engine_name(leader->spec.engine), lead);
}

const char *headline_range(const report_t *report, const headline_row_t *row, bool of_leader) {
    if (row->part->boots == NULL || row->part->boots->n == 0)
        return "";
    boots_range_t range =
        boots_range(row->part->boots, row->row->best, row->row->strongest, row->set->phase);
    if (range.n < 2)
        return "–";
    if (of_leader && theirs_leads(&row->row->headline))
        range = (boots_range_t){range.n, 1 / range.most, 1 / range.least};
    const size_t n = row->part->boots->n + 1;
    return report_text(report, "%s%s%s",
                       units_range(report_buffer(report), range.least, range.most),
                       range.n < n ? report_text(report, " (in %zu of %zu)", range.n, n) : "",
                       boots_disagree(&range) ? ", they disagree" : "");
}

/* "triton fused (self-reported)" */
static const char *marked_contender(const report_t *report, const case_result_t *result) {
    const char *mark = result != NULL && is_self_reported(result) ? " (self-reported)" : "";
    return report_text(report, "%s%s", headline_contender(report, result), mark);
}

/* "JAX jit 11.3 µs, …": of each rival but the one that ours is held against. */
static const char *others_text(const report_t *report, const headline_row_t *row) {
    text_list_t others = {0};
    for (size_t i = 0; i < row->set->n_rivals; i++) {
        const case_result_t *shown = rival_shown(&row->row->rivals[i]);
        if (shown != NULL && shown != standing_shown(&row->row->theirs) &&
            shown != standing_faster(&row->row->theirs, row->set->phase))
            text_list_add_format(&others, "%s %s%s", headline_contender(report, shown),
                                 time_cell(report, shown, row->set->phase),
                                 is_self_reported(shown) ? " (self-reported)" : "");
    }
    const char *list = report_join(report, &others, ", ");
    return list != NULL ? list : "";
}

/* Cases with a lower time than the one that stands for their side, and why they do not. What ours declares to
 * be other work, another algorithm or a larger tolerance, is no surprise. */
static const char *excluded_text(const report_t *report, const headline_row_t *row) {
    const case_result_t *const faster[] = {standing_faster(&row->row->ours, row->set->phase),
                                           standing_faster(&row->row->theirs, row->set->phase)};
    text_list_t excluded = {0};
    for (size_t i = 0; i < 2; i++)
        if (faster[i] != NULL && (i == 1 || is_self_reported(faster[i])))
            text_list_add_format(&excluded, "%s %s %s", headline_contender(report, faster[i]),
                                 time_cell(report, faster[i], row->set->phase),
                                 report_keep(report, exclusion_text(faster[i], row->set->phase)));
    const char *list = report_join(report, &excluded, ", ");
    return list != NULL ? list : "";
}

const char *headline_eager(const report_t *report, const size_row_t *row) {
    const speedup_t *speedup = &row->plain_against_eager;
    if (speedup->ours == NULL || speedup->theirs == NULL)
        return "";
    const case_result_t *leader = theirs_leads(speedup) ? row->eager : row->plain;
    const char *times = report_text(
        report, "%s %s, %s %s", row->plain->spec.variant, time_cell(report, row->plain, ONE_CALL),
        engine_name(row->eager->spec.engine), time_cell(report, row->eager, ONE_CALL));
    if (speedup->self_reported)
        return report_text(report, "%s: one is self-reported", times);
    return report_text(report, "%s: %s %s", times,
                       speedup->verdict == VERDICT_NO_DIFFERENCE ? "no difference,"
                                                                 : engine_name(leader->spec.engine),
                       lead_text(report, speedup));
}

const char *headline_range_title(const report_t *report, const headline_t *headline) {
    size_t fewest = SIZE_MAX, most = 0;
    for (size_t i = 0; i < headline->n; i++) {
        const boots_t *boots = headline->rows[i].part->boots;
        const size_t n = boots != NULL && boots->n > 0 ? boots->n + 1 : 0;
        fewest = n > 0 && n < fewest ? n : fewest;
        most = n > most ? n : most;
    }
    return fewest == most ? report_text(report, "over %zu boots", most) : "over boots";
}

/* ---- the table ------------------------------------------------------------------------------- */

static void fill_cells(const report_t *report, table_style_t style, const headline_row_t *row,
                       const char *cells[N_COLUMNS]) {
    const char *phase = row->set->phase, *when = row->part->when;
    const case_result_t *ours = standing_shown(&row->row->ours);
    const case_result_t *rival = standing_shown(&row->row->theirs);
    const char *gpu = environment_get(&row->part->run->environment, "gpu.name");
    const bool on_gpu = strcmp(row->set->platform->device, "cuda") == 0;
    const char *const texts[N_COLUMNS] = {
        [COLUMN_WORKLOAD] =
            safe(report, style,
                 report_text(report, "%s %s", row->set->workload, headline_setting(report, row))),
        [COLUMN_MACHINE] = safe(report, style,
                                !on_gpu       ? "CPU"
                                : gpu != NULL ? gpu
                                              : "GPU"),
        [COLUMN_WHEN] = safe(report, style, when != NULL ? when : ""),
        [COLUMN_PHASE] = safe(report, style, phase),
        size_name(report, row->set, row->row->size),
        time_cell(report, ours, phase),
        safe(report, style, marked_contender(report, ours)),
        time_cell(report, rival, phase),
        safe(report, style, marked_contender(report, rival)),
        safe(report, style, headline_faster(report, row)),
        [COLUMN_BOOTS] = headline_range(report, row, true),
        [COLUMN_EAGER] = safe(report, style, headline_eager(report, row->row)),
        [COLUMN_OTHERS] = safe(report, style, others_text(report, row)),
        [COLUMN_EXCLUDED] = safe(report, style, excluded_text(report, row)),
    };
    memcpy(cells, texts, sizeof texts);
}

/* The common values, whose columns are hidden, and the caveat. */
static void print_title(const report_t *report, const column_t *columns, const char *const *cells,
                        const char *caveat) {
    text_list_t parts = {0};
    for (size_t c = 0; c < N_COMMON; c++)
        if (columns[c].hidden && cells[c][0] != '\0')
            text_list_add_format(&parts, c == COLUMN_PHASE ? "median %s" : "%s", cells[c]);
    if (caveat != NULL)
        text_list_add(&parts, caveat);
    const char *title = report_join(report, &parts, ", ");
    if (title != NULL)
        print(report, "%s\n\n", title);
}

char *headline_text(const headline_t *headline, table_style_t style) {
    if (headline->n == 0)
        return mem_text("");
    page_t page;
    page_open(&page);
    const report_t *report = &page.report;
    const char *caveat = headline_caveat(headline->rows[0].set->workload);
    passes_t passes = {0};
    for (size_t i = 0; i < headline->n; i++)
        passes = passes_join(passes, passes_of(headline->rows[i].part->run));
    column_t columns[N_COLUMNS] = {
        {"workload", 'l', true},
        {"on", 'l', true},
        {"measured", 'l', true},
        {"phase", 'l', true},
        {"size", 'l', false},
        {"ours", 'r', false},
        {"", 'l', false},
        {"best rival", 'r', false},
        {"", 'l', false},
        {passes_have_intervals(passes) ? "faster (95 % interval)" : "lower time", 'l', false},
        {headline_range_title(report, headline), 'l', true},
        {"one eager call of each", 'l', true},
        {"other rivals", 'l', true},
        {"faster, but not compared", 'l', true},
    };
    const char *(*cells)[N_COLUMNS] = mem_zeroed(headline->n, sizeof *cells);
    for (size_t i = 0; i < headline->n; i++) {
        fill_cells(report, style, &headline->rows[i], cells[i]);
        for (size_t c = 0; c < N_COMMON; c++)
            columns[c].hidden = columns[c].hidden && strcmp(cells[i][c], cells[0][c]) == 0;
        for (size_t c = COLUMN_BOOTS; c < N_COLUMNS; c++)
            columns[c].hidden = columns[c].hidden && *cells[i][c] == '\0';
    }
    print_title(report, columns, cells[0], caveat != NULL ? safe(report, style, caveat) : NULL);
    columns_t table = columns_begin(report, columns, N_COLUMNS);
    for (size_t i = 0; i < headline->n; i++)
        columns_row(&table, cells[i]);
    const char *note = passes_note(report, passes);
    print(report, "%s", report_keep(report, table_text(&table.table, style)));
    const bool boots = !columns[COLUMN_BOOTS].hidden;
    if (*note != '\0')
        print(report, "\n%s%s\n", note,
              boots ? " The interval of a ratio covers its range over boots." : "");
    table_free(&table.table);
    free(cells);
    return page_close(&page);
}

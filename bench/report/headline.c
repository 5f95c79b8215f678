#include "report/headline.h"

#include "base/memory.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool has_rival(const size_row_t *row) {
    return row->headline.verdict != VERDICT_NONE || row->headline.self_reported;
}

static bool has_time(const size_row_t *row) {
    return row->best != NULL || row->strongest != NULL || row->ours.claimed != NULL ||
           row->theirs.claimed != NULL;
}

/* Both sides were run, so whoever sees no ratio is told why. */
static bool is_tried(const size_row_t *row) {
    return has_rival(row) ||
           (standing_shown(&row->ours) != NULL && standing_shown(&row->theirs) != NULL);
}

/* Rows of one set in the order in which they are selected. */
typedef struct ranking {
    const headline_part_t *part;
    size_t index; /* in the part */
    const comparison_set_t *set;
    size_t ranked[HEADLINE_ROWS];   /* of set->rows */
    size_t n_ranked, n, n_selected; /* n: all that could be ranked */
} ranking_t;

typedef struct ranking_list {
    ranking_t *items;
    size_t n, capacity;
} ranking_list_t;

static bool is_ranked(const ranking_t *ranking, size_t row) {
    for (size_t i = 0; i < ranking->n_ranked; i++)
        if (ranking->ranked[i] == row)
            return true;
    return false;
}

static void rank(ranking_t *ranking, size_t row) {
    if (ranking->n_ranked < HEADLINE_ROWS && !is_ranked(ranking, row))
        ranking->ranked[ranking->n_ranked++] = row;
}

/* How many of `rows` a row is from the nearest that is ranked; 0: it is. */
static size_t distance_of(const ranking_t *ranking, const size_t *rows, size_t n, size_t at) {
    for (size_t distance = 0; distance < n; distance++)
        if ((at >= distance && is_ranked(ranking, rows[at - distance])) ||
            (at + distance < n && is_ranked(ranking, rows[at + distance])))
            return distance;
    return n;
}

/* The reference size, the largest, the smallest, those around a change of lead; then repeatedly the
 * one farthest from all ranked sizes. */
static void rank_sizes(ranking_t *ranking, const size_t *rows, size_t n) {
    const size_row_t *all = ranking->set->rows;
    for (size_t i = 0; i < n; i++)
        if (all[rows[i]].size == ranking->set->reference_size)
            rank(ranking, rows[i]);
    if (n > 0) {
        rank(ranking, rows[n - 1]);
        rank(ranking, rows[0]);
    }
    for (size_t i = 1; i < n; i++)
        if (all[rows[i]].headline.verdict != all[rows[i - 1]].headline.verdict) {
            rank(ranking, rows[i - 1]);
            rank(ranking, rows[i]);
        }
    while (ranking->n_ranked < n && ranking->n_ranked < HEADLINE_ROWS) {
        size_t farthest = 0, most = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t distance = distance_of(ranking, rows, n, i);
            farthest = distance > most ? i : farthest;
            most = distance > most ? distance : most;
        }
        rank(ranking, rows[farthest]);
    }
}

/* The rows that `fits`, and with `with_tried` others that is_tried(), which are selected last. */
static ranking_t ranking_of(const headline_part_t *part, const comparison_set_t *set,
                            row_fits_t *fits, bool with_tried) {
    ranking_t ranking = {.part = part, .set = set};
    AUTO_FREE size_t *rows = mem_zeroed(set->n_rows + 1, sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        if (fits(&set->rows[i]))
            rows[n++] = i;
    rank_sizes(&ranking, rows, n);
    for (size_t i = 0; i < set->n_rows; i++)
        if (!fits(&set->rows[i]) && with_tried && is_tried(&set->rows[i])) {
            rank(&ranking, i);
            n++;
        }
    ranking.n = n;
    return ranking;
}

/* Of several parts, a set of the CPU is used only if no GPU set has a row, and no size is shown only to say
 * why it has no ratio. */
static void add_rankings(ranking_list_t *list, const headline_part_t *part, bool of_several) {
    const comparison_set_list_t *sets = part->sets;
    size_t index = 0;
    row_fits_t *fits = has_time;
    for (size_t i = 0; i < sets->n; i++)
        if (fitting_rows(&sets->items[i], has_rival, NULL) > 0 &&
            !set_is_by_operation(&sets->items[i]))
            fits = has_rival;
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        if (of_several && index > 0 && strcmp(set->platform->device, "cpu") == 0)
            break; /* GPU sets come first in the list */
        if (fitting_rows(set, has_time, NULL) == 0 || headline_omits(sets, i))
            continue;
        ranking_t ranking = ranking_of(part, set, fits, !of_several);
        ranking.index = index;
        index += ranking.n > 0;
        mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
        list->items[list->n++] = ranking;
    }
}

/* ---- selection ------------------------------------------------------------------------------- */

/* Select the next row of a part: set k starts k rows after the first set. False if none is left. */
static bool select_next(const ranking_list_t *list, const headline_part_t *part) {
    ranking_t *next = NULL;
    for (size_t r = 0; r < list->n; r++) {
        ranking_t *ranking = &list->items[r];
        if (ranking->part == part && ranking->n_selected < ranking->n_ranked &&
            (next == NULL || ranking->index + ranking->n_selected < next->index + next->n_selected))
            next = ranking;
    }
    if (next != NULL)
        next->n_selected++;
    return next != NULL;
}

const char *headline_caveat(const char *workload) {
    const workload_t *known = workload_find(workload);
    return known != NULL ? known->caveat : NULL;
}

static int by_row(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The first `n` of a ranking, in the order of their sizes. */
static void add_selected(headline_t *headline, ranking_t *ranking, size_t n) {
    headline->rows = mem_resize(headline->rows, headline->n + n + 1, sizeof *headline->rows);
    qsort(ranking->ranked, n, sizeof *ranking->ranked, by_row);
    for (size_t i = 0; i < n; i++)
        headline->rows[headline->n++] =
            (headline_row_t){ranking->part, ranking->set, &ranking->set->rows[ranking->ranked[i]]};
    headline->n_omitted += ranking->n - n;
}

headline_t headline_select(const headline_part_t *parts, size_t n_parts, size_t most) {
    headline_t headline = {0};
    ranking_list_t list = {0};
    /* The caveat is printed only in a table of one workload, so a ratio that needs one is too. */
    for (size_t i = 0; i < n_parts; i++)
        if (n_parts == 1 || parts[i].sets->n == 0 ||
            headline_caveat(parts[i].sets->items[0].workload) == NULL)
            add_rankings(&list, &parts[i], n_parts > 1);
    size_t n = 0, before;
    do {
        before = n;
        for (size_t i = 0; i < n_parts && n < most; i++)
            n += select_next(&list, &parts[i]);
    } while (n > before);
    for (size_t r = 0; r < list.n; r++)
        add_selected(&headline, &list.items[r], list.items[r].n_selected);
    free(list.items);
    return headline;
}

headline_t headline_leads(const headline_part_t *part) {
    headline_t headline = {0};
    ranking_list_t list = {0};
    add_rankings(&list, part, true);
    for (size_t r = 0; r < list.n; r++)
        add_selected(&headline, &list.items[r], list.items[r].n_ranked > 0);
    free(list.items);
    return headline;
}

void headline_free(headline_t *headline) {
    free(headline->rows);
    *headline = (headline_t){0};
}

/* ---- as a table for a terminal: the answer first, at most 100 columns where the names allow it ------ */

enum { WIDTH = 100 };

/* ---- cells ----------------------------------------------------------------------------------- */

const char *headline_setting(const report_t *report, const headline_row_t *row) {
    /* A set's cases differ only in size. */
    const case_t *spec = &comparison_set_next(row->set, NULL, ANYONE, EVERY_SIZE)->spec;
    const workload_t *workload = workload_find(spec->workload);
    text_list_t parts = {0};
    AUTO(case_free) case_t defaults = {0};
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
    return report_join(report, &parts, ", ");
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

/* "triton fused (self-reported)" */
static const char *marked_contender(const report_t *report, const case_result_t *result) {
    const char *mark = result != NULL && is_self_reported(result) ? " (self-reported)" : "";
    return report_text(report, "%s%s", contender_text(report, result), mark);
}

/* "JAX jit 11.3 µs, …": of each rival but the one that ours is held against. */
static const char *others_text(const report_t *report, const headline_row_t *row) {
    text_list_t others = {0};
    for (size_t i = 0; i < row->set->n_rivals; i++) {
        const case_result_t *shown = standing_compared(&row->row->rivals[i].standing);
        if (shown != NULL && shown != standing_shown(&row->row->theirs) &&
            shown != standing_faster(&row->row->theirs, row->set->phase))
            text_list_add_format(&others, "%s %s%s", contender_text(report, shown),
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
            text_list_add_format(&excluded, "%s %s %s", contender_text(report, faster[i]),
                                 time_cell(report, faster[i], row->set->phase),
                                 report_keep(report, exclusion_text(faster[i], row->set->phase)));
    const char *list = report_join(report, &excluded, ", ");
    return list != NULL ? list : "";
}

/* "mine 82.7 µs, PyTorch 105 µs: Python 1.27× (1.25–1.29)": plain_against_eager; "" without one. */
static const char *eager_text(const report_t *report, const size_row_t *row) {
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

/* ---- above rows ------------------------------------------------------------------------------ */

/* The phase as the cases have it, so that a log, a case and the table name one number alike: "forward", "kernel_graph
 * and forward_graph". */
static const char *phase_names(const report_t *report, const headline_row_t *row) {
    const case_result_t *const sides[] = {standing_shown(&row->row->ours),
                                          standing_shown(&row->row->theirs)};
    text_list_t names = {0};
    for (size_t i = 0; i < 2; i++) {
        const phase_t *phase = sides[i] != NULL ? result_phase(sides[i], row->set->phase) : NULL;
        if (phase != NULL && !text_list_has(&names, phase->name))
            text_list_add(&names, phase->name);
    }
    const char *list = report_join(report, &names, " and ");
    return list != NULL ? list : row->set->phase;
}

/* "softmax rows=16, f32, NVIDIA H200, median kernel_graph" */
static const char *above_text(const report_t *report, const headline_row_t *row) {
    const char *gpu = environment_get(&row->part->run->environment, "gpu.name");
    const bool on_gpu = strcmp(row->set->platform->device, "cuda") == 0;
    return report_text(report, "%s %s, %s%s%s, median %s", row->set->workload,
                       headline_setting(report, row),
                       !on_gpu       ? "CPU"
                       : gpu != NULL ? gpu
                                     : "GPU",
                       row->part->when != NULL ? ", " : "",
                       row->part->when != NULL ? row->part->when : "", phase_names(report, row));
}

/* ---- below the table ------------------------------------------------------------------------- */

/* Words of `text` in lines of at most WIDTH columns, those after the first further in. */
static void print_wrapped(const report_t *report, const char *text) {
    AUTO_FREE char *words = mem_text(text);
    char *rest = words;
    size_t column = 0;
    for (const char *word; (word = strsep(&rest, " ")) != NULL;) {
        const size_t width = text_width(word);
        const bool breaks = column > 0 && column + 1 + width > WIDTH;
        print(report, "%s%s", breaks ? "\n    " : column > 0 ? " " : "", word);
        column = width + (breaks ? 4 : column > 0 ? column + 1 : 0);
    }
    print(report, "\n");
}

/* "softmax rows=16, f32, CPU, cols 32768" */
static const char *row_name(const report_t *report, const headline_row_t *row) {
    const bool on_cpu = strcmp(row->set->platform->device, "cpu") == 0;
    return report_text(report, "%s %s, %s%s", row->set->workload, headline_setting(report, row),
                       on_cpu ? "CPU, " : "", size_name(report, row->set, row->row->size));
}

/* The first is shown. */
static void print_boots(const report_t *report, const headline_t *headline) {
    size_t most = 0;
    for (size_t i = 0; i < headline->n; i++) {
        const boots_t *boots = headline->rows[i].part->boots;
        most = boots != NULL && boots->n > most ? boots->n : most;
    }
    if (most > 0)
        print(report, "\nThe interval of a ratio covers that ratio over %zu boots.\n", most + 1);
}

/* Is the table's own ratio that of an eager call of each? */
static bool is_of_eager_calls(const headline_row_t *row) {
    return row->row->best == row->row->plain && row->row->strongest == row->row->eager;
}

/* What belongs to a row and has no column: without the rivals that did not lead if the table is of several workloads. */
static void print_notes(const report_t *report, const headline_t *headline) {
    bool first = true;
    for (size_t i = 0; i < headline->n; i++) {
        const headline_row_t *row = &headline->rows[i];
        const bool of_one = headline->rows[0].part == headline->rows[headline->n - 1].part;
        const struct {
            const char *title, *text;
        } notes[] = {{"faster, but not compared", excluded_text(report, row)},
                     {"other rivals", of_one ? others_text(report, row) : ""},
                     {"one eager call of each",
                      of_one && !is_of_eager_calls(row) ? eager_text(report, row->row) : ""}};
        for (size_t k = 0; k < sizeof notes / sizeof *notes; k++) {
            if (notes[k].text[0] == '\0')
                continue;
            print(report, "%s", first ? "\n" : "");
            print_wrapped(report, report_text(report, "%s, %s: %s", row_name(report, row),
                                              notes[k].title, notes[k].text));
            first = false;
        }
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The engine of all who stand for a side, which then is named in the heading alone; NULL: they differ. */
static const char *common_engine(const headline_t *headline, bool ours) {
    const char *engine = NULL;
    for (size_t i = 0; i < headline->n; i++) {
        const size_row_t *row = headline->rows[i].row;
        const case_result_t *shown = standing_shown(ours ? &row->ours : &row->theirs);
        if (shown == NULL)
            continue;
        if (engine != NULL && strcmp(engine, shown->spec.engine) != 0)
            return NULL;
        engine = shown->spec.engine;
    }
    return engine != NULL ? engine_name(engine) : NULL;
}

/* Its time and its name; the times of a column end below each other. */
static const char *side_cell(const report_t *report, const case_result_t *result, const char *phase,
                             const char *common, size_t widest) {
    const char *time = time_cell(report, result, phase), *name = marked_contender(report, result);
    if (result != NULL && common != NULL)
        name = report_text(report, "%s%s", result->spec.variant,
                           is_self_reported(result) ? " (self-reported)" : "");
    return report_text(report, "%*s%s %s", (int)(widest - text_width(time)), "", time, name);
}

static size_t widest_time(const report_t *report, const headline_t *headline, bool ours) {
    size_t widest = 0;
    for (size_t i = 0; i < headline->n; i++) {
        const headline_row_t *row = &headline->rows[i];
        const case_result_t *shown = standing_shown(ours ? &row->row->ours : &row->row->theirs);
        const size_t width = text_width(time_cell(report, shown, row->set->phase));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static const char *faster_cell(const report_t *report, const headline_row_t *row) {
    const speedup_t *speedup = &row->row->headline;
    if (speedup->verdict == VERDICT_NONE)
        return no_ratio(report, row);
    const char *lead = lead_text(report, speedup);
    if (speedup->verdict == VERDICT_NO_DIFFERENCE)
        return report_text(report, "none, %s", lead);
    const case_result_t *leader = theirs_leads(speedup) ? row->row->strongest : row->row->best;
    return report_text(report, "%s %s", engine_name(leader->spec.engine), lead);
}

static char *table_of(const report_t *report, const headline_t *headline, bool with_intervals) {
    const char *ours = common_engine(headline, true), *rival = common_engine(headline, false);
    const size_t own = widest_time(report, headline, true),
                 other = widest_time(report, headline, false);
    const char *const headings[] = {
        with_intervals ? "faster (95 % interval)" : "lower time", "size",
        ours != NULL ? report_text(report, "ours: %s", ours) : "ours",
        rival != NULL ? report_text(report, "best rival: %s", rival) : "best rival"};
    table_t table = table_make("llll", headings);
    for (size_t i = 0; i < headline->n; i++) {
        const headline_row_t *row = &headline->rows[i];
        const char *phase = row->set->phase;
        table_add(&table, faster_cell(report, row));
        table_add(&table, size_name(report, row->set, row->row->size));
        table_add(&table, side_cell(report, standing_shown(&row->row->ours), phase, ours, own));
        table_add(&table,
                  side_cell(report, standing_shown(&row->row->theirs), phase, rival, other));
    }
    char *text = table_text(&table, TABLE_TERMINAL);
    table_free(&table);
    return text;
}

/* A table for the rows on each kind of device, the GPU's first; above rows what they have in common. */
static void print_tables(const report_t *report, const headline_t *headline, passes_t passes) {
    const char *last = "";
    for (size_t at = 0; at < headline->n;) {
        headline_t rows = {.rows = headline->rows + at, .n = 1};
        const char *device = rows.rows->set->platform->device;
        while (at + rows.n < headline->n &&
               strcmp(rows.rows[rows.n].set->platform->device, device) == 0)
            rows.n++;
        char *text = table_of(report, &rows, passes_have_intervals(passes)), *rest = text;
        const char *heading = strsep(&rest, "\n"), *rule = strsep(&rest, "\n");
        for (size_t i = 0; i < rows.n; i++) {
            const char *above = above_text(report, &rows.rows[i]);
            if (i == 0 || strcmp(above, last) != 0)
                print(report, "%s%s\n", at + i > 0 ? "\n" : "", above);
            if (i == 0)
                print(report, "%s\n%s\n", heading, rule);
            print(report, "%s\n", strsep(&rest, "\n"));
            last = above;
        }
        free(text);
        at += rows.n;
    }
}

char *headline_text(const headline_t *headline) {
    if (headline->n == 0)
        return mem_text("");
    page_t page;
    page_open(&page);
    const report_t *report = &page.report;
    const char *caveat = headline_caveat(headline->rows[0].set->workload);
    passes_t passes = {0};
    for (size_t i = 0; i < headline->n; i++)
        passes = passes_join(passes, passes_of(headline->rows[i].part->run));
    if (caveat != NULL)
        print(report, "Mind: %s.\n\n", caveat);
    print_tables(report, headline, passes);
    print_notes(report, headline);
    print_boots(report, headline);
    const char *note = passes_note(report, passes);
    if (*note != '\0') {
        print(report, "\n");
        print_wrapped(report, note);
    }
    return page_close(&page);
}

void headline_lines(const report_t *report, const headline_t *headline) {
    for (size_t i = 0; i < headline->n; i++) {
        const headline_row_t *row = &headline->rows[i];
        const case_result_t *ours = standing_shown(&row->row->ours),
                            *theirs = standing_shown(&row->row->theirs);
        if (row->row->headline.verdict != VERDICT_NONE)
            print(report, "%s, %s%s: %s %s against %s %s\n", faster_cell(report, row),
                  strcmp(row->set->platform->device, "cpu") == 0 ? "CPU, " : "",
                  size_name(report, row->set, row->row->size),
                  time_cell(report, ours, row->set->phase), ours->spec.variant,
                  time_cell(report, theirs, row->set->phase), contender_text(report, theirs));
    }
}

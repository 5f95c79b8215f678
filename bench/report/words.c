#include "report/words.h"

#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "workloads/common/workload.h"

#include <ctype.h>
#include <string.h>

/* ---- sizes ----------------------------------------------------------------------------------- */

/* "5 M", "4096", "2^20" */
const char *size_cell(const report_t *report, int64_t size) {
    if (size > 1000 && size % 1000 == 0)
        return report_text(report, "%lld %c",
                           (long long)(size % 1000000 == 0 ? size / 1000000 : size / 1000),
                           size % 1000000 == 0 ? 'M' : 'k');
    return size >= 1 << 20 ? units_count(report_buffer(report), size)
                           : report_text(report, "%lld", (long long)size);
}

const char *size_name(const report_t *report, const comparison_set_t *set, int64_t size) {
    const workload_t *known = workload_find(set->workload);
    const char *cell = size_cell(report, size);
    if (known == NULL || (known->size_before == NULL && known->size_after == NULL))
        return report_text(report, "%s %s", set->size_param, cell);
    return report_text(report, "%s%s%s", known->size_before != NULL ? known->size_before : "", cell,
                       known->size_after != NULL ? known->size_after : "");
}

const char *size_heading(const report_t *report, const comparison_set_t *set) {
    return report_text(report, "%c%s", toupper((unsigned char)set->size_param[0]),
                       set->size_param + 1);
}

const char *sizes_text(const report_t *report, const comparison_set_t *set, const bool *chosen) {
    text_list_t ranges = {0};
    for (size_t i = 0; i < set->n_rows; i++) {
        size_t first = i;
        while (i < set->n_rows && chosen[i])
            i++;
        if (i > first)
            text_list_add_format(&ranges, i - first > 1 ? "%s–%s" : "%s",
                                 size_cell(report, set->rows[first].size),
                                 size_cell(report, set->rows[i - 1].size));
    }
    return report_join(report, &ranges, ", ");
}

const char *sizes_where(const report_t *report, const comparison_set_t *set, row_fits_t *fits) {
    bool *chosen = report_array(report, set->n_rows, sizeof *chosen);
    size_t n = 0, last = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        chosen[i] = fits(&set->rows[i]);
        n += chosen[i];
        last = chosen[i] ? i : last;
    }
    return n == 0   ? NULL
           : n == 1 ? size_name(report, set, set->rows[last].size)
                    : report_text(report, "%zu sizes (%s)", n, sizes_text(report, set, chosen));
}

/* ---- contenders ------------------------------------------------------------------------------ */

const char *who(const report_t *report, const case_result_t *result) {
    return report_safe(report, engine_name(result->spec.engine));
}

const char *who_and_name(const report_t *report, const case_result_t *result) {
    return report_text(report, "%s %s", who(report, result), name_cell(report, result));
}

const char *contender_text(const report_t *report, const case_result_t *result) {
    return result != NULL ? report_text(report, "%s %s", engine_name(result->spec.engine),
                                        result->spec.variant)
                          : "–";
}

const char *key_cell(const report_t *report, const case_result_t *result) {
    if (result == NULL)
        return "–";
    const case_t *spec = &result->spec;
    const bool f32 = strcmp(spec->dtype, "f32") == 0;
    const char *name = report_safe(
        report, report_text(report, "%s %s%s%s", case_engine_label(spec, report_buffer(report)),
                            spec->variant, f32 ? "" : ", ", f32 ? "" : spec->dtype));
    return report_text(report, "%s%s", name, trust_mark(result));
}

void add_rivals(const report_t *report, text_list_t *names, const comparison_set_list_t *sets) {
    for (size_t s = 0; s < sets->n; s++)
        for (size_t i = 0; i < sets->items[s].n_rivals; i++)
            text_list_add_new(names, report_safe(report, engine_name(sets->items[s].rivals[i])));
}

const char *set_name(const report_t *report, const comparison_set_t *set) {
    return report_text(report, "%s, %s", report_safe(report, set->label), set->platform->place);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

bool theirs_leads(const speedup_t *speedup) {
    return speedup->verdict == VERDICT_THEIRS ||
           (speedup->verdict == VERDICT_UNDECIDED && speedup->ratio.centre < 1);
}

const char *lead_text(const report_t *report, const speedup_t *speedup) {
    stats_interval_t r = speedup->ratio;
    if (theirs_leads(speedup))
        r = (stats_interval_t){.centre = 1 / r.centre, .low = 1 / r.high, .high = 1 / r.low};
    const bool bimodal = speedup->ours->bimodal.found || speedup->theirs->bimodal.found;
    return report_text(report, "%s%s", units_ratio(report_buffer(report), r.centre, r.low, r.high),
                       bimodal ? " ‡" : "");
}

const char *faster_text(const report_t *report, const speedup_t *speedup, const char *ours,
                        const char *theirs) {
    if (speedup->verdict == VERDICT_NONE)
        return "";
    return report_text(report, "%s %s",
                       speedup->verdict == VERDICT_NO_DIFFERENCE ? "no difference,"
                       : theirs_leads(speedup)                   ? theirs
                                                                 : ours,
                       lead_text(report, speedup));
}

bool has_headline(const size_row_t *row) {
    return row->headline.verdict != VERDICT_NONE;
}
bool is_lost(const size_row_t *row) {
    return has_headline(row) && theirs_leads(&row->headline);
}
bool is_even(const size_row_t *row) {
    return row->headline.verdict == VERDICT_NO_DIFFERENCE;
}
static void add_sizes(const report_t *report, const comparison_set_t *set, text_list_t *parts,
                      const char *what, verdict_t verdict) {
    bool *chosen = report_array(report, set->n_rows, sizeof *chosen);
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        n += chosen[i] = set->rows[i].headline.verdict == verdict;
    if (n > 0)
        text_list_add_format(parts, "%s at %zu (%s)", what, n, sizes_text(report, set, chosen));
}

const char *tally_text(const report_t *report, const comparison_set_t *set) {
    const tally_t tally = tally_of(set);
    const size_t undecided = tally.of[VERDICT_UNDECIDED], claimed = tally.n_self_reported,
                 missing = tally.of[VERDICT_NONE] - claimed;
    text_list_t parts = {0};
    if (undecided == tally.n)
        text_list_add_format(&parts,
                             "lower time at %zu of %zu sizes, in too few passes to say more",
                             tally.n_lower, tally.n);
    else
        text_list_add_format(&parts, "faster at %zu of %zu sizes", tally.of[VERDICT_OURS], tally.n);
    add_sizes(report, set, &parts, "slower", VERDICT_THEIRS);
    add_sizes(report, set, &parts, "no difference", VERDICT_NO_DIFFERENCE);
    if (undecided < tally.n)
        add_sizes(report, set, &parts, "undecided", VERDICT_UNDECIDED);
    if (missing > 0)
        text_list_add_format(&parts, "%zu not compared (a side has no valid time)", missing);
    if (claimed > 0)
        text_list_add_format(&parts, "%zu not compared (self-reported)", claimed);
    return report_join(report, &parts, ", ");
}

/* ---- comparison sets ---------------------------------------------------------------------------- */

static bool differs_in_seed_only(const comparison_set_list_t *sets, size_t index) {
    const comparison_set_t *set = &sets->items[index];
    for (size_t i = 0; i < index; i++)
        if (sets->items[i].platform == set->platform &&
            strcmp(sets->items[i].shape, set->shape) == 0)
            return true;
    return false;
}

bool set_is_by_operation(const comparison_set_t *set) {
    const case_result_t *result = NULL;
    while ((result = record_next(set->run, result)) != NULL)
        if (is_by_operation(result) && strcmp(result->spec.device, set->platform->device) == 0 &&
            comparison_set_shares_work(set, &result->spec))
            return true;
    return false;
}

bool headline_omits(const comparison_set_list_t *sets, size_t index) {
    return differs_in_seed_only(sets, index) || set_is_by_operation(&sets->items[index]);
}

const size_row_t *set_reference(const comparison_set_t *set) {
    const size_row_t *reference = NULL;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        if (row->size == set->reference_size && has_headline(row))
            return row;
        if (reference == NULL || has_headline(row) || !has_headline(reference))
            reference = row;
    }
    return reference;
}

bool has_contender(const size_row_t *row) {
    return row->best != NULL || row->strongest != NULL;
}

/* ---- the same cases, other sides ------------------------------------------------------------- */

static bool waits_by_polling(const case_t *spec) {
    const char *wait = case_technique(spec, "wait");
    return (wait != NULL && strcmp(wait, "poll") == 0) ||
           (strcmp(spec->engine, "pytorch") == 0 && strcmp(spec->variant, "mapped") == 0);
}

static const case_result_t *fastest_synchronising(const comparison_set_t *set, int64_t size,
                                                  const char *whose) {
    const case_result_t *result = NULL;
    standing_t standing = {0};
    while ((result = comparison_set_next(set, result, whose, size)) != NULL)
        if (!waits_by_polling(&result->spec))
            standing_add(&standing, result, set->phase);
    return standing.fastest;
}

const char *waiting_cell(const report_t *report, const comparison_set_t *set,
                         const size_row_t *row) {
    return row->best != NULL && waits_by_polling(&row->best->spec) && has_headline(row)
               ? versus_cell(report, fastest_synchronising(set, row->size, OURS),
                             fastest_synchronising(set, row->size, RIVALS), set->phase)
               : NULL;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void add_view(const report_t *report, views_t *views, const comparison_set_t *set) {
    views->items[views->n++] =
        (view_t){set, report_text(report, "%s, `%s`", set_name(report, set), set->phase)};
}

views_t views_of(const report_t *report, const comparison_set_list_t *sets) {
    views_t views = {report_array(report, 2 * sets->n, sizeof *views.items), 0};
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        if (comparison_set_count(set).timed == 0 || headline_omits(sets, i))
            continue;
        add_view(report, &views, set);
        if (!phase_is_call(set->phase))
            continue;
        comparison_set_t *whole = report_array(report, 1, sizeof *whole);
        *whole = comparison_set_by_whole(set);
        if (report->boots != NULL)
            boots_widen_set(report->boots, whole);
        if (strcmp(whole->phase, set->phase) != 0 && fitting_rows(whole, has_contender, NULL) > 0)
            add_view(report, &views, whole);
        else
            comparison_set_free_rows(whole);
    }
    return views;
}

/* A set of a whole sample stands behind the set that it is of. */
void views_free(views_t *views) {
    for (size_t i = 1; i < views->n; i++)
        if (views->items[i].set->key == views->items[i - 1].set->key) {
            comparison_set_t whole = *views->items[i].set;
            comparison_set_free_rows(&whole);
        }
}

/* ---- passes ---------------------------------------------------------------------------------- */

static bool on_same_devices(passes_t a, passes_t b) {
    return a.devices == NULL || b.devices == NULL ? a.devices == b.devices
                                                  : strcmp(a.devices, b.devices) == 0;
}

passes_t passes_join(passes_t a, passes_t b) {
    if (a.most == 0 || b.most == 0)
        return a.most == 0 ? b : a;
    return (passes_t){.fewest = a.fewest < b.fewest ? a.fewest : b.fewest,
                      .most = a.most > b.most ? a.most : b.most,
                      .bimodal = a.bimodal || b.bimodal,
                      .busy = a.busy || b.busy,
                      .quick = a.quick || b.quick,
                      .devices = a.devices != NULL ? a.devices : b.devices,
                      .devices_differ =
                          a.devices_differ || b.devices_differ || !on_same_devices(a, b)};
}

bool has_two_values(const case_result_t *result) {
    bool found = false;
    for (size_t i = 0; i < result->n_phases; i++)
        found = found || result->phases[i].bimodal.found;
    return found;
}

static passes_t passes_of_case(const case_result_t *result) {
    passes_t passes = {.bimodal = has_two_values(result), .busy = result_is_busy(result)};
    for (size_t i = 0; i < result->n_phases; i++) {
        const phase_t *phase = &result->phases[i];
        passes.most = phase->n_passes > passes.most ? phase->n_passes : passes.most;
    }
    passes.fewest = passes.most;
    return passes;
}

passes_t passes_of(const record_t *run) {
    passes_t passes = {0};
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        if (result_has_times(result) && !is_calibration(&result->spec))
            passes = passes_join(passes, passes_of_case(result));
    passes.quick = environment_get(&run->environment, "measure.quick") != NULL;
    passes.devices = environment_get(&run->environment, "measure.devices");
    return passes;
}

bool passes_have_intervals(passes_t passes) {
    return passes.most >= STATS_FEWEST_PASSES;
}

const char *passes_counted(const report_t *report, passes_t passes) {
    const char *n = passes.fewest < passes.most
                        ? report_text(report, "%zu to %zu passes", passes.fewest, passes.most)
                    : passes.most > 1 ? report_text(report, "%zu passes", passes.most)
                                      : "one pass";
    if (passes.quick)
        n = report_text(report, "%s, measured with --quick", n);
    if (passes.devices_differ)
        return report_text(report, "%s, on one or more GPUs at once", n);
    return passes.devices != NULL ? report_text(report, "%s, on GPUs %s", n, passes.devices) : n;
}

const char *passes_note(const report_t *report, passes_t passes) {
    if (passes.most == 0)
        return "";
    const char *n = passes_counted(report, passes);
    const char *intervals =
        !passes_have_intervals(passes)         ? ": the spread between processes is unknown"
        : passes.fewest >= STATS_FEWEST_PASSES ? "; 95 % intervals are over passes"
                                               : "; 95 % intervals are over passes, from 5 on";
    const char *bimodal =
        passes.bimodal ? " ‡: it has two values; the interval of a ratio covers both." : "";
    const char *busy = passes.busy ? report_text(report,
                                                 " §: on a busy machine; other programs took over "
                                                 "%s of its CPU time.",
                                                 percent_text(report, BUSY_FRAC))
                                   : "";
    return report_text(report, "%c%s%s.%s%s", toupper((unsigned char)*n), n + 1, intervals, bimodal,
                       busy);
}

const char *machines_text(const report_t *report) {
    const record_t *run = report->whole;
    const char *devices = environment_get(&run->environment, "measure.devices");
    text_list_t machines = {0};
    for (size_t i = 0; i < run->n_passes; i++) {
        const char *host = environment_get(&run->passes[i], "host"),
                   *gpu = environment_get(&run->passes[i], "gpu");
        text_list_add_new(&machines,
                          report_text(report, "%s%s%s", host != NULL ? host : "unknown host",
                                      gpu != NULL && devices == NULL ? " " : "",
                                      gpu != NULL && devices == NULL ? gpu : ""));
    }
    const bool several = machines.n > 1 || devices != NULL;
    const char *list = report_join(report, &machines, ", ");
    return several ? report_text(report,
                                 "**Measured on several machines or GPUs of one kind:** %s%s%s. "
                                 "What differs between them is in no interval of a case that has "
                                 "all its passes on one.",
                                 report_safe(report, list != NULL ? list : "unknown host"),
                                 devices != NULL ? ", GPUs " : "",
                                 devices != NULL ? report_safe(report, devices) : "")
                   : NULL;
}

char *bimodal_text(const bimodal_t *bimodal) {
    char low[UNITS_TEXT], high[UNITS_TEXT], share_low[UNITS_TEXT], share_high[UNITS_TEXT];
    return mem_format("%s in %s of the rounds, %s in %s", units_time(low, bimodal->low),
                      units_percent(share_low, 1 - bimodal->share_high),
                      units_time(high, bimodal->high),
                      units_percent(share_high, bimodal->share_high));
}

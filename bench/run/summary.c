/* The output of `bench run`: details of each case for a few cases; for many, a table of each
 * workload once it is measured. */
#include "run/state.h"

#include "analysis/contenders.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/json_text.h"
#include "io/table.h"
#include "model/result_json.h"
#include "report/passes.h"
#include "report/report.h"
#include "results/clock_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_CASES = 4 };

static void print_check(FILE *out, const char *when, const check_t *check) {
    if (!check->done)
        return;
    fprintf(out, "  check %s  %s", when, check->ok ? "ok" : "WRONG");
    if (!isnan(check->rel_l2)) /* else the reason says why */
        fprintf(out, ", relative L2 error %.2g", check->rel_l2);
    if (!isnan(check->rel_l2) && isfinite(check->tolerance))
        fprintf(out, " (allowed %.2g)", check->tolerance);
    if (!isnan(check->rel_l2))
        fprintf(out, ", largest %.2g", check->max_abs);
    fputc('\n', out);
}

static void print_determinism(FILE *out, determinism_t determinism) {
    if (determinism != DETERMINISM_UNKNOWN)
        fprintf(out, "  two runs     %s\n",
                determinism == DETERMINISTIC ? "equal, bit by bit (deterministic)"
                                             : "differ (not deterministic)");
}

static void print_sanitized(FILE *out, const sanitize_t *found) {
    for (size_t i = 0; i < found->tools.n; i++)
        fprintf(out, "%s %s %s", i == 0 ? "  sanitizer   " : ",", found->tools.items[i],
                found->verdicts.items[i]);
    if (found->tools.n > 0)
        fputc('\n', out);
}

/* Print and free it. */
static void print_table(FILE *out, table_t *table) {
    char *text = table_text(table, TABLE_TERMINAL);
    fputs(text, out);
    free(text);
    table_free(table);
}

static void print_phases(FILE *out, const case_result_t *result) {
    static const char *const HEADINGS[] = {"phase", "clock", "median", "95 % interval",
                                           "p5",    "p95",   "n"};
    char a[UNITS_TEXT];
    table_t table;
    table_init(&table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&table, "llrrrrr");
    for (size_t i = 0; i < result->n_phases; i++) {
        const phase_t *phase = &result->phases[i];
        const summary_t *s = &phase->summary;
        if (s->n == 0)
            continue;
        table_add(&table, phase->name);
        table_add(&table, clock_domain_name(phase->clock));
        table_add(&table, units_median(a, s->median, s->ci95[0], s->ci95[1]));
        table_add(&table, units_interval(a, s->median, s->ci95[0], s->ci95[1]));
        table_add(&table, units_time(a, s->p5));
        table_add(&table, units_time(a, s->p95));
        table_add_format(&table, "%zu", s->n);
    }
    print_table(out, &table);
    for (size_t i = 0; i < result->n_phases; i++)
        if (result->phases[i].bimodal.found) {
            char *values = bimodal_text(&result->phases[i].bimodal);
            fprintf(out, "  two values   %s: %s\n", result->phases[i].name, values);
            free(values);
        }
}

/* "precise in 5, most_rounds in 1 after 48 rounds" */
static void print_stops(FILE *out, const case_result_t *result) {
    size_t n = 0;
    for (size_t i = 0; i < result->n_phases; i++)
        n = result->phases[i].n_passes > n ? result->phases[i].n_passes : n;
    fprintf(out, "  passes       %zu: %s\n", n,
            n < STATS_FEWEST_PASSES ? "the spread between processes is unknown"
                                    : "the intervals are over passes");
    fprintf(out, "  stopped      ");
    const char *before = "";
    for (size_t s = 0; s <= STOP_SINGLE; s++) {
        const unsigned stops = result_stops(result, (stop_reason_t)s);
        if (stops > 0)
            fprintf(out, "%s%s", before, stop_reason_name((stop_reason_t)s));
        if (stops > 0 && n > 1 && s != STOP_FIXED_COUNT) /* else a line has all passes */
            fprintf(out, " in %u", stops);
        before = stops > 0 ? ", " : before;
    }
    fprintf(out, " after %u rounds\n", result->rounds);
}

static void print_draws(FILE *out, const case_result_t *result) {
    char time[UNITS_TEXT];
    for (size_t i = 0; i < result->n_draws; i++)
        fprintf(out, "%s %s%s", i == 0 ? "  compiled    " : ",",
                units_time(time, result->draws[i].median_ns),
                i + 1 == result->draw ? " (used)" : "");
    if (result->n_draws > 0)
        fputc('\n', out);
}

/* "audited: by the supervisor's clock 102 % of the claimed time" */
static void print_trust(FILE *out, const case_result_t *result) {
    char text[UNITS_TEXT];
    if (trust_name(result->trust) == NULL)
        return;
    fprintf(out, "  trust        %s", trust_name(result->trust));
    const double ratio = claims_ratio(&result->claims);
    if (isfinite(ratio))
        fprintf(out, ": by the supervisor's clock %s of the claimed time",
                units_percent(text, ratio));
    else if (result->claims.n > 0)
        fprintf(out, ": the worker answers no audit");
    fputc('\n', out);
}

static void print_case(FILE *out, const case_result_t *result) {
    char a[UNITS_TEXT], b[UNITS_TEXT];
    fprintf(out, "%s  %s%s%s\n", result->spec.id, case_status_name(result->status),
            result->reason != NULL ? ": " : "", result->reason != NULL ? result->reason : "");
    if (result->device.name != NULL)
        fprintf(out, "  on           %s\n", result->device.name);
    print_check(out, "before", &result->before);
    print_check(out, "after ", &result->after);
    print_determinism(out, result->determinism);
    print_sanitized(out, &result->sanitize);
    if (result_has_times(result))
        print_phases(out, result);
    print_trust(out, result);
    if (isfinite(result->limit.frac))
        fprintf(out, "  limit        %s (%s): %s is %s of it\n",
                units_time(a, result->limit.limit_ns), result->limit.bound, result->limit.phase,
                units_percent(b, result->limit.frac));
    for (size_t i = 0; i < result->n_once; i++)
        fprintf(out, "%s %s %s", i == 0 ? "  once        " : ",", result->once[i].name,
                units_time(a, result->once[i].ns));
    if (result->n_once > 0)
        fputc('\n', out);
    print_draws(out, result);
    if (result->resources.arch != NULL)
        fprintf(out, "  program      %s, %lld registers, %s shared, %s spilled, code %.12s…\n",
                result->resources.arch, (long long)result->resources.registers,
                units_bytes(a, (double)result->resources.shared_bytes),
                units_bytes(b, (double)result->resources.spill_bytes),
                result->resources.code_hash != NULL ? result->resources.code_hash : "?");
    if (result_has_times(result))
        print_stops(out, result);
    for (size_t i = 0; i < result->flags.n; i++) {
        char *text = flag_text(&result->flags.items[i]);
        fprintf(out, "  warning      %s\n", text);
        free(text);
    }
    fputc('\n', out);
}

static void print_json(FILE *out, const record_t *record) {
    json_t *cases = json_array();
    for (size_t i = 0; i < record->n_cases; i++)
        json_array_append_new(cases, result_to_json(&record->cases[i]));
    json_print(cases, JSON_INDENT(1) | JSON_REAL_PRECISION(15), out); /* as the journal */
}

/* Cold runs have their own phases, which no workload table shows. */
static void print_cold(FILE *out, const record_t *record) {
    static const char *const HEADINGS[] = {"case",         "start", "open",
                                           "first answer", "total", "status"};
    static const char *const PHASES[] = {"cold_start", "cold_open", "cold_first_answer",
                                         "cold_total"};
    table_t table;
    table_init(&table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&table, "lrrrrl");
    for (size_t i = 0; i < record->n_cases; i++) {
        table_add(&table, record->cases[i].spec.id);
        for (size_t k = 0; k < sizeof PHASES / sizeof *PHASES; k++) {
            char text[UNITS_TEXT];
            table_add(&table, units_time(text, result_median(&record->cases[i], PHASES[k])));
        }
        table_add(&table, case_status_name(record->cases[i].status));
    }
    print_table(out, &table);
}

/* Print cases one by one, not as a table? */
static bool prints_cases(const run_t *run) {
    size_t n = 0; /* without calibration, which the progress counts too */
    for (size_t s = 0; s < run->n_sweeps; s++)
        n += run->sweeps[s].n_cases;
    return n <= FEW_CASES;
}

static void print_record(const run_t *run, const record_t *record) {
    FILE *out = run->options->print;
    if (run->options->quick && !run->options->json && (prints_cases(run) || run->options->cold))
        fprintf(out, "measured with --quick\n\n");
    if (run->options->json) {
        print_json(out, record);
    } else if (prints_cases(run)) {
        for (size_t i = 0; i < record->n_cases; i++)
            if (!is_calibration(&record->cases[i].spec))
                print_case(out, &record->cases[i]);
    } else if (run->options->cold) {
        print_cold(out, record);
    }
}

status_t run_print_workload(const run_t *run, const char *workload, error_t *err) {
    const run_options_t *options = run->options;
    if (options->json || options->cold || prints_cases(run))
        return STATUS_OK;
    record_t record;
    TRY(record_load(run->folder, &record, err));
    char *tables = report_workload_tables(&record, workload);
    progress_clear(&run->progress);
    fprintf(options->print, "%s\n", tables);
    fflush(options->print);
    free(tables);
    record_free(&record);
    return STATUS_OK;
}

/* A failed lock is reported even with --quiet, because it affects every time. */
static void print_lock(const run_t *run) {
    char *sentence = lock_clocks_sentence(&run->record.environment);
    if (sentence != NULL && (run->clock_lock.mhz == 0 || !run->options->quiet))
        fprintf(stderr, "clocks: %s\n", sentence);
    free(sentence);
}

/* "trust: 12 sealed, 9 audited, 2 self-reported (numpy-cpu matmul)"; nothing if all are sealed. */
static void print_trusts(const record_t *record) {
    size_t counts[TRUST_SELF_REPORTED + 1] = {0};
    text_list_t names = {0}, parts = {0};
    for (size_t i = 0; i < record->n_cases; i++) {
        const case_result_t *result = &record->cases[i];
        char label[32];
        counts[result->trust] += result_has_times(result) && !is_calibration(&result->spec);
        char *name =
            mem_format("%s %s", case_engine_label(&result->spec, label), result->spec.variant);
        if (is_self_reported(result))
            text_list_add_new(&names, name);
        free(name);
    }
    for (trust_t trust = TRUST_SEALED; trust <= TRUST_SELF_REPORTED; trust++)
        if (counts[trust] > 0)
            text_list_add_format(&parts, "%zu %s", counts[trust], trust_name(trust));
    char *text = text_list_join(&parts, ", "), *who = text_list_join(&names, ", ");
    if (names.n > 0)
        fprintf(stderr, "trust: %s (%s; docs/cheating.md#trust)\n", text, who);
    else if (counts[TRUST_AUDITED] > 0)
        fprintf(stderr, "trust: %s\n", text);
    free(who);
    free(text);
    text_list_free(&parts);
    text_list_free(&names);
}

/* Reports name rivals with their versions. */
static void print_unknown_versions(const record_t *record) {
    text_list_t engines = {0};
    for (size_t i = 0; i < record->n_cases; i++) {
        const case_t *spec = &record->cases[i].spec;
        if (record->cases[i].status == CASE_OK && engine_is_rival(spec->engine) &&
            rival_version(&record->environment, spec) == NULL)
            text_list_add_new(&engines, spec->engine);
    }
    for (size_t i = 0; i < engines.n; i++)
        fprintf(stderr,
                "versions: that of %s is not known: its answer to hello has no \"versions\": "
                "{\"%s\": …}\n",
                engines.items[i], engines.items[i]);
    text_list_free(&engines);
}

status_t run_print(const run_t *run, error_t *err) {
    record_t record;
    TRY(record_load(run->folder, &record, err));
    print_record(run, &record);
    if (!run->options->quiet && !prints_cases(run)) /* which has it in each case */
        print_trusts(&record);
    if (!run->options->quiet && !run->options->isolate) /* then each process has its own facts */
        print_unknown_versions(&record);
    record_free(&record);
    print_lock(run);
    if (!run->options->quiet)
        fprintf(stderr, "results: %s\n", run->folder);
    return STATUS_OK;
}

#include "report/shown.h"

#include "analysis/contenders.h"
#include "analysis/speedup.h"
#include "base/units.h"
#include "io/output.h"
#include "report/words.h"

#include <math.h>

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

static void print_phases(FILE *out, const case_result_t *result) {
    static const char *const HEADINGS[] = {"phase", "clock", "median", "95 % interval",
                                           "p5",    "p95",   "n"};
    char a[UNITS_TEXT];
    table_t table = table_make("llrrrrr", HEADINGS);
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
    table_print(&table, "", out);
    for (size_t i = 0; i < result->n_phases; i++)
        if (result->phases[i].bimodal.found) {
            AUTO_FREE char *values = bimodal_text(&result->phases[i].bimodal);
            fprintf(out, "  two values   %s: %s\n", result->phases[i].name, values);
        }
}

/* "6: precise in 5, most_rounds in 1 after 48 rounds" */
static void print_stops(FILE *out, const case_result_t *result) {
    size_t n = 0;
    for (size_t i = 0; i < result->n_phases; i++)
        n = result->phases[i].n_passes > n ? result->phases[i].n_passes : n;
    fprintf(out, "  passes       %zu%s: ", n, n < STATS_FEWEST_PASSES ? ", without intervals" : "");
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
    const phase_t *compared = result_has_times(result) ? compared_phase(result) : NULL;
    char time[UNITS_TEXT];
    if (compared == NULL || result->n_draws == 0)
        return;
    const char *used = isfinite(speedup_unreached_draw(result, compared))
                           ? " (used; all passes were slower)"
                           : " (used)";
    for (size_t i = 0; i < result->n_draws; i++)
        fprintf(out, "%s %s%s", i == 0 ? "  compiled    " : ",",
                units_time(time, draw_median(&result->draws[i], compared->name)),
                i + 1 == result->draw ? used : "");
    fprintf(out, " (%s)\n", compared->name);
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

void case_text_print(FILE *out, const case_result_t *result) {
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
        fprintf(out, "  limit        %s (%s), %s of %s\n", units_time(a, result->limit.limit_ns),
                result->limit.bound, units_percent(b, result->limit.frac), result->limit.phase);
    for (size_t i = 0; i < result->n_once; i++)
        fprintf(out, "%s %s %s", i == 0 ? "  once        " : ",", result->once[i].name,
                units_time(a, result->once[i].ns));
    if (result->n_once > 0)
        fputc('\n', out);
    print_draws(out, result);
    if (result->resources.arch != NULL && strcmp(result->spec.device, "cuda") == 0)
        fprintf(out, "  program      %s, %lld registers, %s shared, %s spilled, code %.12s…\n",
                result->resources.arch, (long long)result->resources.registers,
                units_bytes(a, (double)result->resources.shared_bytes),
                units_bytes(b, (double)result->resources.spill_bytes),
                result->resources.code_hash != NULL ? result->resources.code_hash : "?");
    if (result_has_times(result))
        print_stops(out, result);
    for (size_t i = 0; i < result->flags.n; i++) {
        AUTO_FREE char *text = flag_text(&result->flags.items[i]);
        fprintf(out, "  warning      %s\n", text);
    }
    fputc('\n', out);
}

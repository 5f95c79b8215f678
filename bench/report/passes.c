#include "report/passes.h"

#include "base/memory.h"
#include "base/units.h"

#include <ctype.h>
#include <string.h>

/* ---- counting -------------------------------------------------------------------------------- */

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

/* ---- words ----------------------------------------------------------------------------------- */

const char *passes_text(const report_t *report, passes_t passes) {
    const char *n = passes.fewest < passes.most
                        ? report_text(report, "%zu to %zu passes", passes.fewest, passes.most)
                        : passes_word(report, passes.most);
    if (passes.most == 0)
        return "";
    if (passes.quick)
        n = report_text(report, "%s, measured with --quick", n);
    if (passes.devices_differ)
        n = report_text(report, "%s, on one or more GPUs at once", n);
    else if (passes.devices != NULL)
        n = report_text(report, "%s, on GPUs %s", n, passes.devices);
    if (!passes_have_intervals(passes))
        return report_text(report, "%s: the spread between processes is unknown", n);
    return report_text(report, "%s; 95 %% intervals are over passes%s", n,
                       passes.fewest >= STATS_FEWEST_PASSES
                           ? ""
                           : ", and with fewer than 5 the spread between processes is unknown");
}

const char *passes_counted(const report_t *report, passes_t passes) {
    const char *text = passes_text(report, passes);
    return report_text(report, "%.*s", (int)strcspn(text, ";:"), text);
}

const char *passes_note(const report_t *report, passes_t passes) {
    const char *text = passes_text(report, passes);
    if (*text == '\0')
        return "";
    const char *busy = passes.busy ? report_text(report,
                                                 " §: on a busy machine; other programs took over "
                                                 "%s of its CPU time.",
                                                 percent_text(report, BUSY_FRAC))
                                   : "";
    return report_text(
        report, "%c%s.%s%s", toupper((unsigned char)*text), text + 1,
        passes.bimodal ? " ‡: it has two values; the interval of a ratio covers both." : "", busy);
}

/* The passes on the machine of `passes[at]`; NULL if an earlier one is on it. */
static const char *passes_there(const report_t *report, size_t at) {
    const record_t *run = report->whole;
    const char *host = environment_get(&run->passes[at], "host"),
               *gpu = environment_get(&run->passes[at], "gpu");
    text_list_t numbers = {0};
    for (size_t i = 0; i < run->n_passes; i++) {
        if (!record_pass_is_on(&run->passes[i], host, gpu))
            continue;
        if (i < at) {
            text_list_free(&numbers);
            return NULL;
        }
        const char *number = environment_get(&run->passes[i], "pass");
        if (!text_list_has(&numbers, number)) /* two shards have the same passes */
            text_list_add(&numbers, number);
    }
    const char *plural = numbers.n == 1 ? "" : "es", *list = report_join(report, &numbers, ", ");
    return report_text(report, "pass%s %s on %s%s%s%s", plural, list,
                       host != NULL ? host : "unknown host", gpu != NULL ? " (" : "",
                       gpu != NULL ? gpu : "", gpu != NULL ? ")" : "");
}

/* Were all passes on GPUs of one host at once? */
static bool is_one_host(const record_t *run) {
    bool same = environment_get(&run->environment, "measure.devices") != NULL;
    for (size_t i = 1; i < run->n_passes && same; i++) {
        const char *host = environment_get(&run->passes[i], "host"),
                   *first = environment_get(&run->passes[0], "host");
        same = host != NULL && first != NULL && strcmp(host, first) == 0;
    }
    return same;
}

static const char *gpus_text(const report_t *report) {
    const char *devices = environment_get(&report->whole->environment, "measure.devices");
    return report_text(report,
                       "**Measured on several GPUs of one host:** each case has all its passes on "
                       "one of GPUs %.*s, while others ran on the rest. What differs between these "
                       "GPUs is in no interval.",
                       (int)strcspn(devices, " "), report_safe(report, devices));
}

const char *machines_text(const report_t *report) {
    text_list_t machines = {0};
    if (is_one_host(report->whole))
        return gpus_text(report);
    for (size_t i = 0; i < report->whole->n_passes; i++) {
        const char *passes = passes_there(report, i);
        if (passes != NULL)
            text_list_add(&machines, report_safe(report, passes));
    }
    if (machines.n > 1)
        return report_text(report, "**Measured on several machines of one kind:** %s.",
                           report_join(report, &machines, "; "));
    text_list_free(&machines);
    return NULL;
}

void print_passes(const report_t *report) {
    const char *note = passes_note(report, passes_of(report->run));
    print(report, "%s", note);
    if (*note != '\0' && report->boots != NULL && report->boots->n > 0)
        print(report,
              " Of the first of %zu boots; the interval of a ratio over a rival covers that ratio "
              "in all.",
              report->boots->n + 1);
    print(report, *note != '\0' ? "\n\n" : "");
}

const char *ratio_meaning(const report_t *report, const char *ours) {
    if (!passes_have_intervals(passes_of(report->run)))
        return report_text(report, "; above 1, %s had the lower time", ours);
    return report_text(report,
                       ", with its 95 %% interval over passes; above 1, %s is faster; if the "
                       "interval includes 1, no difference was found",
                       ours);
}

char *bimodal_text(const bimodal_t *bimodal) {
    char low[UNITS_TEXT], high[UNITS_TEXT], share_low[UNITS_TEXT], share_high[UNITS_TEXT];
    return mem_format("%s in %s of the rounds, %s in %s", units_time(low, bimodal->low),
                      units_percent(share_low, 1 - bimodal->share_high),
                      units_time(high, bimodal->high),
                      units_percent(share_high, bimodal->share_high));
}

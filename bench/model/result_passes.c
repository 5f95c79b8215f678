/* Phases of a result: adding rounds and passes, and their summary. See result.h. */
#include "model/result.h"

#include "base/memory.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rounds and passes ----------------------------------------------------------------------- */

phase_t *result_add_phase(case_result_t *result, const char *name, clock_domain_t clock) {
    result->phases = mem_resize(result->phases, result->n_phases + 1, sizeof *result->phases);
    phase_t *phase = &result->phases[result->n_phases++];
    *phase = (phase_t){.name = mem_text(name), .clock = clock, .unit = PHASE_UNIT};
    phase->round_starts = mem_zeroed(1, sizeof *phase->round_starts);
    phase->pass_starts = mem_zeroed(1, sizeof *phase->pass_starts);
    phase->summary = summary_of(NULL, 0);
    return phase;
}

void phase_start_pass(phase_t *phase) {
    phase->n_passes++;
    phase->pass_starts =
        mem_resize(phase->pass_starts, phase->n_passes + 1, sizeof *phase->pass_starts);
    phase->pass_starts[phase->n_passes] = phase->n_rounds;
}

void phase_add_round(phase_t *phase, const double *samples, size_t n) {
    if (n == 0)
        return;
    phase->samples = mem_resize(phase->samples, phase->n_samples + n, sizeof *phase->samples);
    memcpy(phase->samples + phase->n_samples, samples, n * sizeof *samples);
    phase->n_samples += n;
    phase->n_rounds++;
    phase->round_starts =
        mem_resize(phase->round_starts, phase->n_rounds + 1, sizeof *phase->round_starts);
    phase->round_starts[phase->n_rounds] = phase->n_samples;
    if (phase->n_passes == 0)
        phase_start_pass(phase);
    phase->pass_starts[phase->n_passes] = phase->n_rounds;
}

void phase_add_fresh(phase_t *phase, const fresh_sample_t *samples, size_t n) {
    if (n == 0)
        return;
    phase->fresh = mem_resize(phase->fresh, phase->n_fresh + n, sizeof *phase->fresh);
    memcpy(phase->fresh + phase->n_fresh, samples, n * sizeof *samples);
    phase->n_fresh += n;
}

void phase_add_rounds(phase_t *phase, const phase_t *more) {
    for (size_t r = 0; r < more->n_rounds; r++)
        phase_add_round(phase, more->samples + more->round_starts[r],
                        more->round_starts[r + 1] - more->round_starts[r]);
}

void phase_add_passes(phase_t *phase, const phase_t *more) {
    for (size_t p = 0; p < more->n_passes; p++) {
        const stats_rounds_t rounds = phase_rounds(more, p);
        phase_start_pass(phase);
        for (size_t r = 0; r < rounds.n_rounds; r++)
            phase_add_round(phase, rounds.values + rounds.starts[r],
                            rounds.starts[r + 1] - rounds.starts[r]);
    }
    phase_add_fresh(phase, more->fresh, more->n_fresh);
    phase->n_throttled += more->n_throttled;
    phase->n_slow_core += more->n_slow_core;
}

stats_rounds_t phase_rounds(const phase_t *phase, size_t pass) {
    const size_t first = phase->pass_starts[pass], end = phase->pass_starts[pass + 1];
    return (stats_rounds_t){phase->samples, phase->round_starts + first, end - first};
}

/* ---- summaries ------------------------------------------------------------------------------- */

summary_t summary_of(const double *samples, size_t n) {
    if (n == 0)
        return (summary_t){0, NAN, {NAN, NAN}, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double *sorted = mem_alloc(n * sizeof *sorted);
    memcpy(sorted, samples, n * sizeof *sorted);
    stats_sort(sorted, n);
    const summary_t summary = {
        .n = n,
        .median = stats_quantile(sorted, n, 0.5),
        .ci95 = {NAN, NAN},
        .q25 = stats_quantile(sorted, n, 0.25),
        .q75 = stats_quantile(sorted, n, 0.75),
        .p5 = stats_quantile(sorted, n, 0.05),
        .p95 = stats_quantile(sorted, n, 0.95),
        .p99 = stats_quantile(sorted, n, 0.99),
        .min = sorted[0],
        .max = sorted[n - 1],
        .mad = stats_mad(sorted, n),
    };
    free(sorted);
    return summary;
}

/* What the passes of a run share of the phase's variance. */
static double phase_shared(const phase_t *phase) {
    /* Launches in one graph, and launches after a flush of the cache, do not wait for the host. */
    const bool by_device =
        strcmp(phase->name, "kernel_graph") == 0 || strcmp(phase->name, "kernel_cold") == 0;
    return by_device ? 0 : STATS_SHARED;
}

stats_pass_t phase_pass(const phase_t *phase, size_t pass) {
    const stats_rounds_t rounds = phase_rounds(phase, pass);
    stats_pass_t found = stats_pass_of(&rounds);
    found.shared = phase_shared(phase);
    return found;
}

static double tick_of(const phase_t *phase) {
    double *sorted = mem_alloc((phase->n_samples + 1) * sizeof *sorted);
    memcpy(sorted, phase->samples, phase->n_samples * sizeof *sorted);
    stats_sort(sorted, phase->n_samples);
    const double tick = stats_tick(sorted, phase->n_samples);
    free(sorted);
    return tick;
}

static bimodal_t bimodal_of_phase(const phase_t *phase, double tick) {
    double *medians = mem_alloc((phase->n_rounds + 1) * sizeof *medians);
    for (size_t r = 0; r < phase->n_rounds; r++) {
        const size_t start = phase->round_starts[r];
        medians[r] = stats_median(phase->samples + start, phase->round_starts[r + 1] - start);
    }
    const bimodal_t found = bimodal_of(medians, phase->pass_starts, phase->n_passes, tick);
    free(medians);
    return found;
}

void phase_summarise(phase_t *phase) {
    phase->summary = summary_of(phase->samples, phase->n_samples);
    phase->bimodal = (bimodal_t){0};
    if (phase->n_passes < 2)
        return; /* the centre of one pass is its median */
    stats_pass_t *passes = mem_alloc(phase->n_passes * sizeof *passes);
    for (size_t p = 0; p < phase->n_passes; p++)
        passes[p] = phase_pass(phase, p);
    const stats_interval_t interval = stats_interval_of(passes, phase->n_passes);
    free(passes);
    if (isfinite(interval.centre)) /* else a median is 0, on a clock with coarse steps */
        phase->summary.median = interval.centre;
    phase->summary.ci95[0] = interval.low;
    phase->summary.ci95[1] = interval.high;
    if (strcmp(phase->name, "residual") != 0) /* a difference, of no interest by itself */
        phase->bimodal = bimodal_of_phase(phase, tick_of(phase));
}

void result_summarise(case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++)
        phase_summarise(&result->phases[i]);
    if (result->limit.phase != NULL)
        result->limit.frac = result->limit.limit_ns / result_median(result, result->limit.phase);
}

/* ---- joining passes -------------------------------------------------------------------------- */

static void widen(double range[2], const double by[2]) {
    range[0] = fmin(range[0], by[0]); /* fmin() ignores NaN */
    range[1] = fmax(range[1], by[1]);
}

/* A pass without times says more about the case than those with times. */
static int badness(case_status_t status) {
    static const case_status_t ORDER[] = {CASE_OK,          CASE_THROTTLED, CASE_SKIPPED,
                                          CASE_IMPLAUSIBLE, CASE_FAILED,    CASE_WRONG};
    int i = 0;
    while (ORDER[i] != status)
        i++;
    return i;
}

static void worsen(case_result_t *result, const case_result_t *more) {
    if (badness(more->status) <= badness(result->status))
        return;
    result->status = more->status;
    free(result->reason);
    result->reason = mem_text(more->reason);
}

/* The one that failed, else the larger errors. */
static void keep_worse_check(check_t *check, const check_t *more) {
    if (!more->done || (check->done && !check->ok))
        return;
    const check_t first = *check;
    const bool varies = first.done && (first.varies || first.rel_l2 != more->rel_l2 ||
                                       first.max_abs != more->max_abs);
    if (!check->done || !more->ok || more->rel_l2 > check->rel_l2)
        *check = *more;
    if (first.done && more->ok) {
        check->row_rel_l2 = fmax(first.row_rel_l2, more->row_rel_l2);
        check->column_rel_l2 = fmax(first.column_rel_l2, more->column_rel_l2);
    }
    check->varies = varies;
}

static void join_phases(case_result_t *result, const case_result_t *more) {
    for (size_t i = 0; i < more->n_phases; i++) {
        const phase_t *from = &more->phases[i];
        phase_t *phase = (phase_t *)result_phase(result, from->name);
        phase_add_passes(phase != NULL ? phase : result_add_phase(result, from->name, from->clock),
                         from);
    }
}

unsigned result_stops(const case_result_t *result, stop_reason_t stop) {
    for (size_t s = 0; s <= STOP_SINGLE; s++)
        if (result->stops[s] > 0)
            return result->stops[stop];
    return result->stop == stop;
}

static void add_stops(case_result_t *result, const case_result_t *more) {
    unsigned stops[STOP_SINGLE + 1];
    for (size_t s = 0; s <= STOP_SINGLE; s++)
        stops[s] = result_stops(result, (stop_reason_t)s) + result_stops(more, (stop_reason_t)s);
    memcpy(result->stops, stops, sizeof stops);
    result->stop = more->stop > result->stop ? more->stop : result->stop;
}

/* How far a script may be from what it claims. Runs in a row overlap (JAX's
 * down to 0.3 of a sample), but a tenth of one is no run. */
static const double MOST_OF_CLAIM = 1.1, LEAST_OF_CLAIM = 0.1;

bool claim_agrees(double ratio) {
    return ratio >= LEAST_OF_CLAIM && ratio <= MOST_OF_CLAIM;
}

double claims_ratio(const claims_t *claims) {
    for (unsigned i = 0; i < claims->n; i++)
        if (isnan(claims->ratios[i]))
            return NAN;
    return stats_median(claims->ratios, claims->n);
}

void result_add_claim(case_result_t *result, double ratio) {
    claims_t *claims = &result->claims;
    if (claims->n < STATS_MOST_PASSES)
        claims->ratios[claims->n++] = ratio;
    result->trust = claim_agrees(claims_ratio(claims)) ? TRUST_AUDITED : TRUST_SELF_REPORTED;
}

void result_distrust(case_result_t *result) {
    if (flag_list_find(&result->flags, FLAG_BESIDE) != NULL)
        result->trust = TRUST_SELF_REPORTED;
}

void result_add_passes(case_result_t *result, const case_result_t *more) {
    add_stops(result, more);
    worsen(result, more);
    if (result->trust == TRUST_UNKNOWN)
        result->trust = more->trust;
    for (unsigned i = 0; i < more->claims.n; i++)
        result_add_claim(result, more->claims.ratios[i]);
    keep_worse_check(&result->before, &more->before);
    keep_worse_check(&result->after, &more->after);
    if (more->determinism > result->determinism)
        result->determinism = more->determinism;
    join_phases(result, more);
    flag_list_merge(&result->flags, &more->flags);
    result_distrust(result);
    for (size_t i = 0; i < more->device.throttle.n; i++)
        text_list_add_new(&result->device.throttle, more->device.throttle.items[i]);
    widen(result->device.sm_mhz, more->device.sm_mhz);
    widen(result->device.power_w, more->device.power_w);
    widen(result->device.temperature_c, more->device.temperature_c);
    result->rounds += more->rounds;
    result->warmup_ns += more->warmup_ns;
    result->worker_ns += more->worker_ns;
    result->cpu_taken_frac = fmax(result->cpu_taken_frac, more->cpu_taken_frac); /* ignores NaN */
    result->pass = 0;
}

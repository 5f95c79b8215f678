#include "model/result.h"

#include "base/memory.h"
#include "io/json.h"
#include "stats/passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== a result ================================================================================ */

/* Indexed by the enums. */
static const char *const STATUS_NAMES[] = {"ok",     "skipped",   "wrong",
                                           "failed", "throttled", "implausible"};
static const char *const STOP_NAMES[] = {"none",        "precise",    "spread",      "noise_floor",
                                         "most_rounds", "time_limit", "fixed_count", "single"};
static const char *const CLOCK_NAMES[] = {"host", "device"};
static const char *const TRUST_NAMES[] = {NULL, "sealed", "audited", "self-reported"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *case_status_name(case_status_t status) {
    return STATUS_NAMES[status];
}

const char *stop_reason_name(stop_reason_t stop) {
    return STOP_NAMES[stop];
}

const char *clock_domain_name(clock_domain_t clock) {
    return CLOCK_NAMES[clock];
}

const char *trust_name(trust_t trust) {
    return TRUST_NAMES[trust];
}

/* -1 if unknown. */
static int index_of(const char *name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

bool case_status_parse(const char *name, case_status_t *status) {
    int i = index_of(name, STATUS_NAMES, COUNT(STATUS_NAMES));
    *status = i < 0 ? CASE_OK : (case_status_t)i;
    return i >= 0;
}

bool stop_reason_parse(const char *name, stop_reason_t *stop) {
    int i = index_of(name, STOP_NAMES, COUNT(STOP_NAMES));
    *stop = i < 0 ? STOP_NONE : (stop_reason_t)i;
    return i >= 0;
}

bool clock_domain_parse(const char *name, clock_domain_t *clock) {
    int i = index_of(name, CLOCK_NAMES, COUNT(CLOCK_NAMES));
    *clock = i < 0 ? CLOCK_HOST : (clock_domain_t)i;
    return i >= 0;
}

bool trust_parse(const char *name, trust_t *trust) {
    int i = index_of(name, TRUST_NAMES + 1, COUNT(TRUST_NAMES) - 1);
    *trust = (trust_t)(i + 1);
    return i >= 0;
}

bool sanitize_is_finding(const char *verdict) {
    return verdict[0] >= '1' && verdict[0] <= '9';
}

void sanitize_free(sanitize_t *sanitize) {
    free(sanitize->version);
    free(sanitize->example);
    text_list_free(&sanitize->tools);
    text_list_free(&sanitize->verdicts);
    *sanitize = (sanitize_t){0};
}

bool result_has_times(const case_result_t *result) {
    return result->status == CASE_OK || result->status == CASE_THROTTLED;
}

bool result_is_busy(const case_result_t *result) {
    return result_has_times(result) && flag_list_find(&result->flags, FLAG_BUSY) != NULL;
}

bool result_is_broken(const case_result_t *result) {
    return result->status == CASE_WRONG || result->status == CASE_FAILED ||
           result->status == CASE_IMPLAUSIBLE;
}

const phase_t *result_phase_named(const case_result_t *result, const char *name) {
    for (size_t i = 0; i < result->n_phases; i++)
        if (strcmp(result->phases[i].name, name) == 0)
            return &result->phases[i];
    return NULL;
}

static const phase_t *first_with_times(const case_result_t *result, const char *const *names) {
    const bool trains = result_phase_named(result, "train") != NULL; /* includes `forward` */
    for (; *names != NULL; names++) {
        const phase_t *phase = result_phase_named(result, *names);
        if (phase != NULL && phase->summary.n > 0 && !(trains && strcmp(*names, "forward") == 0))
            return phase;
    }
    return NULL;
}

bool phase_is_call(const char *name) {
    return strcmp(name, CALL_IN_GRAPH) == 0 || strcmp(name, ONE_CALL) == 0 ||
           strcmp(name, HOST_CALL) == 0 || strcmp(name, EAGER_CALL) == 0;
}

/* Scripts say how long they took to capture or compile; the engines of this program have no calls but
 * launches. */
static bool is_call_made_ahead(const case_result_t *result) {
    static const char *const IN_GRAPH = "forward_graph";
    return !case_engine_is_built_in(result->spec.engine) &&
           (isfinite(result_once(result, "capture")) || isfinite(result_once(result, "compile")) ||
            result_phase_named(result, IN_GRAPH) != NULL);
}

const phase_t *result_phase(const case_result_t *result, const char *name) {
    static const char *const IN_GRAPH[] = {"kernel_graph", "forward_graph", NULL};
    static const char *const ONE[] = {"kernel", "train_device", "forward_device", "forward", NULL};
    const bool any = strcmp(name, COMPUTATION) == 0;
    const phase_t *phase = result_phase_named(result, name);
    if (phase == NULL && (any || strcmp(name, CALL_IN_GRAPH) == 0))
        phase = first_with_times(result, IN_GRAPH);
    const bool eager = strcmp(name, EAGER_CALL) == 0 && !is_call_made_ahead(result);
    if (phase == NULL && (any || eager || strcmp(name, ONE_CALL) == 0))
        phase = first_with_times(result, ONE);
    return phase;
}

double result_median(const case_result_t *result, const char *phase) {
    const phase_t *found = result_has_times(result) ? result_phase(result, phase) : NULL;
    return found != NULL ? found->summary.median : NAN;
}

const phase_t *result_compute_phase(const case_result_t *result) {
    static const char *const NAMES[] = {"kernel", "train", "forward"};
    const phase_t *phase = NULL;
    for (size_t i = 0; phase == NULL && i < sizeof NAMES / sizeof *NAMES; i++)
        phase = result_phase(result, NAMES[i]);
    return phase;
}

const phase_t *result_whole_phase(const case_result_t *result) {
    const phase_t *phase = result_phase(result, "host_to_host");
    return phase != NULL ? phase : result_phase(result, "total");
}

/* Most cases lack the key: a search of the text is faster than parsing it. */
json_t *result_value(const case_result_t *result, const char *key) {
    if (result->results_json == NULL || strstr(result->results_json, key) == NULL)
        return NULL;
    json_auto_t *own = json_loads(result->results_json, 0, NULL);
    return json_incref(json_object_get(own, key));
}

double result_number(const case_result_t *result, const char *key) {
    json_auto_t *value = result_value(result, key);
    return json_or_nan(value);
}

char *result_string(const case_result_t *result, const char *key) {
    json_auto_t *value = result_value(result, key);
    return mem_text(json_string_value(value));
}

bool result_is_algorithmic(const case_result_t *result) {
    json_auto_t *value = result_value(result, "algorithmic");
    return json_is_true(value);
}

void result_init(case_result_t *result, const case_t *spec) {
    *result = (case_result_t){.spec = case_copy(spec), .pass = 1};
    result->resources.occupancy_frac = NAN;
    result->limit.limit_ns = NAN;
    result->limit.frac = NAN;
    result->cpu_taken_frac = NAN;
    for (int i = 0; i < 2; i++) {
        result->device.sm_mhz[i] = NAN;
        result->device.power_w[i] = NAN;
        result->device.temperature_c[i] = NAN;
    }
}

static void draw_free(draw_t *draw) {
    for (size_t i = 0; i < draw->n_medians; i++)
        free(draw->medians[i].name);
    free(draw->medians);
    *draw = (draw_t){.compile_ns = NAN};
}

void result_free(case_result_t *result) {
    case_free(&result->spec);
    free(result->reason);
    flag_list_free(&result->flags);
    for (size_t i = 0; i < result->n_once; i++)
        free(result->once[i].name);
    free(result->once);
    for (size_t i = 0; i < result->n_draws; i++)
        draw_free(&result->draws[i]);
    free(result->draws);
    free(result->resources.arch);
    free(result->resources.code_hash);
    text_list_free(&result->resources.flags);
    sanitize_free(&result->sanitize);
    for (size_t i = 0; i < result->n_phases; i++) {
        free(result->phases[i].name);
        free(result->phases[i].samples);
        free(result->phases[i].round_starts);
        free(result->phases[i].pass_starts);
        free(result->phases[i].fresh);
        free(result->phases[i].rewritten);
    }
    free(result->phases);
    free(result->results_json);
    free(result->limit.bound);
    free(result->limit.phase);
    free(result->device.name);
    text_list_free(&result->device.throttle);
    *result = (case_result_t){0};
}

void result_add_once(case_result_t *result, const char *name, double ns) {
    result->once = mem_resize(result->once, result->n_once + 1, sizeof *result->once);
    result->once[result->n_once++] = (named_ns_t){mem_text(name), ns};
}

double result_once(const case_result_t *result, const char *name) {
    for (size_t i = 0; i < result->n_once; i++)
        if (strcmp(result->once[i].name, name) == 0)
            return result->once[i].ns;
    return NAN;
}

bool result_is_draw(const case_result_t *result) {
    return result->pass == 0 && result->draw > 0;
}

void result_add_draw(case_result_t *result, const case_result_t *line) {
    if (line->draw > result->n_draws) {
        result->draws = mem_resize(result->draws, line->draw, sizeof *result->draws);
        for (size_t i = result->n_draws; i < line->draw; i++)
            result->draws[i] = (draw_t){.compile_ns = NAN};
        result->n_draws = line->draw;
    }
    draw_t *draw = &result->draws[line->draw - 1];
    draw_free(draw);
    draw->compile_ns = result_once(line, "compile");
    draw->n_medians = result_has_times(line) ? line->n_phases : 0;
    draw->medians = mem_zeroed(draw->n_medians + 1, sizeof *draw->medians);
    for (size_t i = 0; i < draw->n_medians; i++)
        draw->medians[i] =
            (named_ns_t){mem_text(line->phases[i].name), line->phases[i].summary.median};
}

double draw_median(const draw_t *draw, const char *phase) {
    for (size_t i = 0; i < draw->n_medians; i++)
        if (strcmp(draw->medians[i].name, phase) == 0)
            return draw->medians[i].ns;
    return NAN;
}

/* ==== phases and passes ======================================================================= */

/* ---- rounds and passes ----------------------------------------------------------------------- */

/* Without an interval. */
static summary_t summary_of(const double *samples, size_t n) {
    if (n == 0)
        return (summary_t){0, NAN, {NAN, NAN}, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    AUTO_FREE double *sorted = stats_sorted(samples, n);
    return (summary_t){
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
}

phase_t *result_add_phase(case_result_t *result, const char *name, clock_domain_t clock) {
    result->phases = mem_resize(result->phases, result->n_phases + 1, sizeof *result->phases);
    phase_t *phase = &result->phases[result->n_phases++];
    *phase = (phase_t){.name = mem_text(name), .clock = clock};
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

void phase_add_rewritten(phase_t *phase, const double *samples, size_t n) {
    if (n == 0)
        return;
    phase->rewritten = mem_resize(phase->rewritten, phase->n_rewritten + n, sizeof *samples);
    memcpy(phase->rewritten + phase->n_rewritten, samples, n * sizeof *samples);
    phase->n_rewritten += n;
}

void phase_add_rounds(phase_t *phase, const phase_t *more) {
    for (size_t r = 0; r < more->n_rounds; r++)
        phase_add_round(phase, more->samples + more->round_starts[r],
                        more->round_starts[r + 1] - more->round_starts[r]);
}

/* Append the passes of `more`. */
static void phase_add_passes(phase_t *phase, const phase_t *more) {
    for (size_t p = 0; p < more->n_passes; p++) {
        const stats_rounds_t rounds = phase_rounds(more, p);
        phase_start_pass(phase);
        for (size_t r = 0; r < rounds.n_rounds; r++)
            phase_add_round(phase, rounds.values + rounds.starts[r],
                            rounds.starts[r + 1] - rounds.starts[r]);
    }
    phase_add_fresh(phase, more->fresh, more->n_fresh);
    phase_add_rewritten(phase, more->rewritten, more->n_rewritten);
    phase->n_throttled += more->n_throttled;
    phase->n_slow_core += more->n_slow_core;
}

stats_rounds_t phase_rounds(const phase_t *phase, size_t pass) {
    const size_t first = phase->pass_starts[pass], end = phase->pass_starts[pass + 1];
    return (stats_rounds_t){phase->samples, phase->round_starts + first, end - first};
}

/* ---- summaries ------------------------------------------------------------------------------- */

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

static bimodal_t bimodal_of_phase(const phase_t *phase) {
    AUTO_FREE double *sorted = stats_sorted(phase->samples, phase->n_samples);
    AUTO_FREE double *medians = mem_alloc((phase->n_rounds + 1) * sizeof *medians);
    for (size_t r = 0; r < phase->n_rounds; r++) {
        const size_t start = phase->round_starts[r];
        medians[r] = stats_median(phase->samples + start, phase->round_starts[r + 1] - start);
    }
    return bimodal_of(medians, phase->pass_starts, phase->n_passes,
                      stats_tick(sorted, phase->n_samples));
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
        phase->bimodal = bimodal_of_phase(phase);
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
/* Of fewer passes than intervals need: 4 of 332 honest scripts' single passes on an H200 were beyond the other, up
 * to 1.17 (mlp_infer). */
static const double MOST_OF_FEW = 1.2;

static bool agrees(double ratio, double most) {
    return ratio >= LEAST_OF_CLAIM && ratio <= most;
}

bool claim_agrees(double ratio) {
    return agrees(ratio, MOST_OF_CLAIM);
}

double claims_ratio(const claims_t *claims) {
    for (unsigned i = 0; i < claims->n; i++)
        if (isnan(claims->ratios[i]))
            return NAN;
    return stats_median(claims->ratios, claims->n);
}

bool claims_agree(const claims_t *claims) {
    return agrees(claims_ratio(claims),
                  claims->n < STATS_FEWEST_PASSES ? MOST_OF_FEW : MOST_OF_CLAIM);
}

void result_add_claim(case_result_t *result, double ratio) {
    claims_t *claims = &result->claims;
    if (claims->n < STATS_MOST_PASSES)
        claims->ratios[claims->n++] = ratio;
    result->trust = claims_agree(claims) ? TRUST_AUDITED : TRUST_SELF_REPORTED;
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

/* ==== implausible times ======================================================================= */

/* Times that cannot be those of the work that was asked for. */

/* What is explained by caches, after new inputs were written, and by a driver that was not called
 * meanwhile: measured in docs/cheating.md. An interpreter is colder than machine code. */
static const double MOST_TIMES = 2, MOST_MORE_NS = 50e3, MOST_MORE_SCRIPT_NS = 300e3;
/* Of many launches, by the device's clock, both times after equal copies, so caches and driver make
 * little difference. */
static const double MOST_TIMES_LAUNCHES = 1.5, MOST_MORE_LAUNCHES_NS = 2e3;

/* As many as one pass has at least, by measure.min_rounds as it is if not given: a case must not
 * escape by being slow. */
enum { FEWEST_FRESH = 4 };

/* Parts by the host's clock say more about its caches than about kept results, which also shorten
 * the whole. */
static bool is_compared(const phase_t *phase) {
    return phase->n_fresh > 0 && phase->n_samples > 0 &&
           (phase->clock == CLOCK_DEVICE || strcmp(phase->name, "host_to_host") == 0 ||
            strcmp(phase->name, "total") == 0 || strcmp(phase->name, "train") == 0);
}

static bool is_of_graph(const phase_t *phase) {
    return strcmp(phase->name, "kernel_graph") == 0 || strcmp(phase->name, "forward_graph") == 0;
}

static double quick_eighth(double *values, size_t n) {
    stats_sort(values, n);
    return n > 0 ? values[(n - 1) / 8] : NAN;
}

/* On known inputs: what caches explain is in samples whose inputs were drawn again, too. Code that keeps results can notice
 * the pause before them, and compute: so they explain no more than moving all bytes at a slow rate does, and not many
 * medians. */
static const double SLOW_BYTES_PER_NS = 40, MOST_MEDIANS = 8;

static double known_inputs_ns(const case_result_t *result, const phase_t *phase) {
    const double median = stats_median(phase->samples, phase->n_samples);
    const double bytes = isfinite(result->limit.bytes) ? result->limit.bytes : 0;
    if (phase->n_rewritten < FEWEST_FRESH)
        return median;
    AUTO_FREE double *rewritten = mem_alloc(phase->n_rewritten * sizeof *rewritten);
    memcpy(rewritten, phase->rewritten, phase->n_rewritten * sizeof *rewritten);
    const double most = fmin(median + bytes / SLOW_BYTES_PER_NS, MOST_MEDIANS * median);
    return fmax(median, fmin(quick_eighth(rewritten, phase->n_rewritten), most));
}

double implausible_from_ns(const case_result_t *result, const phase_t *phase) {
    const double usual_ns = known_inputs_ns(result, phase);
    if (is_of_graph(phase))
        return MOST_TIMES_LAUNCHES * usual_ns + MOST_MORE_LAUNCHES_NS;
    return MOST_TIMES * usual_ns +
           (case_engine_is_built_in(result->spec.engine) ? MOST_MORE_NS : MOST_MORE_SCRIPT_NS);
}

/* The fresh samples of a phase: one in eight must be quick, as a busy machine interrupts most. */
typedef struct fresh_facts {
    double usual_ns;
    double eighth_ns;        /* the quickest eighth takes at most that */
    double uninterrupted_ns; /* likewise, without those that others had the cores in */
    size_t n, n_uninterrupted;
} fresh_facts_t;

/* May others on the host's cores make the phase slower? A device works off a graph alone, and a launch
 * of our own code between two events. */
static bool is_of_host(const case_result_t *result, const phase_t *phase) {
    return !is_of_graph(phase) &&
           (phase->clock == CLOCK_HOST || !case_engine_is_built_in(result->spec.engine));
}

static fresh_facts_t find_fresh(const case_result_t *result, const phase_t *phase) {
    const double most = implausible_from_ns(result, phase);
    const bool of_host = is_of_host(result, phase);
    fresh_facts_t facts = {.usual_ns = stats_median(phase->samples, phase->n_samples),
                           .n = phase->n_fresh};
    double *all = mem_alloc(2 * phase->n_fresh * sizeof *all), *kept = all + phase->n_fresh;
    for (size_t i = 0; i < phase->n_fresh; i++) {
        const fresh_sample_t *sample = &phase->fresh[i];
        const bool is_interrupted =
            of_host && sample->ns > most && sample->waited_ns >= sample->ns - facts.usual_ns;
        all[i] = sample->ns;
        if (!is_interrupted)
            kept[facts.n_uninterrupted++] = sample->ns;
    }
    facts.eighth_ns = quick_eighth(all, facts.n);
    facts.uninterrupted_ns = quick_eighth(kept, facts.n_uninterrupted);
    free(all);
    return facts;
}

bool implausible_is_doubted(const case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++) {
        const phase_t *phase = &result->phases[i];
        if (is_compared(phase) &&
            find_fresh(result, phase).eighth_ns > implausible_from_ns(result, phase))
            return true;
    }
    return false;
}

/* Interrupted samples alone acquit nobody: a script may have seen to that. */
static void flag_phase(const case_result_t *result, const phase_t *phase, flag_list_t *flags) {
    const double most = implausible_from_ns(result, phase);
    const double known_ns = known_inputs_ns(result, phase);
    const fresh_facts_t facts = find_fresh(result, phase);
    if (!(facts.eighth_ns > most) || facts.n < FEWEST_FRESH)
        return;
    if (facts.n_uninterrupted >= FEWEST_FRESH && facts.uninterrupted_ns > most)
        flag_list_add(flags, FLAG_FRESH_SLOWER, phase->name, facts.uninterrupted_ns, known_ns);
    else
        flag_list_add(flags, FLAG_FRESH_INTERRUPTED, phase->name, facts.eighth_ns, known_ns);
}

static void flag_fresh(case_result_t *result) {
    AUTO(flag_list_free) flag_list_t found = {0};
    for (size_t i = 0; i < result->n_phases; i++)
        if (is_compared(&result->phases[i]))
            flag_phase(result, &result->phases[i], &found);
    flag_list_remove(&result->flags, FLAG_FRESH_INTERRUPTED); /* of a pass: all of them count */
    flag_list_merge(&result->flags, &found);
    for (size_t i = 0; i < found.n; i++)
        if (found.items[i].kind == FLAG_FRESH_INTERRUPTED && result->trust == TRUST_AUDITED)
            result->trust = TRUST_SELF_REPORTED;
}

void implausible_find(case_result_t *result) {
    flag_fresh(result);
    for (size_t i = 0; i < result->flags.n && result->status == CASE_OK; i++) {
        const flag_t *flag = &result->flags.items[i];
        if (flag->kind != FLAG_OVER_LIMIT && flag->kind != FLAG_FRESH_SLOWER)
            continue;
        AUTO_FREE char *text = flag_text(flag);
        result->status = CASE_IMPLAUSIBLE;
        result->reason = mem_text(text + strlen("implausible: "));
    }
}

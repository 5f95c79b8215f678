#include "model/result.h"

#include "base/memory.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Indexed by the enums. */
static const char *const STATUS_NAMES[] = {"ok",     "skipped",   "wrong",
                                           "failed", "throttled", "implausible"};
static const char *const STOP_NAMES[] = {"none",        "precise",    "spread",      "noise_floor",
                                         "most_rounds", "time_limit", "fixed_count", "single"};
static const char *const CLOCK_NAMES[] = {"host", "device"};
static const char *const UNITS[] = {PHASE_UNIT, "us", "ms", "s"};
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

bool unit_parse(const char *name, const char **unit) {
    int i = index_of(name, UNITS, COUNT(UNITS));
    *unit = UNITS[i < 0 ? 0 : i];
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

static const phase_t *phase_called(const case_result_t *result, const char *name) {
    for (size_t i = 0; i < result->n_phases; i++)
        if (strcmp(result->phases[i].name, name) == 0)
            return &result->phases[i];
    return NULL;
}

static const phase_t *first_with_times(const case_result_t *result, const char *const *names) {
    const bool trains = phase_called(result, "train") != NULL; /* includes `forward` */
    for (; *names != NULL; names++) {
        const phase_t *phase = phase_called(result, *names);
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
            phase_called(result, IN_GRAPH) != NULL);
}

const phase_t *result_phase(const case_result_t *result, const char *name) {
    static const char *const IN_GRAPH[] = {"kernel_graph", "forward_graph", NULL};
    static const char *const ONE[] = {"kernel", "train_device", "forward_device", "forward", NULL};
    const bool any = strcmp(name, COMPUTATION) == 0;
    const phase_t *phase = phase_called(result, name);
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
static json_t *own_value(const case_result_t *result, const char *key) {
    if (result->results_json == NULL || strstr(result->results_json, key) == NULL)
        return NULL;
    json_t *own = json_loads(result->results_json, 0, NULL);
    json_t *value = json_incref(json_object_get(own, key));
    json_decref(own);
    return value;
}

double result_number(const case_result_t *result, const char *key) {
    json_t *value = own_value(result, key);
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    json_decref(value);
    return number;
}

char *result_string(const case_result_t *result, const char *key) {
    json_t *value = own_value(result, key);
    char *text = json_is_string(value) ? mem_text(json_string_value(value)) : NULL;
    json_decref(value);
    return text;
}

bool result_is_algorithmic(const case_result_t *result) {
    json_t *value = own_value(result, "algorithmic");
    bool algorithmic = json_is_true(value);
    json_decref(value);
    return algorithmic;
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

/* Writing a result as JSON; result_read.c reads it. */
#include "model/result_json.h"

#include "io/json_text.h"

#include <math.h>
#include <stdlib.h>

/* JSON has no NaN: unknown numbers are null. */
static json_t *number(double value) {
    if (!isfinite(value))
        return json_null();
    if (value == floor(value) && fabs(value) < 9e15)
        return json_integer((json_int_t)value);
    return json_real(value);
}

static json_t *pair(const double values[2]) {
    return json_pack("[o, o]", number(values[0]), number(values[1]));
}

static json_t *check_to_json(const check_t *check) {
    if (!check->done)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "rel_l2", number(check->rel_l2),
                     "row_rel_l2", number(check->row_rel_l2), "column_rel_l2",
                     number(check->column_rel_l2), "max_abs", number(check->max_abs), "tolerance",
                     number(check->tolerance), "ok", check->ok);
}

static json_t *integers(const size_t *values, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer((json_int_t)values[i]));
    return list;
}

static json_t *numbers(const double *values, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, number(values[i]));
    return list;
}

static void add_fresh(const phase_t *phase, json_t *json) {
    if (phase->n_fresh == 0)
        return;
    json_t *fresh = json_array(), *waited = json_array();
    for (size_t i = 0; i < phase->n_fresh; i++) {
        json_array_append_new(fresh, number(phase->fresh[i].ns));
        json_array_append_new(waited, number(phase->fresh[i].waited_ns));
    }
    json_object_set_new(json, "fresh", fresh);
    json_object_set_new(json, "fresh_waited", waited);
}

static void add_passes(const phase_t *phase, json_t *json) {
    const bimodal_t *two = &phase->bimodal;
    const double error_frac =
        phase->n_passes == 1 ? sqrt(phase_pass(phase, 0).variance_log) : (double)NAN;
    json_object_set_new(json, "error_frac", number(error_frac));
    json_object_set_new(json, "ci95", pair(phase->summary.ci95));
    json_object_set_new(json, "bimodal",
                        two->found
                            ? json_pack("{s:o, s:o, s:o}", "low", number(two->low), "high",
                                        number(two->high), "share_high", number(two->share_high))
                            : json_null());
    json_object_set_new(json, "pass_starts", integers(phase->pass_starts, phase->n_passes + 1));
}

static json_t *phase_to_json(const phase_t *phase) {
    const summary_t *s = &phase->summary;
    json_t *json =
        json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "clock",
                  clock_domain_name(phase->clock), "unit", phase->unit, "n", (json_int_t)s->n,
                  "median", number(s->median), "q25", number(s->q25), "q75", number(s->q75), "p5",
                  number(s->p5), "p95", number(s->p95), "p99", number(s->p99), "min",
                  number(s->min), "max", number(s->max), "mad", number(s->mad), "n_throttled",
                  (json_int_t)phase->n_throttled, "n_slow_core", (json_int_t)phase->n_slow_core);
    add_passes(phase, json);
    json_object_set_new(json, "round_starts", integers(phase->round_starts, phase->n_rounds + 1));
    json_object_set_new(json, "samples", numbers(phase->samples, phase->n_samples));
    add_fresh(phase, json);
    return json;
}

static json_t *flags_to_json(const flag_list_t *flags) {
    json_t *json = json_array();
    for (size_t i = 0; i < flags->n; i++) {
        char *text = flag_text(&flags->items[i]);
        json_array_append_new(json, json_text(text));
        free(text);
    }
    return json;
}

static json_t *resources_to_json(const resources_t *r) {
    return json_pack("{s:o, s:I, s:I, s:I, s:o, s:o, s:I, s:o}", "arch", json_text(r->arch),
                     "registers", (json_int_t)r->registers, "shared_bytes",
                     (json_int_t)r->shared_bytes, "spill_bytes", (json_int_t)r->spill_bytes,
                     "code_hash", json_text(r->code_hash), "flags", json_texts(&r->flags),
                     "peak_device_bytes", (json_int_t)r->peak_device_bytes, "occupancy_frac",
                     number(r->occupancy_frac));
}

static json_t *sanitize_to_json(const sanitize_t *sanitize) {
    if (sanitize->tools.n == 0)
        return json_null();
    json_t *tools = json_object();
    for (size_t i = 0; i < sanitize->tools.n; i++)
        json_object_set_new(tools, sanitize->tools.items[i],
                            json_text(sanitize->verdicts.items[i]));
    return json_pack("{s:o, s:o, s:o}", "version", json_text(sanitize->version), "case",
                     json_text(sanitize->example), "tools", tools);
}

static json_t *limit_to_json(const limit_t *limit) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "bytes", number(limit->bytes), "flops",
                     number(limit->flops), "bound", json_text(limit->bound), "limit_ns",
                     number(limit->limit_ns), "frac", number(limit->frac), "phase",
                     json_text(limit->phase));
}

static json_t *device_to_json(const device_state_t *device) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", json_text(device->name), "sm_mhz",
                     pair(device->sm_mhz), "power_w", pair(device->power_w), "temperature_c",
                     pair(device->temperature_c), "throttle", json_texts(&device->throttle));
}

static json_t *claims_to_json(const claims_t *claims) {
    return claims->n == 0 ? json_null()
                          : json_pack("{s:i, s:o}", "n", (int)claims->n, "ratio",
                                      number(claims_ratio(claims)));
}

static json_t *draws_to_json(const case_result_t *result) {
    json_t *list = json_array();
    for (size_t i = 0; i < result->n_draws; i++) {
        const draw_t *draw = &result->draws[i];
        const double host_ns = draw_median(draw, "host_to_host");
        json_t *medians = json_object();
        for (size_t m = 0; m < draw->n_medians; m++)
            json_object_set_new(medians, draw->medians[m].name, number(draw->medians[m].ns));
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o}", "median_ns",
                            number(isnan(host_ns) ? draw_median(draw, "total") : host_ns),
                            "medians_ns", medians, "compile_ns", number(draw->compile_ns)));
    }
    return list;
}

json_t *result_to_json(const case_result_t *result) {
    json_t *json = json_pack("{s:i, s:o, s:o, s:I}", "schema", RESULT_SCHEMA, "pass",
                             result->pass > 0 ? json_integer(result->pass) : json_null(), "draw",
                             result->draw > 0 ? json_integer(result->draw) : json_null(), "seed",
                             (json_int_t)result->seed);
    if (result->n_draws > 0)
        json_object_set_new(json, "draws", draws_to_json(result));
    json_t *spec = case_to_json(&result->spec);
    json_object_update(json, spec);
    json_decref(spec);
    json_t *once = json_object(), *phases = json_object();
    for (size_t i = 0; i < result->n_once; i++)
        json_object_set_new(once, result->once[i].name, number(result->once[i].ns));
    for (size_t i = 0; i < result->n_phases; i++)
        json_object_set_new(phases, result->phases[i].name, phase_to_json(&result->phases[i]));
    json_t *results =
        result->results_json != NULL ? json_loads(result->results_json, 0, NULL) : NULL;
    json_t *rest =
        json_pack("{s:s, s:o, s:o, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:s, s:o}",
                  "status", case_status_name(result->status), "reason", json_text(result->reason),
                  "flags", flags_to_json(&result->flags), "check", "before",
                  check_to_json(&result->before), "after", check_to_json(&result->after), "once_ns",
                  once, "resources", resources_to_json(&result->resources), "sanitize",
                  sanitize_to_json(&result->sanitize), "phases", phases, "results",
                  results != NULL ? results : json_object(), "limit", limit_to_json(&result->limit),
                  "device", device_to_json(&result->device), "rounds", (int)result->rounds, "stop",
                  stop_reason_name(result->stop), "warmup_ns", number(result->warmup_ns));
    json_object_set_new(rest, "worker_ns", number(result->worker_ns));
    if (isfinite(result->cpu_taken_frac))
        json_object_set_new(rest, "cpu_taken_frac", number(result->cpu_taken_frac));
    json_object_set_new(rest, "trust", json_text(trust_name(result->trust)));
    json_object_set_new(rest, "claims", claims_to_json(&result->claims));
    if (result->determinism != DETERMINISM_UNKNOWN)
        json_object_set_new(rest, "deterministic",
                            json_boolean(result->determinism == DETERMINISTIC));
    /* In a line, "device" is the state of the device; "on" is the device of the case. */
    json_object_set(json, "on", json_object_get(json, "device"));
    json_object_update(json, rest);
    json_decref(rest);
    return json;
}

/* Reading a result from JSON, of this schema or of schema 1. */
#include "model/result_json.h"

#include "base/memory.h"
#include "io/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double get_number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int64_t get_integer(const json_t *object, const char *key) {
    double value = get_number(object, key);
    return isfinite(value) && fabs(value) < 9e18 ? (int64_t)value : 0;
}

/* Reasons and flags quote the output of workers. */
static char *get_text(const json_t *object, const char *key) {
    return text_plain(json_string_value(json_object_get(object, key)));
}

static void get_pair(const json_t *object, const char *key, double values[2]) {
    const json_t *array = json_object_get(object, key);
    for (size_t i = 0; i < 2; i++) {
        const json_t *item = json_array_get(array, i);
        values[i] = json_is_number(item) ? json_number_value(item) : NAN;
    }
}

static void get_texts(const json_t *object, const char *key, text_list_t *list) {
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(object, key), i, item) {
        if (json_is_string(item))
            text_list_take(list, text_plain(json_string_value(item)));
    }
}

static void get_flags(const json_t *object, flag_list_t *flags) {
    text_list_t texts = {0};
    get_texts(object, "flags", &texts);
    for (size_t i = 0; i < texts.n; i++)
        flag_list_add_text(flags, texts.items[i]);
    text_list_free(&texts);
}

static void get_check(const json_t *object, const char *key, check_t *check) {
    const json_t *json = json_object_get(object, key);
    *check = (check_t){0};
    if (!json_is_object(json))
        return;
    *check = (check_t){
        .done = true,
        .ok = json_is_true(json_object_get(json, "ok")),
        .rel_l2 = get_number(json, "rel_l2"),
        .max_abs = get_number(json, "max_abs"),
        .tolerance = get_number(json, "tolerance"),
        .row_rel_l2 = get_number(json, "row_rel_l2"),
        .column_rel_l2 = get_number(json, "column_rel_l2"),
    };
}

typedef struct numbers {
    double *values; /* owned */
    size_t n;
} numbers_t;

static bool get_numbers(const json_t *json, const raw_arrays_t *raw_arrays, numbers_t *numbers) {
    if (json_is_integer(json) && (uint64_t)json_integer_value(json) < raw_arrays->n)
        return parse_samples(raw_arrays, (size_t)json_integer_value(json), &numbers->values,
                             &numbers->n);
    bool good = json == NULL || json_is_array(json);
    numbers->n = json_array_size(json);
    numbers->values = mem_zeroed(numbers->n, sizeof *numbers->values);
    for (size_t i = 0; i < numbers->n; i++) {
        const json_t *item = json_array_get(json, i);
        good = good && json_is_number(item);
        numbers->values[i] = json_number_value(item);
    }
    return good;
}

static status_t add_rounds(const numbers_t *starts, const numbers_t *samples, phase_t *phase,
                           error_t *err) {
    double most = (double)samples->n;
    for (size_t r = 0; r + 1 < starts->n; r++) {
        double from = starts->values[r], to = starts->values[r + 1];
        if (!(from >= 0 && to >= from && to <= most))
            return error_set(err, STATUS_USAGE, "round_starts[%zu]: %.0f … %.0f of %zu samples", r,
                             from, to, samples->n);
        phase_add_round(phase, samples->values + (size_t)from, (size_t)to - (size_t)from);
    }
    return STATUS_OK;
}

/* Rounds without gaps, as this program writes them: take over the samples without a copy. */
static bool take_rounds(const numbers_t *starts, const numbers_t *samples, phase_t *phase) {
    if (starts->values[0] != 0 || starts->values[starts->n - 1] != (double)samples->n)
        return false;
    for (size_t r = 1; r < starts->n; r++)
        if (!(starts->values[r] >= starts->values[r - 1] + 1))
            return false;
    free(phase->round_starts);
    phase->round_starts = mem_alloc(starts->n * sizeof *phase->round_starts);
    for (size_t r = 0; r < starts->n; r++)
        phase->round_starts[r] = (size_t)starts->values[r];
    phase->n_rounds = starts->n - 1;
    phase->pass_starts = mem_resize(phase->pass_starts, 2, sizeof *phase->pass_starts);
    phase->pass_starts[1] = phase->n_rounds;
    phase->n_passes = 1;
    phase->samples = samples->values;
    phase->n_samples = samples->n;
    return true;
}

/* Without pass_starts (schema 1) all rounds are one pass. */
static status_t get_passes(const json_t *json, phase_t *phase, error_t *err) {
    const json_t *starts = json_object_get(json, "pass_starts");
    const size_t n = json_array_size(starts);
    if (n < 3)
        return STATUS_OK;
    phase->pass_starts = mem_resize(phase->pass_starts, n, sizeof *phase->pass_starts);
    json_int_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const json_int_t start = json_integer_value(json_array_get(starts, i));
        if (start < before || (i == 0 && start != 0) ||
            (i == n - 1 && (size_t)start != phase->n_rounds))
            return error_set(err, STATUS_USAGE, "pass_starts[%zu]: %lld of %zu rounds", i,
                             (long long)start, phase->n_rounds);
        before = start;
        phase->pass_starts[i] = (size_t)start;
    }
    phase->n_passes = n - 1;
    return STATUS_OK;
}

static status_t get_rounds(const json_t *json, const raw_arrays_t *raw_arrays, phase_t *phase,
                           error_t *err) {
    numbers_t starts = {0}, samples = {0};
    status_t status = STATUS_OK;
    if (!get_numbers(json_object_get(json, "round_starts"), raw_arrays, &starts) ||
        !get_numbers(json_object_get(json, "samples"), raw_arrays, &samples))
        status = error_set(err, STATUS_USAGE, "not an array of numbers");
    else if (starts.n < 2) /* no rounds: one round of all samples */
        phase_add_round(phase, samples.values, samples.n);
    else if (take_rounds(&starts, &samples, phase))
        samples.values = NULL;
    else
        status = add_rounds(&starts, &samples, phase, err);
    free(starts.values);
    free(samples.values);
    return status == STATUS_OK ? get_passes(json, phase, err) : status;
}

static void get_fresh(const json_t *json, const raw_arrays_t *raw_arrays, phase_t *phase) {
    numbers_t fresh = {0}, waited = {0};
    if (get_numbers(json_object_get(json, "fresh"), raw_arrays, &fresh) &&
        get_numbers(json_object_get(json, "fresh_waited"), raw_arrays, &waited))
        for (size_t i = 0; i < fresh.n; i++)
            phase_add_fresh(
                phase,
                &(fresh_sample_t){fresh.values[i], waited.n == fresh.n ? waited.values[i] : 0}, 1);
    free(fresh.values);
    free(waited.values);
}

/* What readers compare by must be what the samples say. */
static status_t check_summary(const json_t *json, const phase_t *phase, error_t *err) {
    const summary_t *s = &phase->summary;
    if (phase->n_samples == 0 || phase->n_passes > 1)
        return STATUS_OK;
    if (json_object_get(json, "n") != NULL && s->n != phase->n_samples)
        return error_set(err, STATUS_USAGE, "\"n\" is %zu, but there are %zu samples", s->n,
                         phase->n_samples);
    const double median = stats_median(phase->samples, phase->n_samples);
    return isnan(s->median) || fabs(s->median - median) <= 1e-9 * fabs(median)
               ? STATUS_OK
               : error_set(err, STATUS_USAGE,
                           "\"median\" is %.15g, but that of its samples is %.15g", s->median,
                           median);
}

static status_t get_phases(const json_t *json, const raw_arrays_t *raw_arrays,
                           case_result_t *result, error_t *err) {
    const char *name;
    json_t *item;
    json_object_foreach(json_object_get(json, "phases"), name, item) {
        clock_domain_t clock;
        if (!text_is_plain(name))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%.100s\": found control characters, expected none", name);
        const char *clock_name = json_string_value(json_object_get(item, "clock"));
        if (clock_name == NULL || !clock_domain_parse(clock_name, &clock))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s.clock\" is \"%s\", expected host or device", name,
                             clock_name != NULL ? clock_name : "missing");
        phase_t *phase = result_add_phase(result, name, clock);
        const char *unit = json_string_value(json_object_get(item, "unit"));
        if (unit != NULL && !unit_parse(unit, &phase->unit))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s.unit\" is no unit of time, expected " PHASE_UNIT, name);
        if (get_rounds(item, raw_arrays, phase, err) != STATUS_OK)
            return error_within(err, "\"phases.%s\"", name);
        get_fresh(item, raw_arrays, phase);
        phase->n_throttled = (size_t)get_integer(item, "n_throttled");
        phase->n_slow_core = (size_t)get_integer(item, "n_slow_core");
        summary_t *s = &phase->summary;
        *s = (summary_t){
            .n = (size_t)get_integer(item, "n"),
            .median = get_number(item, "median"),
            .q25 = get_number(item, "q25"),
            .q75 = get_number(item, "q75"),
            .p5 = get_number(item, "p5"),
            .p95 = get_number(item, "p95"),
            .p99 = get_number(item, "p99"),
            .min = get_number(item, "min"),
            .max = get_number(item, "max"),
            .mad = get_number(item, "mad"),
        };
        if (check_summary(item, phase, err) != STATUS_OK)
            return error_within(err, "\"phases.%s\"", name);
        if (phase->n_passes > 1)
            phase_summarise(phase);
        else /* in schema 1 an interval over samples, which does not hold for the next run */
            s->ci95[0] = s->ci95[1] = NAN;
    }
    return STATUS_OK;
}

static void get_sanitize(const json_t *json, sanitize_t *sanitize) {
    const char *tool;
    json_t *verdict;
    sanitize->version = get_text(json, "version");
    sanitize->example = get_text(json, "case");
    json_object_foreach(json_object_get(json, "tools"), tool, verdict) {
        if (!text_is_name(tool) || !json_is_string(verdict))
            continue;
        text_list_add(&sanitize->tools, tool);
        text_list_take(&sanitize->verdicts, text_plain(json_string_value(verdict)));
    }
}

static void get_details(const json_t *json, case_result_t *result) {
    get_flags(json, &result->flags);
    get_check(json_object_get(json, "check"), "before", &result->before);
    get_check(json_object_get(json, "check"), "after", &result->after);
    const json_t *deterministic = json_object_get(json, "deterministic");
    if (json_is_boolean(deterministic))
        result->determinism = json_is_true(deterministic) ? DETERMINISTIC : NONDETERMINISTIC;
    const char *name;
    json_t *item;
    json_object_foreach(json_object_get(json, "once_ns"), name, item) {
        char *shown = text_plain(name);
        result_add_once(result, shown, json_number_value(item));
        free(shown);
    }
    const json_t *r = json_object_get(json, "resources");
    result->resources = (resources_t){
        .arch = get_text(r, "arch"),
        .registers = get_integer(r, "registers"),
        .shared_bytes = get_integer(r, "shared_bytes"),
        .spill_bytes = get_integer(r, "spill_bytes"),
        .code_hash = get_text(r, "code_hash"),
        .peak_device_bytes = get_integer(r, "peak_device_bytes"),
        .occupancy_frac = get_number(r, "occupancy_frac"),
    };
    get_texts(r, "flags", &result->resources.flags);
    get_sanitize(json_object_get(json, "sanitize"), &result->sanitize);
    const json_t *l = json_object_get(json, "limit");
    result->limit = (limit_t){
        .bytes = get_number(l, "bytes"),
        .flops = get_number(l, "flops"),
        .bound = get_text(l, "bound"),
        .limit_ns = get_number(l, "limit_ns"),
        .frac = get_number(l, "frac"),
        .phase = get_text(l, "phase"),
    };
    const json_t *d = json_object_get(json, "device");
    if (json_is_object(d)) {
        result->device.name = get_text(d, "name");
        get_pair(d, "sm_mhz", result->device.sm_mhz);
        get_pair(d, "power_w", result->device.power_w);
        get_pair(d, "temperature_c", result->device.temperature_c);
        get_texts(d, "throttle", &result->device.throttle);
    }
    const json_t *own = json_object_get(json, "results");
    if (json_object_size(own) > 0)
        result->results_json = json_dumps(own, JSON_COMPACT);
    result->rounds = (unsigned)get_integer(json, "rounds");
    result->warmup_ns = get_number(json, "warmup_ns");
    result->worker_ns = get_number(json, "worker_ns");
    result->cpu_taken_frac = get_number(json, "cpu_taken_frac");
}

static status_t read_result(const json_t *json, const raw_arrays_t *raw_arrays,
                            case_result_t *result, error_t *err) {
    const char *status = json_string_value(json_object_get(json, "status"));
    if (status == NULL || !case_status_parse(status, &result->status))
        return error_set(err, STATUS_USAGE,
                         "\"status\" is \"%s\", expected ok, skipped, wrong, failed, "
                         "throttled or implausible",
                         status != NULL ? status : "missing");
    const char *stop = json_string_value(json_object_get(json, "stop"));
    if (stop != NULL && !stop_reason_parse(stop, &result->stop))
        return error_set(err, STATUS_USAGE,
                         "\"stop\" is \"%s\", expected precise, spread, noise_floor, most_rounds, "
                         "time_limit, fixed_count, single or none",
                         stop);
    const char *trust = json_string_value(json_object_get(json, "trust"));
    if (trust != NULL && !trust_parse(trust, &result->trust))
        return error_set(err, STATUS_USAGE,
                         "\"trust\" is \"%s\", expected sealed, audited or self-reported", trust);
    result->reason = get_text(json, "reason");
    const json_t *claims = json_object_get(json, "claims");
    if (json_is_object(claims))
        result->claims = (claims_t){.n = 1, .ratios = {get_number(claims, "ratio")}};
    get_details(json, result);
    TRY(get_phases(json, raw_arrays, result, err));
    return result_check(result, err);
}

status_t result_from_raw_json(const json_t *json, const raw_arrays_t *raw_arrays,
                              case_result_t *result, error_t *err) {
    if (!json_is_object(json))
        return error_set(err, STATUS_USAGE, "not a JSON object");
    json_int_t schema = json_integer_value(json_object_get(json, "schema"));
    if (schema < RESULT_OLDEST_SCHEMA || schema > RESULT_SCHEMA)
        return error_set(err, STATUS_USAGE,
                         "\"schema\" is %lld, this program reads schemas %d to %d",
                         (long long)schema, RESULT_OLDEST_SCHEMA, RESULT_SCHEMA);
    const json_int_t pass = schema == 1 ? 1 : json_integer_value(json_object_get(json, "pass"));
    const json_int_t draw = json_integer_value(json_object_get(json, "draw"));
    if (draw < 0 || draw > MOST_DRAWS)
        return error_set(err, STATUS_USAGE, "\"draw\" is %lld, expected a number from 1 to %d",
                         (long long)draw, MOST_DRAWS);
    if (pass < (draw > 0 ? 0 : 1) || pass > STATS_MOST_PASSES)
        return error_set(err, STATUS_USAGE, "\"pass\" is %lld, expected a number from 1 to %d",
                         (long long)pass, STATS_MOST_PASSES);
    case_t spec;
    TRY(case_from_json(json, &spec, err));
    status_t status = case_check_id(&spec, err);
    if (status == STATUS_OK)
        result_init(result, &spec);
    case_free(&spec);
    TRY(status);
    result->pass = (unsigned)pass;
    result->draw = (unsigned)draw;
    result->seed = (uint64_t)json_integer_value(json_object_get(json, "seed"));
    status = read_result(json, raw_arrays, result, err);
    if (status != STATUS_OK)
        result_free(result);
    return status;
}

status_t result_from_json(const json_t *json, case_result_t *result, error_t *err) {
    static const raw_arrays_t NOTHING;
    return result_from_raw_json(json, &NOTHING, result, err);
}

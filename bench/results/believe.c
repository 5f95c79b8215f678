/* Do the lines of a run fit together, and to its run.json? See record.h. */
#include "results/record_internal.h"

#include "base/memory.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static status_t refuse(const record_t *run, const case_result_t *line, error_t *err) {
    return line->pass > 0 ? error_within(err, "%s/" JOURNAL ": %s, pass %u", run->folder,
                                         line->spec.id, line->pass)
                          : error_within(err, "%s/" JOURNAL ": %s", run->folder, line->spec.id);
}

/* ---- a line and run.json --------------------------------------------------------------------- */

static status_t check_pass(const record_t *run, const case_result_t *line, error_t *err) {
    bool known = run->n_passes == 0 || line->pass == 0; /* older runs; draws */
    for (size_t i = 0; i < run->n_passes && !known; i++)
        known = record_pass_number(&run->passes[i]) == line->pass;
    return known ? STATUS_OK
                 : error_set(err, STATUS_USAGE,
                             "run.json has no such pass among its %zu \"passes\"", run->n_passes);
}

/* Some CPUs have blanks at the end of their name; of others the system knows none. */
static bool same_device(const char *a, const char *b) {
    size_t n_a = strlen(a), n_b = strlen(b);
    while (n_a > 0 && a[n_a - 1] == ' ')
        n_a--;
    while (n_b > 0 && b[n_b - 1] == ' ')
        n_b--;
    return (n_a == n_b && memcmp(a, b, n_a) == 0) || strcmp(b, "unknown CPU") == 0;
}

/* All machines of a run are of one kind. */
static status_t check_device(const record_t *run, const case_result_t *line, error_t *err) {
    const char *key = strcmp(line->spec.device, "cuda") == 0 ? "gpu.name" : "host.cpu";
    char *header = text_plain(environment_get(&run->environment, key)); /* as lines are read */
    const char *name = line->device.name;
    status_t status = STATUS_OK;
    if (name != NULL && header != NULL && !same_device(name, header))
        status = error_set(err, STATUS_USAGE,
                           "\"device.name\" is \"%.100s\", but \"%s\" of run.json is \"%.100s\"",
                           name, key, header);
    free(header);
    return status;
}

/* What is left out of comparisons must be so by its program, which told when it was measured. */
static status_t check_algorithm(const record_t *run, const case_result_t *line, error_t *err) {
    const bool marked = result_is_algorithmic(line);
    const bool is_known = run->knows_algorithmic;
    if (!is_known && (!marked || case_engine_is_built_in(line->spec.engine)))
        return STATUS_OK;
    const bool told = text_list_has(&run->algorithmic, line->spec.id);
    if (marked && !told)
        return error_set(err, STATUS_USAGE,
                         "\"results.algorithmic\" is true, but \"algorithmic\" of run.json does "
                         "not name the case: its program did not say so");
    if (!marked && told && line->status == CASE_OK && line->pass == 1)
        return error_set(err, STATUS_USAGE,
                         "\"results.algorithmic\" is missing, but \"algorithmic\" of run.json "
                         "names the case");
    return STATUS_OK;
}

static status_t check_units(const case_result_t *line, error_t *err) {
    for (size_t i = 0; i < line->n_phases; i++)
        if (strcmp(line->phases[i].unit, PHASE_UNIT) != 0)
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s.unit\" is \"%s\", expected " PHASE_UNIT,
                             line->phases[i].name, line->phases[i].unit);
    return STATUS_OK;
}

/* Its own worker calls a device as it likes. */
static bool names_device(const case_t *spec) {
    return case_engine_is_built_in(spec->engine) || strcmp(spec->engine, "pytorch") == 0 ||
           strcmp(spec->engine, "jax") == 0;
}

static status_t check_line(const record_t *run, const case_result_t *line, bool units,
                           error_t *err) {
    TRY(check_pass(run, line, err));
    if (names_device(&line->spec) && line->n_phases > 0)
        TRY(check_device(run, line, err));
    TRY(check_algorithm(run, line, err));
    return units ? check_units(line, err) : STATUS_OK;
}

/* ---- lines of a case ------------------------------------------------------------------------- */

/* So many different values in the same order are no chance. */
enum { CHANCE_VALUES = 8 };

static bool same_samples(const phase_t *a, const phase_t *b) {
    double seen[CHANCE_VALUES];
    size_t n = 0;
    if (a->n_samples != b->n_samples ||
        memcmp(a->samples, b->samples, a->n_samples * sizeof *a->samples) != 0)
        return false;
    for (size_t i = 0; i < a->n_samples && n < CHANCE_VALUES; i++) {
        size_t k = 0;
        while (k < n && seen[k] != a->samples[i])
            k++;
        if (k == n)
            seen[n++] = a->samples[i];
    }
    return n == CHANCE_VALUES;
}

/* `residual` and `driver` of short phases are often the same. */
static bool is_of_parts(const phase_t *phase) {
    return strcmp(phase->name, "residual") == 0 || strcmp(phase->name, "driver") == 0;
}

static const phase_t *phase_named(const case_result_t *line, const char *name) {
    for (size_t i = 0; i < line->n_phases; i++)
        if (strcmp(line->phases[i].name, name) == 0)
            return &line->phases[i];
    return NULL;
}

static status_t check_pair(const case_result_t *first, const case_result_t *line, error_t *err) {
    for (size_t i = 0; i < line->n_phases; i++) {
        const phase_t *phase = &line->phases[i], *before = phase_named(first, phase->name);
        if (before == NULL)
            continue;
        if (before->clock != phase->clock)
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s.clock\" is \"%s\", but \"%s\" in pass %u", phase->name,
                             clock_domain_name(phase->clock), clock_domain_name(before->clock),
                             first->pass);
        if (!is_of_parts(phase) && same_samples(before, phase))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s\" has the samples of pass %u: no two passes take the "
                             "same times",
                             phase->name, first->pass);
    }
    return STATUS_OK;
}

/* The fewest passes that the run's sweeps of a workload finish a case with; 0: not known. */
static unsigned passes_asked(const record_t *run, const char *workload) {
    unsigned fewest = 0;
    for (size_t i = 0; i < run->n_sweeps; i++) {
        const sweep_text_t *sweep = &run->sweeps[i];
        json_t *json = json_loads(sweep->text, 0, NULL);
        const char *name = json_string_value(json_object_get(json, "workload"));
        const bool is_of = name != NULL && strcmp(name, workload) == 0;
        json_decref(json);
        if (is_of && sweep->passes == 0)
            return 0;
        if (is_of && (fewest == 0 || sweep->least_passes < fewest))
            fewest = sweep->least_passes;
    }
    return fewest;
}

/* Who leaves out a slow pass of a case that is finished changes its median. */
static status_t check_finished(const record_t *run, const case_result_t *const *lines, size_t n,
                               error_t *err) {
    unsigned n_passes = 0, last = 0;
    /* A case that one build of an --against run fails is not measured in the other. */
    const bool one_of_two = environment_get(&run->environment, "measure.pair") != NULL;
    if (run->finished == NULL || one_of_two || is_calibration(&lines[0]->spec))
        return STATUS_OK;
    for (size_t i = 0; i < n; i++) {
        if (!result_has_times(lines[i]))
            return STATUS_OK; /* its last pass */
        n_passes += lines[i]->pass > 0;
        last = lines[i]->pass > last ? lines[i]->pass : last;
    }
    const unsigned asked = passes_asked(run, lines[0]->spec.workload);
    if (n_passes < asked)
        return error_set(err, STATUS_USAGE,
                         "found %u passes, expected %u as in \"sweeps\" of the finished run.json",
                         n_passes, asked);
    return asked == 0 || n_passes == last
               ? STATUS_OK
               : error_set(err, STATUS_USAGE,
                           "found %u passes, the last of them %u; expected all up to it, as the "
                           "run is finished",
                           n_passes, last);
}

static int by_key(const void *a, const void *b) {
    return record_compare_keys(*(const case_result_t *const *)a, *(const case_result_t *const *)b);
}

static status_t check_case(const record_t *run, const case_result_t *const *lines, size_t n,
                           bool passes, error_t *err) {
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (check_pair(lines[k], lines[i], err) != STATUS_OK)
                return refuse(run, lines[i], err);
    if (!passes || check_finished(run, lines, n, err) == STATUS_OK)
        return STATUS_OK;
    return error_within(err, "%s/" JOURNAL ": %s", run->folder, lines[0]->spec.id);
}

/* In the order of the file, so that the first line that does not fit is named. */
status_t record_believe(const record_t *run, const belief_t *belief, error_t *err) {
    const case_result_t **order = mem_alloc((run->n_cases + 1) * sizeof *order);
    status_t status = STATUS_OK;
    for (size_t i = 0; i < run->n_cases && status == STATUS_OK; i++) {
        order[i] = &run->cases[i];
        if (check_line(run, order[i], belief->units, err) != STATUS_OK)
            status = refuse(run, order[i], err);
    }
    if (status == STATUS_OK && run->n_cases > 0)
        qsort(order, run->n_cases, sizeof *order, by_key);
    for (size_t first = 0, next; first < run->n_cases && status == STATUS_OK; first = next) {
        for (next = first + 1; next < run->n_cases; next++)
            if (strcmp(order[next]->spec.id, order[first]->spec.id) != 0)
                break;
        status = check_case(run, order + first, next - first, belief->passes, err);
    }
    free(order);
    return status;
}

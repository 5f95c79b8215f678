#include "results/record.h"

#include "base/memory.h"
#include "io/fs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== do lines fit together? ================================================================== */

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
    AUTO_FREE char *header =
        text_plain(environment_get(&run->environment, key)); /* as lines are read */
    const char *name = line->device.name;
    if (name == NULL || header == NULL || same_device(name, header))
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "\"device.name\" is \"%.100s\", but \"%s\" of run.json is \"%.100s\"", name,
                     key, header);
}

/* What is left out of comparisons must be so by its program, which declared it when it was measured. */
static status_t check_algorithm(const record_t *run, const case_result_t *line, error_t *err) {
    const bool marked = result_is_algorithmic(line);
    const bool is_known = run->knows_algorithmic;
    if (!is_known && (!marked || case_engine_is_built_in(line->spec.engine)))
        return STATUS_OK;
    const bool declared = text_list_has(&run->algorithmic, line->spec.id);
    if (marked && !declared)
        return error_set(err, STATUS_USAGE,
                         "\"results.algorithmic\" is true, but \"algorithmic\" of run.json does "
                         "not name the case: its program did not say so");
    if (!marked && declared && line->status == CASE_OK && line->pass == 1)
        return error_set(err, STATUS_USAGE,
                         "\"results.algorithmic\" is missing, but \"algorithmic\" of run.json "
                         "names the case");
    return STATUS_OK;
}

/* Its own worker calls a device as it likes. */
static bool names_device(const case_t *spec) {
    return case_engine_is_built_in(spec->engine) || strcmp(spec->engine, "pytorch") == 0 ||
           strcmp(spec->engine, "jax") == 0;
}

static status_t check_line(const record_t *run, const case_result_t *line, error_t *err) {
    TRY(check_pass(run, line, err));
    if (names_device(&line->spec) && line->n_phases > 0)
        TRY(check_device(run, line, err));
    return check_algorithm(run, line, err);
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

static status_t check_pair(const case_result_t *first, const case_result_t *line, error_t *err) {
    for (size_t i = 0; i < line->n_phases; i++) {
        const phase_t *phase = &line->phases[i], *before = result_phase_named(first, phase->name);
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
        json_auto_t *json = json_loads(sweep->text, 0, NULL);
        const char *name = json_string_value(json_object_get(json, "workload"));
        const bool is_of = name != NULL && strcmp(name, workload) == 0;
        if (is_of && sweep->passes == 0)
            return 0;
        if (is_of && (fewest == 0 || sweep->least_passes < fewest))
            fewest = sweep->least_passes;
    }
    return fewest;
}

/* Who leaves out a slow pass of a case that is finished changes its median. */
static status_t check_finished(const record_t *run, case_result_t *const *lines, size_t n,
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

static int by_key_of_case(const void *a, const void *b) {
    const case_result_t *const *x = a, *const *y = b;
    const int order = record_compare_keys(*x, *y);
    return order != 0 ? order : (*x > *y) - (*x < *y);
}

case_result_t **record_sorted(const record_t *run) {
    case_result_t **sorted = mem_alloc((run->n_cases + 1) * sizeof *sorted);
    for (size_t i = 0; i < run->n_cases; i++)
        sorted[i] = &run->cases[i];
    qsort(sorted, run->n_cases, sizeof *sorted, by_key_of_case);
    return sorted;
}

static status_t check_case(const record_t *run, case_result_t *const *lines, size_t n, bool passes,
                           error_t *err) {
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (check_pair(lines[k], lines[i], err) != STATUS_OK)
                return refuse(run, lines[i], err);
    if (!passes || check_finished(run, lines, n, err) == STATUS_OK)
        return STATUS_OK;
    return error_within(err, "%s/" JOURNAL ": %s", run->folder, lines[0]->spec.id);
}

/* Refuse lines that do not fit together, or to run.json: in the order of the file, so that the first is named. With
 * `passes`, a finished run has all of them: resuming it measures those that it lacks, merging it counts them. */
static status_t record_check(const record_t *run, bool passes, error_t *err) {
    AUTO_FREE case_result_t **order = record_sorted(run);
    for (size_t i = 0; i < run->n_cases; i++)
        if (check_line(run, &run->cases[i], err) != STATUS_OK)
            return refuse(run, &run->cases[i], err);
    for (size_t first = 0, next; first < run->n_cases; first = next) {
        for (next = first + 1; next < run->n_cases; next++)
            if (strcmp(order[next]->spec.id, order[first]->spec.id) != 0)
                break;
        TRY(check_case(run, order + first, next - first, passes, err));
    }
    return STATUS_OK;
}

/* ==== joining passes ========================================================================== */

int record_compare_keys(const case_result_t *a, const case_result_t *b) {
    int order = strcmp(a->spec.id, b->spec.id);
    if (order != 0 || a->pass != b->pass || a->pass > 0)
        return order != 0 ? order : (a->pass > b->pass) - (a->pass < b->pass);
    return (a->draw > b->draw) - (a->draw < b->draw);
}

/* Passes load what a draw compiled, and a later draw may find what the first one built. */
static void keep_first_compilation(case_result_t *joined) {
    size_t first = 0; /* of those that got so far */
    while (first < joined->n_draws && !isfinite(joined->draws[first].compile_ns))
        first++;
    for (size_t i = 0; i < joined->n_once && first < joined->n_draws; i++)
        if (strcmp(joined->once[i].name, "compile") == 0)
            joined->once[i].ns = joined->draws[first].compile_ns;
}

/* Join the lines of a case: first draws, then passes, ascending. False if it has only draws, as in a run
 * that was interrupted. */
static bool join(case_result_t *const *lines, size_t n, case_result_t *joined) {
    size_t first = 0;
    while (first < n && result_is_draw(lines[first]))
        first++;
    if (first < n)
        *joined = *lines[first];
    for (size_t i = 0; i < first; i++) {
        if (first < n)
            result_add_draw(joined, lines[i]);
        result_free(lines[i]);
    }
    for (size_t i = first + 1; i < n; i++) {
        result_add_passes(joined, lines[i]);
        result_free(lines[i]);
    }
    if (first == n)
        return false;
    joined->pass = 0;
    keep_first_compilation(joined);
    if (n > first + 1) {
        result_summarise(joined);
        implausible_find(joined);
    }
    return true;
}

void record_join_passes(record_t *run) {
    const size_t n = run->n_cases;
    AUTO_FREE case_result_t **order = record_sorted(run);
    AUTO_FREE size_t *starts = mem_alloc((n + 1) * sizeof *starts);
    AUTO_FREE bool *is_kept = mem_zeroed(n + 1, sizeof *is_kept);
    size_t n_joined = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(order[i]->spec.id, order[i - 1]->spec.id) != 0)
            starts[n_joined++] = i;
    starts[n_joined] = n;
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t k = 0; k < n_joined; k++) {
        case_result_t *first = order[starts[k]], joined;
        for (size_t i = starts[k]; i < starts[k + 1]; i++)
            first = order[i] < first ? order[i] : first;
        is_kept[first - run->cases] = join(order + starts[k], starts[k + 1] - starts[k], &joined);
        if (is_kept[first - run->cases])
            *first = joined;
    }
    run->n_cases = 0;
    for (size_t i = 0; i < n; i++)
        if (is_kept[i])
            run->cases[run->n_cases++] = run->cases[i];
    run->by_id = record_sorted(run);
}

/* ==== reading a run =========================================================================== */

const case_result_t *record_next(const record_t *run, const case_result_t *after) {
    const size_t i = after != NULL ? (size_t)(after - run->cases) + 1 : 0;
    return i < run->n_cases ? &run->cases[i] : NULL;
}

static int compare_id(const void *id, const void *item) {
    const case_result_t *const *result = item;
    return strcmp(id, (*result)->spec.id);
}

case_result_t *record_find(const record_t *run, const char *id) {
    if (run->by_id != NULL) {
        case_result_t **found =
            bsearch(id, run->by_id, run->n_cases, sizeof *run->by_id, compare_id);
        return found != NULL ? *found : NULL;
    }
    for (size_t i = 0; i < run->n_cases; i++)
        if (strcmp(run->cases[i].spec.id, id) == 0)
            return &run->cases[i];
    return NULL;
}

char *record_hint(const record_t *run, const char *id) {
    AUTO_FREE const char **ids = mem_zeroed(run->n_cases + 1, sizeof *ids);
    for (size_t i = 0; i < run->n_cases; i++)
        ids[i] = run->cases[i].spec.id;
    return text_hint(id, ids, run->n_cases);
}

case_result_t *record_find_same(const record_t *run, const case_result_t *like) {
    for (size_t i = 0; i < run->n_cases; i++)
        if (record_compare_keys(&run->cases[i], like) == 0)
            return &run->cases[i];
    return NULL;
}

void record_free(record_t *run) {
    free(run->folder);
    free(run->name);
    free(run->started);
    free(run->finished);
    text_list_free(&run->argv);
    for (size_t i = 0; i < run->n_sweeps; i++) {
        free(run->sweeps[i].path);
        free(run->sweeps[i].text);
    }
    free(run->sweeps);
    text_list_free(&run->left_out);
    free(run->shard);
    json_decref(run->operators);
    json_decref(run->digest);
    text_list_free(&run->algorithmic);
    environment_free(&run->environment);
    for (size_t i = 0; i < run->n_passes; i++)
        environment_free(&run->passes[i]);
    free(run->passes);
    for (size_t i = 0; i < run->n_cases; i++)
        result_free(&run->cases[i]);
    free(run->cases);
    free(run->by_id);
    *run = (record_t){0};
}

/* A line of a journal and its result. */
typedef struct line {
    const char *text;
    size_t length, number;
    bool complete; /* ends in a newline */
    case_result_t result;
    status_t status;
} line_t;

typedef struct line_list {
    line_t *items;
    size_t n, capacity;
} line_list_t;

static bool is_blank(const char *line, size_t length) {
    return strspn(line, " \t\r\n") >= length;
}

static void split_lines(const char *data, size_t size, line_list_t *lines) {
    size_t number = 1;
    for (const char *line = data; line < data + size; number++) {
        const char *end = memchr(line, '\n', (size_t)(data + size - line));
        size_t length = end != NULL ? (size_t)(end - line) : (size_t)(data + size - line);
        if (!is_blank(line, length)) {
            mem_grow(&lines->items, lines->n, &lines->capacity, sizeof *lines->items);
            lines->items[lines->n++] =
                (line_t){.text = line, .length = length, .number = number, .complete = end != NULL};
        }
        line += length + 1;
    }
}

static int by_key(const void *a, const void *b) {
    const line_t *const *x = a, *const *y = b;
    int order = record_compare_keys(&(*x)->result, &(*y)->result);
    return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* A later line replaces an earlier one with the same id and pass, at the place of the earlier one. */
static void drop_repeated(const line_list_t *lines) {
    AUTO_FREE line_t **order = mem_alloc((lines->n + 1) * sizeof *order);
    size_t n = 0;
    for (size_t i = 0; i < lines->n; i++)
        if (lines->items[i].status == STATUS_OK)
            order[n++] = &lines->items[i];
    qsort(order, n, sizeof *order, by_key);
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n; next++) {
            if (record_compare_keys(&order[next]->result, &order[first]->result) != 0)
                break;
            result_free(&order[first]->result);
            order[first]->result = order[next]->result;
            order[next]->status = STATUS_FAILED; /* moved */
        }
    }
}

/* Move the results of the lines into the run. */
static void add_results(record_t *run, const line_list_t *lines) {
    for (size_t i = 0; i < lines->n; i++) {
        if (lines->items[i].status != STATUS_OK)
            continue;
        mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
        run->cases[run->n_cases++] = lines->items[i].result;
    }
}

/* Only a last line without its newline can be incomplete, as an append is a single write: any other
 * unreadable line means that the file was damaged. */
static status_t check_lines(record_t *run, const line_list_t *lines, size_t first, const char *path,
                            error_t *err) {
    for (size_t i = first; i < lines->n; i++) {
        const line_t *line = &lines->items[i];
        case_result_t again;
        if (line->status == STATUS_OK)
            continue;
        if (!line->complete) {
            run->n_dropped_lines++;
            continue;
        }
        if (result_from_text(line->text, line->length, &again, err) == STATUS_OK)
            result_free(&again);
        return error_within(err, "%s:%zu", path, line->number);
    }
    return STATUS_OK;
}

/* A full sweep has thousands of long lines: parse them on all cores. */
static status_t load_lines(record_t *run, const char *path, line_list_t *lines, hash_t *hash,
                           error_t *err) {
    AUTO_FREE char *data = NULL;
    const size_t first = lines->n;
    size_t size;
    TRY(fs_read_up_to(path, JOURNAL_MOST, &data, &size, err));
    split_lines(data, size, lines);
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = first; i < lines->n; i++) {
        line_t *line = &lines->items[i];
        /* check_lines() reports the first error. */
        line->status = result_from_text(line->text, line->length, &line->result, NULL);
    }
    for (size_t i = first; i < lines->n; i++)
        if (lines->items[i].status == STATUS_OK)
            hash_add(hash, lines->items[i].text, lines->items[i].length);
    return check_lines(run, lines, first, path, err);
}

/* A resumed run may have a gzipped journal, and a plain one with later results. */
static status_t load_journals(record_t *run, error_t *err) {
    static const char *const NAMES[] = {JOURNAL_GZIP, JOURNAL};
    bool found = false;
    status_t status = STATUS_OK;
    hash_t *hash = hash_new();
    line_list_t lines = {0};
    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        AUTO_FREE char *path = fs_join(run->folder, NAMES[i]);
        if (fs_exists(path)) {
            found = true;
            status = load_lines(run, path, &lines, hash, err);
        }
    }
    drop_repeated(&lines);
    add_results(run, &lines);
    free(lines.items);
    hash_finish(hash, run->lines_digest);
    if (status == STATUS_OK && !found && run->finished != NULL)
        return error_set(err, STATUS_USAGE,
                         "%s: run.json has the run as finished, but there is no " JOURNAL
                         " or " JOURNAL_GZIP,
                         run->folder);
    return status;
}

static status_t load(const char *folder, bool join, record_t *run, error_t *err) {
    *run = (record_t){0};
    status_t status = record_read_header(folder, run, err);
    if (status == STATUS_OK)
        status = load_journals(run, err);
    if (status == STATUS_OK)
        status = record_check(run, join, err);
    if (status != STATUS_OK)
        record_free(run);
    else if (join)
        record_join_passes(run);
    return status;
}

status_t record_load(const char *folder, record_t *run, error_t *err) {
    return load(folder, true, run, err);
}

status_t record_load_passes(const char *folder, record_t *run, error_t *err) {
    return load(folder, false, run, err);
}

/* ---- facts of passes -------------------------------------------------------------------------- */

double record_pass_median(const record_t *run, const char *key) {
    AUTO_FREE double *values = mem_alloc((run->n_passes + 1) * sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < run->n_passes; i++) {
        const char *value = environment_get(&run->passes[i], key);
        if (value != NULL)
            values[n++] = strtod(value, NULL);
    }
    return stats_median(values, n);
}

/* ---- what time was spent on ------------------------------------------------------------------ */

void record_set_spent(environment_t *facts, const spent_t *spent) {
    for (spent_on_t on = 0; on < SPENT_KINDS; on++) {
        AUTO_FREE char *key = mem_format("spent_s.%s", spent_name(on));
        if (spent->ns[on] > 0)
            environment_set_number(facts, key, round(spent->ns[on] / 1e6) / 1e3);
    }
}

spent_t record_pass_spent(const environment_t *facts) {
    spent_t spent = {0};
    for (spent_on_t on = 0; on < SPENT_KINDS; on++) {
        AUTO_FREE char *key = mem_format("spent_s.%s", spent_name(on));
        const char *s = environment_get(facts, key);
        spent.ns[on] = s != NULL ? 1e9 * strtod(s, NULL) : 0;
    }
    return spent;
}

spent_t record_spent(const record_t *run) {
    spent_t all = {0};
    for (size_t i = 0; i < run->n_passes; i++) {
        const spent_t spent = record_pass_spent(&run->passes[i]);
        for (spent_on_t on = 0; on < SPENT_KINDS; on++)
            all.ns[on] += spent.ns[on];
    }
    return all;
}

#include "emulate/examples.h"

#include "base/memory.h"
#include "base/rng.h"
#include "io/json.h"
#include "workloads/described/described.h"

#include <stdlib.h>
#include <string.h>

/* ---- sizes ------------------------------------------------------------------------------------- */

/* The smallest; the default ones, halved until arrays are small; those less 1. Two may be the same. */
enum { SMALLEST, SMALL, UNEVEN, EXAMPLES };

enum { MOST_ARRAY_BYTES = 65536 }; /* of all arrays: a CUDA thread takes microseconds here */

/* What is right in one step may be wrong in the next. */
enum { FEWEST_STEPS = 3 };

case_t example_case(const workload_t *workload, const char *dtype, bool smallest) {
    const description_t *d = described_find(workload->name);
    case_t spec = {.engine = mem_text("pytorch"),
                   .device = mem_text("cpu"),
                   .variant = mem_text(""),
                   .dtype = mem_text(dtype)};
    for (size_t i = 0; smallest && i < d->params.n; i++) {
        int64_t items[DESCRIBED_ITEMS];
        for (size_t k = 0; k < d->least_items[i]; k++)
            items[k] = d->least[i];
        case_add_param(
            &spec, d->params.items[i],
            d->lists[i].n > 0
                ? &(value_t){.kind = VALUE_INTS, .ints = items, .n_ints = d->least_items[i]}
                : &(value_t){.kind = VALUE_INT, .integer = d->least[i]});
    }
    workload_complete(workload, &spec);
    return spec;
}

char *example_sizes_text(const case_t *spec) {
    AUTO(text_list_free) text_list_t parts = {0};
    for (size_t i = 0; i < spec->n_params; i++) {
        AUTO_FREE char *value = value_text(&spec->params[i].value);
        text_list_add_format(&parts, "%s=%s", spec->params[i].name, value);
    }
    text_list_add(&parts, spec->dtype);
    return text_list_join(&parts, " ");
}

/* A number, or the largest of a list. Params of a complete case are in the description's order. */
static int64_t value_of(const case_t *spec, size_t param) {
    const value_t *value = &spec->params[param].value;
    int64_t largest = value->kind == VALUE_INTS ? value->ints[0] : value->integer;
    for (size_t i = 1; i < value->n_ints; i++)
        largest = value->ints[i] > largest ? value->ints[i] : largest;
    return largest;
}

/* The same case with another value of a param, by its number. */
static case_t example_with(const workload_t *workload, const case_t *spec, size_t param,
                           const value_t *value) {
    case_t changed = case_copy(spec);
    value_free(&changed.params[param].value);
    changed.params[param].value = value_copy(value);
    workload_complete(workload, &changed);
    return changed;
}

/* With half of it, or with `less` less: each number of a list, but none below the least. */
static case_t example_smaller(const workload_t *workload, const case_t *spec, size_t param,
                              int64_t less) {
    const int64_t least = described_find(workload->name)->least[param];
    value_t value = value_copy(&spec->params[param].value);
    int64_t *numbers = value.kind == VALUE_INTS ? value.ints : &value.integer;
    for (size_t i = 0; i < (value.kind == VALUE_INTS ? value.n_ints : 1); i++) {
        const int64_t smaller = less > 0 ? numbers[i] - less : numbers[i] / 2;
        numbers[i] = smaller > least ? smaller : least;
    }
    const case_t changed = example_with(workload, spec, param, &value);
    value_free(&value);
    return changed;
}

static bool example_is_possible(const workload_t *workload, const case_t *spec) {
    return workload->allows(spec) && workload->validate(spec, NULL) == STATUS_OK;
}

static void replace(case_t *spec, case_t by) {
    case_free(spec);
    *spec = by;
}

static bool has_steps(const workload_t *workload, const case_t *spec) {
    const description_t *d = described_find(workload->name);
    return d->steps == NULL || description_steps_of(d, spec) >= FEWEST_STEPS;
}

/* Can a param be smaller, half of it or the least? */
static bool can_be_halved(const workload_t *workload, const case_t *spec, size_t param) {
    if (value_of(spec, param) <= described_find(workload->name)->least[param])
        return false;
    AUTO(case_free) case_t halved = example_smaller(workload, spec, param, 0);
    return has_steps(workload, &halved) || !has_steps(workload, spec);
}

/* The default sizes, of which the largest is halved until the arrays are small. */
static case_t small_case(const workload_t *workload, const char *dtype) {
    const description_t *d = described_find(workload->name);
    case_t spec = example_case(workload, dtype, false);
    for (;;) {
        size_t largest = d->params.n;
        if (described_cost(&spec).device_bytes <= MOST_ARRAY_BYTES &&
            example_is_possible(workload, &spec))
            return spec;
        for (size_t i = 0; i < d->params.n; i++)
            if ((largest == d->params.n || value_of(&spec, i) > value_of(&spec, largest)) &&
                can_be_halved(workload, &spec, i))
                largest = i;
        if (largest == d->params.n)
            return spec;
        replace(&spec, example_smaller(workload, &spec, largest, 0));
    }
}

/* Each size is one less, where that is possible: no multiple of a block. */
static case_t uneven_case(const workload_t *workload, const char *dtype) {
    const description_t *d = described_find(workload->name);
    case_t spec = small_case(workload, dtype);
    for (size_t i = 0; i < d->params.n; i++) {
        if (value_of(&spec, i) <= d->least[i])
            continue;
        case_t changed = example_smaller(workload, &spec, i, 1);
        if (example_is_possible(workload, &changed) &&
            (has_steps(workload, &changed) || !has_steps(workload, &spec)))
            replace(&spec, changed);
        else
            case_free(&changed);
    }
    return spec;
}

static case_t example_small(const workload_t *workload, const char *dtype, size_t which) {
    return which == SMALLEST ? example_case(workload, dtype, true)
           : which == SMALL  ? small_case(workload, dtype)
                             : uneven_case(workload, dtype);
}

/* ---- sizes that are asked for ------------------------------------------------------------------------------------- */

static status_t unknown_param(const description_t *d, const char *text, size_t length,
                              error_t *err) {
    const vocabulary_t known = {"param", "", (const char *const *)d->params.items, d->params.n};
    AUTO_FREE char *name = mem_text_n(text, length),
                   *complaint = vocabulary_complaint(&known, name);
    return error_set(err, STATUS_USAGE, "--set: %s", complaint);
}

/* "64"; of a list, "4-5-1". */
static bool read_numbers(const char *text, const param_spec_t *spec, value_t *value) {
    AUTO(text_list_free) text_list_t parts = {0};
    if (spec->kind == VALUE_INTS)
        parts = text_split(text, '-');
    else
        text_list_add(&parts, text);
    bool good =
        spec->kind != VALUE_INTS || (parts.n >= spec->min_items && parts.n <= spec->max_items);
    *value = (value_t){.kind = spec->kind, .ints = mem_zeroed(parts.n, sizeof *value->ints)};
    value->n_ints = spec->kind == VALUE_INTS ? parts.n : 0;
    for (size_t i = 0; i < parts.n; i++) {
        char *end;
        value->ints[i] = strtoll(parts.items[i], &end, 10);
        good = good && *end == '\0' && end != parts.items[i] &&
               (double)value->ints[i] >= spec->min && (double)value->ints[i] <= spec->max;
    }
    value->integer = value->ints[0];
    return good;
}

/* NAME=INTEGER, or NAME=INTEGER-INTEGER-… of a list. */
static status_t read_set(const examples_t *examples, const char *text, size_t *param,
                         value_t *value, error_t *err) {
    const description_t *d = described_find(examples->workload->name);
    const size_t length = strcspn(text, "=");
    for (*param = 0; *param < d->params.n; ++*param)
        if (strlen(d->params.items[*param]) == length &&
            strncmp(d->params.items[*param], text, length) == 0)
            break;
    const size_t p = *param;
    if (p == d->params.n)
        return unknown_param(d, text, length, err);
    if (read_numbers(text[length] == '=' ? text + length + 1 : "", &examples->workload->params[p],
                     value))
        return STATUS_OK;
    value_free(value);
    return error_set(err, STATUS_USAGE, "--set %s: expected %s=INTEGER%s from %lld to %lld", text,
                     d->params.items[p], d->lists[p].n > 0 ? "-INTEGER-…" : "",
                     (long long)d->least[p], (long long)d->most[p]);
}

/* NAME=CHOICE of a technique that its own rungs have? Adds it to the case. */
static bool take_choice(const examples_t *examples, const char *text, case_t *spec) {
    const description_t *d = described_find(examples->workload->name);
    for (size_t i = 0; i < d->n_own; i++)
        for (const char *const *choice = d->own[i].choices; *choice != NULL; choice++) {
            AUTO_FREE char *set = mem_format("%s=%s", d->own[i].name, *choice);
            if (strcmp(set, text) != 0)
                continue;
            case_add_technique(spec, d->own[i].name, *choice);
            return true;
        }
    return false;
}

static status_t case_of(const examples_t *examples, const char *dtype, size_t which, case_t *spec,
                        error_t *err) {
    *spec = example_small(examples->workload, dtype, which);
    for (size_t i = 0; i < examples->sets->n; i++) {
        size_t param;
        AUTO(value_free) value_t value = {0};
        if (take_choice(examples, examples->sets->items[i], spec))
            continue;
        TRY(read_set(examples, examples->sets->items[i], &param, &value, err));
        replace(spec, example_with(examples->workload, spec, param, &value));
    }
    return STATUS_OK;
}

/* ---- their reference --------------------------------------------------------------------------- */

static status_t use_oracle(const case_t *spec, contender_t *oracle, example_use_t *use, void *with,
                           error_t *err) {
    AUTO(reference_free) reference_t reference = {0};
    AUTO_FREE char *sizes = example_sizes_text(spec);
    if (!oracle->active)
        return error_set(err, STATUS_USAGE, "the reference at %s: %s", sizes,
                         oracle->result.reason);
    if (contender_reference(oracle, 0, &reference, err) != STATUS_OK)
        return error_within(err, "the reference at %s", sizes);
    return use(spec, oracle, &reference, with, err);
}

static status_t use_case(const case_t *spec, workers_t *workers, example_use_t *use, void *with,
                         error_t *err) {
    const contender_settings_t settings = {.measure = MEASURE_DEFAULTS,
                                           .pass = 1,
                                           .seed = secret_seed(),
                                           .timeout_s = EXAMPLE_TIMEOUT_S};
    case_t bare = *spec;
    bare.n_techniques = 0;
    AUTO(case_free) case_t own = case_copy(&bare);
    worker_link_t *worker;
    AUTO(made_inputs_free) made_inputs_t made = {0};
    contender_t oracle;
    mem_set_text(&own.variant, workload_find(own.workload)->pytorch_oracle);
    workload_complete(workload_find(own.workload), &own);
    TRY(workers_start(workers, &own, "", EXAMPLE_TIMEOUT_S, &worker, err));
    TRY(made_inputs_open(&own, worker, settings.seed, EXAMPLE_TIMEOUT_S, &made, err));
    contender_init(&oracle, &own, worker, NULL, &settings);
    oracle.may_retry = false;
    oracle.made = &made;
    contender_open(&oracle);
    const status_t status = use_oracle(spec, &oracle, use, with, err);
    contender_finish(&oracle);
    contender_free(&oracle);
    return status;
}

status_t examples_each(const examples_t *examples, example_use_t *use, void *with, size_t *n,
                       error_t *err) {
    const description_t *d = described_find(examples->workload->name);
    AUTO(workers_free) workers_t workers = {.root = examples->root};
    AUTO(text_list_free) text_list_t done = {0};
    *n = 0;
    for (size_t i = 0; i < d->dtypes.n * EXAMPLES; i++) {
        AUTO(case_free) case_t spec = {0};
        TRY(case_of(examples, d->dtypes.items[i / EXAMPLES], i % EXAMPLES, &spec, err));
        AUTO_FREE char *sizes = example_sizes_text(&spec);
        if (text_list_has(&done, sizes) || !example_is_possible(examples->workload, &spec))
            continue;
        text_list_add(&done, sizes);
        ++*n;
        TRY(use_case(&spec, &workers, use, with, err));
    }
    return STATUS_OK;
}

status_t examples_check_sets(const examples_t *examples, error_t *err) {
    AUTO(case_free) case_t spec = {0};
    return case_of(examples, described_find(examples->workload->name)->dtypes.items[0], SMALLEST,
                   &spec, err);
}

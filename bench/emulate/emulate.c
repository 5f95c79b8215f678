/* `bench workload check --emulate`: are the rungs right? Each is compiled for this machine's CPU and run at small sizes, in
 * a process of its own; the reference and the tolerances are those of a measured case. */
#include "emulate/emulate.h"

#include "base/memory.h"
#include "base/rng.h"
#include "emulate/program.h"
#include "io/fs.h"
#include "io/json.h"
#include "measure/contender.h"
#include "worker/pool.h"
#include "workloads/described/data.h"
#include "workloads/described/described.h"

#include <stdlib.h>
#include <string.h>

/* ==== examples ================================================================================ */

enum { MOST_ARRAY_BYTES = 65536 }; /* of all arrays: a CUDA thread takes microseconds here */

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

bool example_is_possible(const workload_t *workload, const case_t *spec) {
    return workload->allows(spec) && workload->validate(spec, NULL) == STATUS_OK;
}

static void replace(case_t *spec, case_t by) {
    case_free(spec);
    *spec = by;
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
            if (value_of(&spec, i) / 2 >= d->least[i] &&
                (largest == d->params.n || value_of(&spec, i) > value_of(&spec, largest)))
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
        if (example_is_possible(workload, &changed))
            replace(&spec, changed);
        else
            case_free(&changed);
    }
    return spec;
}

case_t example_small(const workload_t *workload, const char *dtype, size_t which) {
    return which == 0   ? example_case(workload, dtype, true)
           : which == 1 ? small_case(workload, dtype)
                        : uneven_case(workload, dtype);
}

/* ==== the command ============================================================================= */

enum {
    TIMEOUT_S = 60, /* for one answer of the reference */
};

typedef struct rung {
    const char *name;
    const source_t *source;
    char *folder, *defines; /* those that `program` is compiled with; NULL: not yet */
    host_program_t program;
    size_t right, unlaunched;
    char *wrong, *left_out; /* the first case that is wrong; that cannot be emulated, or launched */
} rung_t;

typedef struct emulation {
    const workload_t *workload;
    const char *root;
    const text_list_t *sets; /* "cols=4096": in every case */
    host_tools_t tools;
    char *folder, *headers;
    source_set_t sources;
    rung_t *rungs;
    size_t n;
    size_t cases;
} emulation_t;

/* ---- sizes ------------------------------------------------------------------------------------- */

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
static status_t read_set(const emulation_t *e, const char *text, size_t *param, value_t *value,
                         error_t *err) {
    const description_t *d = described_find(e->workload->name);
    const size_t length = strcspn(text, "=");
    for (*param = 0; *param < d->params.n; ++*param)
        if (strlen(d->params.items[*param]) == length &&
            strncmp(d->params.items[*param], text, length) == 0)
            break;
    const size_t p = *param;
    if (p == d->params.n)
        return unknown_param(d, text, length, err);
    if (read_numbers(text[length] == '=' ? text + length + 1 : "", &e->workload->params[p], value))
        return STATUS_OK;
    value_free(value);
    return error_set(err, STATUS_USAGE, "--set %s: expected %s=INTEGER%s from %lld to %lld", text,
                     d->params.items[p], d->lists[p].n > 0 ? "-INTEGER-…" : "",
                     (long long)d->least[p], (long long)d->most[p]);
}

/* NAME=CHOICE of a technique that its own rungs have? Adds it to the case; NULL: only asks. */
static bool take_choice(const emulation_t *e, const char *text, case_t *spec) {
    const description_t *d = described_find(e->workload->name);
    for (size_t i = 0; i < d->n_own; i++)
        for (const char *const *choice = d->own[i].choices; *choice != NULL; choice++) {
            AUTO_FREE char *set = mem_format("%s=%s", d->own[i].name, *choice);
            if (strcmp(set, text) != 0)
                continue;
            if (spec != NULL)
                case_add_technique(spec, d->own[i].name, *choice);
            return true;
        }
    return false;
}

static status_t case_of(const emulation_t *e, const char *dtype, size_t which, case_t *spec,
                        error_t *err) {
    *spec = example_small(e->workload, dtype, which);
    for (size_t i = 0; i < e->sets->n; i++) {
        size_t param;
        AUTO(value_free) value_t value = {0};
        if (take_choice(e, e->sets->items[i], spec))
            continue;
        TRY(read_set(e, e->sets->items[i], &param, &value, err));
        replace(spec, example_with(e->workload, spec, param, &value));
    }
    return STATUS_OK;
}

/* ---- a rung in a case -------------------------------------------------------------------------- */

/* Takes the reason. The first one stays. */
static void note(char **kept, const case_t *spec, char *reason) {
    AUTO_FREE char *sizes = example_sizes_text(spec);
    if (*kept == NULL)
        *kept = mem_format("%s: %s", sizes, reason);
    free(reason);
}

/* The program of this case: the last one, if nothing in it differs. */
static status_t build(const emulation_t *e, rung_t *rung, const case_t *spec, error_t *err) {
    AUTO(text_list_free) text_list_t defines = {0};
    e->workload->constants(spec, &defines);
    AUTO_FREE char *joined = text_list_join(&defines, "\n");
    if (rung->defines != NULL && strcmp(rung->defines, joined) == 0)
        return STATUS_OK;
    host_program_free(&rung->program);
    mem_set_text(&rung->defines, joined);
    return host_program_build(&e->tools, rung->source, &defines, rung->folder, &rung->program, err);
}

typedef struct expected {
    contender_t *oracle;
    const reference_t *reference;
    described_data_t *data;
} expected_t;

static status_t run_in(rung_t *rung, const case_t *spec, const expected_t *expected,
                       const char *folder, error_t *err) {
    emulated_t how;
    char *reason = NULL;
    check_t check = {0};
    TRY(emulation_run(rung->program.path, spec, expected->data, folder, &how, &reason, err));
    const reference_t own = reference_for(expected->reference, spec);
    const status_t status =
        how == EMULATED_RUN ? contender_verify(expected->oracle, &own, folder, &check, &reason, err)
                            : STATUS_OK;
    free(own.bounds);
    TRY(status);
    rung->unlaunched += how == EMULATED_SKIPPED;
    if (reason == NULL)
        rung->right++;
    else
        note(how == EMULATED_SKIPPED ? &rung->left_out : &rung->wrong, spec, reason);
    return STATUS_OK;
}

static status_t try_rung(const emulation_t *e, rung_t *rung, const case_t *spec,
                         const expected_t *expected, error_t *err) {
    AUTO(fs_remove_temporary) char *folder = NULL;
    if (rung->wrong != NULL)
        return STATUS_OK;
    TRY(build(e, rung, spec, err));
    if (rung->program.path == NULL) {
        const host_program_t *program = &rung->program;
        const char *what = program->skips    ? "skipped"
                           : program->broken ? "does not compile"
                                             : "cannot be emulated";
        note(program->broken ? &rung->wrong : &rung->left_out, spec,
             mem_format("%s: %s", what, program->reason));
        return STATUS_OK;
    }
    TRY(fs_temporary_folder_in(e->folder, &folder, err));
    return run_in(rung, spec, expected, folder, err);
}

/* ---- all cases --------------------------------------------------------------------------------- */

static status_t try_rungs(emulation_t *e, const case_t *spec, contender_t *oracle, uint64_t seed,
                          error_t *err) {
    const description_t *d = described_find(e->workload->name);
    AUTO(reference_free) reference_t reference = {0};
    status_t status = oracle->active ? contender_reference(oracle, 0, &reference, err)
                                     : error_set(err, STATUS_USAGE, "%s", oracle->result.reason);
    if (status != STATUS_OK)
        return error_within(err, "the reference");
    described_data_t *data = described_data_take(d, spec, seed, oracle->made->folder);
    const expected_t expected = {oracle, &reference, data};
    status = described_data_check(data, err);
    for (size_t i = 0; i < e->n && status == STATUS_OK; i++)
        status = try_rung(e, &e->rungs[i], spec, &expected, err);
    described_data_release(data);
    return status;
}

static status_t try_case(emulation_t *e, const case_t *spec, worker_link_t *worker, error_t *err) {
    const contender_settings_t settings = {
        .measure = MEASURE_DEFAULTS, .pass = 1, .seed = secret_seed(), .timeout_s = TIMEOUT_S};
    case_t bare = *spec;
    bare.n_techniques = 0;
    AUTO(case_free) case_t own = case_copy(&bare);
    contender_t oracle;
    free(own.variant);
    own.variant = mem_text("oracle");
    contender_init(&oracle, &own, worker, NULL, &settings);
    oracle.may_retry = false;
    AUTO(made_inputs_free) made_inputs_t made = {0};
    status_t status = made_inputs_open(&own, worker, settings.seed, TIMEOUT_S, &made, err);
    oracle.made = &made;
    if (status == STATUS_OK) {
        contender_open(&oracle);
        status = try_rungs(e, spec, &oracle, settings.seed, err);
        contender_finish(&oracle);
    }
    contender_free(&oracle);
    return status;
}

static status_t try_cases(emulation_t *e, error_t *err) {
    const description_t *d = described_find(e->workload->name);
    AUTO(workers_free) workers_t workers = {.root = e->root};
    worker_link_t *worker;
    AUTO(case_free) case_t defaults = example_case(e->workload, d->dtypes.items[0], false);
    TRY(workers_start(&workers, &defaults, "", TIMEOUT_S, &worker, err));
    AUTO(text_list_free) text_list_t done = {0};
    for (size_t i = 0; i < d->dtypes.n * EXAMPLES; i++) {
        AUTO(case_free) case_t spec = {0};
        TRY(case_of(e, d->dtypes.items[i / EXAMPLES], i % EXAMPLES, &spec, err));
        AUTO_FREE char *sizes = example_sizes_text(&spec);
        if (text_list_has(&done, sizes) || !example_is_possible(e->workload, &spec))
            continue;
        text_list_add(&done, sizes);
        e->cases++;
        TRY(try_case(e, &spec, worker, err));
    }
    if (e->cases > 0)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE, "no case at these sizes: %s",
                     e->workload->condition != NULL ? e->workload->condition : "see above");
}

/* ---- the command ------------------------------------------------------------------------------- */

static void print_rung(const rung_t *rung, size_t cases, int width) {
    printf("  %-*s  ", width, rung->name);
    if (rung->wrong != NULL)
        printf("wrong at %s\n", rung->wrong);
    else if (rung->left_out == NULL)
        printf("right in %zu case%s\n", rung->right, rung->right == 1 ? "" : "s");
    else if (rung->right > 0)
        printf("right in %zu of %zu cases; not at %s\n", rung->right, cases, rung->left_out);
    else
        printf("not tried: at %s\n", rung->left_out);
}

static status_t print_rungs(const emulation_t *e, error_t *err) {
    size_t wrong = 0, width = 0;
    for (size_t i = 0; i < e->n; i++)
        width = strlen(e->rungs[i].name) > width ? strlen(e->rungs[i].name) : width;
    for (size_t i = 0; i < e->n; i++) {
        if (e->rungs[i].unlaunched == e->cases) { /* at no size: its LAUNCHES are wrong */
            e->rungs[i].wrong = e->rungs[i].left_out;
            e->rungs[i].left_out = NULL;
        }
        print_rung(&e->rungs[i], e->cases, (int)width);
        wrong += e->rungs[i].wrong != NULL;
    }
    return wrong == 0 ? STATUS_OK
                      : error_set(err, STATUS_FAILED, "%s: %zu of %zu rungs wrong, see above",
                                  e->workload->name, wrong, e->n);
}

static status_t choose_rungs(const emulation_t *e, const char *variant, text_list_t *names,
                             error_t *err) {
    TRY(workload_variants(e->workload, "cuda", e->root, names, err));
    if (variant == NULL)
        return STATUS_OK;
    if (!text_list_has(names, variant)) {
        const vocabulary_t known = {"rung", "", (const char *const *)names->items, names->n};
        AUTO_FREE char *complaint = vocabulary_complaint(&known, variant);
        return error_set(err, STATUS_USAGE, "--variant: %s", complaint);
    }
    text_list_free(names);
    text_list_add(names, variant);
    return STATUS_OK;
}

status_t emulate_check_options(const emulate_options_t *options, error_t *err) {
    const emulation_t e = {
        .workload = options->workload, .root = options->root, .sets = options->sets};
    AUTO(text_list_free) text_list_t names = {0};
    TRY(choose_rungs(&e, options->variant, &names, err));
    for (size_t i = 0; i < e.sets->n; i++) {
        size_t param;
        AUTO(value_free) value_t value = {0};
        if (take_choice(&e, e.sets->items[i], NULL))
            continue;
        TRY(read_set(&e, e.sets->items[i], &param, &value, err));
    }
    return STATUS_OK;
}

static status_t open_rungs(emulation_t *e, const text_list_t *names, error_t *err) {
    AUTO_FREE char *folder = workload_folder(e->root, e->workload);
    e->rungs = mem_zeroed(names->n + 1, sizeof *e->rungs);
    for (size_t i = 0; i < names->n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s.cu", folder, names->items[i]);
        e->rungs[i].name = names->items[i];
        e->rungs[e->n++].folder = mem_format("%s/rung_%s", e->folder, names->items[i]);
        TRY(source_get(&e->sources, e->root, path, &e->rungs[i].source, err));
    }
    return STATUS_OK;
}

static void close_emulation(emulation_t *e) {
    for (size_t i = 0; i < e->n; i++) {
        rung_t *rung = &e->rungs[i];
        host_program_free(&rung->program);
        free(rung->folder);
        free(rung->defines);
        free(rung->wrong);
        free(rung->left_out);
    }
    fs_remove_temporary(&e->folder);
    free(e->rungs);
    free(e->headers);
    host_tools_close(&e->tools);
    source_set_free(&e->sources);
}

status_t emulate_rungs(const emulate_options_t *options, error_t *err) {
    AUTO(close_emulation)
    emulation_t e = {.workload = options->workload, .root = options->root, .sets = options->sets};
    AUTO(text_list_free) text_list_t names = {0};
    TRY(host_tools_open(e.root, &e.tools, err));
    TRY(choose_rungs(&e, options->variant, &names, err));
    TRY(fs_temporary_folder(&e.folder, err));
    TRY(open_rungs(&e, &names, err));
    TRY(host_tools_prepare(&e.tools, e.headers = fs_join(e.folder, "headers"), err));
    printf("rungs on the CPU, at small sizes:\n");
    fflush(stdout);
    TRY(try_cases(&e, err));
    return print_rungs(&e, err);
}

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
    for (size_t i = 0; smallest && i < d->params.n; i++)
        case_add_param(&spec, d->params.items[i],
                       &(value_t){.kind = VALUE_INT, .integer = d->least[i]});
    workload_complete(workload, &spec);
    return spec;
}

char *example_sizes_text(const case_t *spec) {
    text_list_t parts = {0};
    for (size_t i = 0; i < spec->n_params; i++)
        text_list_add_format(&parts, "%s=%lld", spec->params[i].name,
                             (long long)spec->params[i].value.integer);
    text_list_add(&parts, spec->dtype);
    char *joined = text_list_join(&parts, " ");
    text_list_free(&parts);
    return joined;
}

static int64_t value_of(const case_t *spec, const description_t *d, size_t param) {
    return case_param_int(spec, d->params.items[param], d->defaults[param]);
}

/* The same case with another value of a param, by its number. */
static case_t example_with(const workload_t *workload, const case_t *spec, size_t param,
                           int64_t value) {
    const description_t *d = described_find(workload->name);
    case_t changed = example_case(workload, spec->dtype, true);
    for (size_t i = 0; i < d->params.n; i++)
        for (size_t p = 0; p < changed.n_params; p++)
            if (strcmp(changed.params[p].name, d->params.items[i]) == 0)
                changed.params[p].value.integer = i == param ? value : value_of(spec, d, i);
    workload_complete(workload, &changed);
    return changed;
}

static bool example_is_possible(const workload_t *workload, const case_t *spec) {
    error_t ignored = ERROR_INIT;
    return workload->allows(spec) && workload->validate(spec, &ignored) == STATUS_OK;
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
            if (value_of(&spec, d, i) / 2 >= d->least[i] &&
                (largest == d->params.n || value_of(&spec, d, i) > value_of(&spec, d, largest)))
                largest = i;
        if (largest == d->params.n)
            return spec;
        replace(&spec, example_with(workload, &spec, largest, value_of(&spec, d, largest) / 2));
    }
}

/* Each size is one less, where that is possible: no multiple of a block. */
static case_t uneven_case(const workload_t *workload, const char *dtype) {
    const description_t *d = described_find(workload->name);
    case_t spec = small_case(workload, dtype);
    for (size_t i = 0; i < d->params.n; i++) {
        const int64_t less = value_of(&spec, d, i) - 1;
        if (less < d->least[i])
            continue;
        case_t changed = example_with(workload, &spec, i, less);
        if (example_is_possible(workload, &changed))
            replace(&spec, changed);
        else
            case_free(&changed);
    }
    return spec;
}

static case_t example_small(const workload_t *workload, const char *dtype, size_t which) {
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
    char *name = mem_text_n(text, length), *complaint = vocabulary_complaint(&known, name);
    error_set(err, STATUS_USAGE, "--set: %s", complaint);
    free(complaint);
    free(name);
    return STATUS_USAGE;
}

/* NAME=INTEGER. */
static status_t read_set(const emulation_t *e, const char *text, size_t *param, int64_t *value,
                         error_t *err) {
    const description_t *d = described_find(e->workload->name);
    const size_t length = strcspn(text, "=");
    char *end = NULL;
    for (*param = 0; *param < d->params.n; ++*param)
        if (strlen(d->params.items[*param]) == length &&
            strncmp(d->params.items[*param], text, length) == 0)
            break;
    *value = text[length] == '=' ? strtoll(text + length + 1, &end, 10) : 0;
    const size_t p = *param;
    if (p == d->params.n)
        return unknown_param(d, text, length, err);
    if (end == NULL || *end != '\0' || end == text + length + 1 || *value < d->least[p] ||
        *value > d->most[p])
        return error_set(err, STATUS_USAGE, "--set %s: expected %s=INTEGER from %lld to %lld", text,
                         d->params.items[p], (long long)d->least[p], (long long)d->most[p]);
    return STATUS_OK;
}

static status_t case_of(const emulation_t *e, const char *dtype, size_t which, case_t *spec,
                        error_t *err) {
    *spec = example_small(e->workload, dtype, which);
    status_t status = STATUS_OK;
    for (size_t i = 0; i < e->sets->n && status == STATUS_OK; i++) {
        size_t param;
        int64_t value;
        status = read_set(e, e->sets->items[i], &param, &value, err);
        if (status != STATUS_OK)
            break;
        const case_t changed = example_with(e->workload, spec, param, value);
        case_free(spec);
        *spec = changed;
    }
    return status;
}

/* ---- a rung in a case -------------------------------------------------------------------------- */

/* Takes the reason. The first one stays. */
static void note(char **kept, const case_t *spec, char *reason) {
    char *sizes = example_sizes_text(spec);
    if (*kept == NULL)
        *kept = mem_format("%s: %s", sizes, reason);
    free(sizes);
    free(reason);
}

/* The program of this case: the last one, if nothing in it differs. */
static status_t build(const emulation_t *e, rung_t *rung, const case_t *spec, error_t *err) {
    text_list_t defines = {0};
    e->workload->constants(spec, &defines);
    char *joined = text_list_join(&defines, "\n");
    status_t status = STATUS_OK;
    if (rung->defines == NULL || strcmp(rung->defines, joined) != 0) {
        host_program_free(&rung->program);
        free(rung->defines);
        rung->defines = joined;
        joined = NULL;
        status = host_program_build(&e->tools, rung->source, &defines, rung->folder, &rung->program,
                                    err);
    }
    free(joined);
    text_list_free(&defines);
    return status;
}

typedef struct expected {
    contender_t *oracle;
    const reference_t *reference;
    const described_data_t *data;
} expected_t;

static status_t run_in(rung_t *rung, const case_t *spec, const expected_t *expected,
                       const char *folder, error_t *err) {
    emulated_t how;
    char *reason = NULL;
    check_t check = {0};
    TRY(emulation_run(rung->program.path, spec, expected->data, folder, &how, &reason, err));
    if (how == EMULATED_RUN)
        TRY(contender_verify(expected->oracle, expected->reference, folder, &check, &reason, err));
    rung->unlaunched += how == EMULATED_SKIPPED;
    if (reason == NULL)
        rung->right++;
    else
        note(how == EMULATED_SKIPPED ? &rung->left_out : &rung->wrong, spec, reason);
    return STATUS_OK;
}

static status_t try_rung(const emulation_t *e, rung_t *rung, const case_t *spec,
                         const expected_t *expected, error_t *err) {
    char *folder;
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
    const status_t status = run_in(rung, spec, expected, folder, err);
    fs_remove_tree(folder, NULL);
    free(folder);
    return status;
}

/* ---- all cases --------------------------------------------------------------------------------- */

static status_t try_rungs(emulation_t *e, const case_t *spec, contender_t *oracle, uint64_t seed,
                          error_t *err) {
    const description_t *d = described_find(e->workload->name);
    reference_t reference = {0};
    status_t status = oracle->active ? contender_reference(oracle, 0, &reference, err)
                                     : error_set(err, STATUS_USAGE, "%s", oracle->result.reason);
    if (status != STATUS_OK)
        return error_within(err, "the reference");
    const described_data_t *data = described_data_take(d, spec, seed, oracle->made->folder);
    const expected_t expected = {oracle, &reference, data};
    status = described_data_check(data, err);
    for (size_t i = 0; i < e->n && status == STATUS_OK; i++)
        status = try_rung(e, &e->rungs[i], spec, &expected, err);
    described_data_release(data);
    reference_free(&reference);
    return status;
}

static status_t try_case(emulation_t *e, const case_t *spec, worker_link_t *worker, error_t *err) {
    const contender_settings_t settings = {
        .measure = MEASURE_DEFAULTS, .pass = 1, .seed = secret_seed(), .timeout_s = TIMEOUT_S};
    case_t own = case_copy(spec);
    contender_t oracle;
    free(own.variant);
    own.variant = mem_text("oracle");
    contender_init(&oracle, &own, worker, NULL, &settings);
    oracle.may_retry = false;
    made_inputs_t made;
    status_t status = made_inputs_open(&own, worker, settings.seed, TIMEOUT_S, &made, err);
    oracle.made = &made;
    if (status == STATUS_OK) {
        contender_open(&oracle);
        status = try_rungs(e, spec, &oracle, settings.seed, err);
        contender_finish(&oracle);
    }
    contender_free(&oracle);
    made_inputs_free(&made);
    case_free(&own);
    return status;
}

static status_t try_cases(emulation_t *e, error_t *err) {
    const description_t *d = described_find(e->workload->name);
    workers_t workers = {.root = e->root};
    worker_link_t *worker;
    case_t defaults = example_case(e->workload, d->dtypes.items[0], false);
    status_t status = workers_find(&workers, &defaults, "", &worker, err);
    if (status == STATUS_OK)
        status = worker_link_start(worker, TIMEOUT_S, err);
    text_list_t done = {0};
    for (size_t i = 0; i < d->dtypes.n * EXAMPLES && status == STATUS_OK; i++) {
        case_t spec;
        status = case_of(e, d->dtypes.items[i / EXAMPLES], i % EXAMPLES, &spec, err);
        char *sizes = example_sizes_text(&spec);
        if (status == STATUS_OK && !text_list_has(&done, sizes) &&
            example_is_possible(e->workload, &spec)) {
            text_list_add(&done, sizes);
            e->cases++;
            status = try_case(e, &spec, worker, err);
        }
        free(sizes);
        case_free(&spec);
    }
    if (status == STATUS_OK && e->cases == 0)
        status = error_set(err, STATUS_USAGE, "no case at these sizes: %s",
                           e->workload->condition != NULL ? e->workload->condition : "see above");
    text_list_free(&done);
    case_free(&defaults);
    workers_free(&workers);
    return status;
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
        char *complaint = vocabulary_complaint(&known, variant);
        error_set(err, STATUS_USAGE, "--variant: %s", complaint);
        free(complaint);
        return STATUS_USAGE;
    }
    text_list_free(names);
    text_list_add(names, variant);
    return STATUS_OK;
}

status_t emulate_check_options(const emulate_options_t *options, error_t *err) {
    const emulation_t e = {
        .workload = options->workload, .root = options->root, .sets = options->sets};
    text_list_t names = {0};
    status_t status = choose_rungs(&e, options->variant, &names, err);
    for (size_t i = 0; i < e.sets->n && status == STATUS_OK; i++) {
        size_t param;
        int64_t value;
        status = read_set(&e, e.sets->items[i], &param, &value, err);
    }
    text_list_free(&names);
    return status;
}

static status_t open_rungs(emulation_t *e, const text_list_t *names, error_t *err) {
    char *folder = workload_folder(e->root, e->workload);
    status_t status = STATUS_OK;
    e->rungs = mem_zeroed(names->n + 1, sizeof *e->rungs);
    for (size_t i = 0; i < names->n && status == STATUS_OK; i++) {
        char *path = mem_format("%s/%s.cu", folder, names->items[i]);
        e->rungs[i].name = names->items[i];
        e->rungs[e->n++].folder = mem_format("%s/rung_%s", e->folder, names->items[i]);
        status = source_get(&e->sources, e->root, path, &e->rungs[i].source, err);
        free(path);
    }
    free(folder);
    return status;
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
    if (e->folder != NULL)
        fs_remove_tree(e->folder, NULL);
    free(e->rungs);
    free(e->folder);
    free(e->headers);
    host_tools_close(&e->tools);
    source_set_free(&e->sources);
}

status_t emulate_rungs(const emulate_options_t *options, error_t *err) {
    emulation_t e = {.workload = options->workload, .root = options->root, .sets = options->sets};
    text_list_t names = {0};
    status_t status = host_tools_open(e.root, &e.tools, err);
    if (status == STATUS_OK)
        status = choose_rungs(&e, options->variant, &names, err);
    if (status == STATUS_OK)
        status = fs_temporary_folder(&e.folder, err);
    if (status == STATUS_OK)
        status = open_rungs(&e, &names, err);
    if (status == STATUS_OK)
        status = host_tools_prepare(&e.tools, e.headers = fs_join(e.folder, "headers"), err);
    if (status == STATUS_OK) {
        printf("rungs on the CPU, at small sizes:\n");
        fflush(stdout);
        status = try_cases(&e, err);
    }
    if (status == STATUS_OK)
        status = print_rungs(&e, err);
    close_emulation(&e);
    text_list_free(&names);
    return status;
}

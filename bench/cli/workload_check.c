/* `bench workload check`: what is wrong with a workload before anything is measured. That its rungs compile is for
 * `bench compile`. */
#include "cli/workload.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/units.h"
#include "emulate/emulate.h"
#include "io/fs.h"
#include "io/output.h"
#include "io/subprocess.h"
#include "measure/contender.h"
#include "measure/progress.h"
#include "sweep/sweep.h"
#include "worker/pool.h"
#include "workloads/described/described.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== output ================================================================================== */

/* A line of what there may be none of. */
static void print_names(const char *what, const text_list_t *names, const char *none, FILE *out) {
    AUTO_FREE char *joined = text_list_join(names, ", ");
    fprintf(out, "  %-16s %s\n", what, names->n > 0 ? joined : none);
}

static status_t print_variants(const workload_t *workload, const char *root, FILE *out,
                               error_t *err) {
    AUTO(text_list_free) text_list_t rungs = {0}, in_c = {0}, scripts = {0};
    TRY(workload_variants(workload, "cuda", root, &rungs, err));
    TRY(workload_variants(workload, "cpu", root, &in_c, err));
    TRY(workload_scripts(workload, root, &scripts, err));
    print_names("rungs", &rungs, "none: NN_NAME.cu is one", out);
    if (in_c.n > 0)
        print_names("in C", &in_c, "", out);
    print_names("implementations", &scripts, "none: NAME.py with a function run is one", out);
    return STATUS_OK;
}

/* "f32, mixed (T f16, W f32, products f16)" */
static void print_dtypes(const description_t *d, FILE *out) {
    AUTO(text_list_free) text_list_t texts = {0};
    for (size_t i = 0; i < d->dtypes.n; i++) {
        const described_dtype_t *type = &d->types[i];
        const char *name = d->dtypes.items[i], *t = element_name(description_element(d, i));
        AUTO(text_list_free) text_list_t parts = {0};
        for (int k = 0; k < ELEMENT_LETTERS; k++)
            if (type->itemsizes[k] > 0 && (k != 'T' - 'A' || strcmp(t, name) != 0))
                text_list_add_format(&parts, "%c %s", 'A' + k, element_name(type->elements[k]));
        if (parts.n > 0 && type->math != NULL)
            text_list_add_format(&parts, "products %s", type->math);
        AUTO_FREE char *joined = text_list_join(&parts, ", ");
        text_list_add_format(&texts, parts.n > 0 ? "%s (%s)" : "%s", name, joined);
    }
    print_names("dtypes", &texts, "", out);
}

/* Name, summary, folder, params, rungs and implementations. */
static status_t print_workload(const workload_t *workload, const char *root, FILE *out,
                               error_t *err) {
    const description_t *d = described_find(workload->name);
    AUTO_FREE char *folder = fs_from_here(d->folder);
    fprintf(out, "%s%s%s\n  %-16s %s\n", d->name, workload->summary[0] != '\0' ? ": " : "",
            workload->summary, "folder", folder);
    for (size_t p = 0; p < workload->n_params; p++) {
        const param_spec_t *param = &workload->params[p];
        fprintf(out, "  %-16s %s = %s (%s)\n", p == 0 ? "params" : "", param->name,
                param->default_json, param->summary);
    }
    print_dtypes(d, out);
    if (d->has_c_reference)
        fprintf(out, "  %-16s reference.c, in float64\n", "reference");
    return print_variants(workload, root, out, err);
}

/* ==== checks ================================================================================== */

/* For one answer, as of a run: at the default sizes most references take seconds, one of a training minutes. */
enum { TIMEOUT_S = 300 };

/* ---- what the description says ---------------------------------------------------------------- */

static char *shape_text(const described_array_t *array, const described_shape_t *shape) {
    AUTO(text_list_free) text_list_t sizes = {0};
    for (unsigned i = 0; i < array->n_dimensions; i++)
        text_list_add_format(&sizes, "%zu", shape->sizes[i]);
    return text_list_join(&sizes, " × ");
}

static char *range_text(const fill_t *fill) {
    switch (fill->kind) {
    case FILL_UNIFORM:
        return mem_format("uniform %g…%g", fill->low, fill->high);
    case FILL_NORMAL:
        return mem_format("normal, mean %g, sd %g", fill->low, fill->high);
    case FILL_INTEGERS:
        return mem_format("integers %.0f…%.0f", fill->low, fill->high - 1);
    case FILL_PERMUTATION:
        return mem_text("permutation");
    case FILL_FUNCTION:
        return mem_text("inputs of reference.py");
    case FILL_DATA:
        return mem_text("data of reference.py");
    case FILL_CONSTANT:
        break;
    }
    return mem_format("constant %g", fill->low);
}

static char *fill_text(const description_t *d, const described_shape_t *shape) {
    char *range = shape->array->is_input ? range_text(&shape->fill) : mem_text("–");
    const size_t added = shape->array->fill_adds;
    if (added == 0)
        return range;
    char *text = mem_format("%s + %g %s", range, shape->fill.times, d->arrays[added - 1].name);
    free(range);
    return text;
}

/* In each dtype, at the default sizes. */
static char *bounds_text(const workload_t *workload, const described_shape_t *shape) {
    const description_t *d = described_find(workload->name);
    AUTO(text_list_free) text_list_t parts = {0};
    for (size_t i = 0; shape->array->is_output && i < d->dtypes.n; i++) {
        const char *of = d->dtypes.items[i];
        AUTO(case_free) case_t spec = example_case(workload, of, false);
        const bounds_t bounds = workload->bounds(&spec, shape->name);
        const char *error = bounds.of_change ? "change" : "relative L2";
        if (isfinite(bounds.rel_l2) && bounds.rel_l2 > 0)
            text_list_add_format(&parts, "%s: %s %.3g", of, error, bounds.rel_l2);
        if (isfinite(bounds.max_abs))
            text_list_add_format(&parts, bounds.max_abs > 0 ? "%s: largest %g" : "%s: exact", of,
                                 bounds.max_abs);
    }
    return text_list_join(&parts, ", ");
}

static const char *role_text(const described_array_t *array) {
    if (array->is_output)
        return array->is_input ? "in place" : array->is_curve ? "curve" : "output";
    return array->is_weight ? "weights" : array->is_resident ? "resident" : "input";
}

static void print_arrays(const workload_t *workload, const case_t *defaults) {
    const description_t *d = described_find(workload->name);
    static const char *const HEADINGS[] = {"array",         "role",        "dtype",
                                           "default shape", "filled with", "allowed error"};
    table_t table = table_make("llllll", HEADINGS);
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n;
    description_arrays(d, defaults, shapes, &n, NULL); /* computed by description_load() before */
    for (size_t i = 0; i < n; i++) {
        const described_array_t *array = shapes[i].array;
        table_add(&table, shapes[i].name);
        table_add(&table, role_text(array));
        const char letter[] = {array->letter, '\0'};
        table_add(&table, array->letter != '\0' ? letter : element_name(array->element));
        table_take(&table, shape_text(array, &shapes[i]));
        table_take(&table, fill_text(d, &shapes[i]));
        table_take(&table, bounds_text(workload, &shapes[i]));
    }
    table_print(&table, "", stdout);
}

/* Of the least that any implementation moves and computes, and of the arrays. */
static void print_cost(const description_t *d, const case_t *defaults) {
    const workload_cost_t cost = described_cost(defaults);
    char bytes[UNITS_TEXT], memory[UNITS_TEXT];
    if (d->steps != NULL)
        printf("  %-16s %zu steps a call, at the default sizes\n", "training",
               description_steps_of(d, defaults));
    printf("  %-16s ", "cost");
    if (d->cost.bytes == NULL && d->cost.flops == NULL)
        printf("not given: no limit is computed");
    if (d->cost.bytes != NULL)
        printf("%s moved", units_bytes(bytes, cost.bytes));
    if (d->cost.flops != NULL)
        printf("%s%.4g operations", d->cost.bytes != NULL ? ", " : "", cost.flops);
    printf("\n  %-16s %s of arrays on the device, at the default sizes\n", "memory",
           units_bytes(memory, cost.device_bytes));
}

static status_t print_sweeps(const workload_t *workload, const char *root, error_t *err) {
    for (int quick = 1; quick >= 0; quick--) {
        const sweep_options_t options = {.workload = workload->name,
                                         .engine = "pytorch",
                                         .variant = "eager",
                                         .sets = (const char *const[]){"device=cpu"},
                                         .n_sets = 1,
                                         .quick = quick};
        AUTO(sweep_free) sweep_t sweep = {0};
        TRY(sweep_from_options(&options, root, &sweep, err));
        double most = 0;
        char text[UNITS_TEXT];
        for (size_t i = 0; i < sweep.n_cases; i++)
            most = fmax(most, described_cost(&sweep.cases[i]).device_bytes);
        printf("  %-16s %zu sizes, up to %s of arrays\n", quick ? "quick sweep" : "full sweep",
               sweep.n_cases, units_bytes(text, most));
    }
    return STATUS_OK;
}

/* ---- what the reference does ------------------------------------------------------------------ */

/* Its outputs on two inputs, and whether they can be checked; not at the smallest sizes, where they may be few or the
 * same for all inputs (a softmax of one number). */
static status_t try_outputs(contender_t *oracle, bool smallest, error_t *err) {
    AUTO(reference_free) reference_t first = {0}, other = {0};
    TRY(contender_reference(oracle, 0, &first, err));
    if (smallest)
        return STATUS_OK;
    if (described_find(oracle->result.spec.workload)->has_evaluate)
        TRY(contender_evaluate(oracle, &first, err));
    TRY(contender_reference(oracle, secret_seed(), &other, err));
    return contender_refuse_fakes(oracle, &first, &other, err);
}

/* Open the case as `variant`; the oracle also runs, as it does in `bench run`. The caller frees the reason, NULL
 * if all is well. */
static char *try_variant(const case_t *spec, const char *variant, worker_link_t *worker,
                         bool smallest) {
    const contender_settings_t settings = {
        .measure = MEASURE_DEFAULTS, .pass = 1, .seed = secret_seed(), .timeout_s = TIMEOUT_S};
    AUTO(case_free) case_t own = case_copy(spec);
    contender_t contender;
    mem_set_text(&own.variant, variant);
    contender_init(&contender, &own, worker, NULL, &settings);
    contender.may_retry = false; /* a reference that hangs would do so again */
    AUTO(made_inputs_free) made_inputs_t made = {0};
    error_t err = ERROR_INIT;
    status_t status = made_inputs_open(&own, worker, settings.seed, TIMEOUT_S, &made, &err);
    contender.made = &made;
    if (status == STATUS_OK)
        contender_open(&contender);
    if (status == STATUS_OK && contender.active && strcmp(variant, "oracle") == 0)
        status = try_outputs(&contender, smallest, &err);
    if (status != STATUS_OK)
        contender_drop(&contender, CASE_FAILED, "%s", err.text);
    char *reason = contender.active ? NULL : mem_text(contender.result.reason);
    contender_finish(&contender);
    contender_free(&contender);
    return reason;
}

typedef struct findings {
    text_list_t reasons, problems; /* each reason once, with the first case that has it */
} findings_t;

static void note(findings_t *found, const case_t *spec, char *reason) {
    if (reason != NULL && !text_list_has(&found->reasons, reason)) {
        AUTO_FREE char *sizes = example_sizes_text(spec);
        text_list_add(&found->reasons, reason);
        text_list_add_format(&found->problems, "%s: %s", sizes, reason);
    }
    free(reason);
}

typedef struct variant {
    const char *name, *precision; /* NULL: the case's dtype */
} variant_t;

/* In float64, as the oracle, and in the case's dtype. */
static void try_case(const workload_t *workload, const case_t *spec, bool smallest,
                     worker_link_t *worker, progress_t *progress, findings_t *found) {
    error_t impossible = ERROR_INIT;
    if (!workload->allows(spec))
        return;
    if (workload->validate(spec, &impossible) != STATUS_OK)
        return note(found, spec, mem_text(impossible.text));
    static const variant_t VARIANTS[] = {{"oracle", "float64"}, {"eager", NULL}};
    for (size_t i = 0; i < 2 && worker->running; i++) {
        AUTO_FREE char *sizes = example_sizes_text(spec);
        const char *precision = VARIANTS[i].precision;
        progress_say(progress, "reference in %s on the CPU, %s",
                     precision != NULL ? precision : spec->dtype, sizes);
        char *reason = try_variant(spec, VARIANTS[i].name, worker, smallest);
        if (worker->running || reason == NULL)
            note(found, spec, reason);
        else
            note(found, spec,
                 mem_format("reference.py ended its process, or did not return: %s", reason));
    }
}

/* ---- reference.c ------------------------------------------------------------------------------ */

/* More than sums in another order make of float64. */
static const double SAME_REL_L2 = 1e-9;

static status_t compile_reference(const case_t *spec, const char *root, program_list_t *programs,
                                  error_t *err) {
    const compile_options_t options = {.root = root, .without_cuda = true};
    const program_t *program;
    TRY(compile_case(&options, spec, NULL, programs, &program, err));
    return program->status == PROGRAM_OK
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "reference.c: %s", program->reason);
}

/* Of these inputs; `program`: NULL for reference.py. */
static status_t output_of(const case_t *spec, const program_t *program, worker_link_t *worker,
                          made_inputs_t *made, reference_t *output, error_t *err) {
    const contender_settings_t settings = {
        .measure = MEASURE_DEFAULTS, .pass = 1, .seed = made->seed, .timeout_s = TIMEOUT_S};
    contender_t contender;
    contender_init(&contender, spec, worker, program, &settings);
    contender.made = made;
    contender.may_retry = false;
    contender_open(&contender);
    const status_t status = contender_reference(&contender, 0, output, err);
    contender_finish(&contender);
    contender_free(&contender);
    return status;
}

static status_t compare_outputs(const reference_t *python, const reference_t *in_c, error_t *err) {
    for (size_t i = 0; i < python->names.n; i++) {
        const npy_t *a = &python->arrays[i], *b = &in_c->arrays[i];
        const double all = fmax(python->norms[i], in_c->norms[i]);
        double squares = 0;
        for (size_t k = 0; k < a->n; k++)
            squares += (a->values[k] - b->values[k]) * (a->values[k] - b->values[k]);
        if (!(squares <= SAME_REL_L2 * SAME_REL_L2 * all))
            return error_set(err, STATUS_FAILED,
                             "reference.c and reference.py differ in %s: relative L2 error %.1e, "
                             "expected at most %.0e",
                             python->names.items[i], sqrt(squares / all), SAME_REL_L2);
    }
    return STATUS_OK;
}

/* Does reference.c compute what `python`, the worker of reference.py, does? */
static status_t compare_references(const case_t *spec, workers_t *workers, worker_link_t *python,
                                   error_t *err) {
    const workload_t *workload = workload_find(spec->workload);
    AUTO(made_inputs_free) made_inputs_t made = {0};
    AUTO(case_free) case_t of_python = case_copy(spec), of_c = case_copy(spec);
    AUTO(program_list_free) program_list_t programs = {0};
    AUTO(reference_free) reference_t by_python = {0}, by_c = {0};
    worker_link_t *in_c;
    mem_set_text(&of_python.variant, workload->pytorch_oracle);
    mem_set_text(&of_c.variant, workload->c_oracle);
    mem_set_text(&of_c.engine, "cpu");
    TRY(compile_reference(&of_c, workers->root, &programs, err));
    TRY(workers_start(workers, &of_c, "", TIMEOUT_S, &in_c, err));
    TRY(made_inputs_open(&of_python, python, secret_seed(), TIMEOUT_S, &made, err));
    TRY(output_of(&of_python, NULL, python, &made, &by_python, err));
    TRY(output_of(&of_c, programs.items, in_c, &made, &by_c, err));
    return compare_outputs(&by_python, &by_c, err);
}

static status_t check_reference(const workload_t *workload, const char *root, error_t *err) {
    const description_t *d = described_find(workload->name);
    workers_t workers = {.root = root};
    worker_link_t *worker;
    findings_t found = {0};
    progress_t progress;
    progress_start(&progress, false, 0);
    AUTO(case_free) case_t defaults = example_case(workload, d->dtypes.items[0], false);
    progress_say(&progress, "starting Python with PyTorch");
    status_t status = workers_start(&workers, &defaults, "", TIMEOUT_S, &worker, err);
    for (size_t i = 0; status == STATUS_OK && worker->running && i < 2 * d->dtypes.n; i++) {
        AUTO(case_free) case_t spec = example_case(workload, d->dtypes.items[i / 2], i % 2 == 0);
        error_t why = ERROR_INIT;
        try_case(workload, &spec, i % 2 == 0, worker, &progress, &found);
        if (workload->c_oracle != NULL && worker->running && found.problems.n == 0 &&
            workload->allows(&spec) &&
            compare_references(&spec, &workers, worker, &why) != STATUS_OK)
            note(&found, &spec, mem_text(why.text));
    }
    workers_free(&workers);
    progress_end(&progress);
    progress_free(&progress);
    if (status != STATUS_OK)
        error_within(err, "the reference cannot be run");
    for (size_t i = 0; i < found.problems.n; i++)
        printf("  %-16s %s\n", "wrong", found.problems.items[i]);
    if (found.problems.n > 0)
        status = error_set(err, STATUS_USAGE, "%s: its reference is wrong, see above", d->name);
    text_list_free(&found.problems);
    text_list_free(&found.reasons);
    return status;
}

status_t described_check_oracle(const workload_t *workload, const char *root, error_t *err) {
    const description_t *d = described_find(workload->name);
    AUTO(workers_free) workers_t workers = {.root = root};
    worker_link_t *worker;
    AUTO(case_free) case_t spec = example_case(workload, d->dtypes.items[0], false);
    TRY(workers_start(&workers, &spec, "", TIMEOUT_S, &worker, err));
    AUTO_FREE char *reason = try_variant(&spec, "oracle", worker, false);
    return reason == NULL ? STATUS_OK : error_set(err, STATUS_USAGE, "%s", reason);
}

/* ---- implementations in Python ---------------------------------------------------------------- */

/* A line for each. */
static status_t print_wrong_scripts(const char *root, const char *python, const text_list_t *paths,
                                    error_t *err) {
    AUTO_FREE char *script = fs_join(root, "reference_described/check_files.py");
    AUTO(text_list_free) text_list_t argv = {0};
    AUTO(subprocess_result_free) subprocess_result_t answer = {0};
    text_list_add_words(&argv, python, script, NULL);
    text_list_add_all(&argv, paths);
    TRY(subprocess_run(text_list_argv(&argv), NULL, TIMEOUT_S, &answer, err));
    if (answer.exit_code != 0)
        return error_set(err, STATUS_FAILED, "implementations cannot be read: %.300s",
                         answer.timed_out ? "Python did not end" : answer.err);
    AUTO(text_list_free) text_list_t lines = text_split(answer.out, '\n');
    const size_t n_wrong = lines.n > 0 ? lines.n - 1 : 0; /* what is after the last line's end */
    for (size_t i = 0; i < n_wrong; i++)
        output_print(stdout, "  %-16s %s\n", "wrong", lines.items[i]);
    return n_wrong == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%zu of %zu implementations wrong, see above",
                           n_wrong, paths->n);
}

/* They are read, not run: one may need a GPU, or build an extension for minutes. */
static status_t check_scripts(const workload_t *workload, const char *root, size_t *n,
                              error_t *err) {
    AUTO(text_list_free) text_list_t stems = {0}, paths = {0};
    AUTO_FREE char *python = NULL, *folder = workload_folder(root, workload);
    TRY(workload_scripts(workload, root, &stems, err));
    for (size_t i = 0; i < stems.n; i++)
        text_list_add_format(&paths, "%s/%s.py", folder, stems.items[i]);
    *n = paths.n;
    if (paths.n == 0)
        return STATUS_OK;
    TRY(workers_find_python(root, NULL, "python", &python, err));
    return print_wrong_scripts(root, python, &paths, err);
}

/* ---- the command ------------------------------------------------------------------------------ */

/* What runs on the CPU, but for one rung alone, and the rungs there if that is asked for; the first error counts. */
static status_t check_contenders(const workload_options_t *options, const examples_t *examples,
                                 error_t *err) {
    const emulate_options_t emulation = {.examples = *examples, .variant = options->variant};
    error_t second = ERROR_INIT;
    const status_t status =
        options->variant == NULL ? described_check_contenders(examples, err) : STATUS_OK;
    if (!options->emulate)
        return status;
    const status_t emulated = emulate_rungs(&emulation, status == STATUS_OK ? err : &second);
    return status != STATUS_OK ? status : emulated;
}

static status_t check_options(const workload_options_t *options, const examples_t *examples,
                              error_t *err) {
    const emulate_options_t emulation = {.examples = *examples, .variant = options->variant};
    TRY(examples_check_sets(examples, err));
    return options->emulate ? emulate_check_options(&emulation, err) : STATUS_OK;
}

static status_t print_description(const workload_t *workload, const char *root, error_t *err) {
    TRY(print_workload(workload, root, stdout, err));
    AUTO(case_free) case_t defaults = workload_defaults(workload);
    print_cost(described_find(workload->name), &defaults);
    const status_t status = print_sweeps(workload, root, err);
    putchar('\n');
    print_arrays(workload, &defaults);
    putchar('\n');
    fflush(stdout);
    return status;
}

static status_t check_folder(const char *folder, const workload_options_t *options, error_t *err) {
    const workload_t *workload;
    size_t n_scripts;
    TRY(workload_add_described(folder, &workload, err));
    const examples_t examples = {workload, options->root, &options->sets};
    TRY(check_options(options, &examples, err));
    TRY(print_description(workload, options->root, err));
    TRY(check_reference(workload, options->root, err));
    TRY(check_contenders(options, &examples, err));
    if (check_scripts(workload, options->root, &n_scripts, err) != STATUS_OK)
        return error_within(err, "%s", workload->name);
    AUTO(text_list_free) text_list_t rungs = {0};
    AUTO_FREE char *word = text_shell(folder);
    TRY(workload_variants(workload, "cuda", options->root, &rungs, err));
    printf("ok: the description, and the reference at the smallest and the default sizes%s.\n",
           n_scripts > 0 ? "; each implementation has a function run, which was not called" : "");
    if (rungs.n > 0)
        printf("Do the rungs compile?  bench compile --workload %s --arch sm_75,sm_90 --quick\n",
               word);
    return STATUS_OK;
}

/* Each of them, with its error if there are others. */
static status_t check_folders(const workload_options_t *options, error_t *err) {
    status_t first = STATUS_OK;
    size_t n_wrong = 0;
    for (size_t i = 0; i < options->n_operands; i++) {
        error_t why = ERROR_INIT;
        if (i > 0)
            putchar('\n');
        const status_t status = check_folder(options->operands[i], options, &why);
        if (status == STATUS_OK)
            continue;
        fflush(stdout);
        fprintf(stderr, "bench: %s\n", why.text);
        first = n_wrong++ == 0 ? status : first;
    }
    return n_wrong == 0 ? STATUS_OK
                        : error_set(err, first, "%zu of %zu workloads are wrong, see above",
                                    n_wrong, options->n_operands);
}

status_t described_check(const workload_options_t *options, error_t *err) {
    if (options->n_operands == 0)
        return error_set(err, STATUS_USAGE,
                         "bench workload check: expected the folder of a workload");
    TRY(fs_check_temporary(err));
    if (options->variant != NULL && !options->emulate)
        return error_set(err, STATUS_USAGE, "--variant is for --emulate");
    workload_search_described(options->root, NULL); /* what is wrong with others is not asked for */
    return options->n_operands == 1 ? check_folder(options->operands[0], options, err)
                                    : check_folders(options, err);
}

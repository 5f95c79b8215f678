/* `bench compile`: compile every program of sweeps for a list of architectures. Needs no GPU. */
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/compile_print.h"
#include "compile/compile.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct compile_command_options {
    compile_options_t compile;
    text_list_t arch;          /* "sm_90", …; empty: those of each sweep */
    const char *operator_name; /* NULL: sweeps */
    bool quick, once, json, quiet;
} compile_command_options_t;

#define SET(read, member) CLI_FIELD(read, compile_command_options_t, member)

const cli_option_t COMPILE_OPTIONS[] = {
    {"operator", "DIR", "compile the operator that this folder describes, not sweeps",
     SET(cli_operator, operator_name)},
    {"quick", NULL, "with --operator: the sizes of its quick sweep (those of the full one)",
     SET(cli_flag, quick)},
    {"once", NULL, "each kernel only for the last of its sizes in the sweep", SET(cli_flag, once)},
    {"arch", "LIST", "sm_75,sm_80,… (as in the sweep)", SET(cli_arch, arch)},
    {"compiler", "C", "nvrtc (default) or nvcc",
     CLI_CHOICE(compile_command_options_t, compile.compiler, COMPILER_CHOICES)},
    {"jobs", "N", "compile N programs at a time (all cores)",
     CLI_RANGE(cli_number, compile_command_options_t, compile.jobs, 1, 1024)},
    {"cache", "DIR", "folder of the cubin cache ($BENCH_CACHE, build/cache or ~/.cache/bench)",
     SET(cli_text, compile.cache)},
    {"json", NULL, "print JSON", SET(cli_flag, json)},
    {"quiet", NULL, "no progress on stderr", SET(cli_flag, quiet)},
    {0},
};

/* "native" is left out: there may be no GPU. */
static status_t choose_archs(const compile_command_options_t *options, const sweep_t *sweep,
                             text_list_t *archs, error_t *err) {
    const text_list_t *asked = options->arch.n > 0 ? &options->arch : &sweep->arch;
    for (size_t i = 0; i < asked->n; i++)
        if (strcmp(asked->items[i], "native") != 0)
            text_list_add_new(archs, asked->items[i]);
    if (archs->n == 0)
        return error_set(err, STATUS_USAGE,
                         "%s: no architecture to compile for: give --arch, e.g. --arch sm_90 or "
                         "--arch sm_75,sm_80,sm_90",
                         sweep->path);
    return STATUS_OK;
}

/* Do two cases of a sweep differ in no more than their sizes? */
static bool is_another_size(const case_t *a, const case_t *b) {
    if (strcmp(a->engine, b->engine) != 0 || strcmp(a->variant, b->variant) != 0 ||
        strcmp(a->dtype, b->dtype) != 0 || a->n_techniques != b->n_techniques)
        return false;
    for (size_t i = 0; i < a->n_techniques; i++)
        if (!value_equal(&a->techniques[i].value, &b->techniques[i].value))
            return false;
    return true;
}

static bool comes_again(const sweep_t *sweep, size_t at) {
    for (size_t i = at + 1; i < sweep->n_cases; i++)
        if (is_another_size(&sweep->cases[i], &sweep->cases[at]))
            return true;
    return false;
}

/* Frees the sweep. */
static status_t add_sweep(const compile_command_options_t *options, sweep_t *sweep,
                          program_list_t *programs, error_t *err) {
    text_list_t archs = {0};
    status_t status = choose_archs(options, sweep, &archs, err);
    for (size_t a = 0; a < archs.n && status == STATUS_OK; a++)
        for (size_t c = 0; c < sweep->n_cases && status == STATUS_OK; c++) {
            size_t index;
            if (options->once && comes_again(sweep, c))
                continue;
            status = compile_add(&options->compile, &sweep->cases[c], archs.items[a], programs,
                                 &index, err);
            if (status != STATUS_OK)
                error_within(err, "%s: %s", sweep->path, sweep->cases[c].id);
        }
    text_list_free(&archs);
    sweep_free(sweep);
    return status;
}

static status_t add_sweeps(const compile_command_options_t *options, const text_list_t *paths,
                           program_list_t *programs, error_t *err) {
    const char *root = options->compile.root;
    sweep_t sweep;
    for (size_t i = 0; i < paths->n; i++) {
        TRY(sweep_load(paths->items[i], root, &sweep, err));
        TRY(add_sweep(options, &sweep, programs, err));
    }
    if (options->operator_name == NULL)
        return STATUS_OK;
    const sweep_options_t all = {
        .workload = options->operator_name, .engine = "cuda", .quick = options->quick};
    TRY(sweep_from_options(&all, root, &sweep, err));
    return add_sweep(options, &sweep, programs, err);
}

static void show_progress(void *context, size_t done, size_t total) {
    (void)context;
    fprintf(stderr, "\rcompiled %zu/%zu%s", done, total, done == total ? "\n" : "");
    fflush(stderr);
}

static status_t compile_sweeps(const compile_command_options_t *options, const text_list_t *sweeps,
                               error_t *err) {
    program_list_t programs = {0};
    compile_answer_t answer = {.programs = &programs};
    int64_t start_ns = clock_ns();
    status_t status = add_sweeps(options, sweeps, &programs, err);
    if (status == STATUS_OK)
        status = compile_describe(&options->compile, &answer.compiler, err);
    if (status == STATUS_OK)
        status = compile_all(&options->compile, &programs, err);
    answer.seconds = (double)(clock_ns() - start_ns) * 1e-9;
    if (status == STATUS_OK) {
        (options->json ? compile_print_json : compile_print_tables)(&answer, stdout);
        size_t n_failed = compile_count(&programs).failed;
        if (n_failed > 0)
            status = error_set(err, STATUS_FAILED, "%zu of %zu programs do not compile", n_failed,
                               programs.n);
    }
    free(answer.compiler);
    program_list_free(&programs);
    return status;
}

status_t compile_command(const cli_args_t *args, error_t *err) {
    compile_command_options_t options = {.compile.root = args->root};
    const bool of_operator = cli_has(args, "operator");
    if (of_operator == (args->operands.n > 0))
        return error_set(err, STATUS_USAGE,
                         "bench compile: expected %s, e.g. sweeps/mlp_infer.json",
                         of_operator ? "sweeps or --operator, not both" : "a sweep");
    if (cli_has(args, "quick") && !of_operator)
        return error_set(err, STATUS_USAGE, "--quick needs --operator");
    status_t status = cli_read(args, &options, err);
    if (!options.quiet && isatty(STDERR_FILENO))
        options.compile.progress = show_progress;
    if (status == STATUS_OK && options.arch.n > 0)
        status = compile_check_archs(&options.compile, &options.arch, err);
    if (status == STATUS_OK)
        status = compile_sweeps(&options, &args->operands, err);
    text_list_free(&options.arch);
    return status;
}

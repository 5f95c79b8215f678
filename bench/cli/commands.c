#include "cli/commands.h"

#include "cli/compare_options.h"
#include "cli/compile.h"
#include "cli/run_options.h"
#include "model/chart_kinds.h"
#include "plot/plot.h"
#include "report/report.h"
#include "worker/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- compile
 * --------------------------------------------------------------------------------------- */

static const cli_option_t COMPILE_OPTIONS[] = {
    {"arch", "LIST", "sm_75,sm_80,… (what each sweep lists)"},
    {"compiler", "C", "nvrtc (default) or nvcc"},
    {"jobs", "N", "programs at a time (all cores)"},
    {"cache", "DIR", "where cubins are kept ($BENCH_CACHE, or build/cache)"},
    {"json", NULL, "print JSON"},
    {"quiet", NULL, "no progress on stderr"},
    {NULL, NULL, NULL},
};

static status_t compile_verb(const cli_args_t *args, error_t *err) {
    compile_command_options_t options = {
        .root = args->root,
        .sweeps = (const char *const *)args->operands.items,
        .n_sweeps = args->operands.n,
        .cache = cli_get(args, "cache"),
        .json = cli_has(args, "json"),
        .progress = !cli_has(args, "quiet") && isatty(STDERR_FILENO),
        .out = stdout,
    };
    long long jobs;
    if (options.n_sweeps == 0)
        return error_set(err, STATUS_USAGE,
                         "bench compile: which sweeps? (e.g. sweeps/mlp_infer.json)");
    TRY(cli_integer(args, "jobs", 1, 1024, 0, &jobs, err));
    TRY(read_compiler(args, &options.compiler, err));
    TRY(read_arch(args, &options.arch, err));
    options.jobs = (unsigned)jobs;
    status_t status = compile_command(&options, err);
    text_list_free(&options.arch);
    return status;
}

/* ---- plot, report, merge
 * ------------------------------------------------------------------------- */

static const cli_option_t PLOT_OPTIONS[] = {
    {"out", "DIR", "where charts go (plots/RUN)"},
    {"format", "F", "svg (default), png, or svg,png"},
    {"case", "ID", "the distribution of this case's samples instead of the usual charts"},
    {"phase", "P", "with --case: which phase of it (host_to_host)"},
    {NULL, NULL, NULL},
};

/* Charts that share a summary share a line. */
static void print_charts(FILE *out) {
    enum { NAMES_COLUMN = 43 };
    size_t n;
    const chart_kind_t *kinds = chart_kinds(&n);
    fputs("\nCSVs are mlp_timing_log.csv and mlp_timing_log_pytorch.csv of this program or of the "
          "study.\n\ncharts, each with its data beside it (NAME.dat):\n",
          out);
    for (size_t i = 0, next; i < n; i = next) {
        int used = fprintf(out, "  %s", kinds[i].name);
        for (next = i + 1; next < n && kinds[next].summary == NULL; next++)
            used += fprintf(out, ", %s", kinds[next].name);
        fprintf(out, "%*s%s\n", NAMES_COLUMN - used, "", kinds[i].summary);
    }
    fputs("Size is the batch, or the points of a data set. Charts of mlp_infer have these names; "
          "those\nof another workload start with its name (linreg_train_size). A sweep's "
          "\"charts\" chooses.\n",
          out);
}

static status_t plot_command(const cli_args_t *args, error_t *err) {
    const plot_options_t options = {
        .inputs = (const char *const *)args->operands.items,
        .n_inputs = args->operands.n,
        .out = cli_get(args, "out"),
        .format = cli_get(args, "format"),
        .case_id = cli_get(args, "case"),
        .phase = cli_get(args, "phase"),
        .root = args->root,
    };
    if (options.n_inputs == 0)
        return error_set(err, STATUS_USAGE, "bench plot: which run folder or CSV file?");
    chart_list_t charts = {0};
    status_t status = plot_charts(&options, &charts, err);
    for (size_t i = 0; status == STATUS_OK && i < charts.n; i++)
        printf("%s\n", charts.items[i].file);
    for (size_t i = 0; status == STATUS_OK && i < charts.skipped.n; i++)
        fprintf(stderr, "not drawn: %s\n", charts.skipped.items[i]);
    chart_list_free(&charts);
    return status;
}

static const cli_option_t REPORT_OPTIONS[] = {
    {"out", "FILE", "the report (REPORT.md)"},
    {"print", "WHAT", "write no report, print: headline (one table over all runs), or workloads"},
    {NULL, NULL, NULL},
};

static status_t report_command(const cli_args_t *args, error_t *err) {
    const report_options_t options = {
        .runs = (const char *const *)args->operands.items,
        .n_runs = args->operands.n,
        .out = cli_get(args, "out") != NULL ? cli_get(args, "out") : "REPORT.md",
        .root = args->root,
    };
    if (options.n_runs == 0)
        return error_set(err, STATUS_USAGE, "bench report: which run folders?");
    const char *view = cli_get(args, "print");
    if (view != NULL && strcmp(view, "headline") != 0 && strcmp(view, "workloads") != 0)
        return error_set(err, STATUS_USAGE, "--print %s: expected headline or workloads", view);
    if (view != NULL)
        return report_print(options.runs, options.n_runs,
                            strcmp(view, "headline") == 0 ? REPORT_HEADLINE : REPORT_WORKLOADS,
                            stdout, err);
    TRY(report_write(&options, err));
    printf("%s\n", options.out);
    return STATUS_OK;
}

static status_t merge_command(const cli_args_t *args, error_t *err) {
    if (args->operands.n < 2)
        return error_set(err, STATUS_USAGE, "bench merge: an output folder and at least one run");
    TRY(results_merge(args->operands.items[0], (const char *const *)args->operands.items + 1,
                      args->operands.n - 1, err));
    printf("%s\n", args->operands.items[0]);
    return STATUS_OK;
}

/* ---- worker
 * -------------------------------------------------------------------------------------- */

static const cli_option_t WORKER_OPTIONS[] = {
    {"engine", "E", "cuda, cpu or null"},
    {"device", "I", "index of the CUDA device (0)"},
    {NULL, NULL, NULL},
};

static status_t worker_command(const cli_args_t *args, error_t *err) {
    long long device;
    TRY(cli_integer(args, "device", 0, 1023, 0, &device, err));
    const worker_options_t options = {.engine = cli_get(args, "engine"), .device = (int)device};
    if (options.engine == NULL)
        return error_set(err, STATUS_USAGE, "bench worker needs --engine cuda, cpu or null");
    return worker_serve(&options, err);
}

/* ---- the table
 * ----------------------------------------------------------------------------------- */

static const cli_option_t DOCTOR_OPTIONS[] = {
    {"json", NULL, "print JSON"},
    {"short", NULL, "one line for each"},
    {NULL, NULL, NULL},
};
static const cli_option_t NO_OPTIONS[] = {{NULL, NULL, NULL}};

static const cli_command_t COMMANDS[] = {
    {"run", "[SWEEP.json…]", "measure sweeps, or one workload, and keep the results",
     "examples:\n"
     "  bench run sweeps/mlp_infer_quick.json --out results/mine\n"
     "  bench run --workload mlp_infer --variant 03_vectorized --set batch=64\n"
     "  bench run sweeps/mlp_infer.json --out results/mine --resume",
     RUN_OPTIONS, run_command, NULL},
    {"plan", "SWEEP.json…", "the cases that run would run, and why any is skipped", NULL,
     PLAN_OPTIONS, plan_command, NULL},
    {"compile", "SWEEP.json…", "compile every CUDA program of sweeps; needs no GPU", NULL,
     COMPILE_OPTIONS, compile_verb, NULL},
    {"plot", "RUN_OR_CSV…", "draw charts from a run's folder or from saved CSVs", NULL,
     PLOT_OPTIONS, plot_command, print_charts},
    {"report", "RUN…", "write the report of a run; further runs are shown as saved", NULL,
     REPORT_OPTIONS, report_command, NULL},
    {"compare", "BASE CANDIDATE", "is the candidate's run slower? per case, and as a whole",
     "A case is regressed where a phase is slower than the threshold allows, and that is no "
     "chance.\n"
     "Phases: host_to_host (or total), and the kernel's; the threshold is the larger of "
     "--threshold\n"
     "and the cell's own noise floor. Runs of other hardware, drivers or modes are refused (exit "
     "3).\n"
     "docs/compare.md tells the method.\n"
     "\n"
     "examples:\n"
     "  bench compare results/main results/mine\n"
     "  bench compare results/main results/mine --floor results/main2 --floor results/main3\n"
     "  bench compare results/main results/mine --markdown comment.md --junit compare.xml",
     COMPARE_OPTIONS, compare_command, NULL},
    {"history", "RUN…", "the same cases over many runs, oldest first: where did one become slower?",
     "Levels are fitted to the medians of each case, with a penalty for each step\n"
     "(optimal partitioning; docs/compare.md): slow creep shows as well as a jump.",
     HISTORY_OPTIONS, history_command, NULL},
    {"merge", "OUT RUN…", "join the shards of a run", NULL, NO_OPTIONS, merge_command, NULL},
    {"list", "[workloads|variants|sweeps|devices]", "what can be measured", NULL, NO_OPTIONS,
     list_command, NULL},
    {"doctor", "", "what is here, what is missing, and the command that installs it", NULL,
     DOCTOR_OPTIONS, doctor_command, NULL},
    {"worker", "", "serve cases over stdin and stdout (docs/worker-protocol.md); used by run", NULL,
     WORKER_OPTIONS, worker_command, NULL},
};

const cli_command_t *commands_all(size_t *n) {
    *n = sizeof COMMANDS / sizeof *COMMANDS;
    return COMMANDS;
}

const cli_command_t *commands_find(const char *name) {
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (strcmp(COMMANDS[i].name, name) == 0)
            return &COMMANDS[i];
    return NULL;
}

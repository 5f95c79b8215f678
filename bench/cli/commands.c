#include "cli/commands.h"

#include "base/memory.h"
#include "base/units.h"
#include "cli/compile.h"
#include "plot/plot.h"
#include "report/report.h"
#include "run/run.h"
#include "worker/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_TIMEOUT_S = 300, USUAL_SEED = 42, MOST_MHZ = 100000 };

/* ---- run and plan
 * -------------------------------------------------------------------------------- */

#define CASE_OPTIONS                                                                               \
    {"workload", "W", "measure this workload instead of sweep files"},                             \
        {"variant", "V", "with --workload: only this rung, implementation or mode (list: a,b)"},   \
        {"engine", "E", "with --workload: cuda, cpu, null, pytorch, or NAME of reference_NAME/"},  \
        {"set", "K=V", "with --workload: a parameter or technique, e.g. batch=1,64 (repeatable)"}, \
        {"no-pytorch", NULL, "leave PyTorch out"}, {                                               \
        "device", "I", "index of the CUDA device (0)"                                              \
    }

static const cli_option_t RUN_OPTIONS[] = {
    CASE_OPTIONS,
    {"out", "DIR", "the run's folder (results/NAME-TIME)"},
    {"against", "BUILD", "measure this build and another in turns: its folder or its bench; self"},
    {"processes", "N", "with --against: fresh processes of each build for each case (8)"},
    {"recheck-limit", "TIME",
     "with --against: longest time for what is undecided (5min); 0s: none"},
    {"threshold", "PERCENT", "with --against: changes up to this are no regression (5%)"},
    {"floor", "RUN", "with --against: noise floors from this run, made with --against self"},
    {"strict", NULL, "with --against: exit with 4 where a case is undecided or missing"},
    {"resume", NULL, "go on with the run in --out: finished cases are kept"},
    {"arch", "LIST", "native, or sm_90,… (what the sweep says)"},
    {"compiler", "C", "nvrtc (default) or nvcc"},
    {"quick", NULL, "at most 2 s a contender, medians to 1 %"},
    {"time-limit", "TIME", "longest time for one contender, e.g. 15s (what the sweep says)"},
    {"timeout", "TIME", "longest wait for one answer of a worker (300s)"},
    {"shard", "I/N", "only every N-th group of cases, from the I-th on (see bench merge)"},
    {"seed", "N", "of data and of the order of rounds (42)"},
    {"lock-clocks", "MHZ", "hold the GPU's SM clock there until the run ends (takes root)"},
    {"profile", NULL, "run each case once, with nothing in a profiler's way"},
    {"trace", NULL, "run each case once under a tracer: OUT/trace.json, for Perfetto"},
    {"sanitize", NULL, "first run every CUDA program once under compute-sanitizer"},
    {"cold", NULL, "time whole processes: a new worker for every sample, from start to exit"},
    {"json", NULL, "print results as JSON"},
    {"quiet", NULL, "no progress on stderr"},
    {NULL, NULL, NULL},
};

static const cli_option_t PLAN_OPTIONS[] = {CASE_OPTIONS, {NULL, NULL, NULL}};

static status_t read_shard(const char *text, run_options_t *options, error_t *err) {
    if (text == NULL)
        return STATUS_OK;
    char rest;
    if (sscanf(text, "%u/%u%c", &options->shard, &options->n_shards, &rest) != 2 ||
        options->shard < 1 || options->shard > options->n_shards)
        return error_set(err, STATUS_USAGE, "--shard %s: expected I/N with 1 <= I <= N", text);
    return STATUS_OK;
}

static status_t read_seconds(const cli_args_t *args, const char *option, double *seconds,
                             error_t *err) {
    const char *text = cli_get(args, option);
    if (text == NULL)
        return STATUS_OK;
    if (units_parse_duration(text, seconds, err) != STATUS_OK)
        return error_within(err, "--%s", option);
    return *seconds > 0
               ? STATUS_OK
               : error_set(err, STATUS_USAGE, "--%s %s: must be more than 0", option, text);
}

static status_t read_compiler(const cli_args_t *args, compiler_t *compiler, error_t *err) {
    const char *name = cli_get(args, "compiler");
    *compiler = name != NULL && strcmp(name, "nvcc") == 0 ? COMPILER_NVCC : COMPILER_NVRTC;
    if (name != NULL && strcmp(name, "nvcc") != 0 && strcmp(name, "nvrtc") != 0)
        return error_set(err, STATUS_USAGE, "--compiler %s: expected nvrtc or nvcc", name);
    return STATUS_OK;
}

static status_t read_arch(const cli_args_t *args, text_list_t *arch, error_t *err) {
    const char *text = cli_get(args, "arch");
    *arch = text_split(text != NULL ? text : "", ',');
    for (size_t i = 0; i < arch->n; i++)
        if (!sweep_arch_is_valid(arch->items[i])) {
            error_set(err, STATUS_USAGE, "--arch: \"%s\" is not native, or sm_75 and up",
                      arch->items[i]);
            text_list_free(arch);
            return STATUS_USAGE;
        }
    return STATUS_OK;
}

static status_t read_run_options(const cli_args_t *args, run_options_t *options, error_t *err) {
    const text_list_t *sets = cli_all(args, "set");
    long long device, seed, lock_mhz;
    *options = (run_options_t){
        .root = args->root,
        .sweeps = (const char *const *)args->operands.items,
        .n_sweeps = args->operands.n,
        .single = {.workload = cli_get(args, "workload"),
                   .variant = cli_get(args, "variant"),
                   .engine = cli_get(args, "engine"),
                   .sets = (const char *const *)sets->items,
                   .n_sets = sets->n},
        .out = cli_get(args, "out"),
        .timeout_s = USUAL_TIMEOUT_S,
        .resume = cli_has(args, "resume"),
        .quick = cli_has(args, "quick"),
        .no_pytorch = cli_has(args, "no-pytorch"),
        .cold = cli_has(args, "cold"),
        .profile = cli_has(args, "profile"),
        .trace = cli_has(args, "trace"),
        .sanitize = cli_has(args, "sanitize"),
        .quiet = cli_has(args, "quiet"),
        .json = cli_has(args, "json"),
        .argv = args->argv,
        .n_argv = args->n_argv,
        .print = stdout,
    };
    if (options->single.workload == NULL &&
        (options->single.variant != NULL || options->single.engine != NULL || sets->n > 0))
        return error_set(err, STATUS_USAGE, "--variant, --engine and --set need --workload");
    if (options->cold && options->profile)
        return error_set(err, STATUS_USAGE, "--cold and --profile exclude each other");
    static const char *const NOT_WITH_TRACE[] = {"cold",     "profile", "resume",
                                                 "sanitize", "json",    "lock-clocks"};
    for (size_t i = 0; options->trace && i < sizeof NOT_WITH_TRACE / sizeof *NOT_WITH_TRACE; i++)
        if (cli_has(args, NOT_WITH_TRACE[i]))
            return error_set(err, STATUS_USAGE, "--trace measures nothing: leave --%s out",
                             NOT_WITH_TRACE[i]);
    TRY(cli_integer(args, "device", 0, 1023, 0, &device, err));
    TRY(cli_integer(args, "seed", 0, INT64_MAX, USUAL_SEED, &seed, err));
    TRY(cli_integer(args, "lock-clocks", 1, MOST_MHZ, 0, &lock_mhz, err));
    TRY(read_seconds(args, "timeout", &options->timeout_s, err));
    TRY(read_seconds(args, "time-limit", &options->time_limit_s, err));
    TRY(read_against_options(args, options, err));
    TRY(read_shard(cli_get(args, "shard"), options, err));
    TRY(read_compiler(args, &options->compiler, err));
    options->device = (int)device;
    options->seed = (uint64_t)seed;
    options->lock_mhz = (unsigned)lock_mhz;
    return read_arch(args, &options->arch, err);
}

static status_t run_command(const cli_args_t *args, error_t *err) {
    run_options_t options;
    TRY(read_run_options(args, &options, err));
    if (options.resume && options.out == NULL) {
        text_list_free(&options.arch);
        return error_set(err, STATUS_USAGE, "--resume needs --out: the run to go on with");
    }
    status_t status = run(&options, err);
    text_list_free(&options.arch);
    return status;
}

static status_t plan_command(const cli_args_t *args, error_t *err) {
    run_options_t options;
    TRY(read_run_options(args, &options, err));
    return plan(&options, err);
}

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
     RUN_OPTIONS, run_command},
    {"plan", "SWEEP.json…", "the cases that run would run, and why any is skipped", NULL,
     PLAN_OPTIONS, plan_command},
    {"compile", "SWEEP.json…", "compile every CUDA program of sweeps; needs no GPU", NULL,
     COMPILE_OPTIONS, compile_verb},
    {"plot", "RUN_OR_CSV…", "draw charts from a run's folder or from saved CSVs",
     "CSVs are mlp_timing_log.csv and mlp_timing_log_pytorch.csv of this program or of the study.\n"
     "\n"
     "charts, each with its data beside it (NAME.dat):\n"
     "  phases_cuda, phases_pytorch, phases_cpu  phases of one sample, stacked, by size\n"
     "  total, host_to_host                      both sides, as in the study and at their best\n"
     "  size                                     every contender's time against size\n"
     "  speed                                    each side's best against PyTorch's, by size\n"
     "  difference, difference_best              CUDA - PyTorch by size: the study's; the best\n"
     "  ladder, ladder_batch                     compute time of rungs, and the limits\n"
     "  operations                               of a training: time of each operation\n"
     "  loss, loss_tf32                          of a training: the loss over epochs\n"
     "  epoch, epoch_tf32                        of mlp_train: an epoch by contender\n"
     "  accuracy, accuracy_tf32                  of mlp_train: validation after each epoch\n"
     "  allocators, driver_calls                 of mlp_train: what each allocator costs\n"
     "  blocks                                   of allocate: an allocation and a free\n"
     "  techniques                               combinations of host techniques\n"
     "  once                                     what is paid once\n"
     "  samples                                  with --case: its samples, one by one\n"
     "Size is the batch, or the points of a data set. Charts of mlp_infer have these names; those\n"
     "of another workload start with its name (linreg_train_size). A sweep's \"charts\" chooses.",
     PLOT_OPTIONS, plot_command},
    {"report", "RUN…", "write the report of a run; further runs are shown as saved", NULL,
     REPORT_OPTIONS, report_command},
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
     COMPARE_OPTIONS, compare_command},
    {"history", "RUN…", "the same cases over many runs, oldest first: where did one become slower?",
     "Levels are fitted to the medians of each case, with a penalty for each step\n"
     "(optimal partitioning; docs/compare.md): slow creep shows as well as a jump.",
     HISTORY_OPTIONS, history_command},
    {"merge", "OUT RUN…", "join the shards of a run", NULL, NO_OPTIONS, merge_command},
    {"list", "[workloads|variants|sweeps|devices]", "what can be measured", NULL, NO_OPTIONS,
     list_command},
    {"doctor", "", "what is here, what is missing, and the command that installs it", NULL,
     DOCTOR_OPTIONS, doctor_command},
    {"worker", "", "serve cases over stdin and stdout (docs/worker-protocol.md); used by run", NULL,
     WORKER_OPTIONS, worker_command},
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

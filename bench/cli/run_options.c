#include "cli/run_options.h"

#include "base/units.h"
#include "cli/compare_options.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_S = 300, DEFAULT_SEED = 42, MOST_MHZ = 100000 };

#define CASE_OPTIONS                                                                               \
    {"workload", "W", "measure this workload instead of sweep files"},                             \
        {"variant", "V", "with --workload: only this rung, implementation or mode (list: a,b)"},   \
        {"engine", "E", "with --workload: cuda, cpu, null, pytorch, or NAME of reference_NAME/"},  \
        {"set", "K=V", "with --workload: a parameter or technique, e.g. batch=1,64 (repeatable)"}, \
        {"no-pytorch", NULL, "leave PyTorch out"}, {                                               \
        "device", "I", "index of the CUDA device (0)"                                              \
    }

const cli_option_t RUN_OPTIONS[] = {
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

const cli_option_t PLAN_OPTIONS[] = {CASE_OPTIONS, {NULL, NULL, NULL}};

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

status_t read_compiler(const cli_args_t *args, compiler_t *compiler, error_t *err) {
    const char *name = cli_get(args, "compiler");
    *compiler = name != NULL && strcmp(name, "nvcc") == 0 ? COMPILER_NVCC : COMPILER_NVRTC;
    if (name != NULL && strcmp(name, "nvcc") != 0 && strcmp(name, "nvrtc") != 0)
        return error_set(err, STATUS_USAGE, "--compiler %s: expected nvrtc or nvcc", name);
    return STATUS_OK;
}

status_t read_arch(const cli_args_t *args, text_list_t *arch, error_t *err) {
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
        .timeout_s = DEFAULT_TIMEOUT_S,
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
    TRY(cli_integer(args, "seed", 0, INT64_MAX, DEFAULT_SEED, &seed, err));
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

status_t run_command(const cli_args_t *args, error_t *err) {
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

status_t plan_command(const cli_args_t *args, error_t *err) {
    run_options_t options;
    TRY(read_run_options(args, &options, err));
    return plan(&options, err);
}

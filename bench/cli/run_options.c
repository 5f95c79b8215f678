/* Command lines of run and plan. */
#include "base/memory.h"
#include "base/rng.h"
#include "cli/commands.h"
#include "cluster/cluster.h"
#include "gate/decision.h"
#include "io/folders.h"
#include "io/fs.h"
#include "run/against/ab.h"
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_S = 300, MOST_MHZ = 100000, RECHECK_LIMIT_S = 300, AGAINST_PASSES = 8 };

const char *const COMPILER_CHOICES[] = {"nvrtc", "nvcc", NULL}; /* of compiler_t */
static const char *const PROCESSES_CHOICES[] = {"auto", "forked", "fresh",
                                                NULL}; /* of processes_t */

/* "sm90", "90" or "compute_90" mean "sm_90". The caller frees it. */
static char *arch_hint(const char *found) {
    AUTO_FREE char *likely = mem_format("sm_%s", found + strcspn(found, "0123456789"));
    return sweep_arch_is_valid(likely) ? text_hint(likely, (const char *const[]){likely}, 1)
                                       : text_hint(found, (const char *const[]){"native"}, 1);
}

CLI_READER(cli_arch) {
    text_list_t *arch = field;
    *arch = text_split(given->items[given->n - 1], ',');
    for (size_t i = 0; i < arch->n; i++)
        if (!sweep_arch_is_valid(arch->items[i])) {
            AUTO_FREE char *hint = arch_hint(arch->items[i]);
            return error_set(err, STATUS_USAGE,
                             "--%s: found \"%s\", expected native, or sm_75 or later%s",
                             option->name, arch->items[i], hint);
        }
    return STATUS_OK;
}

static CLI_READER(read_shard) {
    const char *text = given->items[given->n - 1];
    shard_t *shard = field;
    char rest;
    return sscanf(text, "%u/%u%c", &shard->number, &shard->n, &rest) == 2 && shard->number >= 1 &&
                   shard->number <= shard->n
               ? STATUS_OK
               : error_set(err, STATUS_USAGE, "--shard %s: expected I/N with 1 <= I <= N", text);
}

/* "6", or "5-12". */
static CLI_READER(read_passes) {
    passes_asked_t *passes = field;
    const char *text = given->items[given->n - 1];
    const char *dash = strchr(text, '-');
    if (dash == NULL || dash == text) {
        TRY(cli_number(option, given, &passes->most, err));
        passes->least = passes->most;
        return STATUS_OK;
    }
    const long long high = option->field.high;
    char *end_least, *end_most;
    const long long least = strtoll(text, &end_least, 10), most = strtoll(dash + 1, &end_most, 10);
    if (end_least != dash || *end_most != '\0' || dash[1] < '0' || dash[1] > '9' ||
        least < STATS_FEWEST_PASSES || most < least || most > high)
        return error_set(err, STATUS_USAGE,
                         "--%s %s: expected a number from 1 to %lld, or two of %d to %lld, such as "
                         "5-12",
                         option->name, text, high, STATS_FEWEST_PASSES, high);
    *passes = (passes_asked_t){.least = (unsigned)least, .most = (unsigned)most};
    return STATUS_OK;
}

/* A folder without a slash may have the name of a workload, which it then is. */
static bool names_folder(const char *text) {
    return strchr(text, '/') != NULL || (workload_find(text) == NULL && fs_is_folder(text));
}

CLI_READER(cli_workload) {
    const workload_t *workload;
    const char *text;
    TRY(cli_only_text(option, given, &text, err));
    *(const char **)field = text;
    if (!names_folder(text))
        return STATUS_OK;
    if (!fs_is_folder(text))
        return error_set(err, STATUS_USAGE, "--%s %s: no such folder", option->name, text);
    TRY(workload_add_described(text, &workload, err));
    *(const char **)field = workload->name;
    return STATUS_OK;
}

#define SET(read, member) CLI_FIELD(read, run_options_t, member)
#define RANGE(read, member, low, high) CLI_RANGE(read, run_options_t, member, low, high)

#define CASE_OPTIONS                                                                               \
    {"workload", "NAME|DIR", "measure this workload, or the one in this folder, not a sweep",      \
     SET(cli_workload, single.workload)},                                                          \
        {"operator", "DIR", "the former name of --workload, for one release",                      \
         SET(cli_workload, single.workload)},                                                      \
        {"variant", "V", "with --workload: rungs, implementations or modes, e.g. a,b (all)",       \
         SET(cli_only_text, single.variant)},                                                      \
        {"engine", "E", "with --workload: cuda, cpu, c, null, pytorch, jax, or of reference_E/",   \
         SET(cli_only_text, single.engine)},                                                       \
        {"set", "K=V", "with --workload: a parameter or technique, e.g. batch=1,64 (repeatable)",  \
         CLI_ASKED},                                                                               \
        {"no-pytorch", NULL, "leave PyTorch out", SET(cli_flag, no_pytorch)},                      \
        {"no-jax", NULL, "leave JAX out", SET(cli_flag, no_jax)}, {                                \
        "device", "I", "index of the CUDA device (0)", RANGE(cli_number, device, 0, 1023)          \
    }

const cli_option_t RUN_OPTIONS[] = {
    CASE_OPTIONS,
    {"devices", "LIST", "measure on these GPUs at once, e.g. 0,1; with --device: is one of them",
     SET(cli_text, devices)},
    {"out", "DIR", "folder of the run (results/NAME-TIME)", SET(cli_text, out)},
    {"against", "BUILD", "compare with another build, interleaved: its folder, its bench, or self",
     SET(cli_text, against)},
    {"recheck-limit", "TIME", "with --against: time limit for undecided cases (5min; 0s: off)",
     SET(cli_duration, recheck_limit_s)},
    {"threshold", "PERCENT", "with --against: slowdowns up to this are not regressions (5%)",
     SET(cli_percent, threshold_frac)},
    {"floor", "RUN", "with --against: take noise floors from this run of --against self",
     SET(cli_text, floor)},
    {"strict", NULL, "with --against: exit with 4 if a case is undecided or missing",
     SET(cli_flag, strict)},
    {"passes", "N", "passes: N, or N-M, as each case needs (5-12; --against 8; --quick 1)",
     RANGE(read_passes, passes, 1, RECHECK_MOST_PASSES)},
    {"draws", "N", "compile each torch.compile case N times, use the fastest (3)",
     RANGE(cli_number, draws, 1, MOST_DRAWS)},
    {"cpus", "LIST", "cores to use, e.g. 0-7,12 (all; GPU workers: those near the GPU)",
     SET(cli_text, cpus)},
    {"resume", NULL, "continue the run in --out; finished passes of cases are kept",
     SET(cli_flag, resume)},
    {"retry", NULL, "with --resume: try failed and skipped cases again", SET(cli_flag, retry)},
    {"compiler", "C", "nvrtc (default) or nvcc",
     CLI_CHOICE(run_options_t, compiler, COMPILER_CHOICES)},
    {"quick", NULL, "one pass, at most 1 s per contender: times without intervals",
     SET(cli_flag, quick)},
    {"time-limit", "TIME", "time limit per contender, e.g. 15s (as in the sweep)",
     SET(cli_time, time_limit_s)},
    {"budget", "TIME", "begin no pass that would end later; with --quick: no case after it",
     SET(cli_time, budget_s)},
    {"timeout", "TIME", "time limit for one answer of a worker (300s)", SET(cli_time, timeout_s)},
    {"shard", "I/N", "part I of N of the groups of cases", SET(read_shard, shard)},
    {"seed", "N", "seed of the data and of the order of rounds (secret)",
     RANGE(cli_number64, seed, 0, INT64_MAX)},
    {"lock-clocks", "MHZ", "lock the GPU's SM clock for the run (needs root)",
     RANGE(cli_number, lock_mhz, 1, MOST_MHZ)},
    {"profile", NULL, "run each case once, for an external profiler", SET(cli_flag, profile)},
    {"trace", NULL, "run each case once and trace it: OUT/trace.json, for Perfetto",
     SET(cli_flag, trace)},
    {"sanitize", NULL, "first run every CUDA program once under compute-sanitizer",
     SET(cli_flag, sanitize)},
    {"isolate", NULL, "run each contender in a process of its own, sandboxed where possible",
     SET(cli_flag, isolate)},
    {"processes", "P", "of Python workers: forked (default) or fresh",
     CLI_CHOICE(run_options_t, processes, PROCESSES_CHOICES)},
    {"json", NULL, "print results as JSON", SET(cli_flag, json)},
    {"quiet", NULL, "no progress on stderr", SET(cli_flag, quiet)},
    {0},
};

const cli_option_t PLAN_OPTIONS[] = {
    CASE_OPTIONS,
    {"quick", NULL, "as for run: one pass, a workload's quick sizes, no CPU beside a GPU",
     SET(cli_flag, quick)},
    {0},
};

/* Refuse combinations of options that contradict each other. */
static status_t check(const cli_args_t *args, const run_options_t *options, error_t *err) {
    const passes_asked_t *passes = &options->passes;
    const bool on_devices = options->devices != NULL && !options->is_one_device;
    const bool is_open = passes->least != passes->most;
    const struct {
        bool is_so;
        const char *const *others; /* cannot be given then */
        const char *message;       /* with the other's name */
    } RULES[] = {
        {on_devices, NAMES("against", "trace", "shard", "json"),
         "--devices and --%s exclude each other"},
        {cli_has(args, "operator"), NAMES("workload"), "--operator and --%s exclude each other"},
        {options->single.workload == NULL, NAMES("variant", "engine", "set"),
         "--variant, --engine and --set need --workload"},
        {options->trace, NAMES("profile", "resume", "sanitize", "json", "lock-clocks", "budget"),
         "--trace measures nothing: leave --%s out"},
        {options->against == NULL, NAMES("recheck-limit", "threshold", "floor", "strict"),
         "--%s needs --against"},
        {options->against != NULL, NAMES("profile", "trace", "draws", "budget"),
         "--against and --%s exclude each other"},
    };
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        const char *other = RULES[i].is_so ? cli_first(args, RULES[i].others) : NULL;
        if (other != NULL)
            return error_set(err, STATUS_USAGE, RULES[i].message, other);
    }
    if (options->against != NULL && passes->most == 1)
        return error_set(err, STATUS_USAGE, "--against needs --passes of at least 2");
    const char *name = is_open ? cli_first(args, NAMES("against", "profile", "trace")) : NULL;
    if (name != NULL)
        return error_set(err, STATUS_USAGE,
                         "--%s with --passes %u-%u: expected one number of passes", name,
                         passes->least, passes->most);
    if (options->resume && options->out == NULL)
        return error_set(err, STATUS_USAGE, "--resume needs --out: the run to continue");
    if (options->retry && !options->resume)
        return error_set(err, STATUS_USAGE, "--retry needs --resume");
    return STATUS_OK;
}

/* What `bench run --devices` sets for each child. */
static bool is_of_children(const cli_option_t *option) {
    static const char *const OWN[] = {"devices", "cpus", "out", "resume", "retry"};
    return !text_is_one_of(option->name, OWN, sizeof OWN / sizeof *OWN);
}

/* Is it an option whose value is the next word? */
static bool takes_value(const char *word) {
    const cli_option_t *option = RUN_OPTIONS;
    while (option->name != NULL &&
           (!text_starts(word, "--") || strcmp(option->name, word + 2) != 0))
        option++;
    return option->name != NULL && option->argument != NULL;
}

/* "../mine" in PROJECT/results is "results/../mine". */
static char *from_project(const char *project, const char *here, const char *path) {
    AUTO_FREE char *absolute = path[0] == '/' ? mem_text(path) : fs_join(here, path);
    const size_t n = strlen(project);
    const bool below = strncmp(absolute, project, n) == 0 && absolute[n] == '/';
    return mem_text(below ? absolute + n + 1 : absolute);
}

/* Is the value of an option, of n bytes, a path? */
static bool names_path(const char *option, size_t n, const char *value) {
    AUTO_FREE char *name = mem_text_n(option, n);
    if (strcmp(name, "--workload") == 0 || strcmp(name, "--operator") == 0)
        return names_folder(value);
    return strcmp(name, "--candidate") == 0;
}

text_list_t run_argv(const cli_args_t *args, const text_list_t *paths) {
    AUTO_FREE char *project = folders_project(args->root), *here = getcwd(NULL, 0);
    const bool elsewhere = here != NULL && strcmp(project, here) != 0;
    text_list_t argv = {0};
    for (size_t i = 0; i < args->n_argv; i++) {
        const char *word = args->argv[i], *before = i > 0 ? args->argv[i - 1] : "";
        const char *equals = text_starts(word, "--") ? strchr(word, '=') : NULL;
        const char *path = equals != NULL ? equals + 1 : word;
        const bool named = equals != NULL
                               ? names_path(word, (size_t)(equals - word), path)
                               : names_path(before, strlen(before), path) || !takes_value(before);
        AUTO_FREE char *own = elsewhere && i > 1 && named && text_list_has(paths, path)
                                  ? from_project(project, here, path)
                                  : mem_text(path);
        text_list_add_format(&argv, "%.*s%s", (int)(path - word), word, own);
    }
    return argv;
}

static status_t read_and(status_t (*go)(const run_options_t *options, error_t *err),
                         const cli_args_t *args, error_t *err) {
    const text_list_t *sets = cli_all(args, "set");
    const text_list_t *workloads =
        cli_all(args, cli_has(args, "operator") ? "operator" : "workload");
    AUTO(text_list_free)
    text_list_t argv = run_argv(args, workloads->n > 0 ? workloads : &args->operands);
    run_options_t options = {
        .root = args->root,
        .sweeps = (const char *const *)args->operands.items,
        .n_sweeps = args->operands.n,
        .single = {.sets = (const char *const *)sets->items, .n_sets = sets->n},
        .seed = secret_seed(),
        .timeout_s = TIMEOUT_S,
        .threshold_frac = GATE_THRESHOLD,
        .recheck_limit_s = RECHECK_LIMIT_S,
        .argv = (const char *const *)argv.items,
        .n_argv = argv.n,
        .print = stdout,
        .is_one_device = cli_has(args, "device"),
    };
    TRY(cli_read(args, &options, err));
    TRY(check(args, &options, err));
    options.single.quick = options.quick;
    if (options.against != NULL && options.passes.most == 0)
        options.passes = (passes_asked_t){AGAINST_PASSES, AGAINST_PASSES};
    if (options.against != NULL) /* both sides run the same compiled code */
        options.draws = 1;
    AUTO(text_list_free) text_list_t passed_on = cli_given(args, is_of_children);
    options.passed_on = passed_on;
    return go(&options, err);
}

status_t run_command(const cli_args_t *args, error_t *err) {
    TRY(fs_check_temporary(err)); /* else each case would fail */
    return read_and(run, args, err);
}

status_t plan_command(const cli_args_t *args, error_t *err) {
    return read_and(plan, args, err);
}

/* Would run_command() measure that, and has each shard a case? */
static status_t check_command(const cli_args_t *args, error_t *err) {
    return read_and(run_check, args, err);
}

status_t run_check_words(const char *root, const text_list_t *words, error_t *err) {
    run_options_t options = {.single.workload =
                                 ""}; /* any: of --workload, --variant and others depend */
    AUTO(cli_args_free) cli_args_t args = {0};
    TRY(run_parse(root, words, &args, err));
    TRY(cli_read(&args, &options, err));
    TRY(check(&args, &options, err));
    if (args.operands.n > 0)
        return error_set(err, STATUS_USAGE, "bench run: found %s, expected options only",
                         args.operands.items[0]);
    return STATUS_OK;
}

status_t run_parse(const char *root, const text_list_t *words, cli_args_t *args, error_t *err) {
    static const cli_command_t RUN = {.name = "run", .options = RUN_OPTIONS};
    AUTO(text_list_free) text_list_t argv = {0};
    text_list_add_words(&argv, "bench", "run", NULL);
    text_list_add_all(&argv, words);
    TRY(cli_parse(&RUN, (int)argv.n, argv.items, 2, args, err));
    args->root = root;
    return STATUS_OK;
}

/* The command line of `bench cluster`. */

enum { MOST_SHARDS = 100000 };

#define SET_CLUSTER(read, member) CLI_FIELD(read, cluster_options_t, member)

const cli_option_t CLUSTER_OPTIONS[] = {
    {"shards", "N", "tasks of a job array, each with a part of the cases",
     CLI_RANGE(cli_number, cluster_options_t, n_shards, 1, MOST_SHARDS)},
    {"out", "DIR", "folder for scripts, logs, shards, merged runs and REPORT.md",
     SET_CLUSTER(cli_text, out)},
    {"gres", "G", "for sbatch, e.g. gpu:1", CLI_ASKED},
    {"constraint", "C", "for sbatch", CLI_ASKED},
    {"partition", "P", "for sbatch, also of the job that merges", CLI_ASKED},
    {"account", "A", "the same", CLI_ASKED},
    {"qos", "Q", "the same", CLI_ASKED},
    {"time", "T", "the same: time limit of a job, e.g. 4:00:00", CLI_ASKED},
    {"sbatch-option", "X", "for sbatch, e.g. --exclusive (repeatable)", CLI_ASKED},
    {"container", "IMAGE", "run in this image: srun --container-image, of pyxis",
     SET_CLUSTER(cli_text, container)},
    {"dry-run", NULL, "print the scripts; write and submit nothing",
     SET_CLUSTER(cli_flag, dry_run)},
    {0},
};

/* They are ours, or write no run that could be merged. */
static const char *const NOT_HANDED_ON[] = {"out",      "resume", "shard", "against", "profile",
                                            "sanitize", "trace",  "json",  NULL};

/* Operands, and with them the words after "--", which are options of bench run. */
static status_t check_run(const cli_args_t *args, const cluster_options_t *options, error_t *err) {
    AUTO(cli_args_free) cli_args_t given = {0}, all = {0};
    TRY(run_parse(args->root, &options->run, &given, err));
    const char *ours = cli_first(&given, NOT_HANDED_ON);
    if (ours != NULL)
        return error_set(err, STATUS_USAGE, "bench cluster: --%s of bench run cannot be handed on",
                         ours);
    AUTO(text_list_free) text_list_t words = {0};
    text_list_add_all(&words, &options->run);
    text_list_add_format(&words, "--shard=1/%u", options->n_shards);
    TRY(run_parse(args->root, &words, &all, err));
    return check_command(&all, err);
}

static text_list_t named(const cli_args_t *args, const char *const *names) {
    text_list_t given = {0};
    for (; *names != NULL; names++) {
        const text_list_t *values = cli_all(args, *names);
        if (values->n > 0)
            text_list_add_format(&given, "--%s=%s", *names, values->items[values->n - 1]);
    }
    return given;
}

/* Lines of a script are made of them. */
static status_t check_plain(const cli_args_t *args, error_t *err) {
    for (size_t i = 0; i < args->n_argv; i++) {
        if (text_is_plain(args->argv[i]))
            continue;
        AUTO_FREE char *word = text_plain(args->argv[i]);
        return error_set(err, STATUS_USAGE, "bench cluster: %s: expected no control characters",
                         word);
    }
    return STATUS_OK;
}

static status_t check_all(const cli_args_t *args, const cluster_options_t *options, error_t *err) {
    TRY(check_plain(args, err));
    if (options->n_shards == 0 || options->out == NULL)
        return error_set(err, STATUS_USAGE, "bench cluster: expected --shards N and --out DIR");
    const text_list_t *more = cli_all(args, "sbatch-option");
    for (size_t i = 0; i < more->n; i++)
        if (more->items[i][0] != '-')
            return error_set(err, STATUS_USAGE,
                             "--sbatch-option %s: expected one option of sbatch, e.g. --exclusive",
                             more->items[i]);
    return check_run(args, options, err);
}

status_t cluster_command(const cli_args_t *args, error_t *err) {
    AUTO(text_list_free)
    text_list_t for_all = named(args, NAMES("partition", "account", "qos", "time"));
    AUTO(text_list_free) text_list_t for_shards = named(args, NAMES("gres", "constraint"));
    text_list_add_all(&for_shards, cli_all(args, "sbatch-option"));
    cluster_options_t options = {.root = args->root,
                                 .run = args->operands,
                                 .for_all = for_all,
                                 .for_shards = for_shards,
                                 .print = stdout};
    TRY(cli_read(args, &options, err));
    TRY(check_all(args, &options, err));
    return cluster_submit(&options, err);
}

#include "cli/commands.h"

#include "base/memory.h"
#include "io/output.h"
#include "model/chart_kinds.h"
#include "plot/plot.h"
#include "report/report.h"
#include "run/merged/merged.h"
#include "walls/walls.h"
#include "worker/server.h"

#include <stdlib.h>
#include <string.h>

static const cli_option_t PLOT_OPTIONS[] = {
    {"out", "DIR", "folder for the charts (plots/RUN)", CLI_FIELD(cli_text, plot_options_t, out)},
    {"format", "F", "svg (default), png, or svg,png", CLI_FIELD(cli_text, plot_options_t, format)},
    {"boot", "RUN", "another boot of the run, for intervals of ratios to cover (repeatable)",
     CLI_FIELD(cli_texts, plot_options_t, boots)},
    {"case", "ID", "draw the distribution of this case's samples, not the default charts",
     CLI_FIELD(cli_text, plot_options_t, case_id)},
    {"phase", "P", "with --case: its phase (host_to_host)",
     CLI_FIELD(cli_text, plot_options_t, phase)},
    {0},
};

/* Charts that share a summary share a line. */
static void print_charts(FILE *out) {
    enum { NAMES_COLUMN = 43 };
    size_t n;
    const chart_kind_t *kinds = chart_kinds(&n);
    fputs("\nCSV files: mlp_timing_log.csv and mlp_timing_log_pytorch.csv of this program or the "
          "study.\n\ncharts, each with its data in NAME.dat:\n",
          out);
    for (size_t i = 0, next; i < n; i = next) {
        int used = fprintf(out, "  %s", kinds[i].name);
        for (next = i + 1; next < n && kinds[next].summary == NULL; next++)
            used += fprintf(out, ", %s", kinds[next].name);
        fprintf(out, "%*s%s\n", NAMES_COLUMN - used, "", kinds[i].summary);
    }
    fputs(
        "SETTING is each further precision or shape: speed_f16, softmax_speed_rows_1024.\n"
        "Size is the batch, or the number of points of a data set. Charts of most workloads start\n"
        "with the workload's name (linreg_train_speed). A sweep's \"charts\" "
        "selects.\n",
        out);
}

static status_t plot_command(const cli_args_t *args, error_t *err) {
    plot_options_t options = {.inputs = (const char *const *)args->operands.items,
                              .n_inputs = args->operands.n,
                              .root = args->root};
    if (options.n_inputs == 0)
        return error_set(err, STATUS_USAGE, "bench plot: expected a run folder or a CSV file");
    TRY(cli_read(args, &options, err));
    AUTO(chart_list_free) chart_list_t charts = {0};
    TRY(plot_charts(&options, &charts, err));
    for (size_t i = 0; i < charts.n; i++)
        output_print(stdout, "%s\n", charts.items[i].file);
    for (size_t i = 0; i < charts.skipped.n; i++)
        output_print(stderr, "not drawn: %s\n", charts.skipped.items[i]);
    return STATUS_OK;
}

typedef struct report_command_options {
    report_options_t report;
    int view;          /* report_view_t; -1: write the report to a file */
    const char *check; /* a report to check; NULL: write one */
} report_command_options_t;

static const char *const VIEWS[] = {"headline", "workloads", NULL};

static const cli_option_t REPORT_OPTIONS[] = {
    {"out", "FILE", "file to write, new or a report (REPORT.md); - or a pipe: without pages",
     CLI_FIELD(cli_text, report_command_options_t, report.out)},
    {"pages", "DIR", "folder for the pages, DIR/RUN/WORKLOAD.md (each in its run's folder)",
     CLI_FIELD(cli_text, report_command_options_t, report.pages)},
    {"html", "FILE", "write one HTML file of all pages, charts and cases instead; -: stdout",
     CLI_FIELD(cli_text, report_command_options_t, report.html)},
    {"picture", "FILE", "draw the speed-ups of all workloads instead, into FILE.svg",
     CLI_FIELD(cli_text, report_command_options_t, report.picture)},
    {"check", "FILE", "does this report, with its pages, match its runs? exit code 1 if not",
     CLI_FIELD(cli_text, report_command_options_t, check)},
    {"print", "WHAT", "print headline (one table over all runs) or workloads; write no report",
     CLI_CHOICE(report_command_options_t, view, VIEWS)},
    {0},
};

static status_t check_report(const cli_args_t *args, const char *path, error_t *err) {
    static const char *const OTHERS[] = {"out", "pages", "html", "picture", "print", NULL};
    const char *other = cli_first(args, OTHERS);
    report_check_t found;
    if (args->operands.n > 0)
        return error_set(err, STATUS_USAGE,
                         "bench report --check: the report names its runs; \"%s\" is one too many",
                         args->operands.items[0]);
    if (other != NULL)
        return error_set(err, STATUS_USAGE, "bench report: --check and --%s exclude each other",
                         other);
    TRY(report_check(path, args->root, &found, err));
    output_print(stdout, "%s: matches its runs, with its %zu other file%s\n", path,
                 found.n_files - 1, found.n_files == 2 ? "" : "s");
    if (found.n_unsealed > 0)
        printf(
            "%zu of its %zu runs %s unsealed: run.json has no digest, so that edits of lines and "
            "charts cannot be detected\n",
            found.n_unsealed, found.n_runs, found.n_unsealed == 1 ? "is" : "are");
    return STATUS_OK;
}

/* --html and --picture write one file instead of a report. */
static status_t refuse_beside(const cli_args_t *args, error_t *err) {
    static const char *const ONE[] = {"html", "picture", NULL};
    static const char *const OTHERS[] = {"out", "pages", "print", "picture", NULL};
    const char *one = cli_first(args, ONE), *other = cli_first(args, OTHERS);
    if (one != NULL && other != NULL && strcmp(one, other) != 0)
        return error_set(err, STATUS_USAGE, "bench report: --%s and --%s exclude each other", one,
                         other);
    return STATUS_OK;
}

static status_t report_command(const cli_args_t *args, error_t *err) {
    report_command_options_t options = {
        .report = {.runs = (const char *const *)args->operands.items,
                   .n_runs = args->operands.n,
                   .out = "REPORT.md",
                   .root = args->root},
        .view = -1};
    report_options_t *report = &options.report;
    const char *by_default = report->out;
    TRY(cli_read(args, &options, err));
    if (strcmp(report->out, by_default) != 0 && !output_is_stream(report->out))
        report->out_named = report->out;
    if (options.check != NULL)
        return check_report(args, options.check, err);
    if (report->n_runs == 0)
        return error_set(err, STATUS_USAGE, "bench report: expected at least one run folder");
    TRY(refuse_beside(args, err));
    if (options.view >= 0)
        return report_print(report->runs, report->n_runs, (report_view_t)options.view, err);
    TRY(report->picture != NULL ? report_picture(report, err) : report_write(report, err));
    const char *file = report->picture != NULL ? report->picture
                       : report->html != NULL  ? report->html
                                               : report->out;
    if (!output_is_stream(file))
        output_print(stdout, "%s\n", file);
    return STATUS_OK;
}

static status_t merge_command(const cli_args_t *args, error_t *err) {
    if (args->operands.n < 2)
        return error_set(err, STATUS_USAGE,
                         "bench merge: expected an output folder and at least one run");
    return merge_runs(args->root, args->operands.items[0],
                      (const char *const *)args->operands.items + 1, args->operands.n - 1, err);
}

static const cli_option_t WORKER_OPTIONS[] = {
    {"engine", "E", "cuda, cpu, c or null", CLI_FIELD(cli_text, worker_options_t, engine)},
    {"device", "I", "index of the CUDA device (0)",
     CLI_RANGE(cli_number, worker_options_t, device, 0, 1023)},
    {0},
};

static status_t worker_command(const cli_args_t *args, error_t *err) {
    worker_options_t options = {0};
    TRY(cli_read(args, &options, err));
    if (options.engine == NULL)
        return error_set(err, STATUS_USAGE, "bench worker needs --engine cuda, cpu or null");
    return worker_serve(&options, err);
}

static const cli_option_t WALL_OPTIONS[] = {
    {"hide", "DIR", "a folder that is empty for the command (repeatable)",
     CLI_FIELD(cli_texts, wall_folders_t, hidden)},
    {"open", "DIR", "a folder that it may write to (repeatable)",
     CLI_FIELD(cli_texts, wall_folders_t, open)},
    {0},
};

static status_t wall_command(const cli_args_t *args, error_t *err) {
    wall_folders_t folders = {0};
    TRY(cli_read(args, &folders, err));
    if (args->operands.n == 0)
        return error_set(err, STATUS_USAGE, "bench wall: expected a command after --");
    AUTO_FREE char **command = mem_zeroed(args->operands.n + 1, sizeof *command);
    memcpy(command, args->operands.items, args->operands.n * sizeof *command);
    return walls_enter(&folders, command, err);
}

static const cli_option_t DOCTOR_OPTIONS[] = {
    {"json", NULL, "print JSON", CLI_ASKED},
    {"short", NULL, "print one line for each", CLI_ASKED},
    {0},
};
static const cli_option_t NO_OPTIONS[] = {{0}};

static const cli_command_t COMMANDS[] = {
    {"run", "[SWEEP.json…]", "measure sweeps, or one workload, and save the results",
     "--resume needs the same sweeps, --quick, program and kind of machine; --passes and\n"
     "--time-limit may change, for passes that are not finished (docs/results-format.md).\n"
     "\n"
     "examples:\n"
     "  bench run sweeps/mlp_infer_quick.json --out results/mine\n"
     "  bench run --workload mlp_infer --variant 03_vectorized --set batch=64\n"
     "  bench run sweeps/mlp_infer.json --out results/mine --resume",
     RUN_OPTIONS, run_command, NULL, NULL},
    {"plan", "SWEEP.json…", "list the cases of a run, and which lack a GPU here", NULL,
     PLAN_OPTIONS, plan_command, NULL, NULL},
    {"compile", "[SWEEP.json…]", "compile every CUDA program of sweeps; needs no GPU", NULL,
     COMPILE_OPTIONS, compile_command, NULL, NULL},
    {"plot", "RUN_OR_CSV…", "draw charts from a run's folder or from saved CSVs", NULL,
     PLOT_OPTIONS, plot_command, print_charts, NULL},
    {"report", "RUN…", "write the report of runs: one page at the top, and a page per workload",
     "The page of a workload is RUN/WORKLOAD.md; a file that is no page of a report is never\n"
     "overwritten (exit code 2). Runs of another machine than the first's are labelled as saved.\n"
     "\n"
     "Runs of the same sweeps on the same device are boots, separate starts of the machine: the\n"
     "first is reported, with the range of its ratios over all. Their versions and settings must\n"
     "agree (else exit code 3).",
     REPORT_OPTIONS, report_command, NULL, NULL},
    {"compare", "BASE CANDIDATE", "is the candidate slower? by case, and overall",
     "A case has regressed if a phase is slower by significantly more than the threshold: the\n"
     "larger of --threshold and the noise floor of the case and phase. Default phases:\n"
     "host_to_host (or total), and the kernel's. Runs on different hardware, drivers or modes are\n"
     "refused (exit code 3). The method: docs/compare.md.\n"
     "\n"
     "examples:\n"
     "  bench compare results/main results/mine\n"
     "  bench compare results/main results/mine --floor results/main2 --floor results/main3\n"
     "  bench compare results/main results/mine --markdown comment.md --junit compare.xml",
     COMPARE_OPTIONS, compare_command, NULL, NULL},
    {"history", "RUN…", "follow cases over many runs, oldest first: when did one become slower?",
     "Shows the cases whose median differs between the first and the last run: gradual slowdowns\n"
     "as well as jumps.",
     HISTORY_OPTIONS, history_command, NULL, NULL},
    {"fleet", "RUN…", "which machine of a fleet is slower or faster than the others, and in what?",
     "Each run is of another GPU (or node) of one kind, with the same sweeps; at least three. "
     "Each\n"
     "machine is compared with the fleet's median, by case and by what bounds the cases (dram,\n"
     "l2, …). Exit code 1 if one is an outlier. The method: docs/fleet.md.",
     FLEET_OPTIONS, fleet_command, NULL, NULL},
    {"repeat", "SWEEP.json… | RUN RUN…",
     "check reproducibility: do runs agree within their intervals?",
     "Of sweeps (files): runs them --times times, one after the other. Of runs (folders): "
     "compares\n"
     "them. By engine and phase: in how many cases the intervals of two runs overlap, how often a\n"
     "median lies in the other run's interval, half the width of an interval, and how far medians\n"
     "move; the same of the speed-ups; then the ten that moved most.\n"
     "\n"
     "examples:\n"
     "  bench repeat sweeps/mlp_infer_quick.json --times 3 --out results/again\n"
     "  bench repeat results/again/1 results/again/2 results/mine",
     REPEAT_OPTIONS, repeat_command, NULL, NULL},
    {"cluster", "SWEEP.json… [-- OPTIONS]",
     "measure sweeps on a Slurm cluster: a job array of shards",
     "What follows \"--\" are options of bench run for each task. The guide: docs/cluster.md.\n"
     "\n"
     "examples:\n"
     "  bench cluster sweeps/mlp_infer.json --shards 8 --gres gpu:1 --out results/eight\n"
     "  bench cluster sweeps/mlp_infer.json --shards 8 --gres gpu:h100:1 --out results/h100 \\\n"
     "    --time 4:00:00 -- --no-jax",
     CLUSTER_OPTIONS, cluster_command, NULL, RUN_OPTIONS},
    {"merge", "OUT RUN…", "join the shards of a run",
     "Missing folders, shards and cases are listed, and the rest is merged (exit code 1).",
     NO_OPTIONS, merge_command, NULL, NULL},
    {"list", "[workloads|variants|sweeps|devices]", "list what can be measured", NULL, NO_OPTIONS,
     list_command, NULL, NULL},
    {"workload", "new NAME | check DIR… | import FILE", "create, check or import your own workload",
     NULL, WORKLOAD_OPTIONS, workload_command, workload_print_subcommands, RUN_OPTIONS},
    {"operator", "new NAME | check DIR… | import FILE",
     "the former name of workload, for one release", NULL, WORKLOAD_OPTIONS, workload_command,
     workload_print_subcommands, RUN_OPTIONS},
    {"doctor", "", "what is installed, what is missing, and how to install it", NULL,
     DOCTOR_OPTIONS, doctor_command, NULL, NULL},
    {"worker", "", "serve cases over stdin and stdout (docs/worker-protocol.md); used by run", NULL,
     WORKER_OPTIONS, worker_command, NULL, NULL},
    {"wall", "-- COMMAND…", "run a command in namespaces of its own; used by run --isolate",
     "It sees no other process, and may read all files, but write only to folders named by "
     "--open.\n"
     "bench run takes bubblewrap (bwrap) instead, where it is installed.",
     WALL_OPTIONS, wall_command, NULL, NULL},
    {0},
};

const cli_command_t *commands_all(void) {
    return COMMANDS;
}

const cli_command_t *commands_find(const char *name) {
    for (const cli_command_t *command = COMMANDS; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

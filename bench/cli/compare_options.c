/* Command lines of the verbs that put runs side by side: compare, history. */
#include "cli/compare_options.h"

#include "base/units.h"
#include "compare/compare.h"
#include "compare/decision.h"
#include "compare/history.h"
#include "run/ab_recheck.h"
#include "run/run.h"

enum { RECHECK_LIMIT_S = 300, DEFAULT_PROCESSES = 8 };

status_t read_against_options(const cli_args_t *args, run_options_t *options, error_t *err) {
    static const char *const ONLY_WITH[] = {"processes", "recheck-limit", "threshold", "floor",
                                            "strict"};
    static const char *const NEVER_WITH[] = {"cold", "profile", "trace"};
    const char *limit = cli_get(args, "recheck-limit"), *threshold = cli_get(args, "threshold");
    options->against = cli_get(args, "against");
    options->floor = cli_get(args, "floor");
    options->strict = cli_has(args, "strict");
    options->threshold_frac = GATE_THRESHOLD;
    options->recheck_limit_s = RECHECK_LIMIT_S;
    for (size_t i = 0; i < sizeof ONLY_WITH / sizeof *ONLY_WITH; i++)
        if (options->against == NULL && cli_has(args, ONLY_WITH[i]))
            return error_set(err, STATUS_USAGE, "--%s needs --against: what to compare with",
                             ONLY_WITH[i]);
    for (size_t i = 0; i < sizeof NEVER_WITH / sizeof *NEVER_WITH; i++)
        if (options->against != NULL && cli_has(args, NEVER_WITH[i]))
            return error_set(err, STATUS_USAGE, "--against and --%s exclude each other",
                             NEVER_WITH[i]);
    long long n_processes;
    TRY(cli_integer(args, "processes", 2, RECHECK_MOST_ROUNDS, DEFAULT_PROCESSES, &n_processes,
                    err));
    options->n_processes = (unsigned)n_processes;
    if (limit != NULL && units_parse_duration(limit, &options->recheck_limit_s, err) != STATUS_OK)
        return error_within(err, "--recheck-limit");
    if (threshold != NULL &&
        units_parse_percent(threshold, &options->threshold_frac, err) != STATUS_OK)
        return error_within(err, "--threshold");
    return STATUS_OK;
}

const cli_option_t COMPARE_OPTIONS[] = {
    {"threshold", "PERCENT", "changes up to this are no regression (5%)"},
    {"floor", "RUN", "another run of BASE's build: teaches noise floors (repeatable)"},
    {"save-floor", NULL, "keep what --floor teaches in BASE/floor.json, which is read ever after"},
    {"phase", "P", "compare this phase instead of the usual two (repeatable); all"},
    {"allow", "FIELD", "let it differ: gpu, driver, mig, ecc, cpu, mode, dtype, … (repeatable)"},
    {"strict", NULL, "exit with 4 where a case of BASE is undecided, missing or not comparable"},
    {"all", NULL, "show unchanged cases too"},
    {"json", NULL, "print JSON"},
    {"markdown", "FILE", "write a table for a pull request"},
    {"junit", "FILE", "write JUnit XML for CI"},
    {NULL, NULL, NULL},
};

status_t compare_command(const cli_args_t *args, error_t *err) {
    const text_list_t *floors = cli_all(args, "floor"), *phases = cli_all(args, "phase"),
                      *allow = cli_all(args, "allow");
    if (args->operands.n != 2)
        return error_set(err, STATUS_USAGE, "bench compare: two run folders: BASE and CANDIDATE");
    compare_options_t options = {
        .base = args->operands.items[0],
        .candidate = args->operands.items[1],
        .floors = (const char *const *)floors->items,
        .n_floors = floors->n,
        .save_floor = cli_has(args, "save-floor"),
        .phases = (const char *const *)phases->items,
        .n_phases = phases->n,
        .allow = (const char *const *)allow->items,
        .n_allow = allow->n,
        .threshold_frac = GATE_THRESHOLD,
        .markdown = cli_get(args, "markdown"),
        .junit = cli_get(args, "junit"),
        .json = cli_has(args, "json"),
        .all = cli_has(args, "all"),
        .strict = cli_has(args, "strict"),
        .print = stdout,
    };
    if (options.save_floor && options.n_floors == 0)
        return error_set(err, STATUS_USAGE, "--save-floor needs --floor: runs to learn from");
    const char *threshold = cli_get(args, "threshold");
    if (threshold != NULL &&
        units_parse_percent(threshold, &options.threshold_frac, err) != STATUS_OK)
        return error_within(err, "--threshold");
    return compare_runs(&options, err);
}

const cli_option_t HISTORY_OPTIONS[] = {
    {"case", "ID", "only this case"},
    {"phase", "P", "this phase instead of the usual two (repeatable); all"},
    {"least", "PERCENT", "smaller steps are not told (2%)"},
    {"all", NULL, "tell and draw cases without a step, too"},
    {"out", "DIR", "draw a chart of each case that is told into this folder"},
    {"format", "F", "svg (default), png, or svg,png"},
    {"allow", "FIELD", "let it differ between runs, as in bench compare (repeatable)"},
    {"json", NULL, "print JSON"},
    {NULL, NULL, NULL},
};

status_t history_command(const cli_args_t *args, error_t *err) {
    static const double DEFAULT_LEAST_FRAC = 0.02;
    const text_list_t *phases = cli_all(args, "phase"), *allow = cli_all(args, "allow");
    history_options_t options = {
        .runs = (const char *const *)args->operands.items,
        .n_runs = args->operands.n,
        .phases = (const char *const *)phases->items,
        .n_phases = phases->n,
        .allow = (const char *const *)allow->items,
        .n_allow = allow->n,
        .least_frac = DEFAULT_LEAST_FRAC,
        .case_id = cli_get(args, "case"),
        .out = cli_get(args, "out"),
        .format = cli_get(args, "format"),
        .all = cli_has(args, "all"),
        .json = cli_has(args, "json"),
        .root = args->root,
        .print = stdout,
    };
    if (options.n_runs < 2)
        return error_set(err, STATUS_USAGE, "bench history: at least two runs, oldest first");
    const char *least = cli_get(args, "least");
    if (least != NULL && units_parse_percent(least, &options.least_frac, err) != STATUS_OK)
        return error_within(err, "--least");
    return history_runs(&options, err);
}

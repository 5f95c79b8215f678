/* Command lines of compare, history and repeat. */
#include "cli/commands.h"

#include "compare/compare.h"
#include "compare/decision.h"
#include "compare/history.h"
#include "compare/repeat.h"

#define SET(read, member) CLI_FIELD(read, compare_options_t, member)
const cli_option_t COMPARE_OPTIONS[] = {
    {"threshold", "PERCENT", "slowdowns up to this are not regressions (5%)",
     SET(cli_percent, threshold_frac)},
    {"floor", "RUN", "another run of BASE's build, for noise floors (repeatable)",
     SET(cli_texts, floors)},
    {"save-floor", NULL, "save the noise floors in BASE/floor.json for later comparisons",
     SET(cli_flag, save_floor)},
    {"phase", "P", "compare this phase, or all, instead of the default two (repeatable)",
     SET(cli_texts, phases)},
    {"allow", "FIELD", "may differ: gpu, driver, mig, ecc, cpu, mode, dtype, … (repeatable)",
     SET(cli_texts, allow)},
    {"strict", NULL, "exit with 4 if a case of BASE is undecided, missing or not comparable",
     SET(cli_flag, strict)},
    {"all", NULL, "show unchanged cases too", SET(cli_flag, all)},
    {"json", NULL, "print JSON", SET(cli_flag, json)},
    {"markdown", "FILE", "write a table for a pull request", SET(cli_text, markdown)},
    {"junit", "FILE", "write JUnit XML for CI", SET(cli_text, junit)},
    {0},
};
#undef SET

status_t compare_command(const cli_args_t *args, error_t *err) {
    if (args->operands.n != 2)
        return error_set(err, STATUS_USAGE,
                         "bench compare: expected two run folders: BASE and CANDIDATE");
    compare_options_t options = {.base = args->operands.items[0],
                                 .candidate = args->operands.items[1],
                                 .threshold_frac = GATE_THRESHOLD,
                                 .print = stdout};
    TRY(cli_read(args, &options, err));
    if (options.save_floor && options.floors.n == 0)
        return error_set(err, STATUS_USAGE, "--save-floor needs --floor");
    return compare_runs(&options, err);
}

#define SET(read, member) CLI_FIELD(read, history_options_t, member)
const cli_option_t HISTORY_OPTIONS[] = {
    {"case", "ID", "only this case", SET(cli_text, case_id)},
    {"phase", "P", "show this phase, or all, instead of the default two (repeatable)",
     SET(cli_texts, phases)},
    {"least", "PERCENT", "ignore smaller steps (2%)", SET(cli_percent, least_frac)},
    {"all", NULL, "show cases without a step too", SET(cli_flag, all)},
    {"out", "DIR", "draw a chart of each case shown into this folder", SET(cli_text, out)},
    {"format", "F", "svg (default), png, or svg,png", SET(cli_text, format)},
    {"allow", "FIELD", "may differ between runs, as in bench compare (repeatable)",
     SET(cli_texts, allow)},
    {"json", NULL, "print JSON", SET(cli_flag, json)},
    {0},
};

status_t history_command(const cli_args_t *args, error_t *err) {
    history_options_t options = {
        .runs = &args->operands, .least_frac = 0.02, .root = args->root, .print = stdout};
    if (options.runs->n < 2)
        return error_set(err, STATUS_USAGE,
                         "bench history: expected at least two runs, oldest first");
    TRY(cli_read(args, &options, err));
    return history_runs(&options, err);
}

const cli_option_t REPEAT_OPTIONS[] = {
    {"json", NULL, "print JSON", CLI_FIELD(cli_flag, repeat_options_t, json)},
    {0},
};

status_t repeat_command(const cli_args_t *args, error_t *err) {
    repeat_options_t options = {.runs = &args->operands, .print = stdout};
    TRY(cli_read(args, &options, err));
    return repeat_runs(&options, err);
}

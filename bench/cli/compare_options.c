/* Command lines of compare, history, fleet and repeat. */
#include "cli/commands.h"

#include "compare/compare.h"
#include "fleet/fleet.h"
#include "gate/decision.h"

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
                                 .threshold_frac = GATE_THRESHOLD};
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
    {"least", "PERCENT", "ignore smaller changes (2%)", SET(cli_percent, least_frac)},
    {"all", NULL, "show unchanged cases, too", SET(cli_flag, all)},
    {"allow", "FIELD", "may differ between runs, as in bench compare (repeatable)",
     SET(cli_texts, allow)},
    {"json", NULL, "print JSON", SET(cli_flag, json)},
    {0},
};

status_t history_command(const cli_args_t *args, error_t *err) {
    history_options_t options = {.runs = &args->operands, .least_frac = 0.02};
    if (options.runs->n < 2)
        return error_set(err, STATUS_USAGE,
                         "bench history: expected at least two runs, oldest first");
    TRY(cli_read(args, &options, err));
    return history_runs(&options, err);
}
#undef SET

#define SET(read, member) CLI_FIELD(read, fleet_options_t, member)
const cli_option_t FLEET_OPTIONS[] = {
    {"threshold", "PERCENT", "machines that differ by up to this are alike (5%)",
     SET(cli_percent, threshold_frac)},
    {"phase", "P", "compare this phase, or all, instead of the default two (repeatable)",
     SET(cli_texts, phases)},
    {"allow", "FIELD", "may differ between runs, as in bench compare (repeatable)",
     SET(cli_texts, allow)},
    {"json", NULL, "print JSON", SET(cli_flag, json)},
    {0},
};
#undef SET

status_t fleet_command(const cli_args_t *args, error_t *err) {
    fleet_options_t options = {.runs = &args->operands, .threshold_frac = GATE_THRESHOLD};
    if (options.runs->n < FLEET_FEWEST)
        return error_set(err, STATUS_USAGE,
                         "bench fleet: found %zu run%s, expected at least %d, each of another "
                         "machine; for two there is bench compare",
                         options.runs->n, options.runs->n == 1 ? "" : "s", FLEET_FEWEST);
    TRY(cli_read(args, &options, err));
    return fleet_runs(&options, err);
}

/* Options that are passed on to `bench run` have no reader here: it reads them. */
#define SET(read, member) CLI_FIELD(read, repeat_options_t, member)
enum { MOST_TIMES = 100 };
const cli_option_t REPEAT_OPTIONS[] = {
    {"times", "N", "of sweeps: how many runs (3)",
     CLI_RANGE(cli_number, repeat_options_t, times, 2, MOST_TIMES)},
    {"out", "DIR", "folder of the runs DIR/1 … DIR/N (results/repeat-TIME)", SET(cli_text, out)},
    {"resume", NULL, "continue the runs in --out; finished passes of cases are kept",
     SET(cli_flag, resume)},
    {"passes", "N", "as for bench run, like the options below", CLI_ASKED},
    {"quick", NULL, "one pass: no intervals, only how far medians move", CLI_ASKED},
    {"time-limit", "TIME", "time limit per contender", CLI_ASKED},
    {"no-pytorch", NULL, "leave PyTorch out", CLI_ASKED},
    {"no-jax", NULL, "leave JAX out", CLI_ASKED},
    {"device", "I", "index of the CUDA device", CLI_ASKED},
    {"timeout", "TIME", "time limit for one answer of a worker", CLI_ASKED},
    {"compiler", "C", "nvrtc or nvcc", CLI_ASKED},
    {"seed", "N", "seed of the data and of the order of rounds", CLI_ASKED},
    {"lock-clocks", "MHZ", "lock the GPU's SM clock (needs root)", CLI_ASKED},
    {"processes", "P", "of Python workers: forked or fresh", CLI_ASKED},
    {"quiet", NULL, "no progress on stderr", SET(cli_flag, quiet)},
    {"json", NULL, "print JSON", SET(cli_flag, json)},
    {0},
};
#undef SET

static bool is_of_run(const cli_option_t *option) {
    return option->field.read == NULL;
}

static status_t check_repeat(const cli_args_t *args, bool sweeps, const repeat_options_t *options,
                             error_t *err) {
    static const char *const OF_SWEEPS[] = {"times", "out", "resume", NULL};
    const char *name = cli_first(args, OF_SWEEPS);
    if (!sweeps && name != NULL)
        return error_set(err, STATUS_USAGE, "bench repeat: --%s needs a sweep", name);
    if (!sweeps && options->run_options.n > 0)
        return error_set(err, STATUS_USAGE, "bench repeat: %s needs a sweep",
                         options->run_options.items[0]);
    if (options->resume && options->out == NULL)
        return error_set(err, STATUS_USAGE, "--resume needs --out: the runs to continue");
    return STATUS_OK;
}

status_t repeat_command(const cli_args_t *args, error_t *err) {
    repeat_options_t options = {.operands = &args->operands, .root = args->root, .times = 3};
    bool sweeps = false;
    TRY(cli_read(args, &options, err));
    TRY(repeat_find_sweeps(options.operands, &sweeps, err));
    AUTO(text_list_free) text_list_t given = cli_given(args, is_of_run);
    options.run_options = given;
    TRY(check_repeat(args, sweeps, &options, err));
    return sweeps ? repeat_sweeps(&options, err) : repeat_runs(&options, err);
}

/* `bench operator`: its subcommands. */
#include "cli/operator.h"

#include "base/memory.h"
#include "cli/commands.h"
#include "io/json.h"
#include "io/output.h"
#include "workloads/common/workload.h" /* NAMES */

#include <stdlib.h>
#include <string.h>

const cli_option_t OPERATOR_OPTIONS[] = {
    {"dir", "DIR", "new: folder to make NAME in (kernels/; installed: the current folder)",
     CLI_FIELD(cli_text, operator_options_t, dir)},
    {"candidate", "FILE", "import: measure its ModelNew against Model (repeatable)",
     CLI_FIELD(cli_texts, operator_options_t, candidates)},
    {"out", "DIR", "import: keep the operator in this new folder",
     CLI_FIELD(cli_text, operator_options_t, out)},
    {"train", NULL, "import: in training mode (batch norm by the batch's statistics)",
     CLI_FIELD(cli_flag, operator_options_t, train)},
    {"emulate", NULL, "check: run the rungs on the CPU, at small sizes: are they right?",
     CLI_FIELD(cli_flag, operator_options_t, emulate)},
    {"variant", "NAME", "check --emulate: only this rung",
     CLI_FIELD(cli_text, operator_options_t, variant)},
    {"set", "NAME=VALUE", "check --emulate: a param in every case (repeatable)",
     CLI_FIELD(cli_texts, operator_options_t, sets)},
    {0},
};

static const struct {
    const char *name, *operands, *summary;
    const char *const *options; /* of OPERATOR_OPTIONS; ends with NULL */
    status_t (*handle)(const operator_options_t *options, error_t *err);
} SUBCOMMANDS[] = {
    {"new", "NAME", "write an example as kernels/NAME that runs at once, to be changed",
     NAMES("dir"), operator_new},
    {"check", "DIR…", "is the description right, and the reference on small and default sizes?",
     NAMES("emulate", "variant", "set"), operator_check},
    {"import", "FILE", "measure a problem of a kernel benchmark (-- options of bench run)",
     NAMES("candidate", "out", "train"), operator_import},
};

enum { N_SUBCOMMANDS = sizeof SUBCOMMANDS / sizeof *SUBCOMMANDS };

void operator_print_subcommands(FILE *out) {
    enum { OPERANDS_COLUMN = 6 };
    fputs("\nsubcommands (docs/your-kernel.md):\n", out);
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        fprintf(out, "  %-6s %s%*s %s\n", SUBCOMMANDS[i].name, SUBCOMMANDS[i].operands,
                OPERANDS_COLUMN - (int)text_width(SUBCOMMANDS[i].operands), "",
                SUBCOMMANDS[i].summary);
}

static status_t unknown_subcommand(const char *name, error_t *err) {
    const char *names[N_SUBCOMMANDS];
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        names[i] = SUBCOMMANDS[i].name;
    const vocabulary_t known = {"subcommand", "", names, N_SUBCOMMANDS};
    char *complaint = vocabulary_complaint(&known, name);
    error_set(err, STATUS_USAGE, "bench operator: %s", complaint);
    free(complaint);
    return STATUS_USAGE;
}

/* Does the subcommand take every option that was given? */
static status_t check_options(const cli_args_t *args, size_t subcommand, error_t *err) {
    for (const cli_option_t *option = OPERATOR_OPTIONS; option->name != NULL; option++) {
        const char *const *own = SUBCOMMANDS[subcommand].options;
        while (*own != NULL && strcmp(*own, option->name) != 0)
            own++;
        if (*own == NULL && cli_has(args, option->name))
            return error_set(err, STATUS_USAGE, "bench operator %s does not take --%s",
                             SUBCOMMANDS[subcommand].name, option->name);
    }
    return STATUS_OK;
}

status_t operator_command(const cli_args_t *args, error_t *err) {
    if (args->operands.n == 0)
        return error_set(err, STATUS_USAGE,
                         "bench operator: expected a subcommand (see bench help operator)");
    const char *name = args->operands.items[0];
    size_t i = 0;
    while (i < N_SUBCOMMANDS && strcmp(SUBCOMMANDS[i].name, name) != 0)
        i++;
    if (i == N_SUBCOMMANDS)
        return unknown_subcommand(name, err);
    operator_options_t options = {.root = args->root,
                                  .operands = (const char *const *)args->operands.items + 1,
                                  .n_operands = args->operands.n - 1,
                                  .args = args};
    TRY(check_options(args, i, err));
    TRY(cli_read(args, &options, err));
    return SUBCOMMANDS[i].handle(&options, err);
}

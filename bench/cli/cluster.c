/* The command line of `bench cluster`. */
#include "cli/commands.h"

#include "base/memory.h"
#include "cluster/cluster.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHARDS = 100000 };

#define SET(read, member) CLI_FIELD(read, cluster_options_t, member)

const cli_option_t CLUSTER_OPTIONS[] = {
    {"shards", "N", "tasks of a job array, each with a part of the cases",
     CLI_RANGE(cli_number, cluster_options_t, n_shards, 1, MOST_SHARDS)},
    {"out", "DIR", "folder for scripts, logs, shards, merged runs and REPORT.md",
     SET(cli_text, out)},
    {"kind", "NAME=OPTS", "an array of its own for a kind of GPU: options of sbatch (repeatable)",
     SET(cli_texts, kinds)},
    {"gres", "G", "for sbatch, e.g. gpu:1", CLI_ASKED},
    {"constraint", "C", "for sbatch", CLI_ASKED},
    {"partition", "P", "for sbatch, also of the job that merges", CLI_ASKED},
    {"account", "A", "the same", CLI_ASKED},
    {"qos", "Q", "the same", CLI_ASKED},
    {"time", "T", "the same: time limit of a job, e.g. 4:00:00", CLI_ASKED},
    {"sbatch-option", "X", "for sbatch, e.g. --exclusive (repeatable)", CLI_ASKED},
    {"container", "IMAGE", "run in this image: srun --container-image, of pyxis",
     SET(cli_text, container)},
    {"dry-run", NULL, "print the scripts; write and submit nothing", SET(cli_flag, dry_run)},
    {0},
};

/* They are ours, or write no run that could be merged. */
static const char *const NOT_HANDED_ON[] = {"out",      "resume", "shard", "against", "profile",
                                            "sanitize", "trace",  "json",  NULL};

/* Operands, and with them the words after "--", which are options of bench run. */
static status_t check_run(const cli_args_t *args, const cluster_options_t *options, error_t *err) {
    cli_args_t given;
    TRY(run_parse(args->root, &options->run, &given, err));
    const char *ours = cli_first(&given, NOT_HANDED_ON);
    cli_args_free(&given);
    if (ours != NULL)
        return error_set(err, STATUS_USAGE, "bench cluster: --%s of bench run cannot be handed on",
                         ours);
    text_list_t words = {0};
    for (size_t i = 0; i < options->run.n; i++)
        text_list_add(&words, options->run.items[i]);
    text_list_add_format(&words, "--shard=1/%u", options->n_shards);
    status_t status = run_parse(args->root, &words, &given, err);
    if (status == STATUS_OK) {
        status = check_command(&given, err);
        cli_args_free(&given);
    }
    text_list_free(&words);
    return status;
}

static void add_named(const cli_args_t *args, const char *const *names, text_list_t *to) {
    for (; *names != NULL; names++) {
        const text_list_t *values = cli_all(args, *names);
        if (values->n > 0)
            text_list_add_format(to, "--%s=%s", *names, values->items[values->n - 1]);
    }
}

/* Lines of a script are made of them. */
static status_t check_plain(const cli_args_t *args, error_t *err) {
    for (size_t i = 0; i < args->n_argv; i++) {
        if (text_is_plain(args->argv[i]))
            continue;
        char *word = text_plain(args->argv[i]);
        error_set(err, STATUS_USAGE, "bench cluster: %s: expected no control characters", word);
        free(word);
        return STATUS_USAGE;
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
    static const char *const FOR_ALL[] = {"partition", "account", "qos", "time", NULL};
    static const char *const FOR_SHARDS[] = {"gres", "constraint", NULL};
    cluster_options_t options = {.root = args->root, .run = args->operands, .print = stdout};
    TRY(cli_read(args, &options, err));
    add_named(args, FOR_ALL, &options.for_all);
    add_named(args, FOR_SHARDS, &options.for_shards);
    const text_list_t *more = cli_all(args, "sbatch-option");
    for (size_t i = 0; i < more->n; i++)
        text_list_add(&options.for_shards, more->items[i]);
    status_t status = check_all(args, &options, err);
    if (status == STATUS_OK)
        status = cluster_submit(&options, err);
    text_list_free(&options.for_all);
    text_list_free(&options.for_shards);
    return status;
}

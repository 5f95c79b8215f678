/* bench: maps a subcommand to a function, and an error to a message and an exit code. Nothing else
 * exits or prints errors. */
#include "base/memory.h"
#include "cli/commands.h"
#include "help/help.h"
#include "io/folders.h"
#include "io/output.h"
#include "results/record.h"
#include "version.h"
#include "workloads/common/workload.h"
#include "workloads/described/described.h"

#include <stdlib.h>
#include <string.h>

static status_t unknown_command(const char *name, error_t *err) {
    AUTO(text_list_free) text_list_t names = {0};
    for (const cli_command_t *command = commands_all(); command->name != NULL; command++)
        text_list_add(&names, command->name);
    const char *nearest = text_nearest(name, (const char *const *)names.items, names.n);
    if (nearest != NULL)
        return error_set(err, STATUS_USAGE, "unknown command \"%s\"; did you mean \"%s\"?", name,
                         nearest);
    return error_set(err, STATUS_USAGE, "unknown command \"%s\" (see bench help)", name);
}

/* `word`: after "--completion". */
static status_t help(const char *name, const char *word, error_t *err) {
    if (name == NULL) {
        help_overview(stdout);
        return STATUS_OK;
    }
    if (strcmp(name, "--man") == 0) {
        help_man(stdout);
        return STATUS_OK;
    }
    if (strcmp(name, "--completion") == 0)
        return help_completion(word != NULL ? word : "", stdout, err);
    const cli_command_t *command = commands_find(name);
    if (command == NULL)
        return unknown_command(name, err);
    cli_print_help(command, stdout);
    return STATUS_OK;
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static void print_left_out(const char *why) {
    output_print(stderr, "bench: left out: %s\n", why);
}

static void print_sentence(const char *sentence) {
    output_print(stderr, "bench: %s\n", sentence);
}

static status_t dispatch(int argc, char **argv, error_t *err) {
    const char *name = argc > 1 ? argv[1] : "";
    if (name[0] == '\0') {
        help_overview(stderr);
        return error_set(err, STATUS_USAGE, "no command given");
    }
    if (strcmp(name, "--version") == 0) {
        printf("bench %s (%s%s)\n", BENCH_VERSION, BENCH_REVISION, BENCH_DIRTY ? ", modified" : "");
        return STATUS_OK;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL, err);
    const cli_command_t *command = commands_find(name);
    if (command == NULL)
        return unknown_command(name, err);
    if (asks_for_help(argc, argv))
        return help(name, NULL, err);
    AUTO(cli_args_free) cli_args_t args = {0};
    AUTO_FREE char *root = NULL;
    TRY(folders_data(&root, err));
    folders_export(root);
    TRY(cli_parse(command, argc, argv, 2, &args, err));
    args.root = root;
    args.argv = (const char *const *)argv;
    args.n_argv = (size_t)argc;
    record_on_described = described_add_saved;
    if (strcmp(name, "worker") != 0)
        described_tell = print_sentence;
    /* A worker gets them with its requests; `bench workload` says itself what is wrong. */
    if (strcmp(name, "worker") != 0 && command->handle != workload_command &&
        strcmp(name, "wall") != 0)
        workload_search_described(root, print_left_out);
    return command->handle(&args, err);
}

int main(int argc, char **argv) {
    error_t err = ERROR_INIT, lost = ERROR_INIT;
    output_begin();
    const status_t status = dispatch(argc, argv, &err);
    const int written = output_finish(&lost); /* before messages, which may go to the same file */
    if (err.text[0] != '\0')
        fprintf(stderr, "bench: %s\n", err.text);
    if (lost.text[0] != '\0')
        fprintf(stderr, "bench: %s\n", lost.text);
    return status != STATUS_OK ? (int)status : written;
}

/* `bench repeat SWEEP…`: make the runs, each by the program itself: see repeat.h. */
#include "compare/repeat.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/output.h"
#include "io/subprocess.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

/* A file, or the name of one. What does not exist is reported by the command that reads it. */
static bool is_sweep(const char *operand) {
    struct stat found;
    return stat(operand, &found) == 0 ? !S_ISDIR(found.st_mode) : text_ends(operand, ".json");
}

status_t repeat_find_sweeps(const text_list_t *operands, bool *sweeps, error_t *err) {
    *sweeps = operands->n > 0 && is_sweep(operands->items[0]);
    for (size_t i = 1; i < operands->n; i++)
        if (is_sweep(operands->items[i]) != *sweeps)
            return error_set(
                err, STATUS_USAGE,
                "bench repeat: expected either sweeps (files) or runs (folders), found "
                "%s and %s",
                operands->items[0], operands->items[i]);
    return STATUS_OK;
}

static char *default_folder(const repeat_options_t *options) {
    char text[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(text, sizeof text, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    char *project = folders_project(options->root);
    char *folder = mem_format("%s/results/repeat-%s", project, text);
    free(project);
    return folder;
}

static text_list_t command_of(const repeat_options_t *options, const char *program,
                              const char *folder) {
    text_list_t argv = {0};
    text_list_add(&argv, program);
    text_list_add(&argv, "run");
    for (size_t i = 0; i < options->run_options.n; i++)
        text_list_add(&argv, options->run_options.items[i]);
    if (options->quiet)
        text_list_add(&argv, "--quiet");
    text_list_add(&argv, "--out");
    text_list_add(&argv, folder);
    char *header = fs_join(folder, "run.json");
    if (options->resume && fs_exists(header))
        text_list_add(&argv, "--resume");
    free(header);
    text_list_add(&argv, "--");
    for (size_t i = 0; i < options->operands->n; i++)
        text_list_add(&argv, options->operands->items[i]);
    return argv;
}

static status_t make_run(const repeat_options_t *options, const char *program, const char *folder,
                         bool *broken, error_t *err) {
    text_list_t command = command_of(options, program, folder);
    const char **argv = mem_zeroed(command.n + 1, sizeof *argv);
    for (size_t i = 0; i < command.n; i++)
        argv[i] = command.items[i];
    int exit_code = 0;
    bool interrupted = false;
    status_t status = foreground_run(argv, &exit_code, &interrupted, err);
    free(argv);
    text_list_free(&command);
    TRY(status);
    if (interrupted)
        return error_set(err, STATUS_FAILED,
                         "interrupted: continue with the same command, --out and --resume");
    if (exit_code > STATUS_FAILED)
        return error_set(err, STATUS_USAGE, "%s: bench run ended with exit code %d", folder,
                         exit_code);
    *broken |= exit_code == STATUS_FAILED;
    return STATUS_OK;
}

status_t repeat_sweeps(const repeat_options_t *options, error_t *err) {
    repeat_options_t saved = *options;
    text_list_t runs = {0};
    char *top = options->out != NULL ? mem_text(options->out) : default_folder(options);
    char *program = NULL;
    bool broken = false;
    status_t status = fs_executable(&program, err);
    for (unsigned k = 1; k <= options->times && status == STATUS_OK; k++) {
        text_list_add_format(&runs, "%s/%u", top, k);
        if (!options->quiet)
            output_print(stderr, "run %u of %u: %s\n", k, options->times, runs.items[k - 1]);
        status = make_run(options, program, runs.items[k - 1], &broken, err);
    }
    saved.operands = &runs;
    if (status == STATUS_OK)
        status = repeat_runs(&saved, err);
    if (status == STATUS_OK && broken)
        status = error_set(err, STATUS_FAILED,
                           "a case was wrong or failed: only cases that are ok in two runs count");
    free(program);
    free(top);
    text_list_free(&runs);
    return status;
}

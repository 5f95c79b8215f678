/* `bench operator import`: a problem of a kernel benchmark, measured as an operator. What it computes on is found by
 * reference_operator/import_problem.py, which writes the operator's folder. */
#include "cli/operator.h"

#include "base/memory.h"
#include "cli/commands.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "measure/progress.h"
#include "worker/pool.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S = 600 };
static const char TRAIN[] = "--train"; /* in import_problem.py and its notes, too */

/* "why\n" → "why"; the caller frees it. */
static char *line_of(const char *text, size_t n) {
    char *line = mem_text_n(text, n);
    text_make_plain(line);
    return line;
}

static status_t check_answer(const char *problem, const subprocess_result_t *answer, error_t *err) {
    if (answer->exit_code == 0)
        return STATUS_OK;
    char *reason = line_of(answer->out, strcspn(answer->out, "\n"));
    if (answer->timed_out)
        error_set(err, STATUS_USAGE, "%s: not described within %d s", problem, TIMEOUT_S);
    else if (reason[0] != '\0')
        error_set(err, STATUS_USAGE, "%s", reason);
    else
        error_set(err, STATUS_FAILED, "%s: Python died: %.300s", problem, answer->err);
    free(reason);
    return STATUS_USAGE;
}

/* Is --quiet among the options of bench run? */
static bool is_quiet(const operator_options_t *options) {
    bool quiet = false;
    for (size_t i = 1; i < options->n_operands; i++)
        quiet |= strcmp(options->operands[i], "--quiet") == 0;
    return quiet;
}

/* `*notes` are those of import_problem.py; the caller frees them. */
static status_t write_folder(const operator_options_t *options, const char *folder, char **notes,
                             error_t *err) {
    char *python, *script = fs_join(options->root, "reference_operator/import_problem.py");
    const char *slash = strrchr(options->operands[0], '/');
    char *mark = mem_format("import %s: ", slash != NULL ? slash + 1 : options->operands[0]);
    subprocess_result_t answer = {0};
    status_t status = workers_find_python(options->root, NULL, "pytorch", &python, err);
    if (status == STATUS_OK) {
        const char **argv = mem_zeroed(options->candidates.n + 6, sizeof *argv);
        size_t n = 0;
        argv[n++] = python;
        argv[n++] = script;
        if (options->train)
            argv[n++] = TRAIN;
        argv[n++] = folder;
        argv[n++] = options->operands[0];
        for (size_t i = 0; i < options->candidates.n; i++)
            argv[n++] = options->candidates.items[i];
        status =
            subprocess_run_told(argv, is_quiet(options) ? NULL : mark, TIMEOUT_S, &answer, err);
        free(argv);
        free(python);
    }
    if (status == STATUS_OK) {
        status = check_answer(options->operands[0], &answer, err);
        if (status == STATUS_OK)
            *notes = mem_text(answer.out);
        subprocess_result_free(&answer);
    }
    free(mark);
    free(script);
    return status;
}

static text_list_t words_of_run(const operator_options_t *options) {
    text_list_t words = {0};
    for (size_t i = 1; i < options->n_operands; i++)
        text_list_add(&words, options->operands[i]);
    return words;
}

/* `bench run --operator FOLDER`, with the options after "--". */
static status_t run_folder(const operator_options_t *options, const char *folder, error_t *err) {
    text_list_t words = words_of_run(options);
    cli_args_t args;
    text_list_add(&words, "--operator");
    text_list_add(&words, folder);
    status_t status = run_parse(options->root, &words, &args, err);
    if (status == STATUS_OK) {
        text_list_t paths = {0}, argv; /* FOLDER may be gone when the run is read */
        text_list_add(&paths, options->operands[0]);
        for (size_t i = 0; i < options->candidates.n; i++)
            text_list_add(&paths, options->candidates.items[i]);
        argv = run_argv(options->args, &paths);
        args.argv = (const char *const *)argv.items;
        args.n_argv = argv.n;
        status = run_command(&args, err);
        cli_args_free(&args);
        text_list_free(&paths);
        text_list_free(&argv);
    }
    text_list_free(&words);
    return status;
}

/* In training mode the outputs may be others. */
static status_t check_oracle(const operator_options_t *options, const char *folder,
                             const char *notes, error_t *err) {
    const workload_t *workload;
    TRY(workload_add_operator(folder, &workload, err));
    error_t why = ERROR_INIT;
    const status_t status = operator_check_oracle(workload, options->root, &why);
    if (status == STATUS_OK)
        return STATUS_OK;
    return error_set(err, status, "%s: %s%s%s", options->operands[0], why.text,
                     strstr(notes, TRAIN) != NULL ? "; or import it with " : "",
                     strstr(notes, TRAIN) != NULL ? TRAIN : "");
}

/* Write the folder, and see that its reference is one. */
static status_t make_folder(const operator_options_t *options, const char *folder, error_t *err) {
    const char *slash = strrchr(options->operands[0], '/');
    const char *name = slash != NULL ? slash + 1 : options->operands[0];
    char *notes = NULL;
    progress_t progress;
    progress_start(&progress, is_quiet(options), 0);
    progress_note(&progress, "import %s: Python loads PyTorch", name); /* which then tells more */
    status_t status = write_folder(options, folder, &notes, err);
    if (status == STATUS_OK) {
        fputs(notes, stderr);
        progress_say(&progress, "import %s: reference in float64 on the CPU, on two inputs", name);
        status = check_oracle(options, folder, notes, err);
        if (status != STATUS_OK)
            fs_remove_marked(folder, "operator.json", NULL);
    }
    progress_end(&progress);
    progress_free(&progress);
    free(notes);
    return status;
}

/* What can be told at once: the rest takes a while. */
static status_t check_call(const operator_options_t *options, error_t *err) {
    if (options->n_operands == 0)
        return error_set(err, STATUS_USAGE, "bench operator import: expected PROBLEM.py");
    if (options->out != NULL && fs_exists(options->out))
        return error_set(err, STATUS_USAGE, "--out %s: exists already", options->out);
    if (!fs_exists(options->operands[0]))
        return error_set(err, STATUS_USAGE, "bench operator import: %s: no such file",
                         options->operands[0]);
    for (size_t i = 0; i < options->candidates.n; i++)
        if (!fs_exists(options->candidates.items[i]))
            return error_set(err, STATUS_USAGE, "--candidate %s: no such file",
                             options->candidates.items[i]);
    text_list_t words = words_of_run(options);
    const status_t status = run_check_words(options->root, &words, err);
    text_list_free(&words);
    return status;
}

status_t operator_import(const operator_options_t *options, error_t *err) {
    TRY(check_call(options, err));
    TRY(fs_check_temporary(err)); /* with --out it is needed later */
    char *temporary = NULL;
    if (options->out == NULL)
        TRY(fs_temporary_folder(&temporary, err));
    /* Messages name the last part. */
    char *folder = options->out != NULL ? mem_text(options->out) : fs_join(temporary, "imported");
    status_t status = make_folder(options, folder, err);
    if (status == STATUS_OK)
        status = run_folder(options, folder, err);
    fs_remove_temporary(&temporary);
    free(folder);
    return status;
}

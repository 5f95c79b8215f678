/* `bench workload`: its subcommands. */
#include "cli/workload.h"

#include "base/memory.h"
#include "cli/commands.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/json.h"
#include "io/output.h"
#include "io/subprocess.h"
#include "measure/progress.h"
#include "worker/pool.h"
#include "workloads/described/described.h"

#include <string.h>

/* ==== bench workload new ====================================================================== */

/* `bench workload new`: kernels/common/new_workload/ under another name. */

static const char TEMPLATE[] = "kernels/common/new_workload", TEMPLATE_NAME[] = "new_workload";

static const struct {
    const char *name, *what;
} FILES[] = {
    {"workload.json", "arrays, params, tolerances, cost and sizes: change these first"},
    {"reference.py", "what it computes, in PyTorch: every other result is compared with it"},
    {"01_element_per_thread.cu", "the first rung: a kernel, and how it is launched"},
    {"spelled_out.py", "another implementation, of which there may be any number"},
};

enum { N_FILES = sizeof FILES / sizeof *FILES };

/* `text` with every TEMPLATE_NAME replaced; the caller frees it. */
static char *renamed(const char *text, const char *name) {
    AUTO(text_list_free) text_list_t parts = {0};
    for (const char *at; (at = strstr(text, TEMPLATE_NAME)) != NULL;) {
        text_list_take(&parts, mem_text_n(text, (size_t)(at - text)));
        text = at + sizeof TEMPLATE_NAME - 1;
    }
    text_list_add(&parts, text);
    return text_list_join(&parts, name);
}

static status_t write_file(const char *root, const char *file, const char *folder, const char *name,
                           error_t *err) {
    AUTO_FREE char *from = mem_format("%s/%s/%s", root, TEMPLATE, file),
                   *to = fs_join(folder, file);
    AUTO_FREE char *text = NULL;
    size_t size;
    TRY(fs_read(from, &text, &size, err));
    AUTO_FREE char *own = renamed(text, name);
    return fs_write_atomic(to, own, strlen(own), err);
}

static status_t write_folder(const char *root, const char *folder, const char *name, error_t *err) {
    TRY(fs_make_folders(folder, err));
    for (size_t i = 0; i < N_FILES; i++)
        if (write_file(root, FILES[i].name, folder, name, err) != STATUS_OK) {
            fs_remove_marked(folder, FILES[0].name, NULL);
            return STATUS_USAGE;
        }
    return STATUS_OK;
}

static void print_folder(const char *folder) {
    output_print(stdout, "%s/\n", folder);
    for (size_t i = 0; i < N_FILES; i++)
        printf("  %-25s %s\n", FILES[i].name, FILES[i].what);
    AUTO_FREE char *word = text_shell(folder);
    printf("\nIt runs as it is. Each file says what to change; docs/your-kernel.md has the format. "
           "Next:\n"
           "  bench workload check %s --emulate     (is the kernel right? on the CPU)\n"
           "  bench compile --workload %s --arch sm_75,sm_90 --quick\n"
           "  bench run --workload %s --quick\n"
           "  bench run --workload %s --quick --set device=cpu     (without a GPU)\n",
           word, word, word, word);
}

static status_t refuse_taken(const char *name, error_t *err) {
    if (workload_find(name) == NULL)
        return STATUS_OK;
    const description_t *d = described_find(name);
    if (d == NULL)
        return error_set(err, STATUS_USAGE,
                         "bench workload new: \"%s\" is the name of a workload: choose another",
                         name);
    AUTO_FREE char *folder = fs_from_here(d->folder);
    return error_set(err, STATUS_USAGE,
                     "bench workload new: %s exists already: choose another name", folder);
}

static status_t check_name(const workload_options_t *options, error_t *err) {
    if (options->n_operands != 1)
        return error_set(err, STATUS_USAGE, "bench workload new: expected one NAME, found %zu",
                         options->n_operands);
    const char *name = options->operands[0];
    if (!text_is_name(name))
        return error_set(
            err, STATUS_USAGE,
            "bench workload new: found the name \"%s\", expected letters, digits, \"_\", "
            "\"-\", \"+\" and \".\"",
            name);
    workload_search_described(options->root, NULL);
    return refuse_taken(name, err);
}

static status_t described_new(const workload_options_t *options, error_t *err) {
    TRY(check_name(options, err));
    const char *name = options->operands[0];
    AUTO_FREE char *above = options->dir != NULL               ? mem_text(options->dir)
                            : folders_installed(options->root) ? folders_project(options->root)
                                                               : fs_join(options->root, "kernels");
    AUTO_FREE char *folder = fs_join(above, name);
    AUTO_FREE char *shown = fs_from_here(folder);
    TRY(fs_exists(folder) ? error_set(err, STATUS_USAGE, "%s: exists already", shown)
                          : write_folder(options->root, folder, name, err));
    print_folder(shown);
    return STATUS_OK;
}

/* ==== bench workload import =================================================================== */

/* `bench workload import`: a problem of a kernel benchmark, measured as a workload. What it computes on is found by
 * reference_described/import_problem.py, which writes the workload's folder. */

enum { TIMEOUT_S = 600 };

static const char TRAIN[] = "--train"; /* in import_problem.py and its notes, too */

static status_t check_answer(const char *problem, const subprocess_result_t *answer, error_t *err) {
    if (answer->exit_code == 0)
        return STATUS_OK;
    AUTO_FREE char *reason = mem_text_n(answer->out, strcspn(answer->out, "\n"));
    text_make_plain(reason);
    if (answer->timed_out)
        error_set(err, STATUS_USAGE, "%s: not described within %d s", problem, TIMEOUT_S);
    else if (reason[0] != '\0')
        error_set(err, STATUS_USAGE, "%s", reason);
    else
        error_set(err, STATUS_FAILED, "%s: Python died: %.300s", problem, answer->err);
    return STATUS_USAGE;
}

/* Is --quiet among the options of bench run? */
static bool is_quiet(const workload_options_t *options) {
    return text_is_one_of("--quiet", options->operands + 1, options->n_operands - 1);
}

/* `*notes` are those of import_problem.py; the caller frees them. */
static status_t write_imported(const workload_options_t *options, const char *folder, char **notes,
                               error_t *err) {
    AUTO_FREE char *python = NULL;
    AUTO_FREE char *script = fs_join(options->root, "reference_described/import_problem.py");
    const char *slash = strrchr(options->operands[0], '/');
    AUTO_FREE char *mark =
        mem_format("import %s: ", slash != NULL ? slash + 1 : options->operands[0]);
    AUTO(subprocess_result_free) subprocess_result_t answer = {0};
    TRY(workers_find_python(options->root, NULL, "pytorch", &python, err));
    AUTO(text_list_free) text_list_t argv = {0};
    text_list_add_words(&argv, python, script, NULL);
    if (options->train)
        text_list_add(&argv, TRAIN);
    text_list_add_words(&argv, folder, options->operands[0], NULL);
    text_list_add_all(&argv, &options->candidates);
    TRY(subprocess_run_marked(text_list_argv(&argv), is_quiet(options) ? NULL : mark, TIMEOUT_S,
                              &answer, err));
    TRY(check_answer(options->operands[0], &answer, err));
    *notes = mem_text(answer.out);
    return STATUS_OK;
}

static text_list_t words_of_run(const workload_options_t *options) {
    text_list_t words = {0};
    for (size_t i = 1; i < options->n_operands; i++)
        text_list_add(&words, options->operands[i]);
    return words;
}

/* `bench run --workload FOLDER`, with the options after "--". */
static status_t run_folder(const workload_options_t *options, const char *folder, error_t *err) {
    AUTO(text_list_free) text_list_t words = words_of_run(options);
    AUTO(text_list_free) text_list_t paths = {0}, argv = {0};
    AUTO(cli_args_free) cli_args_t args = {0};
    text_list_add_words(&words, "--workload", folder, NULL);
    TRY(run_parse(options->root, &words, &args, err));
    text_list_add(&paths, options->operands[0]); /* FOLDER may be gone when the run is read */
    text_list_add_all(&paths, &options->candidates);
    argv = run_argv(options->args, &paths);
    args.argv = (const char *const *)argv.items;
    args.n_argv = argv.n;
    return run_command(&args, err);
}

/* In training mode the outputs may be others. */
static status_t check_oracle(const workload_options_t *options, const char *folder,
                             const char *notes, error_t *err) {
    const workload_t *workload;
    TRY(workload_add_described(folder, &workload, err));
    error_t why = ERROR_INIT;
    const status_t status = described_check_oracle(workload, options->root, &why);
    if (status == STATUS_OK)
        return STATUS_OK;
    return error_set(err, status, "%s: %s%s%s", options->operands[0], why.text,
                     strstr(notes, TRAIN) != NULL ? "; or import it with " : "",
                     strstr(notes, TRAIN) != NULL ? TRAIN : "");
}

/* Write the folder, and see that its reference is one. */
static status_t make_folder(const workload_options_t *options, const char *folder, error_t *err) {
    const char *slash = strrchr(options->operands[0], '/');
    const char *name = slash != NULL ? slash + 1 : options->operands[0];
    AUTO_FREE char *notes = NULL;
    progress_t progress;
    progress_start(&progress, is_quiet(options), 0);
    progress_note(&progress, "import %s: Python loads PyTorch", name); /* which then tells more */
    status_t status = write_imported(options, folder, &notes, err);
    if (status == STATUS_OK) {
        fputs(notes, stderr);
        progress_say(&progress, "import %s: reference in float64 on the CPU, on two inputs", name);
        status = check_oracle(options, folder, notes, err);
        if (status != STATUS_OK)
            fs_remove_marked(folder, "workload.json", NULL);
    }
    progress_end(&progress);
    progress_free(&progress);
    return status;
}

/* What can be told at once: the rest takes a while. */
static status_t check_call(const workload_options_t *options, error_t *err) {
    if (options->n_operands == 0)
        return error_set(err, STATUS_USAGE, "bench workload import: expected PROBLEM.py");
    if (options->out != NULL && fs_exists(options->out))
        return error_set(err, STATUS_USAGE, "--out %s: exists already", options->out);
    if (!fs_exists(options->operands[0]))
        return error_set(err, STATUS_USAGE, "bench workload import: %s: no such file",
                         options->operands[0]);
    for (size_t i = 0; i < options->candidates.n; i++)
        if (!fs_exists(options->candidates.items[i]))
            return error_set(err, STATUS_USAGE, "--candidate %s: no such file",
                             options->candidates.items[i]);
    AUTO(text_list_free) text_list_t words = words_of_run(options);
    return run_check_words(options->root, &words, err);
}

static status_t described_import(const workload_options_t *options, error_t *err) {
    TRY(check_call(options, err));
    TRY(fs_check_temporary(err)); /* with --out it is needed later */
    AUTO(fs_remove_temporary) char *temporary = NULL;
    if (options->out == NULL)
        TRY(fs_temporary_folder(&temporary, err));
    /* Messages name the last part. */
    AUTO_FREE char *folder =
        options->out != NULL ? mem_text(options->out) : fs_join(temporary, "imported");
    TRY(make_folder(options, folder, err));
    return run_folder(options, folder, err);
}

/* ==== bench workload ========================================================================== */

const cli_option_t WORKLOAD_OPTIONS[] = {
    {"dir", "DIR", "new: folder to make NAME in (kernels/; installed: the current folder)",
     CLI_FIELD(cli_text, workload_options_t, dir)},
    {"candidate", "FILE", "import: measure its ModelNew against Model (repeatable)",
     CLI_FIELD(cli_texts, workload_options_t, candidates)},
    {"out", "DIR", "import: keep the workload in this new folder",
     CLI_FIELD(cli_text, workload_options_t, out)},
    {"train", NULL, "import: in training mode (batch norm by the batch's statistics)",
     CLI_FIELD(cli_flag, workload_options_t, train)},
    {"emulate", NULL, "check: run the rungs on the CPU, at small sizes: are they right?",
     CLI_FIELD(cli_flag, workload_options_t, emulate)},
    {"variant", "NAME", "check --emulate: only this rung",
     CLI_FIELD(cli_text, workload_options_t, variant)},
    {"set", "NAME=VALUE", "check: a param in every small case (repeatable)",
     CLI_FIELD(cli_texts, workload_options_t, sets)},
    {0},
};

static const struct {
    const char *name, *operands, *summary;
    const char *const *options; /* of WORKLOAD_OPTIONS; ends with NULL */
    status_t (*handle)(const workload_options_t *options, error_t *err);
} SUBCOMMANDS[] = {
    {"new", "NAME", "write an example as kernels/NAME that runs at once, to be changed",
     NAMES("dir"), described_new},
    {"check", "DIR…", "are the description, the reference and what runs on the CPU right?",
     NAMES("emulate", "variant", "set"), described_check},
    {"import", "FILE", "measure a problem of a kernel benchmark (-- options of bench run)",
     NAMES("candidate", "out", "train"), described_import},
};

enum { N_SUBCOMMANDS = sizeof SUBCOMMANDS / sizeof *SUBCOMMANDS };

void workload_print_subcommands(FILE *out) {
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
    AUTO_FREE char *complaint = vocabulary_complaint(&known, name);
    return error_set(err, STATUS_USAGE, "bench workload: %s", complaint);
}

/* Does the subcommand take every option that was given? */
static status_t check_options(const cli_args_t *args, size_t subcommand, error_t *err) {
    for (const cli_option_t *option = WORKLOAD_OPTIONS; option->name != NULL; option++) {
        const char *const *own = SUBCOMMANDS[subcommand].options;
        while (*own != NULL && strcmp(*own, option->name) != 0)
            own++;
        if (*own == NULL && cli_has(args, option->name))
            return error_set(err, STATUS_USAGE, "bench workload %s does not take --%s",
                             SUBCOMMANDS[subcommand].name, option->name);
    }
    return STATUS_OK;
}

status_t workload_command(const cli_args_t *args, error_t *err) {
    if (args->operands.n == 0)
        return error_set(err, STATUS_USAGE,
                         "bench workload: expected a subcommand (see bench help workload)");
    const char *name = args->operands.items[0];
    size_t i = 0;
    while (i < N_SUBCOMMANDS && strcmp(SUBCOMMANDS[i].name, name) != 0)
        i++;
    if (i == N_SUBCOMMANDS)
        return unknown_subcommand(name, err);
    workload_options_t options = {.root = args->root,
                                  .operands = (const char *const *)args->operands.items + 1,
                                  .n_operands = args->operands.n - 1,
                                  .args = args};
    TRY(check_options(args, i, err));
    TRY(cli_read(args, &options, err));
    return SUBCOMMANDS[i].handle(&options, err);
}

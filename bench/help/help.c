#include "help/help.h"

#include "base/memory.h"
#include "cli/commands.h"
#include "version.h"

#include <ctype.h>
#include <string.h>

/* ==== completion ============================================================================== */

/* `bench help --completion`: a script for a shell, of the commands, their options and the values that are known. What
 * is not known is a file. */

/* Words that a command takes: "[workloads|variants]", "new NAME | check DIR…". Names in capitals are the user's. */
static char *words_of(const cli_command_t *command) {
    AUTO(text_list_free) text_list_t parts = text_split(command->operands, '|'), words = {0};
    for (size_t i = 0; i < parts.n; i++) {
        const char *word = parts.items[i] + strspn(parts.items[i], " [");
        size_t n = 0;
        while (islower((unsigned char)word[n]))
            n++;
        if (n > 0 && strchr(" ]", word[n]) != NULL)
            text_list_add_format(&words, "%.*s", (int)n, word);
    }
    return text_list_join(&words, " ");
}

static void print_choices(const cli_option_t *option, FILE *out) {
    for (size_t i = 0; option->field.choices[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", option->field.choices[i]);
}

static void print_names(FILE *out) {
    for (const cli_command_t *command = commands_all(); command->name != NULL; command++)
        fprintf(out, "%s ", command->name);
}

/* ---- bash -------------------------------------------------------------------------------------- */

/* Branches of a case of COMMAND:WORD_BEFORE:WORD. */
static void print_bash_command(const cli_command_t *command, FILE *out) {
    AUTO_FREE char *words = words_of(command);
    for (const cli_option_t *option = command->options; option->name != NULL; option++) {
        if (option->argument == NULL)
            continue;
        fprintf(out, "    %s:--%s:*) ", command->name, option->name);
        if (option->field.choices != NULL) {
            fputs("words='", out);
            print_choices(option, out);
            fputs("' ;;\n", out);
        } else {
            fputs("return ;;\n", out);
        }
    }
    fprintf(out, "    %s:*:-*) words='", command->name);
    for (const cli_option_t *option = command->options; option->name != NULL; option++)
        fprintf(out, "--%s ", option->name);
    fputs("--help' ;;\n", out);
    if (words[0] != '\0')
        fprintf(out, "    %s:*) words='%s' ;;\n", command->name, words);
}

static void print_bash(FILE *out) {
    fputs("# Completion of bench for bash, made by: bench help --completion bash\n"
          "_bench() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    local command=${COMP_WORDS[1]}\n"
          "    COMPREPLY=()\n"
          "    [ \"$COMP_CWORD\" -eq 1 ] && command= before=\n"
          "    case $command:$before:$word in\n"
          "    ::*) words='",
          out);
    print_names(out);
    fputs("help --version' ;;\n    help:*) words='", out);
    print_names(out);
    fputs("' ;;\n", out);
    for (const cli_command_t *command = commands_all(); command->name != NULL; command++)
        print_bash_command(command, out);
    fputs("    esac\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
          "}\n"
          "complete -o default -F _bench bench\n",
          out);
}

/* ---- zsh --------------------------------------------------------------------------------------- */

/* In single quotes; what a specification of zsh uses itself is escaped. */
static void put_zsh(const char *text, FILE *out) {
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            fputs("'\\''", out);
        else if (strchr(":[]\\", *c) != NULL)
            fprintf(out, "\\%c", *c);
        else
            fputc(*c, out);
    }
}

static bool is_path(const char *argument) {
    static const char *const PATHS[] = {"BUILD", "DIR", "FILE", "RUN"};
    return text_is_one_of(argument, PATHS, sizeof PATHS / sizeof *PATHS);
}

/* "--name VALUE" and "--name=VALUE". An action of a space has nothing to complete. */
static void print_zsh_option(const cli_option_t *option, FILE *out) {
    fprintf(out, " \\\n            '*--%s%s[", option->name, option->argument != NULL ? "=" : "");
    put_zsh(option->summary, out);
    fputc(']', out);
    if (option->argument != NULL) {
        fputc(':', out);
        put_zsh(option->argument, out);
        fputc(':', out);
        if (option->field.choices != NULL) {
            fputc('(', out);
            print_choices(option, out);
            fputc(')', out);
        } else {
            fputs(is_path(option->argument) ? "_files" : " ", out);
        }
    }
    fputc('\'', out);
}

static void print_zsh_command(const cli_command_t *command, FILE *out) {
    AUTO_FREE char *words = words_of(command);
    fprintf(out, "    %s)\n        _arguments", command->name);
    for (const cli_option_t *option = command->options; option->name != NULL; option++)
        print_zsh_option(option, out);
    fputs(" \\\n            '--help[list the options]'", out);
    if (words[0] != '\0')
        fprintf(out, " \\\n            '1:what:(%s)'", words);
    fputs(" \\\n            '*:file:_files' ;;\n", out);
}

static void print_zsh(FILE *out) {
    fputs("#compdef bench\n"
          "# Completion of bench for zsh, made by: bench help --completion zsh\n"
          "_bench() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (const cli_command_t *command = commands_all(); command->name != NULL; command++) {
        fprintf(out, "        '%s:", command->name);
        put_zsh(command->summary, out);
        fputs("'\n", out);
    }
    fputs("        'help:list the options of a command'\n"
          "    )\n"
          "    if (( CURRENT == 2 )) || [[ $words[2] == help && $CURRENT == 3 ]]; then\n"
          "        _describe command commands\n"
          "        [[ $words[2] == -* ]] && compadd -- --help --version\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $words[1] in\n",
          out);
    for (const cli_command_t *command = commands_all(); command->name != NULL; command++)
        print_zsh_command(command, out);
    fputs("    esac\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _bench ]; then _bench \"$@\"; else compdef _bench bench; fi\n",
          out);
}

status_t help_completion(const char *shell, FILE *out, error_t *err) {
    if (strcmp(shell, "bash") == 0)
        print_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(out);
    else {
        AUTO_FREE char *hint = text_hint(shell, (const char *const[]){"bash", "zsh"}, 2);
        return error_set(err, STATUS_USAGE,
                         "bench help --completion: found \"%s\", expected bash or zsh%s", shell,
                         hint);
    }
    return STATUS_OK;
}

/* ==== help and man page ======================================================================= */

static const char PURPOSE[] =
    "How much faster is hand-written CUDA than PyTorch at its best, and how far are both from\n"
    "what the hardware allows?\n";
static const char EXIT_CODES[] =
    "0 success · 1 regression or outlier, or a case wrong or failed · 2 usage error\n"
    "or unreadable input · 3 runs not comparable · 4 too noisy to decide (with --strict)\n";

static const struct {
    const char *name, *meaning;
} VARIABLES[] = {
    {"BENCH_PYTHON", "Python for workers; without it .venv of the checkout, the active environment "
                     "($VIRTUAL_ENV), .venv of the current folder, or python3"},
    {"BENCH_NAME_PYTHON", "the same for one engine, e.g. BENCH_JAX_PYTHON"},
    {"BENCH_CACHE", "folder for compiled programs"},
    {"BENCH_ROOT", "folder with kernels/ and sweeps/, e.g. a checkout's"},
    {"MNIST_DIR", "folder with the four files of MNIST"},
};

static const struct {
    const char *name, *meaning;
} FILES[] = {
    {"results/, plots/", "runs and their charts, in the current folder; in a checkout, there"},
    {"kernels/NAME/workload.json, reference_NAME/worker.py",
     "workloads and contenders of your own, likewise"},
    {"share/bench/, share/doc/bench/", "what was installed, below the prefix"},
    {"~/.cache/bench/", "compiled programs"},
};

void help_overview(FILE *out) {
    fprintf(out, "usage: bench COMMAND [options]\n\n%s\n", PURPOSE);
    for (const cli_command_t *command = commands_all(); command->name != NULL; command++)
        fprintf(out, "  %-9s %s\n", command->name, command->summary);
    fprintf(out,
            "\n  bench help COMMAND lists a command's options; bench --version prints the "
            "version.\n\nexit codes: %s",
            EXIT_CODES);
}

/* ---- the man page ------------------------------------------------------------------------------ */

/* Text for troff: a line that begins with "." or "'" would be a request. */
static void put(const char *text, FILE *out) {
    bool begins = true;
    for (const char *c = text; *c != '\0'; begins = *c++ == '\n') {
        if (begins && (*c == '.' || *c == '\''))
            fputs("\\&", out);
        if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-')
            fputs("\\-", out);
        else
            fputc(*c, out);
    }
}

static void put_term(const char *term, const char *argument, const char *text, FILE *out) {
    fputs(".TP\n\\fB", out);
    put(term, out);
    fputs("\\fR", out);
    if (argument != NULL) {
        fputs(" \\fI", out);
        put(argument, out);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(text, out);
    fputc('\n', out);
}

/* As it is, in lines. */
static void put_lines(const char *text, FILE *out) {
    text += strspn(text, "\n");
    fputs(".PP\n.nf\n", out);
    put(text, out);
    fprintf(out, "%s.fi\n", text[0] != '\0' && text[strlen(text) - 1] != '\n' ? "\n" : "");
}

static void put_printed(void (*print)(FILE *out), FILE *out) {
    AUTO_FREE char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    print(memory);
    fclose(memory);
    put_lines(text, out);
}

static void put_command(const cli_command_t *command, FILE *out) {
    fprintf(out, ".SS bench %s\n\\fBbench %s\\fR ", command->name, command->name);
    put(command->operands, out);
    fprintf(out, "%s\n.PP\n", command->options[0].name != NULL ? " [options]" : "");
    put(command->summary, out);
    fputc('\n', out);
    for (const cli_option_t *option = command->options; option->name != NULL; option++) {
        char name[64];
        snprintf(name, sizeof name, "--%s", option->name);
        put_term(name, option->argument, option->summary, out);
    }
    if (cli_units_note(command) != NULL)
        put_lines(cli_units_note(command), out);
    if (command->details != NULL)
        put_lines(command->details, out);
    if (command->print_details != NULL)
        put_printed(command->print_details, out);
}

void help_man(FILE *out) {
    fprintf(out,
            ".TH BENCH 1 \"\" \"bench %s\" \"User Commands\"\n.nh\n.ad l\n"
            ".SH NAME\nbench \\- hand\\-written CUDA against PyTorch and others, every result "
            "checked\n.SH SYNOPSIS\n\\fBbench\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n",
            BENCH_VERSION);
    put(PURPOSE, out);
    fputs(".SH COMMANDS\n", out);
    for (const cli_command_t *command = commands_all(); command->name != NULL; command++)
        put_command(command, out);
    fputs(".SH EXIT STATUS\n", out);
    put(EXIT_CODES, out);
    fputs(".SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++)
        put_term(VARIABLES[i].name, NULL, VARIABLES[i].meaning, out);
    fputs(".SH FILES\n", out);
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
        put_term(FILES[i].name, NULL, FILES[i].meaning, out);
}

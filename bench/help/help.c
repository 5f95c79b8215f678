#include "help/help.h"

#include "cli/commands.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

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
    {"kernels/NAME/operator.json, reference_NAME/worker.py",
     "operators and contenders of your own, likewise"},
    {"share/bench/, share/doc/bench/", "what was installed, below the prefix"},
    {"~/.cache/bench/", "compiled programs"},
};

void help_overview(FILE *out) {
    size_t n;
    const cli_command_t *commands = commands_all(&n);
    fprintf(out, "usage: bench COMMAND [options]\n\n%s\n", PURPOSE);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
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
    char *text;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    print(memory);
    fclose(memory);
    put_lines(text, out);
    free(text);
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
    size_t n;
    const cli_command_t *commands = commands_all(&n);
    fprintf(out,
            ".TH BENCH 1 \"\" \"bench %s\" \"User Commands\"\n.nh\n.ad l\n"
            ".SH NAME\nbench \\- hand\\-written CUDA against PyTorch and others, every result "
            "checked\n.SH SYNOPSIS\n\\fBbench\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n",
            BENCH_VERSION);
    put(PURPOSE, out);
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; i < n; i++)
        put_command(&commands[i], out);
    fputs(".SH EXIT STATUS\n", out);
    put(EXIT_CODES, out);
    fputs(".SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++)
        put_term(VARIABLES[i].name, NULL, VARIABLES[i].meaning, out);
    fputs(".SH FILES\n", out);
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
        put_term(FILES[i].name, NULL, FILES[i].meaning, out);
}

/* `bench help --completion`: a script for a shell, of the commands, their options and the values that are known. What
 * is not known is a file. */
#include "help/help.h"

#include "cli/commands.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words that a command takes: "[workloads|operators]", "new NAME | check DIR…". Names in capitals are the user's. */
static text_list_t words_of(const cli_command_t *command) {
    text_list_t parts = text_split(command->operands, '|'), words = {0};
    for (size_t i = 0; i < parts.n; i++) {
        const char *word = parts.items[i] + strspn(parts.items[i], " [");
        size_t n = 0;
        while (islower((unsigned char)word[n]))
            n++;
        if (n > 0 && strchr(" ]", word[n]) != NULL)
            text_list_add_format(&words, "%.*s", (int)n, word);
    }
    text_list_free(&parts);
    return words;
}

static void print_words(const text_list_t *words, FILE *out) {
    for (size_t i = 0; i < words->n; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words->items[i]);
}

static void print_choices(const cli_option_t *option, FILE *out) {
    for (size_t i = 0; option->field.choices[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", option->field.choices[i]);
}

static void print_names(FILE *out) {
    size_t n;
    const cli_command_t *commands = commands_all(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s ", commands[i].name);
}

/* ---- bash -------------------------------------------------------------------------------------- */

/* Branches of a case of COMMAND:WORD_BEFORE:WORD. */
static void print_bash_command(const cli_command_t *command, FILE *out) {
    text_list_t words = words_of(command);
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
    if (words.n > 0) {
        fprintf(out, "    %s:*) words='", command->name);
        print_words(&words, out);
        fputs("' ;;\n", out);
    }
    text_list_free(&words);
}

static void print_bash(FILE *out) {
    size_t n;
    const cli_command_t *commands = commands_all(&n);
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
    for (size_t i = 0; i < n; i++)
        print_bash_command(&commands[i], out);
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
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++)
        if (strcmp(argument, PATHS[i]) == 0)
            return true;
    return false;
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
    text_list_t words = words_of(command);
    fprintf(out, "    %s)\n        _arguments", command->name);
    for (const cli_option_t *option = command->options; option->name != NULL; option++)
        print_zsh_option(option, out);
    fputs(" \\\n            '--help[list the options]'", out);
    if (words.n > 0) {
        fputs(" \\\n            '1:what:(", out);
        print_words(&words, out);
        fputs(")'", out);
    }
    fputs(" \\\n            '*:file:_files' ;;\n", out);
    text_list_free(&words);
}

static void print_zsh(FILE *out) {
    size_t n;
    const cli_command_t *commands = commands_all(&n);
    fputs("#compdef bench\n"
          "# Completion of bench for zsh, made by: bench help --completion zsh\n"
          "_bench() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "        '%s:", commands[i].name);
        put_zsh(commands[i].summary, out);
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
    for (size_t i = 0; i < n; i++)
        print_zsh_command(&commands[i], out);
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
        char *hint = text_hint(shell, (const char *const[]){"bash", "zsh"}, 2);
        error_set(err, STATUS_USAGE,
                  "bench help --completion: found \"%s\", expected bash or zsh%s", shell, hint);
        free(hint);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

#include "report/command.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What follows "--" are options of bench run. */
static bool is_import(const record_t *run) {
    return run->argv.n > 2 && strcmp(run->argv.items[1], "operator") == 0 &&
           strcmp(run->argv.items[2], "import") == 0;
}

/* How many words from here on are this option with its value: "--out DIR", "--out=DIR", or 0. */
static size_t n_of_option(const char *option, char *const *words, size_t n) {
    const size_t length = strlen(option);
    if (strncmp(words[0], option, length) == 0 && words[0][length] == '=')
        return 1;
    return strcmp(words[0], option) != 0 ? 0 : n > 1 ? 2 : 1;
}

/* How many words of a run's command say where it went, how long it may take or what it tells. */
static size_t n_not_repeated(char *const *words, size_t n) {
    static const char *const FLAGS[] = {"--resume", "--retry", "--quiet", "--json"},
                             *const WITH_VALUE[] = {"--out", "--budget"};
    size_t found = 0;
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS && found == 0; i++)
        found = strcmp(words[0], FLAGS[i]) == 0;
    for (size_t i = 0; i < sizeof WITH_VALUE / sizeof *WITH_VALUE && found == 0; i++)
        found = n_of_option(WITH_VALUE[i], words, n);
    return found;
}

text_list_t command_again(const char *program, const record_t *run) {
    text_list_t command = {0};
    for (size_t i = 0; i < run->argv.n;) {
        const size_t skipped = n_not_repeated(run->argv.items + i, run->argv.n - i);
        if (skipped == 0)
            text_list_add(&command, i == 0 ? program : run->argv.items[i]);
        i += skipped > 0 ? skipped : 1;
    }
    if (is_import(run) && !text_list_has(&command, "--"))
        text_list_add(&command, "--");
    if (command.n > 0)
        text_list_add(&command, "--out=results/again");
    return command;
}

static void add_word(text_list_t *words, char *word) {
    text_list_take(words, text_shell(word));
    free(word);
}

/* The folder given as --operator; NULL: the run was not called so. */
static const char *operator_folder(const record_t *run) {
    static const char OPTION[] = "--operator";
    for (size_t i = 1; i < run->argv.n; i++) {
        const size_t n = n_of_option(OPTION, run->argv.items + i, run->argv.n - i);
        if (n > 0)
            return n == 2 ? run->argv.items[i + 1] : run->argv.items[i] + sizeof OPTION;
    }
    return NULL;
}

/* bench run of the case's workload. What is not of this program is found where the run found it. */
static void add_workload(const record_t *run, const case_t *spec, text_list_t *words) {
    const char *folder = operator_folder(run);
    const bool import = is_import(run);
    for (size_t i = 1; import && i < run->argv.n && strcmp(run->argv.items[i], "--") != 0;) {
        const size_t skipped = n_of_option("--out", run->argv.items + i, run->argv.n - i);
        if (skipped == 0)
            add_word(words, mem_text(run->argv.items[i]));
        i += skipped > 0 ? skipped : 1;
    }
    text_list_add(words, import ? "--" : folder != NULL ? "run --operator" : "run --workload");
    if (!import)
        add_word(words, mem_text(folder != NULL ? folder : spec->workload));
}

/* An id has what is not the default. */
char *command_of_case(const char *program, const record_t *run, const case_t *spec) {
    text_list_t words = {0}, parts = text_split(spec->id, '/');
    text_list_add(&words, program);
    add_workload(run, spec, &words);
    text_list_add(&words, "--engine");
    add_word(&words, mem_text(spec->engine));
    text_list_add(&words, "--variant");
    add_word(&words, mem_text(spec->variant));
    if (!case_engine_is_built_in(spec->engine))
        add_word(&words, mem_format("--set=device=%s", spec->device));
    for (size_t i = 3; i < parts.n; i++)
        add_word(&words, mem_format("--set=%s", parts.items[i]));
    char *command = text_list_join(&words, " ");
    text_list_free(&words);
    text_list_free(&parts);
    return command;
}

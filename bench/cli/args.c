#include "cli/args.h"

#include "base/memory.h"
#include "base/units.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_COLUMN = 28 };

static size_t count_options(const cli_command_t *command) {
    size_t n = 0;
    while (command->options[n].name != NULL)
        n++;
    return n;
}

static bool is_among(const cli_option_t *options, const char *name) {
    while (options != NULL && options->name != NULL && strcmp(options->name, name) != 0)
        options++;
    return options != NULL && options->name != NULL;
}

static status_t bad_option(const cli_command_t *command, const char *given, error_t *err) {
    const char *word = given + strspn(given, "-");
    AUTO_FREE char *name = mem_text_n(word, strcspn(word, "="));
    size_t n = count_options(command);
    AUTO_FREE const char **names = mem_zeroed(n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = command->options[i].name;
    const char *nearest = text_nearest(name, names, n);
    if (is_among(command->of_run, name))
        error_set(err, STATUS_USAGE,
                  "bench %s: unknown option %s; options of bench run follow \"--\": -- %s",
                  command->name, given, given);
    else if (nearest != NULL)
        error_set(err, STATUS_USAGE, "bench %s: unknown option %s; did you mean --%s?",
                  command->name, given, nearest);
    else
        error_set(err, STATUS_USAGE, "bench %s: unknown option %s (see bench help %s)",
                  command->name, given, command->name);
    return STATUS_USAGE;
}

static status_t read_options(const cli_command_t *command, int argc, char **argv,
                             const struct option *long_options, cli_args_t *args, error_t *err) {
    opterr = 0;
    optind = 0; /* glibc: restart, even with a different argv */
    int index = 0, found;
    while ((found = getopt_long(argc, argv, ":", long_options, &index)) != -1) {
        if (found == ':')
            return error_set(err, STATUS_USAGE, "bench %s: %s needs a value", command->name,
                             argv[optind - 1]);
        if (found == '?')
            return bad_option(command, argv[optind - 1], err);
        text_list_add(&args->values[index], optarg != NULL ? optarg : "");
    }
    for (int i = optind; i < argc; i++)
        text_list_add(&args->operands, argv[i]);
    return STATUS_OK;
}

status_t cli_parse(const cli_command_t *command, int argc, char **argv, int first, cli_args_t *args,
                   error_t *err) {
    size_t n = count_options(command);
    *args = (cli_args_t){
        .options = command->options, .n_options = n, .values = mem_zeroed(n, sizeof *args->values)};
    AUTO_FREE struct option *long_options = mem_zeroed(n + 1, sizeof *long_options);
    for (size_t i = 0; i < n; i++)
        long_options[i] = (struct option){
            command->options[i].name,
            command->options[i].argument != NULL ? required_argument : no_argument, NULL, 0};
    /* getopt_long skips element 0 and moves operands to the end: give it a copy, so that the
     * command line is recorded as it was given. */
    int n_words = argc - first + 1;
    AUTO_FREE char **words = mem_zeroed((size_t)n_words + 1, sizeof *words);
    memcpy(words, argv + first - 1, (size_t)n_words * sizeof *words);
    status_t status = read_options(command, n_words, words, long_options, args, err);
    if (status != STATUS_OK)
        cli_args_free(args);
    return status;
}

void cli_args_free(cli_args_t *args) {
    for (size_t i = 0; i < args->n_options; i++)
        text_list_free(&args->values[i]);
    free(args->values);
    text_list_free(&args->operands);
    *args = (cli_args_t){0};
}

text_list_t cli_given(const cli_args_t *args, bool (*is)(const cli_option_t *option)) {
    text_list_t options = {0};
    for (size_t i = 0; i < args->n_options; i++)
        for (size_t k = 0; k < args->values[i].n && is(&args->options[i]); k++) {
            text_list_add_format(&options, "--%s", args->options[i].name);
            if (args->options[i].argument != NULL)
                text_list_add(&options, args->values[i].items[k]);
        }
    return options;
}

const text_list_t *cli_all(const cli_args_t *args, const char *option) {
    static const text_list_t NONE;
    for (size_t i = 0; i < args->n_options; i++)
        if (strcmp(args->options[i].name, option) == 0)
            return &args->values[i];
    return &NONE;
}

bool cli_has(const cli_args_t *args, const char *option) {
    return cli_all(args, option)->n > 0;
}

const char *cli_first(const cli_args_t *args, const char *const *names) {
    while (*names != NULL && !cli_has(args, *names))
        names++;
    return *names;
}

status_t cli_read(const cli_args_t *args, void *fields, error_t *err) {
    for (size_t i = 0; i < args->n_options; i++) {
        const cli_option_t *option = &args->options[i];
        const cli_field_t *field = &option->field;
        if (field->read != NULL && args->values[i].n > 0)
            TRY(field->read(option, &args->values[i], (char *)fields + field->offset, err));
    }
    return STATUS_OK;
}

static const char *last(const text_list_t *given) {
    return given->items[given->n - 1];
}

CLI_READER(cli_flag) {
    *(bool *)field = true;
    return STATUS_OK;
}

CLI_READER(cli_text) {
    *(const char **)field = last(given);
    return STATUS_OK;
}

CLI_READER(cli_only_text) {
    if (given->n > 1)
        return error_set(err, STATUS_USAGE, "--%s: found %s and %s, expected one", option->name,
                         given->items[0], given->items[1]);
    return cli_text(option, given, field, err);
}

CLI_READER(cli_texts) {
    *(text_list_t *)field = *given;
    return STATUS_OK;
}

CLI_READER(cli_number64) {
    const char *text = last(given);
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < option->field.low ||
        value > option->field.high)
        return error_set(err, STATUS_USAGE, "--%s %s: expected a whole number from %lld to %lld",
                         option->name, text, option->field.low, option->field.high);
    *(uint64_t *)field = (uint64_t)value;
    return STATUS_OK;
}

CLI_READER(cli_number) {
    uint64_t value;
    TRY(cli_number64(option, given, &value, err));
    *(unsigned *)field = (unsigned)value;
    return STATUS_OK;
}

CLI_READER(cli_choice) {
    AUTO(text_list_free) text_list_t known = {0};
    for (int i = 0; option->field.choices[i] != NULL; i++) {
        if (strcmp(option->field.choices[i], last(given)) == 0) {
            *(int *)field = i;
            return STATUS_OK;
        }
        text_list_add(&known, option->field.choices[i]);
    }
    AUTO_FREE char *all = text_list_join(&known, " or ");
    AUTO_FREE char *hint = text_hint(last(given), (const char *const *)known.items, known.n);
    return error_set(err, STATUS_USAGE, "--%s %s: expected %s%s", option->name, last(given), all,
                     hint);
}

CLI_READER(cli_duration) {
    if (units_parse_duration(last(given), field, err) != STATUS_OK)
        return error_within(err, "--%s", option->name);
    return STATUS_OK;
}

CLI_READER(cli_time) {
    TRY(cli_duration(option, given, field, err));
    if (*(double *)field > 0)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE, "--%s %s: must be more than 0", option->name, last(given));
}

CLI_READER(cli_percent) {
    if (units_parse_percent(last(given), field, err) != STATUS_OK)
        return error_within(err, "--%s", option->name);
    return STATUS_OK;
}

const char *cli_units_note(const cli_command_t *command) {
    for (const cli_option_t *option = command->options; option->name != NULL; option++)
        if (option->argument != NULL && strcmp(option->argument, "TIME") == 0)
            return "TIME has a unit: ns, us, ms, s, min or h; a number alone is in seconds.";
    return NULL;
}

void cli_print_help(const cli_command_t *command, FILE *out) {
    fprintf(out, "usage: bench %s%s%s%s\n\n%s\n", command->name,
            command->operands[0] != '\0' ? " " : "", command->operands,
            count_options(command) > 0 ? " [options]" : "", command->summary);
    if (count_options(command) > 0)
        fputs("\noptions:\n", out);
    for (const cli_option_t *option = command->options; option->name != NULL; option++) {
        int used = fprintf(out, "  --%s%s%s", option->name, option->argument != NULL ? " " : "",
                           option->argument != NULL ? option->argument : "");
        if (used >= OPTION_COLUMN) {
            fputc('\n', out);
            used = 0;
        }
        fprintf(out, "%*s%s\n", OPTION_COLUMN - used, "", option->summary);
    }
    if (cli_units_note(command) != NULL)
        fprintf(out, "%s\n", cli_units_note(command));
    if (command->details != NULL)
        fprintf(out, "\n%s\n", command->details);
    if (command->print_details != NULL)
        command->print_details(out);
}

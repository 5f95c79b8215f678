#include "model/flag.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* %t is a time, %p a percentage, %e a number of errors, %n another number, %w the word. Texts in
 * parentheses are left out of a kind's name. */
static const char *const SENTENCES[] = {
    [FLAG_OVER_LIMIT] = "implausible: faster than the %w limit (%p of it)",
    [FLAG_GRAPH_SLOWER] =
        "implausible: slower in a graph than back to back (kernel_graph %t, kernel_stream %t)",
    [FLAG_STREAM_SLOWER] =
        "implausible: slower back to back than alone (kernel_stream %t, kernel %t)",
    [FLAG_WARM_SLOWER] =
        "implausible: slower with a warm L2 than with a cold one (kernel_graph %t, kernel_cold %t)",
    [FLAG_UNDER_EVENT_FLOOR] = "implausible: kernel %t, under the event floor of %t",
    [FLAG_FRESH_SLOWER] = "implausible: %w is slower on new inputs (%t, else %t)",
    [FLAG_FRESH_INTERRUPTED] =
        "busy: %w is slower on new inputs, but its threads waited for cores (%t, else %t)",
    [FLAG_NEGATIVE_RESIDUAL] = "implausible: the total is less than the sum of its phases",
    [FLAG_POWER_LIMIT] = "clock: at the board's power limit (SM %n to %n MHz)",
    [FLAG_LOW_CLOCK] = "clock: under %p of the maximum",
    [FLAG_COLD_START] = "cold: every sample is a new process",
    [FLAG_SANITIZER] = "sanitizer: %e (%w)",
    [FLAG_RETRIED] = "worker: died, and the case was opened again in a new process (%w)",
    [FLAG_WEIGHTS_UNCHECKED] = "check: what a timed training learned was not compared (%w)",
    [FLAG_BESIDE] = "trust: something may have worked while no clock ran (%w)",
    [FLAG_VOID_ROUNDS] = "void rounds: %n (%w)",
    [FLAG_BUSY] = "busy: other programs took %p of the CPU time that its worker could have had",
    [FLAG_OTHER] = "%w",
};

/* ---- writing --------------------------------------------------------------------------------- */

static const char *number_text(char *text, char form, double value) {
    if (form == 't')
        return units_time(text, value);
    if (form == 'p')
        return units_percent(text, value);
    const char *unit = form == 'n' ? "" : value == 1 ? " error" : " errors";
    snprintf(text, UNITS_TEXT, "%.0f%s", value, unit);
    return text;
}

static char *sentence_of(const flag_t *flag, bool with_numbers) {
    char *text, number[UNITS_TEXT];
    size_t size, n_values = 0;
    FILE *out = open_memstream(&text, &size);
    for (const char *c = SENTENCES[flag->kind]; *c != '\0'; c++) {
        if (!with_numbers && text_starts(c, " (")) {
            c = strchr(c, ')');
        } else if (*c != '%') {
            fputc(*c, out);
        } else if (*++c == 'w') {
            fputs(flag->word, out);
        } else {
            number_text(number, *c, flag->values[n_values++]);
            if (with_numbers)
                fputs(number, out);
            else
                fprintf(out, "…%s", number + strcspn(number, " "));
        }
    }
    fclose(out);
    return text;
}

char *flag_text(const flag_t *flag) {
    return sentence_of(flag, true);
}

char *flag_name(const flag_t *flag) {
    return sentence_of(flag, false);
}

double flag_severity(const flag_t *flag) {
    const double first = flag->values[0], second = flag->values[1];
    if (first > 0 && second > 0)
        return fmax(first / second, second / first);
    return first > 0 ? first : 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The end of the number; NULL if there is none. */
static const char *parse_number(const char *text, char form, double *value) {
    static const struct {
        char form;
        const char *unit;
        double size;
    } UNITS[] = {{'t', " ns", 1},   {'t', " µs", 1e3},   {'t', " ms", 1e6},  {'t', " s", 1e9},
                 {'p', " %", 0.01}, {'e', " errors", 1}, {'e', " error", 1}, {'n', "", 1}};
    char *end;
    double number = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof UNITS / sizeof *UNITS; i++)
        if (UNITS[i].form == form && text_starts(end, UNITS[i].unit)) {
            *value = number * UNITS[i].size;
            return end + strlen(UNITS[i].unit);
        }
    return NULL;
}

/* Of a word before the rest of a sentence: if it is the last value, it may contain any character. */
static size_t word_length(const char *text, const char *rest) {
    const size_t left = strlen(text), after = strlen(rest);
    if (strchr(rest, '%') != NULL)
        return strcspn(text, (char[]){*rest, '\0'});
    return left > after ? left - after : 0;
}

static bool parse_sentence(const char *sentence, const char *text, flag_t *flag) {
    size_t n_values = 0;
    for (const char *c = sentence; *c != '\0'; c++) {
        if (*c != '%') {
            if (*text++ != *c)
                return false;
        } else if (*++c == 'w') {
            const size_t length = word_length(text, c + 1);
            flag->word = mem_text_n(text, length);
            text += length;
        } else {
            text = parse_number(text, *c, &flag->values[n_values++]);
            if (text == NULL)
                return false;
        }
    }
    return *text == '\0';
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool has_text(const flag_t *flag, const char *text) {
    AUTO_FREE char *own = flag_text(flag);
    return strcmp(own, text) == 0;
}

void flag_list_add(flag_list_t *list, flag_kind_t kind, const char *word, double first,
                   double second) {
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = (flag_t){kind, {first, second}, mem_text(word)};
}

/* Numbers are rounded in texts. FLAG_OTHER matches any text that does not round-trip. */
void flag_list_add_text(flag_list_t *list, const char *text) {
    bool found = false;
    for (flag_kind_t kind = 0; !found; kind++) {
        flag_t flag = {kind, {NAN, NAN}, NULL};
        found = parse_sentence(SENTENCES[kind], text, &flag) && has_text(&flag, text);
        if (found)
            flag_list_add(list, kind, flag.word, flag.values[0], flag.values[1]);
        free(flag.word);
    }
}

static bool same_kind(const flag_t *a, const flag_t *b) {
    return a->kind == b->kind && (a->word == NULL) == (b->word == NULL) &&
           (a->word == NULL || strcmp(a->word, b->word) == 0);
}

void flag_list_merge(flag_list_t *list, const flag_list_t *more) {
    for (size_t i = 0; i < more->n; i++) {
        const flag_t *flag = &more->items[i];
        size_t k = 0;
        while (k < list->n && !same_kind(&list->items[k], flag))
            k++;
        if (k == list->n)
            flag_list_add(list, flag->kind, flag->word, flag->values[0], flag->values[1]);
        else if (flag_severity(flag) > flag_severity(&list->items[k]))
            memcpy(list->items[k].values, flag->values, sizeof flag->values);
    }
}

void flag_list_remove(flag_list_t *list, flag_kind_t kind) {
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].kind == kind)
            free(list->items[i].word);
        else
            list->items[kept++] = list->items[i];
    list->n = kept;
}

const flag_t *flag_list_find(const flag_list_t *list, flag_kind_t kind) {
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].kind == kind)
            return &list->items[i];
    return NULL;
}

void flag_list_free(flag_list_t *list) {
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i].word);
    free(list->items);
    *list = (flag_list_t){0};
}

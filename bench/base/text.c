#include "base/text.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void text_list_take(text_list_t *list, char *item) {
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = item;
}

void text_list_add(text_list_t *list, const char *item) {
    text_list_take(list, mem_text(item));
}

void text_list_add_format(text_list_t *list, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_list_take(list, mem_format_args(format, args));
    va_end(args);
}

void text_list_add_all(text_list_t *list, const text_list_t *more) {
    for (size_t i = 0; i < more->n; i++)
        text_list_add(list, more->items[i]);
}

void text_list_add_words(text_list_t *list, const char *first, ...) {
    va_list args;
    va_start(args, first);
    for (const char *word = first; word != NULL; word = va_arg(args, const char *))
        text_list_add(list, word);
    va_end(args);
}

const char *const *text_list_argv(text_list_t *list) {
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n] = NULL;
    return (const char *const *)list->items;
}

bool text_is_one_of(const char *text, const char *const *texts, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(texts[i], text) == 0)
            return true;
    return false;
}

bool text_list_has(const text_list_t *list, const char *item) {
    return text_is_one_of(item, (const char *const *)list->items, list->n);
}

void text_list_add_new(text_list_t *list, const char *item) {
    if (!text_list_has(list, item))
        text_list_add(list, item);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void text_list_sort(text_list_t *list) {
    if (list->n > 1)
        qsort(list->items, list->n, sizeof *list->items, compare_texts);
}

char *text_list_join(const text_list_t *list, const char *separator) {
    size_t separator_length = strlen(separator);
    size_t size = 1;
    for (size_t i = 0; i < list->n; i++)
        size += strlen(list->items[i]) + separator_length;
    char *joined = mem_alloc(size);
    char *end = joined;
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            end = stpcpy(end, separator);
        end = stpcpy(end, list->items[i]);
    }
    *end = '\0';
    return joined;
}

void text_list_free(text_list_t *list) {
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
    *list = (text_list_t){0};
}

text_list_t text_split(const char *text, char separator) {
    text_list_t list = {0};
    if (*text == '\0')
        return list;
    for (const char *end; (end = strchr(text, separator)) != NULL; text = end + 1)
        text_list_take(&list, mem_text_n(text, (size_t)(end - text)));
    text_list_add(&list, text);
    return list;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost 1
 * each. `rows` holds three rows of the table, 3 * (strlen(b) + 1) numbers. */
static size_t edit_distance(const char *a, const char *b, size_t *rows) {
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t *before = rows, *above = rows + b_length + 1, *row = above + b_length + 1;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *recycled = before;
        before = above;
        above = row;
        row = recycled;
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = smaller(above[j - 1] + cost, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
    }
    return row[b_length];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t n) {
    enum { SHORTEST_PART = 3 };
    size_t length = strlen(word);
    size_t limit = length / 3 > 2 ? length / 3 : 2;
    const char *nearest = NULL;
    size_t nearest_distance = limit + 1;
    for (size_t i = 0; i < n; i++) {
        size_t candidate_length = strlen(candidates[i]);
        size_t longer = candidate_length > length ? candidate_length : length;
        /* The difference in length is a lower bound; the test keeps very long words cheap. */
        if (longer - smaller(candidate_length, length) > limit)
            continue;
        size_t *rows = mem_alloc(3 * (candidate_length + 1) * sizeof *rows);
        size_t distance = edit_distance(word, candidates[i], rows);
        free(rows);
        /* A distance of the full length means nothing in common: "ab" is no typo of "xy". */
        if (distance < nearest_distance && (distance < longer || longer == 0)) {
            nearest = candidates[i];
            nearest_distance = distance;
        }
    }
    for (size_t i = 0; i < n && nearest == NULL && length >= SHORTEST_PART; i++)
        if (strstr(candidates[i], word) != NULL)
            nearest = candidates[i];
    return nearest;
}

char *text_hint(const char *word, const char *const *candidates, size_t n) {
    const char *nearest = text_nearest(word, candidates, n);
    return nearest != NULL ? mem_format("; did you mean \"%s\"?", nearest) : mem_text("");
}

/* RFC 3629, section 4. */
size_t text_utf8_length(const unsigned char *at) {
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } FORMS[] = {
        {0x00, 0x7F, 0, 0xFF, 1},    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t f = 0; f < sizeof FORMS / sizeof *FORMS; f++) {
        if (at[0] < FORMS[f].first_low || at[0] > FORMS[f].first_high)
            continue;
        size_t length = FORMS[f].length;
        if (length > 1 && (at[1] < FORMS[f].second_low || at[1] > FORMS[f].second_high))
            return 0;
        for (size_t i = 2; i < length; i++)
            if ((at[i] & 0xC0) != 0x80)
                return 0;
        return length;
    }
    return 0;
}

char *text_utf8(const char *text) {
    char *copy = mem_text(text);
    for (size_t i = 0; copy[i] != '\0';) {
        size_t length = text_utf8_length((const unsigned char *)copy + i);
        if (length == 0)
            copy[i] = '?';
        i += length == 0 ? 1 : length;
    }
    return copy;
}

/* U+0000 to U+001F, U+007F to U+009F. */
/* Marks that are not seen but change what is: of direction, line and paragraph ends, U+FEFF. */
static bool is_unseen_mark(const unsigned char *at) {
    if (at[0] == 0xE2 && at[1] == 0x80)
        return at[2] == 0x8E || at[2] == 0x8F || (at[2] >= 0xA8 && at[2] <= 0xAE);
    return (at[0] == 0xE2 && at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9) ||
           (at[0] == 0xD8 && at[1] == 0x9C) || (at[0] == 0xEF && at[1] == 0xBB && at[2] == 0xBF);
}

static bool is_control(const unsigned char *at) {
    return at[0] < 0x20 || at[0] == 0x7F || (at[0] == 0xC2 && at[1] < 0xA0) || is_unseen_mark(at);
}

void text_make_plain(char *text) {
    unsigned char *at = (unsigned char *)text;
    while (*at != '\0') {
        size_t length = text_utf8_length(at);
        bool kept = length > 0 && (!is_control(at) || *at == '\n' || *at == '\t');
        if (!kept)
            memset(at, '?', length > 0 ? length : 1);
        at += length > 0 ? length : 1;
    }
}

char *text_plain(const char *text) {
    char *copy = mem_text(text);
    if (copy != NULL)
        text_make_plain(copy);
    return copy;
}

bool text_is_plain(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        size_t length = text_utf8_length(at);
        if (length == 0 || is_control(at))
            return false;
        at += length;
    }
    return true;
}

char *text_shell(const char *text) {
    static const char PLAIN[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
    if (text[0] != '\0' && strspn(text, PLAIN) == strlen(text))
        return mem_text(text);
    char *word = mem_alloc(2 * strlen(text) + 3), *end = word;
    *end++ = '"';
    for (const char *at = text; *at != '\0'; at++) {
        if (strchr("\"\\$`", *at) != NULL)
            *end++ = '\\';
        *end++ = *at;
    }
    *end++ = '"';
    *end = '\0';
    return word;
}

bool text_starts(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix) {
    size_t length = strlen(text), suffix_length = strlen(suffix);
    return length >= suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

/* Not isalnum(), which depends on the locale. */
static bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool text_is_identifier(const char *text, size_t most) {
    size_t n = 0;
    while (is_word_char(text[n]))
        n++;
    return n > 0 && n <= most && text[n] == '\0' && strchr("_0123456789", text[0]) == NULL;
}

bool text_is_name(const char *text) {
    if (!is_word_char(text[0]))
        return false;
    for (const char *c = text + 1; *c != '\0'; c++)
        if (!is_word_char(*c) && *c != '.' && *c != '+' && *c != '-')
            return false;
    return strstr(text, "..") == NULL;
}

/* Small text helpers: lists of strings, and "did you mean". */
#ifndef BENCH_BASE_TEXT_H
#define BENCH_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* An owned, growing list of owned strings. Zero-initialise it; text_list_free() empties it. */
typedef struct text_list {
    char **items;
    size_t n, capacity;
} text_list_t;

void text_list_add(text_list_t *list, const char *item); /* copies */
void text_list_take(text_list_t *list, char *item);      /* takes ownership; from malloc() */
void text_list_add_format(text_list_t *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_list_add_all(text_list_t *list, const text_list_t *more);
/* Several, up to a NULL. */
void text_list_add_words(text_list_t *list, const char *first, ...) __attribute__((sentinel));
void text_list_add_new(text_list_t *list, const char *item); /* unless present */
bool text_list_has(const text_list_t *list, const char *item);
bool text_is_one_of(const char *text, const char *const *texts, size_t n);
void text_list_sort(text_list_t *list); /* byte order */
/* The words of a command, with NULL after them: valid until the list changes. */
const char *const *text_list_argv(text_list_t *list);
/* "a, b, c"; the caller frees it. */
char *text_list_join(const text_list_t *list, const char *separator);
void text_list_free(text_list_t *list);
/* Split at every `separator` ("a,b" → 2 items, "" → none). */
text_list_t text_split(const char *text, char separator);

/* The candidate nearest to `word` by edit distance (optimal string alignment), or NULL if none is a
 * plausible typo: distance at most 2, or a third of the word's length. Then the first that the word, of three bytes or
 * more, is a part of: "online" of "02_online". */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);
/* `; did you mean "near"?`, empty if none is near; the caller frees it. */
char *text_hint(const char *word, const char *const *candidates, size_t n);

/* A copy with "?" for every byte that is not valid UTF-8: for external or truncated text that is
 * written as JSON. The caller frees it. */
char *text_utf8(const char *text);
/* Length in bytes of the UTF-8 character at `at`, 0 if invalid. */
size_t text_utf8_length(const unsigned char *at);

/* Replace, in place, invalid UTF-8 and control characters other than line breaks and tabs by "?":
 * text quoted from files and workers must not control the terminal. */
void text_make_plain(char *text);
char *text_plain(const char *text); /* the same as a copy; the caller frees it; NULL stays NULL */
/* Is it UTF-8 without control characters, including line breaks and tabs? */
bool text_is_plain(const char *text);

/* One word of a shell script, or of sbatch's options in one, where quotes mean the same: "a \$b". For text
 * without line breaks. The caller frees it. */
char *text_shell(const char *text);

bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* Is it safe as a file name and in an id: [A-Za-z0-9_][A-Za-z0-9_.+-]*, no ".."? */
bool text_is_name(const char *text);
/* A letter, then letters, digits and "_", at most so many? What begins with "_" is the compiler's. */
bool text_is_identifier(const char *text, size_t most);

#endif

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

void text_list_add(text_list_t *list, const char *item);     /* copies */
void text_list_add_new(text_list_t *list, const char *item); /* unless it is there */
void text_list_take(text_list_t *list, char *item);          /* from malloc(); owned from now on */
void text_list_add_format(text_list_t *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_list_add_new(text_list_t *list, const char *item); /* unless it is there */
bool text_list_has(const text_list_t *list, const char *item);
void text_list_sort(text_list_t *list); /* byte order */
/* "a, b, c"; the caller frees it. */
char *text_list_join(const text_list_t *list, const char *separator);
void text_list_free(text_list_t *list);
/* Split at every `separator` ("a,b" → 2 items, "" → none). */
text_list_t text_split(const char *text, char separator);

/* The candidate nearest to `word` by edit distance (optimal string alignment), or NULL when none is
 * near enough to be a plausible typo: distance at most 2, or a third of the word's length. */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);

/* A copy in which every byte that is not part of a UTF-8 character is a "?": for text from outside,
 * or cut somewhere, that is to be written as JSON. The caller frees it. */
char *text_utf8(const char *text);

/* Replace, in place, bytes that are not UTF-8 and control characters other than line breaks and
 * tabs by "?": what is quoted from files and workers must not steer the terminal that shows it. */
void text_make_plain(char *text);
char *text_plain(const char *text); /* a copy so made, which the caller frees; NULL stays NULL */
/* Is it UTF-8 without control characters, line breaks and tabs among them? */
bool text_is_plain(const char *text);

bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* True for names that are safe as a file name and in an id: [A-Za-z0-9_][A-Za-z0-9_.+-]*, no "..".
 */
bool text_is_name(const char *text);

#endif

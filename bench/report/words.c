/* What a size is called: the batch of one workload is the number of points of another. */
#include "report/page.h"

#include "base/units.h"

#include <ctype.h>
#include <string.h>

static const struct size_words {
    const char *param;
    const char *one, *many;     /* "at 3 of the 4 …" */
    const char *before, *after; /* around the number */
} WORDS[] = {
    {"batch", "batch size", "batch sizes", "batch ", ""},
    {"points", "data-set size", "data-set sizes", "", " points"},
    {"hidden", "width", "widths", "width ", ""},
    {"width", "width", "widths", "width ", ""},
    {"live", "number of blocks", "numbers of blocks", "", " in use"},
};
static const struct size_words OTHERS = {NULL, "size", "sizes", "size ", ""};

static const struct size_words *words_of(const comparison_set_t *set) {
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strcmp(WORDS[i].param, set->size_param) == 0)
            return &WORDS[i];
    return &OTHERS;
}

const char *size_text(char *text, const comparison_set_t *set, int64_t size) {
    if (strcmp(set->size_param, "batch") == 0)
        return units_count(text, size);
    if (size > 0 && size % 1000000 == 0)
        snprintf(text, UNITS_TEXT, "%lld M", (long long)(size / 1000000));
    else if (size > 0 && size % 1000 == 0)
        snprintf(text, UNITS_TEXT, "%lld k", (long long)(size / 1000));
    else
        snprintf(text, UNITS_TEXT, "%lld", (long long)size);
    return text;
}

const char *named_size(char *text, const comparison_set_t *set, int64_t size) {
    const struct size_words *words = words_of(set);
    char number[UNITS_TEXT];
    snprintf(text, UNITS_TEXT, "%s%.30s%s", words->before, size_text(number, set, size),
             words->after);
    return text;
}

const char *sizes_word(const comparison_set_t *set, size_t n) {
    return n == 1 ? words_of(set)->one : words_of(set)->many;
}

const char *size_heading(char *text, const comparison_set_t *set) {
    snprintf(text, UNITS_TEXT, "%.60s", set->size_param);
    text[0] = (char)toupper((unsigned char)text[0]);
    return text;
}

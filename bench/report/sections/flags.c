/* Flags on cases, each kind once with its count and its worst example: a flag holds numbers of its
 * case, so that the same doubt about a hundred cases has a hundred texts. */
#include "report/page.h"

#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct flag_kind {
    char *name;
    size_t n;
    double severity;
    const char *text, *id; /* of the worst; borrowed */
} flag_kind_t;

typedef struct flag_kinds {
    flag_kind_t *items;
    size_t n, capacity;
} flag_kinds_t;

/* The text without what is in brackets, and with "…" for each number. */
static char *name_of(const char *flag) {
    char *name;
    size_t size;
    FILE *out = open_memstream(&name, &size);
    for (const char *c = flag; *c != '\0'; c++) {
        const char *bracket_end = text_starts(c, " (") ? strchr(c, ')') : NULL;
        if (bracket_end != NULL) {
            c = bracket_end;
        } else if (isdigit((unsigned char)*c) && (c == flag || c[-1] == ' ')) {
            fputs("…", out);
            c += strspn(c, "0123456789.") - 1;
        } else {
            fputc(*c, out);
        }
    }
    fclose(out);
    return name;
}

/* A number with its unit, times in ns; 0 when there is no more. */
static double next_number(const char **at) {
    static const struct {
        const char *unit;
        double factor;
    } UNITS[] = {{" µs", 1e3}, {" ms", 1e6}, {" s", 1e9}};
    const char *start = *at + strcspn(*at, "0123456789");
    if (*start == '\0')
        return 0;
    char *end;
    double value = strtod(start, &end);
    *at = end;
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (text_starts(end, UNITS[i].unit))
            return value * UNITS[i].factor;
    return value;
}

/* A flag tells of two times, of which one should not be below the other, or of one share: the
 * farther apart, or the larger, the worse. */
static double severity_of(const char *flag) {
    const char *at = flag;
    double first = next_number(&at), second = next_number(&at);
    if (first > 0 && second > 0)
        return fmax(first / second, second / first);
    return first;
}

static void add_flag(flag_kinds_t *kinds, const char *flag, const char *id) {
    char *name = name_of(flag);
    double severity = severity_of(flag);
    size_t i = 0;
    while (i < kinds->n && strcmp(kinds->items[i].name, name) != 0)
        i++;
    if (i < kinds->n) {
        free(name);
    } else {
        mem_grow(&kinds->items, kinds->n, &kinds->capacity, sizeof *kinds->items);
        kinds->items[kinds->n++] = (flag_kind_t){.name = name, .severity = -INFINITY};
    }
    flag_kind_t *kind = &kinds->items[i];
    kind->n++;
    if (severity > kind->severity) {
        kind->severity = severity;
        kind->text = flag;
        kind->id = id;
    }
}

void section_flags(const report_t *report) {
    static const char *const HEADINGS[] = {"Flag", "cases", "the worst", "in"};
    flag_kinds_t kinds = {0};
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_result_t *result = &report->run->cases[i];
        for (size_t k = 0; k < result->flags.n; k++)
            add_flag(&kinds, result->flags.items[k], result->spec.id);
    }
    table_t table;
    table_init(&table, HEADINGS, 4);
    table_set_align(&table, "lrll");
    for (size_t i = 0; i < kinds.n; i++) {
        flag_kind_t *kind = &kinds.items[i];
        char *name = markdown_text(kind->name), *text = markdown_text(kind->text);
        char *id = markdown_code(kind->id);
        table_add(&table, name);
        table_add_format(&table, "%zu", kind->n);
        table_add(&table, text);
        table_add(&table, id);
        free(name);
        free(text);
        free(id);
        free(kind->name);
    }
    if (kinds.n > 0)
        report_table(report, &table);
    else
        table_free(&table);
    free(kinds.items);
}

#include "io/csv.h"

#include "base/memory.h"
#include "io/fs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Far more than any table here has; it bounds the search for duplicate names. */
enum { COLUMNS_LIMIT = 1000 };

/* `line` is the line of `at`; a quoted field may span several. */
typedef struct reader {
    const char *at, *end;
    size_t line;
} reader_t;

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static void skip_blanks(reader_t *reader) {
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
}

static bool at_line_end(const reader_t *reader) {
    return reader->at == reader->end || *reader->at == '\n' || *reader->at == '\r';
}

/* LF, CRLF, and the lone CR of old spreadsheets. */
static void skip_line_end(reader_t *reader) {
    if (reader->at < reader->end && *reader->at == '\r')
        reader->at++;
    if (reader->at < reader->end && *reader->at == '\n')
        reader->at++;
    reader->line++;
}

static status_t read_quoted(reader_t *reader, text_list_t *fields, error_t *err) {
    size_t opened = reader->line;
    char *text = mem_alloc((size_t)(reader->end - reader->at));
    size_t n = 0;
    for (reader->at++; reader->at < reader->end; reader->at++) {
        if (*reader->at == '"') {
            bool doubled = reader->at + 1 < reader->end && reader->at[1] == '"';
            if (!doubled)
                break;
            reader->at++;
        }
        if (*reader->at == '\n')
            reader->line++;
        text[n++] = *reader->at;
    }
    bool closed = reader->at < reader->end;
    if (closed) {
        text[n] = '\0';
        text_list_add(fields, text);
        reader->at++;
        skip_blanks(reader);
    }
    free(text);
    if (!closed)
        return error_set(err, STATUS_USAGE, "line %zu: unterminated quoted field", opened);
    if (!at_line_end(reader) && *reader->at != ',')
        return error_set(err, STATUS_USAGE,
                         "line %zu: found '%c' after a closing quote, expected a comma",
                         reader->line, *reader->at);
    return STATUS_OK;
}

static void read_bare(reader_t *reader, text_list_t *fields) {
    const char *start = reader->at;
    while (!at_line_end(reader) && *reader->at != ',')
        reader->at++;
    const char *stop = reader->at;
    while (stop > start && is_blank(stop[-1]))
        stop--;
    text_list_take(fields, mem_text_n(start, (size_t)(stop - start)));
}

/* Read the fields of one line and its end. A blank line has none. */
static status_t read_record(reader_t *reader, text_list_t *fields, error_t *err) {
    skip_blanks(reader);
    while (!at_line_end(reader)) {
        if (*reader->at == '"')
            TRY(read_quoted(reader, fields, err));
        else
            read_bare(reader, fields);
        if (at_line_end(reader))
            break;
        reader->at++; /* the comma */
        skip_blanks(reader);
        if (at_line_end(reader))
            text_list_add(fields, "");
    }
    skip_line_end(reader);
    return STATUS_OK;
}

/* strtod() also accepts hexadecimal, "inf" and "nan". */
static bool parse_decimal(const char *text, double *value) {
    if (*text == '\0' || strspn(text, "+-.0123456789eE") != strlen(text))
        return false;
    char *end;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

static status_t take_header(size_t line, const text_list_t *fields, csv_table_t *table,
                            error_t *err) {
    if (fields->n > COLUMNS_LIMIT)
        return error_set(err, STATUS_USAGE, "line %zu: found %zu columns, expected at most %d",
                         line, fields->n, COLUMNS_LIMIT);
    for (size_t i = 0; i < fields->n; i++) {
        if (*fields->items[i] == '\0')
            return error_set(err, STATUS_USAGE, "line %zu: column %zu has no name", line, i + 1);
        if (text_list_has(&table->columns, fields->items[i]))
            return error_set(err, STATUS_USAGE, "line %zu: column \"%s\" appears twice", line,
                             fields->items[i]);
        text_list_add(&table->columns, fields->items[i]);
    }
    return STATUS_OK;
}

static status_t take_row(size_t line, const text_list_t *fields, csv_table_t *table, error_t *err) {
    size_t n = table->columns.n;
    if (fields->n != n) {
        char *names = text_list_join(&table->columns, ",");
        error_set(err, STATUS_USAGE, "line %zu: found %zu fields, expected %zu (%s)", line,
                  fields->n, n, names);
        free(names);
        return STATUS_USAGE;
    }
    size_t rows = table->capacity; /* of `lines`, which grows in step */
    mem_grow(&table->values, table->n_rows, &table->capacity, n * sizeof *table->values);
    mem_grow(&table->lines, table->n_rows, &rows, sizeof *table->lines);
    for (size_t i = 0; i < n; i++)
        if (!parse_decimal(fields->items[i], &table->values[table->n_rows * n + i]))
            return error_set(err, STATUS_USAGE,
                             "line %zu: column %s: found \"%.40s\", expected a finite number", line,
                             table->columns.items[i], fields->items[i]);
    table->lines[table->n_rows++] = line;
    return STATUS_OK;
}

static status_t parse(reader_t *reader, csv_table_t *table, error_t *err) {
    while (reader->at < reader->end) {
        size_t line = reader->line;
        text_list_t fields = {0};
        status_t status = read_record(reader, &fields, err);
        if (status == STATUS_OK && fields.n > 0)
            status = table->columns.n == 0 ? take_header(line, &fields, table, err)
                                           : take_row(line, &fields, table, err);
        text_list_free(&fields);
        TRY(status);
    }
    if (table->columns.n == 0)
        return error_set(err, STATUS_USAGE, "empty, expected a line of column names");
    return STATUS_OK;
}

status_t csv_parse(const char *name, const char *text, size_t size, csv_table_t *table,
                   error_t *err) {
    *table = (csv_table_t){0};
    static const char BYTE_ORDER_MARK[] = "\xEF\xBB\xBF";
    size_t mark = sizeof BYTE_ORDER_MARK - 1;
    if (size < mark || memcmp(text, BYTE_ORDER_MARK, mark) != 0)
        mark = 0;
    reader_t reader = {.at = text + mark, .end = text + size, .line = 1};
    status_t status = memchr(text, '\0', size) != NULL
                          ? error_set(err, STATUS_USAGE, "contains zero bytes, expected text")
                          : parse(&reader, table, err);
    if (status == STATUS_OK)
        return STATUS_OK;
    csv_free(table);
    return error_within(err, "%s", name);
}

status_t csv_read(const char *path, csv_table_t *table, error_t *err) {
    *table = (csv_table_t){0};
    char *text;
    size_t size;
    TRY(fs_read(path, &text, &size, err));
    status_t status = csv_parse(path, text, size, table, err);
    free(text);
    return status;
}

void csv_free(csv_table_t *table) {
    text_list_free(&table->columns);
    free(table->values);
    free(table->lines);
    *table = (csv_table_t){0};
}

double csv_value(const csv_table_t *table, size_t row, size_t column) {
    return table->values[row * table->columns.n + column];
}

bool csv_has_header(const csv_table_t *table, const char *const *names, size_t n) {
    if (table->columns.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(table->columns.items[i], names[i]) != 0)
            return false;
    return true;
}

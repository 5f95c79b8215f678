#include "io/output.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/fs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== stdout and stderr ======================================================================= */

/* As a shell reports a process that SIGPIPE ended. */
enum { BROKEN_PIPE = 128 + SIGPIPE };

/* ---- the standard streams -------------------------------------------------------------------- */

void output_begin(void) {
    signal(SIGXFSZ, SIG_IGN);
    /* Only for reading: who closed stdout is told that the output is lost. "/" is there on a machine without /dev. */
    while (true) {
        int fd = open("/dev/null", O_RDONLY);
        if (fd < 0)
            fd = open("/", O_RDONLY);
        if (fd > STDERR_FILENO)
            close(fd);
        if (fd < 0 || fd > STDERR_FILENO)
            return;
    }
}

static bool has_no_reader(int fd) {
    struct pollfd out = {.fd = fd};
    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

int output_finish(error_t *err) {
    /* The last flush succeeds if an earlier one has dropped its part. */
    const bool failed_before = ferror(stdout) != 0;
    int why = fflush(stdout) != 0 ? errno : 0;
    const bool is_read = !has_no_reader(STDOUT_FILENO);
    if (!failed_before && why == 0 && fclose(stdout) != 0) /* some file systems tell only now */
        why = errno;
    if (!failed_before && why == 0)
        return STATUS_OK;
    if (!is_read)
        return BROKEN_PIPE;
    return (int)error_set(err, STATUS_USAGE, "cannot write to stdout%s%s", why != 0 ? ": " : "",
                          why != 0 ? strerror(why) : "");
}

void output_print(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_FREE char *text = mem_format_args(format, args);
    va_end(args);
    text_make_plain(text);
    fputs(text, out);
}

/* ---- files that the user names ----------------------------------------------------------------- */

typedef enum place {
    PLACE_FILE,   /* of that name, now or to be */
    PLACE_LINK,   /* to a file */
    PLACE_OPEN,   /* a link to what is open already, such as /dev/stdout: `*fd` */
    PLACE_STREAM, /* a pipe or device */
} place_t;

/* The descriptor for writing that is open on that file; -1: none. */
static int descriptor_of(const struct stat *info) {
    enum { MOST = 1024 };
    struct stat own;
    for (int fd = STDOUT_FILENO; fd < MOST; fd++)
        if (fstat(fd, &own) == 0 && own.st_dev == info->st_dev && own.st_ino == info->st_ino &&
            (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
            return fd;
    return -1;
}

static place_t place_of(const char *path, int *fd) {
    struct stat name, target;
    *fd = STDOUT_FILENO;
    if (strcmp(path, "-") == 0)
        return PLACE_OPEN;
    *fd = -1;
    if (lstat(path, &name) != 0)
        return PLACE_FILE;
    if (stat(path, &target) != 0)
        return PLACE_LINK; /* to nothing: an error tells it */
    if (S_ISLNK(name.st_mode) && (*fd = descriptor_of(&target)) >= 0)
        return PLACE_OPEN;
    if (S_ISREG(target.st_mode) || S_ISDIR(target.st_mode))
        return S_ISLNK(name.st_mode) ? PLACE_LINK : PLACE_FILE;
    return PLACE_STREAM;
}

bool output_is_stream(const char *path) {
    int fd;
    return place_of(path, &fd) >= PLACE_OPEN;
}

static status_t write_stream(const char *path, int fd, const void *data, size_t size,
                             error_t *err) {
    if (fs_write_all(fd, data, size))
        return STATUS_OK;
    const int why = errno;
    if (why == EPIPE) { /* subprocess_start() ignores it */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return fd == STDOUT_FILENO
               ? error_set(err, STATUS_USAGE, "cannot write to stdout: %s", strerror(why))
               : error_set(err, STATUS_USAGE, "%s: cannot write: %s", path, strerror(why));
}

static status_t open_and_write(const char *path, const void *data, size_t size, error_t *err) {
    const int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, STATUS_USAGE, "%s: cannot open: %s", path, strerror(errno));
    status_t status = write_stream(path, fd, data, size, err);
    if (close(fd) != 0)
        status = error_set(err, STATUS_USAGE, "%s: cannot write: %s", path, strerror(errno));
    return status;
}

/* The link stays. */
static status_t write_target(const char *path, const void *data, size_t size, error_t *err) {
    AUTO_FREE char *target = realpath(path, NULL);
    return target != NULL
               ? fs_write_atomic(target, data, size, err)
               : error_set(err, STATUS_USAGE, "%s: cannot write: %s", path, strerror(errno));
}

status_t output_write_file(const char *path, const void *data, size_t size, error_t *err) {
    int fd;
    switch (place_of(path, &fd)) {
    case PLACE_OPEN:
        fflush(stdout); /* what was printed before comes before */
        return write_stream(path, fd, data, size, err);
    case PLACE_STREAM:
        return open_and_write(path, data, size, err);
    case PLACE_LINK:
        return write_target(path, data, size, err);
    default:
        return fs_write_atomic(path, data, size, err);
    }
}

/* ==== tables ================================================================================== */

table_t table_make(const char *align, const char *const *headings) {
    table_t table = {.align = mem_text(align), .n_columns = strlen(align)};
    for (size_t i = 0; i < table.n_columns; i++)
        table_add(&table, headings[i]);
    return table;
}

void table_take(table_t *table, char *text) {
    text_make_plain(text); /* cells quote names of folders */
    mem_grow(&table->cells, table->n_cells, &table->capacity, sizeof *table->cells);
    table->cells[table->n_cells++] = text;
}

void table_add(table_t *table, const char *text) {
    table_take(table, mem_text(text != NULL ? text : ""));
}

void table_add_format(table_t *table, const char *format, ...) {
    va_list args;
    va_start(args, format);
    table_take(table, mem_format_args(format, args));
    va_end(args);
}

void table_end_row(table_t *table) {
    while (table->n_cells % table->n_columns != 0)
        table_add(table, "");
}

size_t table_rows(const table_t *table) {
    return (table->n_cells + table->n_columns - 1) / table->n_columns - 1;
}

void table_free(table_t *table) {
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->align);
    *table = (table_t){0};
}

/* Read one character; an invalid byte is returned unchanged. */
static uint32_t decode(const unsigned char **at) {
    const size_t length = text_utf8_length(*at);
    uint32_t letter = *(*at)++;
    if (length > 1)
        letter &= 0x7fu >> length;
    for (size_t i = 1; i < length; i++)
        letter = letter << 6 | (*(*at)++ & 0x3fu);
    return letter;
}

/* From Unicode's EastAsianWidth.txt and the combining blocks: enough for names and units, and
 * independent of the locale, unlike wcwidth(). */
static const struct {
    uint32_t first, last;
    size_t columns;
} WIDTHS[] = {
    {0x0300, 0x036f, 0}, {0x200b, 0x200f, 0}, {0xfe00, 0xfe0f, 0},   {0x1100, 0x115f, 2},
    {0x2e80, 0xa4cf, 2}, {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},
    {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
};

size_t text_width(const char *text) {
    size_t columns = 0;
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        uint32_t letter = decode(&at);
        size_t width = 1;
        for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++)
            if (letter >= WIDTHS[i].first && letter <= WIDTHS[i].last)
                width = WIDTHS[i].columns;
        columns += width;
    }
    return columns;
}

/* A pipe ends a markdown cell even inside a code span, and "\|" is a pipe in both places. */
static bool needs_backslash(const char *cell, const char *c, table_style_t style) {
    return style == TABLE_MARKDOWN && *c == '|' && (c == cell || c[-1] != '\\');
}

static void print_cell(FILE *out, const char *cell, table_style_t style) {
    for (const char *c = cell; *c != '\0'; c++)
        fprintf(out, "%s%c", needs_backslash(cell, c, style) ? "\\" : "", *c);
}

static size_t cell_width(const char *cell, table_style_t style) {
    size_t width = text_width(cell);
    for (const char *c = cell; *c != '\0'; c++)
        width += needs_backslash(cell, c, style);
    return width;
}

static const char *cell_at(const table_t *table, size_t row, size_t column) {
    size_t at = row * table->n_columns + column;
    return at < table->n_cells ? table->cells[at] : "";
}

static void print_row(FILE *out, const table_t *table, size_t row, const size_t *widths,
                      table_style_t style) {
    size_t n = table->n_columns;
    while (style == TABLE_TERMINAL && n > 1 && *cell_at(table, row, n - 1) == '\0')
        n--; /* no blanks at the end of a line */
    for (size_t column = 0; column < n; column++) {
        const char *cell = cell_at(table, row, column);
        size_t pad = widths[column] - cell_width(cell, style);
        bool right = table->align[column] == 'r';
        bool last = column + 1 == n;
        fputs(style == TABLE_MARKDOWN ? "| " : column > 0 ? "  " : "", out);
        fprintf(out, "%*s", right ? (int)pad : 0, "");
        print_cell(out, cell, style);
        fprintf(out, "%*s", right || (last && style == TABLE_TERMINAL) ? 0 : (int)pad, "");
        fputs(style == TABLE_MARKDOWN ? " " : "", out);
    }
    fputs(style == TABLE_MARKDOWN ? "|\n" : "\n", out);
}

static void print_rule(FILE *out, const table_t *table, const size_t *widths, table_style_t style) {
    for (size_t column = 0; column < table->n_columns; column++) {
        fputs(style == TABLE_MARKDOWN ? "| " : column > 0 ? "  " : "", out);
        bool colon = style == TABLE_MARKDOWN && table->align[column] == 'r';
        for (size_t i = colon ? 1 : 0; i < widths[column]; i++)
            fputs(style == TABLE_MARKDOWN ? "-" : "─", out);
        fputs(colon ? ": " : style == TABLE_MARKDOWN ? " " : "", out);
    }
    fputs(style == TABLE_MARKDOWN ? "|\n" : "\n", out);
}

char *table_text(const table_t *table, table_style_t style) {
    AUTO_FREE size_t *widths = mem_zeroed(table->n_columns, sizeof *widths);
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t width = cell_width(table->cells[i], style);
        size_t *widest = &widths[i % table->n_columns];
        if (width > *widest)
            *widest = width;
    }
    /* GitHub requires at least three dashes under a heading. */
    for (size_t i = 0; i < table->n_columns && style == TABLE_MARKDOWN; i++)
        if (widths[i] < 3)
            widths[i] = 3;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print_row(out, table, 0, widths, style);
    print_rule(out, table, widths, style);
    for (size_t row = 1; row <= table_rows(table); row++)
        print_row(out, table, row, widths, style);
    fclose(out);
    return text;
}

void table_print(table_t *table, const char *end, FILE *out) {
    AUTO_FREE char *text = table_text(table, TABLE_TERMINAL);
    if (table_rows(table) > 0)
        fprintf(out, "%s%s", text, end);
    table_free(table);
}

/* ---- text for markdown ------------------------------------------------------------------------ */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* An underscore inside a word ("03_vectorized") needs no escape on GitHub and stays readable. */
static bool text_needs_backslash(const char *text, const char *c) {
    if (*c == '_')
        return !(c > text && is_word(c[-1]) && is_word(c[1]));
    if (*c == '#' || *c == '-' || *c == '+')
        return c == text;
    return strchr("\\`*[]|~$", *c) != NULL;
}

char *xml_text(const char *text) {
    static const struct {
        const char *from, *to;
    } ESCAPES[] = {{"<", "&lt;"},  {">", "&gt;"},         {"&", "&amp;"},       {"\"", "&quot;"},
                   {"'", "&#39;"}, {"\xEF\xBF\xBE", "?"}, {"\xEF\xBF\xBF", "?"}};
    enum { N_ESCAPES = sizeof ESCAPES / sizeof *ESCAPES };
    char *plain = text_plain(text), *safe;
    size_t size;
    FILE *out = open_memstream(&safe, &size);
    for (const char *c = plain; *c != '\0';) {
        size_t e = 0;
        while (e < N_ESCAPES && !text_starts(c, ESCAPES[e].from))
            e++;
        if (e < N_ESCAPES)
            fputs(ESCAPES[e].to, out);
        else
            fputc(*c, out);
        c += e < N_ESCAPES ? strlen(ESCAPES[e].from) : 1;
    }
    fclose(out);
    free(plain);
    return safe;
}

char *markdown_text(const char *text) {
    char *safe;
    size_t size;
    FILE *out = open_memstream(&safe, &size);
    for (const char *c = text; *c != '\0'; c++) {
        if (iscntrl((unsigned char)*c))
            fputc(' ', out);
        else if (*c == '<')
            fputs("&lt;", out);
        else if (*c == '>')
            fputs("&gt;", out);
        else if (*c == '&')
            fputs("&amp;", out);
        else
            fprintf(out, "%s%c", text_needs_backslash(text, c) ? "\\" : "", *c);
    }
    fclose(out);
    return safe;
}

char *markdown_code(const char *text) {
    size_t longest = 0, run = 0;
    for (const char *c = text; *c != '\0'; c++) {
        run = *c == '`' ? run + 1 : 0;
        if (run > longest)
            longest = run;
    }
    size_t length = strlen(text);
    /* A span that is empty or starts or ends with a backtick needs a space, which markdown
     * drops. */
    bool space = length == 0 || text[0] == '`' || text[length - 1] == '`';
    char *safe;
    size_t size;
    FILE *out = open_memstream(&safe, &size);
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
    fputs(space ? " " : "", out);
    for (const char *c = text; *c != '\0'; c++)
        fputc(iscntrl((unsigned char)*c) ? ' ' : *c, out);
    fputs(space ? " " : "", out);
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
    fclose(out);
    return safe;
}

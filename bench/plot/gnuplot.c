#include "plot/gnuplot.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const double TIMEOUT_S = 60;

const package_t CHART_GNUPLOT = {"gnuplot-nox", "gnuplot", "gnuplot"};

status_t chart_find_gnuplot(char **path, error_t *err) {
    *path = fs_find_program("gnuplot");
    if (*path != NULL)
        return STATUS_OK;
    char *install = package_install(&CHART_GNUPLOT);
    error_set(err, STATUS_USAGE, "gnuplot is not installed (it draws the charts): %s", install);
    free(install);
    return STATUS_USAGE;
}

status_t chart_formats(const char *text, text_list_t *formats, error_t *err) {
    *formats = text_split(text != NULL ? text : "svg", ',');
    static const char *const KNOWN[] = {"svg", "png"};
    for (size_t i = 0; i < formats->n; i++) {
        const char *format = formats->items[i];
        if (strcmp(format, KNOWN[0]) == 0 || strcmp(format, KNOWN[1]) == 0)
            continue;
        char *hint = text_hint(format, KNOWN, 2);
        error_set(err, STATUS_USAGE, "--format: found \"%s\", expected svg or png%s", format, hint);
        free(hint);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

void chart_init(chart_t *chart, const char *script) {
    *chart = (chart_t){.script = script};
    chart->table = open_memstream(&chart->data, &chart->size);
    if (chart->table == NULL)
        abort(); /* out of memory, as in mem_alloc() */
}

void chart_free(chart_t *chart) {
    if (chart->table != NULL)
        fclose(chart->table);
    free(chart->data);
    text_list_free(&chart->numbers);
    arena_free(&chart->texts);
    *chart = (chart_t){0};
}

const char *chart_format(chart_t *chart, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = arena_keep(&chart->texts, mem_format_args(format, args));
    va_end(args);
    return text;
}

/* ---- numbers --------------------------------------------------------------------------------- */

void chart_numbers(chart_t *chart, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = mem_format_args(format, args);
    va_end(args);
    text_list_t numbers = text_split(text, ' ');
    for (size_t i = 0; i < numbers.n; i++)
        text_list_add(&chart->numbers, numbers.items[i]);
    text_list_free(&numbers);
    free(text);
}

/* Frees the words. */
static void add_list(chart_t *chart, const char *name, text_list_t *words) {
    const char *list = arena_keep(&chart->texts, text_list_join(words, " "));
    text_list_add_format(&chart->numbers, "%s='%s'", name, list);
    text_list_free(words);
}

void chart_integers(chart_t *chart, const char *name, const int *values, size_t n) {
    text_list_t words = {0};
    for (size_t i = 0; i < n; i++)
        text_list_add_format(&words, "%d", values[i]);
    add_list(chart, name, &words);
}

void chart_reals(chart_t *chart, const char *name, const double *values, size_t n) {
    text_list_t words = {0};
    for (size_t i = 0; i < n; i++)
        text_list_add_format(&words, "%.9f", values[i]); /* gnuplot reads no exponent in a string */
    add_list(chart, name, &words);
}

/* ---- the table ------------------------------------------------------------------------------- */

void chart_row(chart_t *chart, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(chart->table, format, args);
    va_end(args);
    fputc('\n', chart->table);
}

/* gnuplot reads a backslash in a quoted field as an escape, and has none for the quote itself. */
const char *chart_quote(chart_t *chart, const char *text) {
    char *quoted = mem_alloc(2 * strlen(text) + sizeof "\"\""), *end = quoted;
    *end++ = '"';
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\\')
            *end++ = '\\';
        *end++ = *c == '"' ? '\'' : (unsigned char)*c < ' ' ? ' ' : *c;
    }
    *end++ = '"';
    *end = '\0';
    return arena_keep(&chart->texts, quoted);
}

const char *chart_real(chart_t *chart, double value, int digits) {
    return isfinite(value) ? chart_format(chart, "%.*g", digits, value) : "NaN";
}

const char *chart_us(chart_t *chart, double ns) {
    enum { DIGITS = 9 };
    return chart_real(chart, ns / 1000, DIGITS);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* gnuplot runs a file name that starts with '<' or '|' as a command, and reads one that starts with
 * '-' as an option or standard input. */
static const char *plain_path(chart_t *chart, const char *folder, const char *name,
                              const char *suffix) {
    bool absolute = folder[0] == '/';
    return chart_format(chart, "%s%s/%s%s", absolute ? "" : "./", folder, name, suffix);
}

/* The picture comes by a pipe: gnuplot ends with exit code 0 also if the disk is full. */
static status_t run_gnuplot(chart_t *chart, const chart_target_t *target, const char *data,
                            const char *format, subprocess_result_t *result, error_t *err) {
    enum { MOST_BYTES = 64 << 20 };
    const char *script = plain_path(chart, target->scripts, chart->script, ".gp");
    const char *argv[] = {target->gnuplot,
                          "-d", /* no settings of ~/.gnuplot or of the machine */
                          "-e",
                          arena_keep(&chart->texts, text_list_join(&chart->numbers, "; ")),
                          "-c",
                          plain_path(chart, target->scripts, "style", ".gp"),
                          script,
                          data,
                          "/dev/stdout",
                          format,
                          chart->title,
                          chart->note != NULL ? chart->note : "",
                          target->footer,
                          target->size_label,
                          NULL};
    TRY(subprocess_run_keep(argv, MOST_BYTES, TIMEOUT_S, result, err));
    if (result->timed_out)
        return error_set(err, STATUS_FAILED, "%s: gnuplot took over %g s", script, TIMEOUT_S);
    if (result->exit_code != 0)
        return error_set(err, STATUS_FAILED, "%s: gnuplot failed: %.1500s", script, result->err);
    if (result->n_out == 0 || result->n_out == MOST_BYTES)
        return error_set(err, STATUS_FAILED, "%s: gnuplot printed %zu bytes, expected a picture",
                         script, result->n_out);
    return STATUS_OK;
}

/* ---- the picture without what says nothing ---------------------------------------------------- */

/* Initial values, and what the canvas says once instead. */
static const char CANVAS[] = "<g id=\"gnuplot_canvas\">", BACKGROUND[] = "<rect x=\"0\" y=\"0\" ",
                  CLEAR[] = "<rect stroke='none'",
                  ONCE[] = "<g font-family='DejaVu Sans' fill='none' stroke='currentColor'>";
static const char *const NEEDLESS[] = {" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"",
                                       " color=\"black\"",
                                       " stroke-width=\"1.00\"",
                                       " class=\"gridline\"",
                                       " font-family=\"DejaVu Sans\"",
                                       " fill=\"none\"",
                                       " stroke=\"currentColor\""};

/* How long what begins here and can be left out is: such an attribute, a title, or a point that no line uses. */
static size_t needless_at(const char *at) {
    static const char TITLE[] = "<title>", END[] = "</title>", ID[] = " id='gp";
    for (size_t i = 0; i < sizeof NEEDLESS / sizeof *NEEDLESS; i++)
        if (text_starts(at, NEEDLESS[i]))
            return strlen(NEEDLESS[i]);
    const char *end = text_starts(at, TITLE) ? strstr(at, END) : NULL;
    if (end != NULL)
        return (size_t)(end - at) + strlen(END);
    const char *id = *at == '<' ? strstr(at, ID) : NULL;
    end = strchr(at, '>');
    if (id == NULL || id > end)
        return 0;
    id += strlen(" id='");
    char use[24];
    snprintf(use, sizeof use, "#%.*s'", (int)strcspn(id, "'"), id);
    return strstr(end, use) == NULL ? (size_t)(end - at) + 1 : 0;
}

/* "343.97" of an attribute as "344": a tenth of a pixel is enough. Returns where to go on. */
static const char *copy_number(const char *at, char **out) {
    char *end;
    const double value = strtod(at, &end);
    if (end - at < 4 || end[-3] != '.' || value < 1) { /* an opacity stays as it is */
        memcpy(*out, at, (size_t)(end - at));
        *out += end - at;
    } else {
        *out += snprintf(*out, (size_t)(end - at) + 1, "%.1f", value);
        *out -= (*out)[-1] == '0' ? 2 : 0;
    }
    return end;
}

/* "rgb(213,  94,   0)" as "#d55e00". Returns where to go on; `at`: it is no colour. */
static const char *copy_colour(const char *at, char **out) {
    unsigned red, green, blue;
    int length = 0;
    if (sscanf(at, "rgb(%u,%u,%u)%n", &red, &green, &blue, &length) != 3 || length == 0)
        return at;
    *out += sprintf(*out, "#%02x%02x%02x", red & 255, green & 255, blue & 255);
    return at + length;
}

/* The groups of the picture. gnuplot begins one for each tick. */
typedef struct groups {
    const char *last; /* the tag of the last one below the canvas; NULL: none */
    size_t length;
    int depth;
} groups_t;

/* A tag was copied, from `tag` up to `out`. A group without content goes, and so does one that only goes on with the last
 * one. */
static char *end_tag(groups_t *groups, const char *start, char *tag, char *out) {
    static const char END[] = "</g>";
    const size_t length = (size_t)(out - tag);
    const bool ends = text_starts(tag, END),
               after_end = tag - start > 4 && memcmp(tag - 4, END, 4) == 0;
    if (ends) {
        char *open = tag;
        while (open > start && *--open != '<')
            ;
        groups->depth--;
        const bool is_empty =
            tag[-1] == '>' && open[1] == 'g' && (open[2] == ' ' || open[2] == '>');
        groups->last = is_empty && groups->last == open ? NULL : groups->last;
        return is_empty ? open : out;
    }
    if (tag[1] != 'g' || (tag[2] != ' ' && tag[2] != '>') || ++groups->depth != 2)
        return out;
    if (after_end && groups->last != NULL && groups->length == length &&
        memcmp(groups->last, tag, length) == 0)
        return tag - 4;
    groups->last = tag;
    groups->length = length;
    return out;
}

/* A copy; also mends "]]>" in a text, which gnuplot writes as it is. What has no canvas stays as it is. */
static char *slim_svg(const char *svg) {
    static const char BLANKS[] = " \t\r\n", BEFORE_NUMBERS[] = ",( '\"-MLHVmlhv";
    char *slim = mem_zeroed(strlen(svg) + sizeof ONCE + sizeof CLEAR, 1), *out = slim,
         *tag = NULL; /* tag: the one that is copied */
    groups_t groups = {NULL, 0, 0};
    if (strstr(svg, CANVAS) == NULL)
        return strcpy(slim, svg);
    for (const char *at = svg; *at != '\0';) {
        const size_t needless = needless_at(at);
        const char *past_colour = tag != NULL && *at == 'r' ? copy_colour(at, &out) : at;
        if (past_colour > at)
            at = past_colour;
        else if (text_starts(at, CANVAS)) {
            out += sprintf(out, "%s", ONCE);
            at += strlen(CANVAS);
            groups.depth = 1;
        } else if (text_starts(at, BACKGROUND)) {
            tag = out;
            out += sprintf(out, "%s", CLEAR);
            at += strlen("<rect");
        } else if (needless > 0)
            at += needless;
        else if (tag != NULL && isdigit((unsigned char)*at) &&
                 strchr(BEFORE_NUMBERS, at[-1]) != NULL)
            at = copy_number(at, &out);
        else if (tag != NULL && strchr(BLANKS, *at) != NULL) {
            at += strspn(at, BLANKS);
            *out = ' ';
            out += strchr(">/LM", *at) == NULL;
        } else if (tag == NULL && *at != ' ' && strchr(BLANKS, *at) != NULL)
            at += strspn(at, BLANKS);
        else if (tag == NULL && text_starts(at, "]]>")) {
            memcpy(out, "] ", 2);
            out += 2;
            at += 2;
        } else {
            tag = *at == '<' ? out : tag;
            *out++ = tag != NULL && *at == '"' ? '\'' : *at;
            at++;
            if (tag != NULL && out[-1] == '>') {
                out = end_tag(&groups, slim, tag, out);
                tag = NULL;
            }
        }
    }
    *out = '\0';
    return slim;
}

static status_t draw(chart_t *chart, const chart_target_t *target, const char *data,
                     const char *format, error_t *err) {
    const char *suffix = chart_format(chart, ".%s", format);
    const char *picture = plain_path(chart, target->folder, target->name, suffix);
    subprocess_result_t result;
    status_t status = run_gnuplot(chart, target, data, format, &result, err);
    if (status == STATUS_OK && strcmp(format, "svg") == 0) {
        const char *slim = arena_keep(&chart->texts, slim_svg(result.out));
        status = fs_write_atomic(picture, slim, strlen(slim), err);
    } else if (status == STATUS_OK)
        status = fs_write_atomic(picture, result.out, result.n_out, err);
    subprocess_result_free(&result);
    return status;
}

status_t chart_write(chart_t *chart, const chart_target_t *target, const text_list_t *formats,
                     error_t *err) {
    fflush(chart->table);
    const char *data = plain_path(chart, target->folder, target->name, ".dat");
    TRY(fs_write_atomic(data, chart->data, chart->size, err));
    for (size_t i = 0; i < formats->n; i++)
        TRY(draw(chart, target, data, formats->items[i], err));
    return STATUS_OK;
}

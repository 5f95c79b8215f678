#include "plot/gnuplot.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/subprocess.h"

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
    AUTO_FREE char *install = package_install(&CHART_GNUPLOT);
    return error_set(err, STATUS_USAGE, "gnuplot is not installed (it draws the charts): %s",
                     install);
}

status_t chart_formats(const char *text, text_list_t *formats, error_t *err) {
    *formats = text_split(text != NULL ? text : "svg", ',');
    static const char *const KNOWN[] = {"svg", "png"};
    for (size_t i = 0; i < formats->n; i++) {
        const char *format = formats->items[i];
        if (text_is_one_of(format, KNOWN, 2))
            continue;
        AUTO_FREE char *hint = text_hint(format, KNOWN, 2);
        return error_set(err, STATUS_USAGE, "--format: found \"%s\", expected svg or png%s", format,
                         hint);
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
    AUTO_FREE char *text = mem_format_args(format, args);
    va_end(args);
    AUTO(text_list_free) text_list_t numbers = text_split(text, ' ');
    for (size_t i = 0; i < numbers.n; i++)
        text_list_add(&chart->numbers, numbers.items[i]);
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

/* Initial values, and what is said once instead, behind the background. */
static const char DEFS[] = "<defs>",
                  ONCE[] = "</g><g font-family='DejaVu Sans' fill='none' stroke='currentColor'>";
static const char *const NEEDLESS[] = {" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"",
                                       " color=\"black\"",
                                       " stroke-width=\"1.00\"",
                                       " class=\"gridline\"",
                                       " font-family=\"DejaVu Sans\"",
                                       " fill=\"none\"",
                                       " stroke=\"currentColor\"",
                                       "\t",
                                       "<g >\n</g>\n"};

/* How long what begins here and can be left out is: 0: nothing. */
static size_t needless_at(const char *at) {
    for (size_t i = 0; i < sizeof NEEDLESS / sizeof *NEEDLESS; i++)
        if (text_starts(at, NEEDLESS[i]))
            return strlen(NEEDLESS[i]);
    const char *end = text_starts(at, "<title>") ? strstr(at, "</title>") : NULL;
    return end != NULL ? (size_t)(end - at) + strlen("</title>") : 0;
}

/* "rgb(213,  94,   0)" as "#d55e00". Returns where to go on; `at`: it is no colour. */
static const char *copy_colour(const char *at, char **out) {
    unsigned red, green, blue;
    int length = 0;
    if (*at != 'r' || sscanf(at, "rgb(%u,%u,%u)%n", &red, &green, &blue, &length) != 3)
        return at;
    *out += sprintf(*out, "#%02x%02x%02x", red & 255, green & 255, blue & 255);
    return at + length;
}

/* Also mends "]]>" in a text, which gnuplot writes as it is. What has no <defs> stays as it is. */
static char *slim_svg(const char *svg) {
    char *slim = mem_zeroed(strlen(svg) + sizeof ONCE, 1), *out = slim;
    const char *defs = strstr(svg, DEFS);
    bool in_tag = false;
    if (defs == NULL)
        return strcpy(slim, svg);
    for (const char *at = svg; *at != '\0';) {
        const size_t needless = needless_at(at);
        const char *past_colour = in_tag ? copy_colour(at, &out) : at;
        if (past_colour > at) {
            at = past_colour;
        } else if (at == defs) {
            out = stpcpy(stpcpy(out, ONCE), DEFS);
            at += strlen(DEFS);
        } else if (needless > 0) {
            at += needless;
        } else if (!in_tag && text_starts(at, "]]>")) {
            out = stpcpy(out, "]  ");
            at += 3;
        } else {
            in_tag = *at != '>' && (in_tag || *at == '<');
            *out++ = in_tag && *at == '"' ? '\'' : *at;
            at++;
        }
    }
    return slim;
}

static status_t draw(chart_t *chart, const chart_target_t *target, const char *data,
                     const char *format, error_t *err) {
    const char *suffix = chart_format(chart, ".%s", format);
    const char *picture = plain_path(chart, target->folder, target->name, suffix);
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    TRY(run_gnuplot(chart, target, data, format, &result, err));
    if (strcmp(format, "svg") != 0)
        return fs_write_atomic(picture, result.out, result.n_out, err);
    AUTO_FREE char *slim = slim_svg(result.out);
    return fs_write_atomic(picture, slim, strlen(slim), err);
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

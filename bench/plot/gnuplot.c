#include "plot/gnuplot.h"

#include "base/memory.h"
#include "io/find.h"
#include "io/fs.h"
#include "io/subprocess.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double TIMEOUT_S = 60;

const package_t CHART_GNUPLOT = {"gnuplot-nox", "gnuplot", "gnuplot"};

status_t chart_find_gnuplot(char **path, error_t *err) {
    *path = fs_find_program("gnuplot");
    if (*path != NULL)
        return STATUS_OK;
    char *install = package_install(&CHART_GNUPLOT);
    error_set(err, STATUS_USAGE, "gnuplot is not installed and draws the charts: %s", install);
    free(install);
    return STATUS_USAGE;
}

void chart_init(chart_t *chart, const char *script) {
    *chart = (chart_t){.script = mem_text(script)};
    chart->table = open_memstream(&chart->data, &chart->size);
    if (chart->table == NULL)
        abort(); /* out of memory, as in mem_alloc() */
}

void chart_free(chart_t *chart) {
    if (chart->table != NULL)
        fclose(chart->table);
    free(chart->data);
    free(chart->script);
    free(chart->title);
    free(chart->note);
    text_list_free(&chart->numbers);
    *chart = (chart_t){0};
}

void chart_number(chart_t *chart, const char *name, double value) {
    text_list_add_format(&chart->numbers, "%s=%.10g", name, value);
}

void chart_integers(chart_t *chart, const char *name, const int *values, size_t n) {
    text_list_t words = {0};
    for (size_t i = 0; i < n; i++)
        text_list_add_format(&words, "%d", values[i]);
    char *list = text_list_join(&words, " ");
    text_list_add_format(&chart->numbers, "%s='%s'", name, list);
    free(list);
    text_list_free(&words);
}

void chart_reals(chart_t *chart, const char *name, const double *values, size_t n) {
    text_list_t words = {0};
    for (size_t i = 0; i < n; i++)
        text_list_add_format(&words, "%.9f", values[i]); /* gnuplot reads no exponent in a string */
    char *list = text_list_join(&words, " ");
    text_list_add_format(&chart->numbers, "%s='%s'", name, list);
    free(list);
    text_list_free(&words);
}

/* gnuplot reads a backslash in a quoted field as an escape, and knows none for the quote itself. */
void chart_text(chart_t *chart, const char *text) {
    fputs(" \"", chart->table);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\\')
            fputs("\\\\", chart->table);
        else if (*c == '"')
            fputc('\'', chart->table);
        else
            fputc((unsigned char)*c < ' ' ? ' ' : *c, chart->table);
    }
    fputc('"', chart->table);
}

void chart_us(chart_t *chart, double ns) {
    if (isfinite(ns))
        fprintf(chart->table, " %.9g", ns / 1000);
    else
        fputs(" NaN", chart->table);
}

/* gnuplot takes a file name that starts with '<' or '|' for a command, and one that starts with '-'
 * for an option or standard input. */
static char *plain_path(const char *folder, const char *name, const char *suffix) {
    bool absolute = folder[0] == '/';
    return mem_format("%s%s/%s%s", absolute ? "" : "./", folder, name, suffix);
}

static status_t run_gnuplot(const chart_t *chart, const chart_target_t *target, const char *data,
                            const char *picture, const char *format, error_t *err) {
    char *numbers = text_list_join(&chart->numbers, "; ");
    char *script = plain_path(target->scripts, chart->script, ".gp");
    char *style = plain_path(target->scripts, "style", ".gp");
    const char *argv[] = {target->gnuplot,
                          "-e",
                          numbers,
                          "-c",
                          script,
                          style,
                          data,
                          picture,
                          format,
                          chart->title,
                          chart->note != NULL ? chart->note : "",
                          target->footer,
                          target->size_title,
                          NULL};
    subprocess_result_t result;
    status_t status = subprocess_run(argv, NULL, TIMEOUT_S, &result, err);
    if (status == STATUS_OK) {
        if (result.timed_out)
            status = error_set(err, STATUS_FAILED, "%s: gnuplot took over %g s", script, TIMEOUT_S);
        else if (result.exit_code != 0)
            status =
                error_set(err, STATUS_FAILED, "%s: gnuplot failed: %.1500s", script, result.err);
        subprocess_result_free(&result);
    }
    free(numbers);
    free(script);
    free(style);
    return status;
}

static status_t draw(const chart_t *chart, const chart_target_t *target, const char *data,
                     const char *format, error_t *err) {
    char *suffix = mem_format(".%s", format);
    char *unfinished_suffix = mem_format(".%s.tmp", format);
    char *picture = plain_path(target->folder, target->name, suffix);
    char *unfinished = plain_path(target->folder, target->name, unfinished_suffix);
    status_t status = run_gnuplot(chart, target, data, unfinished, format, err);
    if (status == STATUS_OK && rename(unfinished, picture) != 0)
        status = error_set(err, STATUS_USAGE, "%s: %s", picture, strerror(errno));
    if (status != STATUS_OK)
        unlink(unfinished);
    free(suffix);
    free(unfinished_suffix);
    free(picture);
    free(unfinished);
    return status;
}

status_t chart_write(chart_t *chart, const chart_target_t *target, const text_list_t *formats,
                     error_t *err) {
    fflush(chart->table);
    char *data = plain_path(target->folder, target->name, ".dat");
    status_t status = fs_write_atomic(data, chart->data, chart->size, err);
    for (size_t i = 0; i < formats->n && status == STATUS_OK; i++)
        status = draw(chart, target, data, formats->items[i], err);
    free(data);
    return status;
}

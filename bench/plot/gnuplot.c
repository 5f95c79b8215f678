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

const package_t DRAWING_GNUPLOT = {"gnuplot-nox", "gnuplot", "gnuplot"};

status_t drawing_find_gnuplot(char **path, error_t *err) {
    *path = fs_find_program("gnuplot");
    if (*path != NULL)
        return STATUS_OK;
    char *install = package_install(&DRAWING_GNUPLOT);
    error_set(err, STATUS_USAGE, "gnuplot is not installed and draws the charts: %s", install);
    free(install);
    return STATUS_USAGE;
}

void drawing_init(drawing_t *drawing, const char *script) {
    *drawing = (drawing_t){.script = mem_text(script)};
    drawing->table = open_memstream(&drawing->data, &drawing->size);
    if (drawing->table == NULL)
        abort(); /* out of memory, as in mem_alloc() */
}

void drawing_free(drawing_t *drawing) {
    if (drawing->table != NULL)
        fclose(drawing->table);
    free(drawing->data);
    free(drawing->script);
    free(drawing->title);
    free(drawing->note);
    text_list_free(&drawing->numbers);
    *drawing = (drawing_t){0};
}

void drawing_number(drawing_t *drawing, const char *name, double value) {
    text_list_add_format(&drawing->numbers, "%s=%.10g", name, value);
}

void drawing_integers(drawing_t *drawing, const char *name, const int *values, size_t n) {
    text_list_t words = {0};
    for (size_t i = 0; i < n; i++)
        text_list_add_format(&words, "%d", values[i]);
    char *list = text_list_join(&words, " ");
    text_list_add_format(&drawing->numbers, "%s='%s'", name, list);
    free(list);
    text_list_free(&words);
}

void drawing_reals(drawing_t *drawing, const char *name, const double *values, size_t n) {
    text_list_t words = {0};
    for (size_t i = 0; i < n; i++)
        text_list_add_format(&words, "%.9f", values[i]); /* gnuplot reads no exponent in a string */
    char *list = text_list_join(&words, " ");
    text_list_add_format(&drawing->numbers, "%s='%s'", name, list);
    free(list);
    text_list_free(&words);
}

/* gnuplot reads a backslash in a quoted field as an escape, and knows none for the quote itself. */
void drawing_text(drawing_t *drawing, const char *text) {
    fputs(" \"", drawing->table);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\\')
            fputs("\\\\", drawing->table);
        else if (*c == '"')
            fputc('\'', drawing->table);
        else
            fputc((unsigned char)*c < ' ' ? ' ' : *c, drawing->table);
    }
    fputc('"', drawing->table);
}

void drawing_us(drawing_t *drawing, double ns) {
    if (isfinite(ns))
        fprintf(drawing->table, " %.9g", ns / 1000);
    else
        fputs(" NaN", drawing->table);
}

/* gnuplot takes a file name that starts with '<' or '|' for a command, and one that starts with '-'
 * for an option or standard input. */
static char *plain_path(const char *folder, const char *name, const char *suffix) {
    bool absolute = folder[0] == '/';
    return mem_format("%s%s/%s%s", absolute ? "" : "./", folder, name, suffix);
}

static status_t run_gnuplot(const drawing_t *drawing, const drawing_target_t *target,
                            const char *data, const char *picture, const char *format,
                            error_t *err) {
    char *numbers = text_list_join(&drawing->numbers, "; ");
    char *script = plain_path(target->scripts, drawing->script, ".gp");
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
                          drawing->title,
                          drawing->note != NULL ? drawing->note : "",
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

static status_t draw(const drawing_t *drawing, const drawing_target_t *target, const char *data,
                     const char *format, error_t *err) {
    char *suffix = mem_format(".%s", format);
    char *unfinished_suffix = mem_format(".%s.tmp", format);
    char *picture = plain_path(target->folder, target->name, suffix);
    char *unfinished = plain_path(target->folder, target->name, unfinished_suffix);
    status_t status = run_gnuplot(drawing, target, data, unfinished, format, err);
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

status_t drawing_write(drawing_t *drawing, const drawing_target_t *target,
                       const text_list_t *formats, error_t *err) {
    fflush(drawing->table);
    char *data = plain_path(target->folder, target->name, ".dat");
    status_t status = fs_write_atomic(data, drawing->data, drawing->size, err);
    for (size_t i = 0; i < formats->n && status == STATUS_OK; i++)
        status = draw(drawing, target, data, formats->items[i], err);
    free(data);
    return status;
}

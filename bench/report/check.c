#include "report/check.h"

#include "report/page.h"

#include "base/memory.h"
#include "io/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command in the report --------------------------------------------------------------- */

/* The words of a line as print_command() quotes them; false if a quote stays open. */
static bool words_of(const char *line, const char *end, text_list_t *words) {
    AUTO_FREE char *word = mem_zeroed((size_t)(end - line) + 1, 1);
    bool quoted = false, closed = true;
    while (line < end) {
        size_t n = 0;
        for (; line < end && (quoted || *line != ' '); line++)
            if (*line == '"')
                quoted = !quoted;
            else if (*line == '\\' && line + 1 < end)
                word[n++] = *++line;
            else
                word[n++] = *line;
        word[n] = '\0';
        closed = !quoted;
        text_list_add(words, word);
        line += line < end;
    }
    return closed;
}

/* The runs and options of the first such line, and how the program was called there: the top page has no other indented text before it but
 * the command of the runs. */
static status_t read_command(const char *path, const char *text, const char **program,
                             text_list_t *words, error_t *err) {
    static const char *const BEGINS[] = {"\n    build/bench report ", "\n    bench report "};
    enum { INDENT = sizeof "\n    " - 1 };
    const char *line = strstr(text, BEGINS[0]);
    const size_t which = line == NULL;
    if (line == NULL && (line = strstr(text, BEGINS[1])) == NULL)
        return error_set(err, STATUS_USAGE, "%s: no line \"%sRUN…\" names its runs", path,
                         BEGINS[0] + 1);
    *program = which == 0 ? "build/bench" : "bench";
    const char *end = line + 1 + strcspn(line + 1, "\n");
    if (!words_of(line + strlen(BEGINS[which]), end, words) || words->n == 0)
        return error_set(err, STATUS_USAGE, "%s: cannot read the command \"%.*s\"", path,
                         (int)(end - line - INDENT), line + INDENT);
    return STATUS_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The nearest start of a UTF-8 character at `column` or before it. */
static size_t character_at(const char *line, size_t column) {
    while (column > 0 && ((unsigned char)line[column] & 0xC0) == 0x80)
        column--;
    return column;
}

/* The line from shortly before the column that differs. */
static char *excerpt(const char *line, size_t column) {
    enum { BEFORE = 24, SHOWN = 96 };
    const size_t length = strcspn(line, "\n");
    if (length == 0)
        return mem_text(*line == '\0' ? "(the end)" : "(an empty line)");
    const size_t first = character_at(line, column > BEFORE ? column - BEFORE : 0);
    const size_t end = character_at(line, first + SHOWN < length ? first + SHOWN : length);
    return mem_format("%s%.*s%s", first > 0 ? "…" : "", (int)(end - first), line + first,
                      end < length ? "…" : "");
}

static status_t compare_text(const char *path, const char *found, const char *wanted,
                             error_t *err) {
    size_t at = 0, line = 1, start = 0;
    for (; found[at] != '\0' && found[at] == wanted[at]; at++)
        if (found[at] == '\n') {
            line++;
            start = at + 1;
        }
    if (found[at] == wanted[at])
        return STATUS_OK;
    char *there = excerpt(found + start, at - start), *runs = excerpt(wanted + start, at - start);
    status_t status = error_set(err, STATUS_FAILED,
                                "%s:%zu: differs from what its runs give\n  found:    %s\n"
                                "  expected: %s",
                                path, line, there, runs);
    free(there);
    free(runs);
    return status;
}

static status_t compare_file(const report_file_t *file, error_t *err) {
    char *found;
    size_t size;
    if (!fs_exists(file->path))
        return error_set(err, STATUS_FAILED, "%s: this page of the report is missing", file->path);
    TRY(fs_read(file->path, &found, &size, err));
    status_t status = compare_text(file->path, found, file->text, err);
    free(found);
    return status;
}

static status_t refuse_edits(const text_list_t *edits, error_t *err) {
    AUTO_FREE char *list = text_list_join(edits, "\n  ");
    if (edits->n > 0)
        error_set(err, STATUS_FAILED,
                  "files of runs are not those that the runs were closed with:\n  %s", list);
    return edits->n > 0 ? STATUS_FAILED : STATUS_OK;
}

status_t report_check(const char *path, const char *root, report_check_t *found, error_t *err) {
    static const char PAGES[] = "--pages=", OUT[] = "--out=";
    char *text;
    size_t size;
    const char *program = NULL;
    AUTO(text_list_free) text_list_t words = {0};
    AUTO(report_files_free) report_files_t files = {0};
    TRY(fs_read(path, &text, &size, err));
    status_t status = STATUS_OK;
    if (!text_starts(text, REPORT_TITLE))
        status = error_set(err, STATUS_USAGE, "%s: is not a report of bench", path);
    if (status == STATUS_OK)
        status = read_command(path, text, &program, &words, err);
    if (status == STATUS_OK) {
        report_options_t options = {.runs = (const char *const *)words.items,
                                    .out = path,
                                    .root = root,
                                    .program = program};
        while (options.n_runs < words.n && !text_starts(words.items[options.n_runs], "--"))
            options.n_runs++;
        for (size_t i = options.n_runs; i < words.n; i++) {
            if (text_starts(words.items[i], PAGES))
                options.pages = words.items[i] + strlen(PAGES);
            if (text_starts(words.items[i], OUT))
                options.out_named = words.items[i] + strlen(OUT);
        }
        status = report_render(&options, &files, err);
    }
    if (status == STATUS_OK)
        status = refuse_edits(&files.edits, err);
    for (size_t i = 0; i < files.n && status == STATUS_OK; i++)
        status = compare_file(&files.items[i], err);
    *found = (report_check_t){files.n, files.n_runs, files.n_unsealed};
    free(text);
    return status;
}

#include "report/report.h"

#include "report/html/html.h"
#include "report/shown.h"

#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/output.h"
#include "plot/folder.h"
#include "report/page.h"
#include "results/record.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ----------------------------------------------------------------------------------- */

static const char *page_path(const report_t *report, const report_options_t *options,
                             const shown_part_t *part) {
    const char *folder = part->whole->folder;
    if (options->pages != NULL)
        folder = report_keep(report, fs_join(options->pages, part->whole->name));
    return report_text(report, "%s%s%s.md", folder, text_ends(folder, "/") ? "" : "/",
                       part->workload);
}

static bool is_in_two_runs(const shown_list_t *runs, const char *workload) {
    size_t n = 0;
    for (size_t p = 0; p < runs->n_parts; p++)
        n += strcmp(runs->parts[p]->workload, workload) == 0;
    return n > 1;
}

static bool is_on_machine_of(const report_t *report, const shown_part_t *a, const shown_part_t *b) {
    return strcmp(shown_machine(report, a->whole), shown_machine(report, b->whole)) == 0;
}

static top_part_t top_part_of(const report_t *report, const report_options_t *options,
                              const shown_list_t *runs, const shown_part_t *part) {
    const char *path = page_path(report, options, part);
    const char *run = is_in_two_runs(runs, part->workload) ? part->whole->name : NULL;
    return (top_part_t){.part = part,
                        .href = report_keep(report, report_link(report, path)),
                        .name = run == NULL ? part->workload
                                            : report_text(report, "%s (%s)", part->workload, run)};
}

/* The workloads of all runs, those of one machine together. The caller frees the array. */
static const shown_part_t **by_machine(const report_t *report, const shown_list_t *runs) {
    const shown_part_t **ordered = mem_zeroed(runs->n_parts + 1, sizeof(shown_part_t *));
    size_t n = 0;
    for (size_t first = 0; first < runs->n_parts; first++) {
        bool seen = false;
        for (size_t p = 0; p < first; p++)
            seen = seen || is_on_machine_of(report, runs->parts[p], runs->parts[first]);
        for (size_t p = first; p < runs->n_parts && !seen; p++)
            if (is_on_machine_of(report, runs->parts[p], runs->parts[first]))
                ordered[n++] = runs->parts[p];
    }
    return ordered;
}

/* Of all, machine by machine. `report` is that of the top page: texts and links. */
static top_part_t *top_parts_of(const report_t *report, const report_options_t *options,
                                const shown_list_t *runs) {
    AUTO_FREE const shown_part_t **ordered = by_machine(report, runs);
    top_part_t *parts = mem_zeroed(runs->n_parts + 1, sizeof *parts);
    for (size_t p = 0; p < runs->n_parts; p++)
        parts[p] = top_part_of(report, options, runs, ordered[p]);
    return parts;
}

/* Takes both. */
static void add_file(report_files_t *files, char *path, char *text) {
    files->items = mem_resize(files->items, files->n + 1, sizeof *files->items);
    files->items[files->n++] = (report_file_t){path, text};
}

static const char *program_of(const report_options_t *options) {
    return options->program != NULL ? options->program : folders_program(options->root);
}

/* The folder must outlive the page. In HTML all links are relative to the project's folder. */
static void open_in(page_t *page, const report_options_t *options, const char *folder) {
    page_open(page);
    page->report.root = options->root;
    page->report.program = program_of(options);
    page->report.folder =
        options->html != NULL ? report_keep(&page->report, folders_project(options->root)) : folder;
    page->report.links_cases = options->html != NULL;
}

static text_list_t command_of(const report_options_t *options) {
    text_list_t command = {0};
    text_list_add(&command, program_of(options));
    text_list_add(&command, "report");
    for (size_t i = 0; i < options->n_runs; i++)
        text_list_add(&command, options->runs[i]);
    if (options->out_named != NULL)
        text_list_add_format(&command, "--out=%s", options->out_named);
    if (options->pages != NULL)
        text_list_add_format(&command, "--pages=%s", options->pages);
    if (options->html != NULL)
        text_list_add_format(&command, "--html=%s",
                             output_is_stream(options->html) ? "-" : options->html);
    return command;
}

/* "REPORT.svg", beside REPORT.md. */
static char *picture_path(const report_options_t *options) {
    const size_t length = strlen(options->out) - (text_ends(options->out, ".md") ? 3 : 0);
    return mem_format("%.*s.svg", (int)length, options->out);
}

/* The top page, and its picture: a file beside it; in HTML, a part of the page with links. */
static void render_top(const report_options_t *options, const shown_list_t *runs,
                       report_files_t *files) {
    page_t page;
    const bool is_stream = output_is_stream(options->out), in_html = options->html != NULL;
    AUTO_FREE char *path = mem_text(options->out), *picture = picture_path(options);
    AUTO(text_list_free) text_list_t command = command_of(options);
    open_in(&page, options, is_stream ? "." : dirname(path));
    AUTO_FREE top_part_t *parts = top_parts_of(&page.report, options, runs);
    top_t top = {.runs = runs,
                 .parts = parts,
                 .n_parts = runs->n_parts,
                 .command = command.items,
                 .n_command = command.n};
    page.report.run = page.report.whole = runs->items[0].whole;
    char *svg = top_picture(&page.report, &top, in_html);
    if (svg != NULL && (in_html || !is_stream))
        top.picture = report_keep(&page.report, report_link(&page.report, picture));
    top_page(&page.report, &top);
    add_file(files, mem_text(options->out), page_close(&page));
    if (svg != NULL && (in_html || !is_stream))
        add_file(files, mem_text(picture), svg);
    else
        free(svg);
}

static void render_pages(const report_options_t *options, const shown_list_t *runs,
                         report_files_t *files) {
    for (size_t p = 0; p < runs->n_parts; p++) {
        page_t page;
        open_in(&page, options, NULL);
        const char *path = page_path(&page.report, options, runs->parts[p]);
        AUTO_FREE char *copy = mem_text(path);
        if (options->html == NULL)
            page.report.folder = dirname(copy);
        char *kept = mem_text(path);
        workload_page(&page.report, runs->parts[p]);
        add_file(files, kept, page_close(&page));
    }
}

static void free_items(report_files_t *files) {
    for (size_t i = 0; i < files->n; i++) {
        free(files->items[i].path);
        free(files->items[i].text);
    }
    free(files->items);
    files->items = NULL;
    files->n = 0;
}

/* Make one HTML file of them: the top page, its picture if it has one, the pages. */
static void join_as_html(const report_options_t *options, const shown_list_t *runs,
                         report_files_t *files) {
    AUTO_FREE char *project = folders_project(options->root);
    const report_t in_project = {.folder = project};
    const bool has_picture = files->n > 1 && text_starts(files->items[1].text, PICTURE_BEGIN);
    const size_t first = has_picture ? 2 : 1, n = files->n - first;
    AUTO_FREE const char **pages = mem_zeroed(n + 1, sizeof *pages);
    AUTO(text_list_free) text_list_t hrefs = {0};
    for (size_t i = 0; i < n; i++) {
        pages[i] = files->items[first + i].text;
        text_list_take(&hrefs, report_link(&in_project, files->items[first + i].path));
    }
    const html_source_t source = {.runs = runs,
                                  .root = project,
                                  .program = program_of(options),
                                  .top = files->items[0].text,
                                  .picture = has_picture ? files->items[1].text : NULL,
                                  .pages = pages,
                                  .hrefs = (const char *const *)hrefs.items};
    char *document = html_document(&source);
    free_items(files);
    add_file(files, mem_text(options->html), document);
}

static void note_runs(const record_list_t *runs, const char *root, report_files_t *files) {
    files->n_runs = runs->n;
    for (size_t i = 0; i < runs->n; i++) {
        AUTO_FREE char *charts = charts_folder(root, NULL, &runs->items[i]);
        AUTO(text_list_free) text_list_t edits = record_edits(&runs->items[i], charts);
        text_list_add_all(&files->edits, &edits);
        files->n_unsealed += record_seal(&runs->items[i]) == SEAL_NONE;
    }
}

void report_files_free(report_files_t *files) {
    text_list_free(&files->edits);
    free_items(files);
    *files = (report_files_t){0};
}

static status_t refuse_name(const shown_list_t *runs, error_t *err) {
    for (size_t p = 0; p < runs->n_parts; p++)
        if (!text_is_name(runs->parts[p]->workload))
            return error_set(err, STATUS_USAGE, "%s: workload \"%s\" is no name for a page",
                             runs->parts[p]->whole->folder, runs->parts[p]->workload);
    return STATUS_OK;
}

static status_t refuse_files(const report_options_t *options, const report_files_t *files,
                             error_t *err) {
    for (size_t i = 0; i < files->n && !output_is_stream(files->items[0].path); i++) {
        const char *path = files->items[i].path;
        const char *begin = options->html != NULL     ? HTML_BEGIN
                            : text_ends(path, ".svg") ? PICTURE_BEGIN
                                                      : REPORT_TITLE;
        TRY(record_refuse_own_file(path, err));
        TRY(record_refuse_other_file(path, begin, err));
        for (size_t k = 0; k < i; k++)
            if (strcmp(files->items[k].path, path) == 0)
                return error_set(err, STATUS_USAGE,
                                 "%s: would be written twice: choose another --out or --pages, or "
                                 "give each run once",
                                 path);
    }
    return STATUS_OK;
}

status_t report_render(const report_options_t *options, report_files_t *files, error_t *err) {
    AUTO(shown_list_free) shown_list_t runs = {0};
    *files = (report_files_t){0};
    TRY(shown_load(options->runs, options->n_runs, &runs, err));
    TRY(refuse_name(&runs, err));
    note_runs(&runs.loaded, options->root, files);
    render_top(options, &runs, files);
    render_pages(options, &runs, files);
    if (options->html != NULL)
        join_as_html(options, &runs, files);
    return refuse_files(options, files, err);
}

static bool is_there(const report_file_t *file) {
    error_t none = ERROR_INIT;
    AUTO_FREE char *text = NULL;
    size_t size;
    return fs_exists(file->path) && fs_read(file->path, &text, &size, &none) == STATUS_OK &&
           strcmp(text, file->text) == 0;
}

/* Only the top page has a name that the user gave: a link in a run's folder is replaced, not followed. */
static status_t write_file(const report_file_t *file, bool is_top, error_t *err) {
    if (is_there(file))
        return STATUS_OK;
    AUTO_FREE char *path = mem_text(file->path);
    TRY(fs_make_folders(dirname(path), err));
    return (is_top ? output_write_file : fs_write_atomic)(file->path, file->text,
                                                          strlen(file->text), err);
}

status_t report_write(const report_options_t *options, error_t *err) {
    AUTO(report_files_free) report_files_t files = {0};
    TRY(report_render(options, &files, err));
    /* The report last: it is there only with all its pages. */
    const report_file_t *top = &files.items[0];
    if (output_is_stream(top->path))
        return output_write_file(top->path, top->text, strlen(top->text), err);
    for (size_t i = files.n; i-- > 0;)
        TRY(write_file(&files.items[i], i == 0, err));
    return STATUS_OK;
}

/* ---- for a terminal -------------------------------------------------------------------------- */

/* The workloads of all runs, each labelled with its date. The caller frees the array. */
static headline_part_t *saved_parts(const report_t *report, const shown_list_t *runs) {
    headline_part_t *parts = mem_zeroed(runs->n_parts + 1, sizeof *parts);
    AUTO_FREE const shown_part_t **ordered = by_machine(report, runs);
    for (size_t p = 0; p < runs->n_parts; p++) {
        parts[p] = ordered[p]->headline;
        parts[p].when = report_text(report, "saved %s", shown_date(report, ordered[p]->whole));
    }
    return parts;
}

static void print_headline(const report_t *report, const shown_list_t *runs) {
    AUTO_FREE headline_part_t *parts = saved_parts(report, runs);
    AUTO(headline_free) headline_t headline = headline_select(parts, runs->n_parts, HEADLINE_ROWS);
    print(report, "%s", report_keep(report, headline_text(&headline)));
}

static void print_workloads(const report_t *report, const shown_run_t *shown) {
    for (size_t p = 0, n = 0; p < shown->n_parts; p++) {
        const shown_part_t *part = &shown->parts[p];
        if (part->n_cases == 0)
            continue;
        AUTO(headline_free)
        headline_t headline = headline_select(&part->headline, 1, HEADLINE_WORKLOAD_ROWS);
        print(report, "%s%s", n++ > 0 ? "\n" : "", report_keep(report, headline_text(&headline)));
        if (headline.n_omitted > 0)
            print(report, "\n`bench report` has %zu more sizes.\n", headline.n_omitted);
        if (headline.n == 0) { /* "softmax: nothing to compare (29 skipped)" */
            const status_counts_t counts = count_statuses(&part->steady);
            const char *statuses = statuses_text(report, &counts);
            print(report, "%s: nothing to compare (%s)\n", part->workload,
                  statuses != NULL ? statuses : "no case applies");
        }
    }
}

static void print_lines(const report_t *report, const shown_run_t *shown) {
    for (size_t p = 0; p < shown->n_parts; p++) {
        AUTO(headline_free)
        headline_t headline = headline_select(&shown->parts[p].headline, 1, HEADLINE_WORKLOAD_ROWS);
        headline_lines(report, &headline);
    }
}

typedef void print_shown_t(const report_t *report, const shown_run_t *shown);

static char *text_of(const record_t *run, const char *workload, print_shown_t *print_shown) {
    AUTO(shown_free_parts) shown_run_t shown = {.whole = run};
    page_t page;
    page_open(&page);
    shown_select(&shown, workload);
    print_shown(&page.report, &shown);
    return page_close(&page);
}

char *report_workload_tables(const record_t *run, const char *workload) {
    return text_of(run, workload, print_workloads);
}

char *report_workload_lines(const record_t *run, const char *workload) {
    return text_of(run, workload, print_lines);
}

status_t report_print(const char *const *folders, size_t n, report_view_t view, error_t *err) {
    AUTO(shown_list_free) shown_list_t runs = {0};
    TRY(shown_load(folders, n, &runs, err));
    AUTO(arena_free) arena_t texts = {0};
    const report_t report = {.out = stdout, .texts = &texts};
    for (size_t i = 0; i < runs.n && view == REPORT_WORKLOADS; i++)
        print_workloads(&report, &runs.items[i]);
    if (view == REPORT_HEADLINE)
        print_headline(&report, &runs);
    return STATUS_OK;
}

status_t report_picture(const report_options_t *options, error_t *err) {
    AUTO(shown_list_free) shown_list_t runs = {0};
    page_t page;
    if (!text_ends(options->picture, ".svg"))
        return error_set(err, STATUS_USAGE, "%s: expected a name that ends in .svg",
                         options->picture);
    TRY(shown_load(options->runs, options->n_runs, &runs, err));
    open_in(&page, options, ".");
    AUTO_FREE top_part_t *parts = top_parts_of(&page.report, options, &runs);
    const top_t top = {.runs = &runs, .parts = parts, .n_parts = runs.n_parts};
    AUTO_FREE char *svg = top_picture(&page.report, &top, false);
    const status_t status =
        svg == NULL ? error_set(err, STATUS_USAGE, "%s: the runs have no speed-up to draw",
                                options->picture)
                    : output_write_file(options->picture, svg, strlen(svg), err);
    free(page_close(&page));
    return status;
}

/* ==== bench report --check ==================================================================== */

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
    AUTO_FREE char *there = excerpt(found + start, at - start),
                   *runs = excerpt(wanted + start, at - start);
    return error_set(err, STATUS_FAILED,
                     "%s:%zu: differs from what its runs give\n  found:    %s\n  expected: %s",
                     path, line, there, runs);
}

static status_t compare_file(const report_file_t *file, error_t *err) {
    AUTO_FREE char *found = NULL;
    size_t size;
    if (!fs_exists(file->path))
        return error_set(err, STATUS_FAILED, "%s: this page of the report is missing", file->path);
    TRY(fs_read(file->path, &found, &size, err));
    return compare_text(file->path, found, file->text, err);
}

static status_t refuse_edits(const text_list_t *edits, error_t *err) {
    AUTO_FREE char *list = text_list_join(edits, "\n  ");
    return edits->n == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "files of runs are not those that the runs were closed with:\n  %s",
                           list);
}

status_t report_check(const char *path, const char *root, report_check_t *found, error_t *err) {
    static const char PAGES[] = "--pages=", OUT[] = "--out=";
    AUTO_FREE char *text = NULL;
    size_t size;
    AUTO(text_list_free) text_list_t words = {0};
    AUTO(report_files_free) report_files_t files = {0};
    report_options_t options = {.out = path, .root = root};
    TRY(fs_read(path, &text, &size, err));
    if (!text_starts(text, REPORT_TITLE))
        return error_set(err, STATUS_USAGE, "%s: is not a report of bench", path);
    TRY(read_command(path, text, &options.program, &words, err));
    options.runs = (const char *const *)words.items;
    while (options.n_runs < words.n && !text_starts(words.items[options.n_runs], "--"))
        options.n_runs++;
    for (size_t i = options.n_runs; i < words.n; i++) {
        if (text_starts(words.items[i], PAGES))
            options.pages = words.items[i] + strlen(PAGES);
        if (text_starts(words.items[i], OUT))
            options.out_named = words.items[i] + strlen(OUT);
    }
    TRY(report_render(&options, &files, err));
    TRY(refuse_edits(&files.edits, err));
    for (size_t i = 0; i < files.n; i++)
        TRY(compare_file(&files.items[i], err));
    *found = (report_check_t){files.n, files.n_runs, files.n_unsealed};
    return STATUS_OK;
}

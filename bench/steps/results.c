#include "steps/results.h"

#include "ground/fs.h"
#include "ground/memory.h"
#include "nouns/result_json.h"
#include "steps/results_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOURNAL "cases.jsonl"
#define JOURNAL_GZIP "cases.jsonl.gz"

static size_t find_index(const run_record_t *run, const char *id) {
    for (size_t i = 0; i < run->n_cases; i++)
        if (strcmp(run->cases[i].spec.id, id) == 0)
            return i;
    return run->n_cases;
}

const case_result_t *run_find(const run_record_t *run, const char *id) {
    size_t i = find_index(run, id);
    return i < run->n_cases ? &run->cases[i] : NULL;
}

void run_add(run_record_t *run, case_result_t *result) {
    size_t i = find_index(run, result->spec.id);
    if (i < run->n_cases) {
        result_free(&run->cases[i]);
    } else {
        mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
        run->n_cases++;
    }
    run->cases[i] = *result;
}

void run_free(run_record_t *run) {
    free(run->folder);
    free(run->name);
    free(run->started);
    free(run->finished);
    text_list_free(&run->argv);
    for (size_t i = 0; i < run->n_sweeps; i++) {
        free(run->sweeps[i].path);
        free(run->sweeps[i].text);
    }
    free(run->sweeps);
    environment_free(&run->environment);
    for (size_t i = 0; i < run->n_cases; i++)
        result_free(&run->cases[i]);
    free(run->cases);
    *run = (run_record_t){0};
}

static status_t load_line(run_record_t *run, const char *line, size_t length, error_t *err) {
    json_error_t where;
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &where);
    if (json == NULL)
        return error_set(err, STATUS_USAGE, "not a JSON object: %s (column %d)", where.text,
                         where.column);
    case_result_t result;
    status_t status = result_from_json(json, &result, err);
    json_decref(json);
    if (status == STATUS_OK)
        run_add(run, &result);
    return status;
}

static bool is_blank(const char *line, size_t length) {
    return strspn(line, " \t\r\n") >= length;
}

/* Only a last line without its newline can be half-written: an append is a single write, so a line
 * that has its newline is whole, and if it cannot be read, something else has damaged the file. */
static status_t load_lines(run_record_t *run, const char *path, error_t *err) {
    char *data;
    size_t size;
    TRY(fs_read(path, &data, &size, err));
    status_t status = STATUS_OK;
    size_t number = 1;
    for (const char *line = data; line < data + size && status == STATUS_OK; number++) {
        const char *end = memchr(line, '\n', (size_t)(data + size - line));
        size_t length = end != NULL ? (size_t)(end - line) : (size_t)(data + size - line);
        if (end == NULL) {
            error_t half = ERROR_INIT;
            if (!is_blank(line, length) && load_line(run, line, length, &half) != STATUS_OK)
                run->n_dropped_lines++;
        } else if (!is_blank(line, length)) {
            status = load_line(run, line, length, err);
            if (status != STATUS_OK)
                error_within(err, "%s:%zu", path, number);
        }
        line += length + 1;
    }
    free(data);
    return status;
}

/* A resumed run may have a gzipped journal and, after it, a plain one with what came later. */
static status_t load_journals(run_record_t *run, error_t *err) {
    static const char *const NAMES[] = {JOURNAL_GZIP, JOURNAL};
    bool found = false;
    status_t status = STATUS_OK;
    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        char *path = fs_join(run->folder, NAMES[i]);
        if (fs_exists(path)) {
            found = true;
            status = load_lines(run, path, err);
        }
        free(path);
    }
    if (status == STATUS_OK && !found && run->finished != NULL)
        return error_set(err, STATUS_USAGE,
                         "%s: run.json says that the run finished, but there is neither " JOURNAL
                         " nor " JOURNAL_GZIP,
                         run->folder);
    return status;
}

status_t run_load(const char *folder, run_record_t *run, error_t *err) {
    *run = (run_record_t){0};
    status_t status = run_read_header(folder, run, err);
    if (status == STATUS_OK)
        status = load_journals(run, err);
    if (status != STATUS_OK)
        run_free(run);
    return status;
}

/* What a killed run left half-written must not become the start of the next line. A last line that
 * only lacks its newline is whole and gets it. */
static status_t mend_last_line(const char *path, error_t *err) {
    char *data;
    size_t size;
    TRY(fs_read(path, &data, &size, err));
    size_t start = size;
    while (start > 0 && data[start - 1] != '\n')
        start--;
    status_t status = STATUS_OK;
    if (start < size) {
        json_t *json = json_loadb(data + start, size - start, 0, NULL);
        FILE *file = json != NULL ? fopen(path, "ab") : NULL;
        bool mended = json != NULL ? file != NULL && fputc('\n', file) != EOF
                                   : truncate(path, (off_t)start) == 0;
        if (file != NULL && fclose(file) != 0)
            mended = false;
        if (!mended)
            status = error_set(err, STATUS_USAGE, "%s: cannot repair its last line: %s", path,
                               strerror(errno));
        json_decref(json);
    }
    free(data);
    return status;
}

status_t journal_open(const char *folder, journal_t *journal, error_t *err) {
    *journal = (journal_t){.path = fs_join(folder, JOURNAL)};
    status_t status = fs_exists(journal->path) ? mend_last_line(journal->path, err) : STATUS_OK;
    if (status == STATUS_OK && (journal->file = fopen(journal->path, "abe")) == NULL)
        status = error_set(err, STATUS_USAGE, "%s: cannot open for appending: %s", journal->path,
                           strerror(errno));
    if (status != STATUS_OK) {
        journal_close(journal);
        return status;
    }
    /* Unbuffered: one fwrite is one write(2), however long the line. */
    setvbuf(journal->file, NULL, _IONBF, 0);
    return STATUS_OK;
}

status_t journal_append(journal_t *journal, const case_result_t *result, error_t *err) {
    json_t *json = result_to_json(result);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(json);
    if (text == NULL)
        return error_set(err, STATUS_FAILED, "%s: the result of %s cannot be written as JSON",
                         journal->path, result->spec.id);
    char *line = mem_format("%s\n", text);
    free(text);
    size_t length = strlen(line);
    bool written = fwrite(line, 1, length, journal->file) == length && fflush(journal->file) == 0 &&
                   fsync(fileno(journal->file)) == 0;
    free(line);
    if (!written)
        return error_set(err, STATUS_FAILED, "%s: cannot append: %s", journal->path,
                         strerror(errno));
    return STATUS_OK;
}

void journal_close(journal_t *journal) {
    if (journal->file != NULL)
        fclose(journal->file);
    free(journal->path);
    *journal = (journal_t){0};
}

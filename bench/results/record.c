#include "results/record.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/result_json.h"
#include "model/result_text.h"
#include "results/record_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const case_result_t *record_next(const record_t *run, const case_result_t *after) {
    const size_t i = after != NULL ? (size_t)(after - run->cases) + 1 : 0;
    return i < run->n_cases ? &run->cases[i] : NULL;
}

case_result_t *record_find(const record_t *run, const char *id) {
    for (size_t i = 0; i < run->n_cases; i++)
        if (strcmp(run->cases[i].spec.id, id) == 0)
            return &run->cases[i];
    return NULL;
}

char *record_hint(const record_t *run, const char *id) {
    const char **ids = mem_zeroed(run->n_cases + 1, sizeof *ids);
    for (size_t i = 0; i < run->n_cases; i++)
        ids[i] = run->cases[i].spec.id;
    char *hint = text_hint(id, ids, run->n_cases);
    free(ids);
    return hint;
}

case_result_t *record_find_same(const record_t *run, const case_result_t *like) {
    for (size_t i = 0; i < run->n_cases; i++)
        if (record_compare_keys(&run->cases[i], like) == 0)
            return &run->cases[i];
    return NULL;
}

void record_add(record_t *run, case_result_t *result) {
    case_result_t *same = record_find_same(run, result);
    if (same != NULL) {
        result_free(same);
        *same = *result;
        return;
    }
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases++] = *result;
}

void record_free(record_t *run) {
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
    text_list_free(&run->left_out);
    free(run->shard);
    json_decref(run->operators);
    json_decref(run->digest);
    text_list_free(&run->algorithmic);
    environment_free(&run->environment);
    for (size_t i = 0; i < run->n_passes; i++)
        environment_free(&run->passes[i]);
    free(run->passes);
    for (size_t i = 0; i < run->n_cases; i++)
        result_free(&run->cases[i]);
    free(run->cases);
    *run = (record_t){0};
}

/* A line of a journal and its result. */
typedef struct line {
    const char *text;
    size_t length, number;
    bool complete; /* ends in a newline */
    case_result_t result;
    status_t status;
} line_t;

typedef struct line_list {
    line_t *items;
    size_t n, capacity;
} line_list_t;

static bool is_blank(const char *line, size_t length) {
    return strspn(line, " \t\r\n") >= length;
}

static line_list_t split_lines(const char *data, size_t size) {
    line_list_t lines = {0};
    size_t number = 1;
    for (const char *line = data; line < data + size; number++) {
        const char *end = memchr(line, '\n', (size_t)(data + size - line));
        size_t length = end != NULL ? (size_t)(end - line) : (size_t)(data + size - line);
        if (!is_blank(line, length)) {
            mem_grow(&lines.items, lines.n, &lines.capacity, sizeof *lines.items);
            lines.items[lines.n++] =
                (line_t){.text = line, .length = length, .number = number, .complete = end != NULL};
        }
        line += length + 1;
    }
    return lines;
}

static int by_key(const void *a, const void *b) {
    const line_t *const *x = a, *const *y = b;
    int order = record_compare_keys(&(*x)->result, &(*y)->result);
    return order != 0 ? order : ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

/* A later line replaces an earlier one with the same id and pass, at the place of the earlier one. */
static void drop_repeated(const line_list_t *lines) {
    line_t **order = mem_alloc((lines->n + 1) * sizeof *order);
    size_t n = 0;
    for (size_t i = 0; i < lines->n; i++)
        if (lines->items[i].status == STATUS_OK)
            order[n++] = &lines->items[i];
    qsort(order, n, sizeof *order, by_key);
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n; next++) {
            if (record_compare_keys(&order[next]->result, &order[first]->result) != 0)
                break;
            result_free(&order[first]->result);
            order[first]->result = order[next]->result;
            order[next]->status = STATUS_FAILED; /* moved */
        }
    }
    free(order);
}

/* Move the results of the lines into the run, which may hold those of another journal. */
static void add_results(record_t *run, const line_list_t *lines) {
    size_t n_before = run->n_cases;
    for (size_t i = 0; i < lines->n; i++) {
        if (lines->items[i].status != STATUS_OK)
            continue;
        if (n_before > 0) {
            record_add(run, &lines->items[i].result);
            continue;
        }
        mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
        run->cases[run->n_cases++] = lines->items[i].result;
    }
}

/* Only a last line without its newline can be incomplete, as an append is a single write: any other
 * unreadable line means that the file was damaged. */
static status_t check_lines(record_t *run, const line_list_t *lines, const char *path,
                            error_t *err) {
    for (size_t i = 0; i < lines->n; i++) {
        const line_t *line = &lines->items[i];
        case_result_t again;
        if (line->status == STATUS_OK)
            continue;
        if (!line->complete) {
            run->n_dropped_lines++;
            continue;
        }
        if (result_from_text(line->text, line->length, NULL, &again, err) == STATUS_OK)
            result_free(&again);
        return error_within(err, "%s:%zu", path, line->number);
    }
    return STATUS_OK;
}

/* A full sweep has thousands of long lines: parse them on all cores. */
static status_t load_lines(record_t *run, const char *path, const text_list_t *phases, hash_t *hash,
                           error_t *err) {
    char *data;
    size_t size;
    TRY(fs_read_up_to(path, JOURNAL_MOST, &data, &size, err));
    line_list_t lines = split_lines(data, size);
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < lines.n; i++) {
        line_t *line = &lines.items[i];
        error_t ignored = ERROR_INIT; /* check_lines() reports the first error */
        line->status = result_from_text(line->text, line->length, phases, &line->result, &ignored);
    }
    status_t status = check_lines(run, &lines, path, err);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < lines.n; i++)
            if (lines.items[i].status == STATUS_OK)
                hash_add(hash, lines.items[i].text, lines.items[i].length);
        drop_repeated(&lines);
        add_results(run, &lines);
    } else {
        for (size_t i = 0; i < lines.n; i++)
            if (lines.items[i].status == STATUS_OK)
                result_free(&lines.items[i].result);
    }
    free(lines.items);
    free(data);
    return status;
}

/* A resumed run may have a gzipped journal, and a plain one with later results. */
static status_t load_journals(record_t *run, const text_list_t *phases, error_t *err) {
    static const char *const NAMES[] = {JOURNAL_GZIP, JOURNAL};
    bool found = false;
    status_t status = STATUS_OK;
    hash_t *hash = hash_new();
    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        char *path = fs_join(run->folder, NAMES[i]);
        if (fs_exists(path)) {
            found = true;
            status = load_lines(run, path, phases, hash, err);
        }
        free(path);
    }
    hash_finish(hash, run->lines_digest);
    if (status == STATUS_OK && !found && run->finished != NULL)
        return error_set(err, STATUS_USAGE,
                         "%s: run.json has the run as finished, but there is no " JOURNAL
                         " or " JOURNAL_GZIP,
                         run->folder);
    return status;
}

static status_t load(const char *folder, const text_list_t *phases, bool join, record_t *run,
                     error_t *err) {
    *run = (record_t){0};
    status_t status = record_read_header(folder, run, err);
    if (status == STATUS_OK)
        status = load_journals(run, phases, err);
    if (status == STATUS_OK)
        status = record_believe(run, &(belief_t){.units = phases == NULL, .passes = join}, err);
    if (status != STATUS_OK)
        record_free(run);
    else if (join)
        record_join_passes(run);
    return status;
}

status_t record_load_phases(const char *folder, const text_list_t *phases, record_t *run,
                            error_t *err) {
    return load(folder, phases, true, run, err);
}

status_t record_load(const char *folder, record_t *run, error_t *err) {
    return load(folder, NULL, true, run, err);
}

status_t record_load_passes(const char *folder, record_t *run, error_t *err) {
    return load(folder, NULL, false, run, err);
}

/* ---- what time was spent on ------------------------------------------------------------------ */

static double spent_on(const environment_t *facts, spent_on_t on) {
    char *key = mem_format("spent_s.%s", spent_name(on));
    const char *s = environment_get(facts, key);
    free(key);
    return s != NULL ? 1e9 * strtod(s, NULL) : 0;
}

void record_set_spent(environment_t *facts, const spent_t *spent) {
    for (spent_on_t on = 0; on < SPENT_KINDS; on++) {
        char *key = mem_format("spent_s.%s", spent_name(on));
        if (spent->ns[on] > 0)
            environment_set_number(facts, key, round(spent->ns[on] / 1e6) / 1e3);
        free(key);
    }
}

spent_t record_spent(const record_t *run) {
    spent_t all = {0};
    for (size_t i = 0; i < run->n_passes; i++)
        for (spent_on_t on = 0; on < SPENT_KINDS; on++)
            all.ns[on] += spent_on(&run->passes[i], on);
    return all;
}

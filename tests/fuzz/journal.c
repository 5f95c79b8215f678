/* cases.jsonl: the fast reader and the plain one agree; a journal is refused with its line or read,
 * its passes joined or not, and one that was read can be appended to and read again without a pass
 * lost. */
#include "fuzz.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/result_json.h"
#include "results/record.h"

#include <stdlib.h>
#include <string.h>

static const char HEADER[] = "{\"schema\": 2, \"seed\": 1, \"environment\": {}}";

/* Their journal's lines are the same. */
static bool same(const case_result_t *a, const case_result_t *b) {
    json_t *x = result_to_json(a), *y = result_to_json(b);
    FUZZ_CHECK(x != NULL && y != NULL);
    bool equal = json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return equal;
}

static void check_line(const char *line, size_t length) {
    case_result_t fast, plain;
    error_t fast_err = ERROR_INIT, plain_err = ERROR_INIT;
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    status_t fast_status = result_from_text(line, length, NULL, &fast, &fast_err);
    status_t plain_status =
        json == NULL ? STATUS_USAGE : result_from_json(json, &plain, &plain_err);
    json_decref(json);
    FUZZ_CHECK(fast_status == plain_status);
    if (fast_status != STATUS_OK) {
        fuzz_check_refusal(fast_status, &fast_err);
        return;
    }
    FUZZ_CHECK(same(&fast, &plain));
    result_free(&fast);
    result_free(&plain);
}

static void check_lines(const char *data, size_t size) {
    for (const char *end = data + size; data < end;) {
        const char *newline = memchr(data, '\n', (size_t)(end - data));
        size_t length = newline != NULL ? (size_t)(newline - data) : (size_t)(end - data);
        check_line(data, length);
        data += length + 1;
    }
}

static void check_resume(const record_t *run) {
    journal_t journal;
    record_t again;
    error_t err = ERROR_INIT;
    status_t status = journal_open(run->folder, &journal, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
        return;
    }
    for (size_t i = 0; i < run->n_cases && i < 2; i++)
        FUZZ_CHECK(journal_append(&journal, &run->cases[i], &err) == STATUS_OK);
    journal_close(&journal);
    status = record_load_passes(run->folder, &again, &err);
    FUZZ_CHECK(status == STATUS_OK);
    FUZZ_CHECK(again.n_cases == run->n_cases && again.n_dropped_lines == 0);
    for (size_t i = 0; i < run->n_cases; i++)
        FUZZ_CHECK(same(&run->cases[i], &again.cases[i]));
    record_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    check_lines(text, size);
    fuzz_write("run.json", HEADER, sizeof HEADER - 1);
    fuzz_write("cases.jsonl", data, size);
    text_list_t phases = {0};
    text_list_add(&phases, "total");
    record_t run, some;
    error_t err = ERROR_INIT, some_err = ERROR_INIT;
    status_t status = record_load_passes(fuzz_folder(), &run, &err);
    status_t some_status = record_load_phases(fuzz_folder(), &phases, &some, &some_err);
    if (some_status == STATUS_OK)
        record_free(&some);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
    } else {
        FUZZ_CHECK(some_status == STATUS_OK);
        check_resume(&run);
        record_free(&run);
    }
    text_list_free(&phases);
    free(text);
    return 0;
}

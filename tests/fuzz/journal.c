/* cases.jsonl: a journal is refused with its line or read, and one that was read can be appended to and read again
 * without a pass lost. */
#include "fuzz.h"

#include "results/record.h"

#include <stdlib.h>
#include <string.h>

static const char RUN_JSON[] = "{\"schema\": 2, \"seed\": 1, \"environment\": {}}";

/* Their journal's lines are the same. */
static bool same(const case_result_t *a, const case_result_t *b) {
    json_auto_t *x = result_to_json(a), *y = result_to_json(b);
    FUZZ_CHECK(x != NULL && y != NULL);
    bool equal = json_equal(x, y);
    return equal;
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
    fuzz_write("run.json", RUN_JSON, sizeof RUN_JSON - 1);
    fuzz_write("cases.jsonl", data, size);
    record_t run;
    error_t err = ERROR_INIT;
    const status_t status = record_load_passes(fuzz_folder(), &run, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
    } else {
        check_resume(&run);
        record_free(&run);
    }
    return 0;
}

/* Sweeps: any text is refused with a message, or gives cases with ids that are whole, different and
 * safe in a path, and that come back the same from their JSON. */
#include "fuzz.h"

#include "base/memory.h"
#include "model/case.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

static void check_case(const case_t *spec) {
    error_t err = ERROR_INIT;
    FUZZ_CHECK(strstr(spec->id, "..") == NULL && spec->id[0] != '/' && spec->id[0] != '-');
    FUZZ_CHECK(strspn(spec->id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.+-=/,") == strlen(spec->id));
    json_t *json = case_to_json(spec), *again;
    FUZZ_CHECK(json != NULL);
    case_t copy;
    FUZZ_CHECK(case_from_json(json, &copy, &err) == STATUS_OK);
    again = case_to_json(&copy);
    FUZZ_CHECK(json_equal(json, again));
    case_free(&copy);
    json_decref(again);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { CHECKED_CASES = 200 };
    AUTO_FREE char *text = fuzz_text(data, size);
    sweep_t sweep;
    error_t err = ERROR_INIT;
    status_t status = sweep_parse("sweep.json", text, "tests/fixtures/sweep_root", &sweep, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
    } else {
        FUZZ_CHECK(text_is_name(sweep.name) && sweep.n_cases <= 100000);
        for (size_t i = 0; i < sweep.n_cases && i < CHECKED_CASES; i++)
            check_case(&sweep.cases[i]);
        sweep_free(&sweep);
    }
    return 0;
}

/* run.json: refused with a message, or read; and what was read can be written and read again. */
#include "fuzz.h"

#include "base/memory.h"
#include "results/record.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_write("run.json", data, size);
    AUTO(record_free) record_t run = {0}, again = {0};
    error_t err = ERROR_INIT;
    status_t status = record_read_header(fuzz_folder(), &run, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
    } else {
        FUZZ_CHECK(record_write_header(&run, &err) == STATUS_OK);
        FUZZ_CHECK(record_read_header(fuzz_folder(), &again, &err) == STATUS_OK);
        FUZZ_CHECK(again.seed == run.seed && again.argv.n == run.argv.n);
        FUZZ_CHECK(again.n_sweeps == run.n_sweeps);
    }
    return 0;
}

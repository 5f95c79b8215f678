/* The study's CSVs: refused with a message, or read into cases in ascending order. */
#include "fuzz.h"

#include "results/study_csv.h"
#include "workloads/common/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    study_log_t log;
    error_t err = ERROR_INIT;
    const status_t status = study_csv_load(workload_study(NULL), fuzz_file(data, size), &log, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
        return 0;
    }
    for (size_t i = 1; i < log.n_cases; i++)
        FUZZ_CHECK(case_param_int(&log.cases[i - 1].spec, "batch", 0) <
                   case_param_int(&log.cases[i].spec, "batch", 0));
    study_log_free(&log);
    return 0;
}

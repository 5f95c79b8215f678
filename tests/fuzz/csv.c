/* The study's CSVs: refused with a message, or read into cases in ascending order. */
#include "fuzz.h"

#include "io/csv.h"
#include "results/study_csv.h"
#include "workloads/common/workload.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csv_table_t table;
    study_log_t log;
    error_t err = ERROR_INIT, study_err = ERROR_INIT;
    status_t status = csv_parse("table.csv", (const char *)data, size, &table, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
    } else {
        for (size_t row = 0; row < table.n_rows; row++)
            for (size_t column = 0; column < table.columns.n; column++)
                FUZZ_CHECK(isfinite(csv_value(&table, row, column)));
        csv_free(&table);
    }
    status = study_csv_load(workload_study(), fuzz_file(data, size), &log, &study_err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &study_err);
        return 0;
    }
    for (size_t i = 1; i < log.n_cases; i++)
        FUZZ_CHECK(case_param_int(&log.cases[i - 1].spec, "batch", 0) <
                   case_param_int(&log.cases[i].spec, "batch", 0));
    study_log_free(&log);
    return 0;
}

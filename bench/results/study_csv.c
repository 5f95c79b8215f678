#include "results/study_csv.h"

#include "base/memory.h"
#include "io/csv.h"

#include <math.h>
#include <stdlib.h>

/* Charts fit some dozens of batches, and all rows are searched for each. */
enum { BATCHES_LIMIT = 1000 };

static const double NS_PER_MS = 1e6;

const study_layout_t STUDY_LAYOUTS[STUDY_KINDS] = {
    [STUDY_CUDA] = {"cuda",
                    "01_study",
                    7,
                    {"Batch", "Malloc", "H2D", "Kernel", "D2H", "Free", "Total"},
                    {NULL, "malloc", "h2d", "kernel", "d2h", "free", "total"}},
    [STUDY_PYTORCH] = {"pytorch",
                       "eager",
                       6,
                       {"Batch", "Init", "H2D", "Forward", "D2H", "Total"},
                       {NULL, "init", "h2d", "forward", "d2h", "total"}},
};

static status_t recognise(const csv_table_t *table, study_kind_t *kind, error_t *err) {
    for (size_t i = 0; i < STUDY_KINDS; i++)
        if (csv_has_header(table, STUDY_LAYOUTS[i].columns, STUDY_LAYOUTS[i].n)) {
            *kind = (study_kind_t)i;
            return STATUS_OK;
        }
    char *found = text_list_join(&table->columns, ",");
    error_set(err, STATUS_USAGE,
              "line 1: found the columns %s, expected Batch,Malloc,H2D,Kernel,D2H,Free,Total or "
              "Batch,Init,H2D,Forward,D2H,Total",
              found);
    free(found);
    return STATUS_USAGE;
}

static status_t check_rows(const csv_table_t *table, error_t *err) {
    if (table->n_rows == 0)
        return error_set(err, STATUS_USAGE, "found column names but no rows");
    for (size_t row = 0; row < table->n_rows; row++) {
        double batch = csv_value(table, row, 0);
        if (batch < 1 || batch > 1e15 || batch != floor(batch))
            return error_set(err, STATUS_USAGE,
                             "line %zu: column Batch: found %g, expected an integer of at least 1",
                             table->lines[row], batch);
        for (size_t column = 1; column < table->columns.n; column++) {
            const bool is_total = column + 1 == table->columns.n;
            const double ms = csv_value(table, row, column);
            if (is_total ? ms <= 0 : ms < 0)
                return error_set(err, STATUS_USAGE,
                                 "line %zu: column %s: found %g, expected a time %s 0",
                                 table->lines[row], table->columns.items[column], ms,
                                 is_total ? "over" : "of at least");
        }
    }
    return STATUS_OK;
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Different batches, ascending; the caller frees them. */
static double *batches_of(const csv_table_t *table, size_t *n) {
    double *batches = mem_zeroed(table->n_rows, sizeof *batches);
    for (size_t row = 0; row < table->n_rows; row++)
        batches[row] = csv_value(table, row, 0);
    qsort(batches, table->n_rows, sizeof *batches, by_value);
    *n = 0;
    for (size_t i = 0; i < table->n_rows; i++)
        if (*n == 0 || batches[*n - 1] != batches[i])
            batches[(*n)++] = batches[i];
    return batches;
}

static double residual_ns(const csv_table_t *table, size_t row) {
    size_t last = table->columns.n - 1;
    double sum = 0;
    for (size_t column = 1; column < last; column++)
        sum += csv_value(table, row, column);
    return (csv_value(table, row, last) - sum) * NS_PER_MS;
}

static void add_phases(const csv_table_t *table, const study_layout_t *layout, double batch,
                       case_result_t *result) {
    double *samples = mem_zeroed(table->n_rows, sizeof *samples);
    for (size_t column = 1; column <= layout->n; column++) {
        bool residual = column == layout->n;
        size_t n = 0;
        for (size_t row = 0; row < table->n_rows; row++)
            if (csv_value(table, row, 0) == batch)
                samples[n++] =
                    residual ? residual_ns(table, row) : csv_value(table, row, column) * NS_PER_MS;
        phase_t *phase =
            result_add_phase(result, residual ? "residual" : layout->phases[column], CLOCK_HOST);
        phase_add_round(phase, samples, n);
        phase_summarise(phase);
    }
    free(samples);
}

static void add_case(const csv_table_t *table, const study_layout_t *layout, double batch,
                     study_log_t *log) {
    case_t spec = {
        .id = mem_format("mlp_infer/%s/%s/batch=%.0f",
                         log->kind == STUDY_PYTORCH ? "pytorch-cuda" : "cuda", layout->variant,
                         batch),
        .workload = mem_text("mlp_infer"),
        .engine = mem_text(layout->engine),
        .device = mem_text("cuda"),
        .variant = mem_text(layout->variant),
        .dtype = mem_text("f32"),
    };
    case_add_param(&spec, "batch", &(value_t){.kind = VALUE_INT, .integer = (int64_t)batch});
    mem_grow(&log->cases, log->n_cases, &log->capacity, sizeof *log->cases);
    case_result_t *result = &log->cases[log->n_cases++];
    result_init(result, &spec);
    case_free(&spec);
    add_phases(table, layout, batch, result);
}

status_t study_csv_load(const char *path, study_log_t *log, error_t *err) {
    *log = (study_log_t){0};
    csv_table_t table;
    TRY(csv_read(path, &table, err));
    status_t status = recognise(&table, &log->kind, err);
    if (status == STATUS_OK)
        status = check_rows(&table, err);
    if (status == STATUS_OK) {
        size_t n;
        double *batches = batches_of(&table, &n);
        if (n > BATCHES_LIMIT)
            status =
                error_set(err, STATUS_USAGE, "found %zu different batches, expected at most %d", n,
                          BATCHES_LIMIT);
        for (size_t i = 0; i < n && status == STATUS_OK; i++)
            add_case(&table, &STUDY_LAYOUTS[log->kind], batches[i], log);
        free(batches);
    }
    csv_free(&table);
    return status == STATUS_OK ? STATUS_OK : error_within(err, "%s", path);
}

void study_log_free(study_log_t *log) {
    for (size_t i = 0; i < log->n_cases; i++)
        result_free(&log->cases[i]);
    free(log->cases);
    *log = (study_log_t){0};
}

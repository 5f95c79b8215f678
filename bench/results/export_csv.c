/* Files derived from a run's journal: timings.csv (long form) and the two CSVs in the exact format
 * of the original study. */
#include "results/study_csv.h"

#include "base/memory.h"
#include "io/fs.h"
#include "results/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== the study's CSVs ======================================================================== */

/* Charts fit some dozens of sizes, and all rows are searched for each. */
enum { SIZES_LIMIT = 1000 };

static const double NS_PER_MS = 1e6;

/* The rows of a log, in milliseconds but for the first column. */
typedef struct log_rows {
    const study_side_t *side; /* NULL: no line of column names yet */
    double *values;           /* side->n a row */
    size_t n, capacity;
} log_rows_t;

static void free_rows(log_rows_t *rows) {
    free(rows->values);
}

static double value_at(const log_rows_t *rows, size_t row, size_t column) {
    return rows->values[row * rows->side->n + column];
}

/* "Batch,Malloc,…,Total"; the caller frees it. */
static char *header_of(const study_side_t *side) {
    AUTO(text_list_free) text_list_t columns = {0};
    for (size_t i = 0; i < side->n; i++)
        text_list_add(&columns, side->columns[i]);
    return text_list_join(&columns, ",");
}

static status_t recognise(const study_t *study, const char *line, log_rows_t *rows, error_t *err) {
    AUTO(text_list_free) text_list_t headers = {0};
    for (size_t i = 0; i < STUDY_SIDES; i++) {
        text_list_take(&headers, header_of(&study->sides[i]));
        if (strcmp(line, headers.items[i]) == 0)
            rows->side = &study->sides[i];
    }
    return rows->side != NULL
               ? STATUS_OK
               : error_set(err, STATUS_USAGE, "found the columns %.200s, expected %s or %s", line,
                           headers.items[0], headers.items[1]);
}

/* strtod() also accepts hexadecimal, "inf" and "nan". */
static status_t parse_cell(const study_side_t *side, size_t column, const char *text, double *value,
                           error_t *err) {
    char *end;
    const bool is_total = column + 1 == side->n;
    *value = strtod(text, &end);
    if (end == text || text[strspn(text, " \t+-.0123456789eE")] != '\0' ||
        end[strspn(end, " \t")] != '\0' || !isfinite(*value))
        return error_set(err, STATUS_USAGE, "column %s: found \"%.40s\", expected a finite number",
                         side->columns[column], text);
    if (column == 0 ? *value < 1 || *value > 1e15 || *value != floor(*value)
                    : *value < 0 || (is_total && *value == 0))
        return error_set(err, STATUS_USAGE, "column %s: found %g, expected %s",
                         side->columns[column], *value,
                         column == 0 ? "an integer of at least 1"
                         : is_total  ? "a time over 0"
                                     : "a time of at least 0");
    return STATUS_OK;
}

static status_t parse_row(const char *line, log_rows_t *rows, error_t *err) {
    const study_side_t *side = rows->side;
    AUTO(text_list_free) text_list_t fields = text_split(line, ',');
    AUTO_FREE char *header = header_of(side);
    if (fields.n != side->n)
        return error_set(err, STATUS_USAGE, "found %zu fields, expected %zu (%s)", fields.n,
                         side->n, header);
    mem_grow(&rows->values, rows->n, &rows->capacity, side->n * sizeof *rows->values);
    for (size_t i = 0; i < side->n; i++)
        TRY(parse_cell(side, i, fields.items[i], &rows->values[rows->n * side->n + i], err));
    rows->n++;
    return STATUS_OK;
}

/* Line ends may be CRLF, lines blank, and a byte order mark may stand first. */
static status_t parse_log(const study_t *study, char *text, log_rows_t *rows, error_t *err) {
    static const char BYTE_ORDER_MARK[] = "\xEF\xBB\xBF";
    char *rest = text + (text_starts(text, BYTE_ORDER_MARK) ? sizeof BYTE_ORDER_MARK - 1 : 0);
    for (size_t number = 1; rest != NULL; number++) {
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "\r")] = '\0';
        if (line[strspn(line, " \t")] == '\0')
            continue;
        if ((rows->side == NULL ? recognise(study, line, rows, err) : parse_row(line, rows, err)) !=
            STATUS_OK)
            return error_within(err, "line %zu", number);
    }
    return rows->side == NULL
               ? error_set(err, STATUS_USAGE, "empty, expected a line of column names")
           : rows->n == 0 ? error_set(err, STATUS_USAGE, "found column names but no rows")
                          : STATUS_OK;
}

static status_t read_log(const study_t *study, const char *path, log_rows_t *rows, error_t *err) {
    AUTO_FREE char *text = NULL;
    size_t size;
    TRY(fs_read(path, &text, &size, err));
    const status_t status = strlen(text) < size
                                ? error_set(err, STATUS_USAGE, "contains zero bytes, expected text")
                                : parse_log(study, text, rows, err);
    return status == STATUS_OK ? STATUS_OK : error_within(err, "%s", path);
}

/* Different sizes, ascending; the caller frees them. */
static double *sizes_of(const log_rows_t *rows, size_t *n) {
    double *sizes = mem_zeroed(rows->n, sizeof *sizes);
    for (size_t row = 0; row < rows->n; row++)
        sizes[row] = value_at(rows, row, 0);
    stats_sort(sizes, rows->n);
    *n = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (*n == 0 || sizes[*n - 1] != sizes[i])
            sizes[(*n)++] = sizes[i];
    return sizes;
}

static double residual_ns(const log_rows_t *rows, size_t row) {
    const size_t last = rows->side->n - 1;
    double sum = 0;
    for (size_t column = 1; column < last; column++)
        sum += value_at(rows, row, column);
    return (value_at(rows, row, last) - sum) * NS_PER_MS;
}

static void add_phases(const log_rows_t *rows, double size, case_result_t *result) {
    const study_side_t *side = rows->side;
    AUTO_FREE double *samples = mem_zeroed(rows->n, sizeof *samples);
    for (size_t column = 1; column <= side->n; column++) {
        const bool residual = column == side->n;
        size_t n = 0;
        for (size_t row = 0; row < rows->n; row++)
            if (value_at(rows, row, 0) == size)
                samples[n++] =
                    residual ? residual_ns(rows, row) : value_at(rows, row, column) * NS_PER_MS;
        phase_t *phase =
            result_add_phase(result, residual ? "residual" : side->phases[column], CLOCK_HOST);
        phase_add_round(phase, samples, n);
        phase_summarise(phase);
    }
}

static void add_case(const study_t *study, const log_rows_t *rows, double size, study_log_t *log) {
    char label[32];
    AUTO(case_free)
    case_t spec = {
        .workload = mem_text(study->workload),
        .engine = mem_text(rows->side->engine),
        .device = mem_text("cuda"),
        .variant = mem_text(rows->side->variant),
        .dtype = mem_text(study->dtype),
    };
    spec.id = mem_format("%s/%s/%s/%s=%.0f", spec.workload, case_engine_label(&spec, label),
                         spec.variant, study->size_param, size);
    case_add_param(&spec, study->size_param,
                   &(value_t){.kind = VALUE_INT, .integer = (int64_t)size});
    mem_grow(&log->cases, log->n_cases, &log->capacity, sizeof *log->cases);
    case_result_t *result = &log->cases[log->n_cases++];
    result_init(result, &spec);
    add_phases(rows, size, result);
}

status_t study_csv_load(const study_t *study, const char *path, study_log_t *log, error_t *err) {
    *log = (study_log_t){0};
    AUTO(free_rows) log_rows_t rows = {0};
    size_t n;
    TRY(read_log(study, path, &rows, err));
    AUTO_FREE double *sizes = sizes_of(&rows, &n);
    if (n > SIZES_LIMIT)
        return error_set(err, STATUS_USAGE, "%s: found %zu different batches, expected at most %d",
                         path, n, SIZES_LIMIT);
    for (size_t i = 0; i < n; i++)
        add_case(study, &rows, sizes[i], log);
    log->side = (size_t)(rows.side - study->sides);
    return STATUS_OK;
}

void study_log_free(study_log_t *log) {
    for (size_t i = 0; i < log->n_cases; i++)
        result_free(&log->cases[i]);
    free(log->cases);
    *log = (study_log_t){0};
}

/* ==== writing CSVs ============================================================================ */

static void csv_field(FILE *out, const char *text) {
    if (text == NULL)
        text = "";
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void csv_values(FILE *out, const named_value_t *values, size_t n) {
    AUTO(text_list_free) text_list_t settings = {0};
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *value = value_text(&values[i].value);
        text_list_add_format(&settings, "%s=%s", values[i].name, value);
    }
    AUTO_FREE char *joined = text_list_join(&settings, ";");
    csv_field(out, joined);
}

static void csv_number(FILE *out, double ns) {
    fputc(',', out);
    if (isfinite(ns))
        fprintf(out, "%.15g", ns);
}

static void csv_identity(FILE *out, const case_result_t *result) {
    const case_t *spec = &result->spec;
    const char *fields[] = {spec->id,     spec->workload, spec->engine,
                            spec->device, spec->variant,  spec->dtype};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        csv_field(out, fields[i]);
        fputc(',', out);
    }
    csv_values(out, spec->params, spec->n_params);
    fputc(',', out);
    csv_values(out, spec->techniques, spec->n_techniques);
    fprintf(out, ",%s", case_status_name(result->status));
}

/* A case without times has one row for its status; the columns from phase on are empty. */
static void csv_case(FILE *out, const case_result_t *result) {
    if (!result_has_times(result)) {
        csv_identity(out, result);
        fputs(",,,,,,,,,,,\n", out);
        return;
    }
    for (size_t i = 0; i < result->n_phases; i++) {
        const phase_t *phase = &result->phases[i];
        csv_identity(out, result);
        fputc(',', out);
        csv_field(out, phase->name);
        fprintf(out, ",%s,ns,%zu", clock_domain_name(phase->clock), phase->summary.n);
        csv_number(out, phase->summary.median);
        csv_number(out, phase->summary.ci95[0]);
        csv_number(out, phase->summary.ci95[1]);
        fprintf(out, ",%zu", phase->n_passes);
        const bimodal_t *two = &phase->bimodal;
        csv_number(out, two->found ? two->low : NAN);
        csv_number(out, two->found ? two->high : NAN);
        csv_number(out, two->found ? two->share_high : NAN);
        fputc('\n', out);
    }
}

status_t results_write_timings_csv(const record_t *run, const char *path, error_t *err) {
    AUTO_FREE char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("id,workload,engine,device,variant,dtype,params,techniques,status,phase,clock,unit,n,"
          "median,ci95_low,ci95_high,passes,bimodal_low,bimodal_high,bimodal_share_high\n",
          out);
    for (size_t i = 0; i < run->n_cases; i++)
        csv_case(out, &run->cases[i]);
    fclose(out);
    return run->n_cases > 0 ? fs_write_atomic(path, text, size, err) : STATUS_OK;
}

/* ---- of the study ---------------------------------------------------------------------------- */

/* An id shows the differences from the defaults: workload, engine, variant, size. */
bool study_is_setup(const case_t *spec) {
    AUTO(text_list_free) text_list_t parts = text_split(spec->id, '/');
    return parts.n == 4;
}

typedef struct row {
    int64_t size;
    const case_result_t *result;
} row_t;

/* The first rung of a size comes first. */
static int by_size(const void *a, const void *b) {
    const row_t *x = a, *y = b;
    return x->size != y->size ? (x->size > y->size) - (x->size < y->size)
                              : (x->result > y->result) - (x->result < y->result);
}

/* Ascending; the caller frees them. */
static row_t *rows_of(const study_t *study, const study_side_t *side, const record_t *run,
                      const char *device, size_t *n) {
    row_t *rows = mem_zeroed(run->n_cases + 1, sizeof *rows);
    *n = 0;
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;) {
        const case_t *spec = &result->spec;
        const int64_t size = case_param_int(spec, study->size_param, -1);
        if (result->status == CASE_OK && strcmp(spec->workload, study->workload) == 0 &&
            strcmp(spec->engine, side->engine) == 0 && strcmp(spec->device, device) == 0 &&
            strcmp(side->variant, spec->variant) == 0 && size > 0 && study_is_setup(spec))
            rows[(*n)++] = (row_t){size, result};
    }
    qsort(rows, *n, sizeof *rows, by_size);
    return rows;
}

/* On a CPU there is no device to copy to: unmeasured h2d and d2h are zero. A row that lacks any
 * other phase is left out. */
static bool write_row(FILE *out, const row_t *row, const study_side_t *side) {
    double ms[STUDY_MOST_COLUMNS];
    for (size_t i = 1; i < side->n; i++) {
        const char *phase = side->phases[i];
        const bool copy = strcmp(phase, "h2d") == 0 || strcmp(phase, "d2h") == 0;
        ms[i] = result_median(row->result, phase) / NS_PER_MS;
        if (isnan(ms[i]) && copy && strcmp(row->result->spec.device, "cpu") == 0)
            ms[i] = 0;
        if (isnan(ms[i]))
            return false;
    }
    fprintf(out, "%lld", (long long)row->size);
    for (size_t i = 1; i < side->n; i++)
        fprintf(out, ",%.6f", ms[i]);
    fputc('\n', out);
    return true;
}

/* If it has rows. PyTorch's cases are those on the GPU, or on the CPU if there are none. */
static status_t write_side(const study_t *study, const study_side_t *side, const record_t *run,
                           error_t *err) {
    AUTO_FREE char *header = header_of(side), *path = fs_join(run->folder, side->file),
                   *text = NULL;
    size_t size, n;
    bool has_rows = false;
    AUTO_FREE row_t *on_cpu = NULL, *rows = rows_of(study, side, run, "cuda", &n);
    if (n == 0 && !case_engine_is_built_in(side->engine))
        on_cpu = rows_of(study, side, run, "cpu", &n);
    const row_t *row = on_cpu != NULL ? on_cpu : rows;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "%s\n", header);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || row[i].size != row[i - 1].size)
            has_rows |= write_row(out, &row[i], side);
    fclose(out);
    return has_rows ? fs_write_atomic(path, text, size, err) : STATUS_OK;
}

status_t results_write_derived(const record_t *run, const struct study *study, error_t *err) {
    AUTO_FREE char *timings = fs_join(run->folder, "timings.csv");
    TRY(results_write_timings_csv(run, timings, err));
    for (size_t s = 0; study != NULL && s < STUDY_SIDES; s++)
        TRY(write_side(study, &study->sides[s], run, err));
    return STATUS_OK;
}

/* Files derived from a run's journal: timings.csv (long form) and the two CSVs in the exact format
 * of the original study. */
#include "results/study_csv.h"

#include "base/memory.h"
#include "io/csv.h"
#include "io/fs.h"
#include "results/record.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== the study's CSVs ======================================================================== */

/* Charts fit some dozens of sizes, and all rows are searched for each. */
enum { SIZES_LIMIT = 1000 };

static const double NS_PER_MS = 1e6;

/* "Batch,Malloc,…,Total or Batch,Init,…,Total" */
static char *columns_of(const study_t *study) {
    text_list_t sides = {0};
    for (size_t i = 0; i < STUDY_SIDES; i++) {
        text_list_t columns = {0};
        for (size_t c = 0; c < study->sides[i].n; c++)
            text_list_add(&columns, study->sides[i].columns[c]);
        text_list_take(&sides, text_list_join(&columns, ","));
        text_list_free(&columns);
    }
    char *text = text_list_join(&sides, " or ");
    text_list_free(&sides);
    return text;
}

static status_t recognise(const study_t *study, const csv_table_t *table, size_t *side,
                          error_t *err) {
    for (*side = 0; *side < STUDY_SIDES; ++*side)
        if (csv_has_header(table, study->sides[*side].columns, study->sides[*side].n))
            return STATUS_OK;
    char *found = text_list_join(&table->columns, ","), *expected = columns_of(study);
    error_set(err, STATUS_USAGE, "line 1: found the columns %s, expected %s", found, expected);
    free(expected);
    free(found);
    return STATUS_USAGE;
}

static status_t check_rows(const csv_table_t *table, error_t *err) {
    if (table->n_rows == 0)
        return error_set(err, STATUS_USAGE, "found column names but no rows");
    for (size_t row = 0; row < table->n_rows; row++) {
        const double size = csv_value(table, row, 0);
        if (size < 1 || size > 1e15 || size != floor(size))
            return error_set(err, STATUS_USAGE,
                             "line %zu: column %s: found %g, expected an integer of at least 1",
                             table->lines[row], table->columns.items[0], size);
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

/* Different sizes, ascending; the caller frees them. */
static double *sizes_of(const csv_table_t *table, size_t *n) {
    double *sizes = mem_zeroed(table->n_rows, sizeof *sizes);
    for (size_t row = 0; row < table->n_rows; row++)
        sizes[row] = csv_value(table, row, 0);
    stats_sort(sizes, table->n_rows);
    *n = 0;
    for (size_t i = 0; i < table->n_rows; i++)
        if (*n == 0 || sizes[*n - 1] != sizes[i])
            sizes[(*n)++] = sizes[i];
    return sizes;
}

static double residual_ns(const csv_table_t *table, size_t row) {
    size_t last = table->columns.n - 1;
    double sum = 0;
    for (size_t column = 1; column < last; column++)
        sum += csv_value(table, row, column);
    return (csv_value(table, row, last) - sum) * NS_PER_MS;
}

static void add_phases(const csv_table_t *table, const study_side_t *side, double size,
                       case_result_t *result) {
    double *samples = mem_zeroed(table->n_rows, sizeof *samples);
    for (size_t column = 1; column <= side->n; column++) {
        bool residual = column == side->n;
        size_t n = 0;
        for (size_t row = 0; row < table->n_rows; row++)
            if (csv_value(table, row, 0) == size)
                samples[n++] =
                    residual ? residual_ns(table, row) : csv_value(table, row, column) * NS_PER_MS;
        phase_t *phase =
            result_add_phase(result, residual ? "residual" : side->phases[column], CLOCK_HOST);
        phase_add_round(phase, samples, n);
        phase_summarise(phase);
    }
    free(samples);
}

static void add_case(const study_t *study, const csv_table_t *table, double size,
                     study_log_t *log) {
    const study_side_t *side = &study->sides[log->side];
    char label[32];
    case_t spec = {
        .workload = mem_text(study->workload),
        .engine = mem_text(side->engine),
        .device = mem_text("cuda"),
        .variant = mem_text(side->variant),
        .dtype = mem_text(study->dtype),
    };
    spec.id = mem_format("%s/%s/%s/%s=%.0f", spec.workload, case_engine_label(&spec, label),
                         spec.variant, study->size_param, size);
    case_add_param(&spec, study->size_param,
                   &(value_t){.kind = VALUE_INT, .integer = (int64_t)size});
    mem_grow(&log->cases, log->n_cases, &log->capacity, sizeof *log->cases);
    case_result_t *result = &log->cases[log->n_cases++];
    result_init(result, &spec);
    case_free(&spec);
    add_phases(table, side, size, result);
}

status_t study_csv_load(const study_t *study, const char *path, study_log_t *log, error_t *err) {
    *log = (study_log_t){0};
    csv_table_t table;
    TRY(csv_read(path, &table, err));
    status_t status = recognise(study, &table, &log->side, err);
    if (status == STATUS_OK)
        status = check_rows(&table, err);
    if (status == STATUS_OK) {
        size_t n;
        double *sizes = sizes_of(&table, &n);
        if (n > SIZES_LIMIT)
            status = error_set(err, STATUS_USAGE,
                               "found %zu different batches, expected at most %d", n, SIZES_LIMIT);
        for (size_t i = 0; i < n && status == STATUS_OK; i++)
            add_case(study, &table, sizes[i], log);
        free(sizes);
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

/* ==== writing CSVs ============================================================================ */

/* Close `stream` and write its text to `path`, unless there are no rows. */
static status_t publish(FILE *stream, char **text, size_t *size, bool has_rows, const char *path,
                        error_t *err) {
    fclose(stream);
    status_t status = has_rows ? fs_write_atomic(path, *text, *size, err) : STATUS_OK;
    free(*text);
    return status;
}

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
    text_list_t settings = {0};
    for (size_t i = 0; i < n; i++) {
        char *value = value_text(&values[i].value);
        text_list_add_format(&settings, "%s=%s", values[i].name, value);
        free(value);
    }
    char *joined = text_list_join(&settings, ";");
    csv_field(out, joined);
    free(joined);
    text_list_free(&settings);
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
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("id,workload,engine,device,variant,dtype,params,techniques,status,phase,clock,unit,n,"
          "median,ci95_low,ci95_high,passes,bimodal_low,bimodal_high,bimodal_share_high\n",
          out);
    for (size_t i = 0; i < run->n_cases; i++)
        csv_case(out, &run->cases[i]);
    return publish(out, &text, &size, run->n_cases > 0, path, err);
}

/* ---- of the study ---------------------------------------------------------------------------- */

/* What the case lacks, an older run for example, is as there. */
bool study_is_setup(const study_t *study, const case_t *spec) {
    bool same = strcmp(spec->dtype, study->dtype) == 0;
    for (size_t i = 0; i < study->n_settings && same; i++) {
        const char *name = study->settings[i][0], *choice = case_technique(spec, name);
        const value_t *param = case_param(spec, name);
        char *value = param != NULL ? value_text(param) : mem_text(choice);
        same = value == NULL || strcmp(value, study->settings[i][1]) == 0;
        free(value);
    }
    return same;
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
            fnmatch(side->pattern, spec->variant, 0) == 0 && size > 0 &&
            study_is_setup(study, spec))
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

status_t study_csv_write(const study_t *study, const record_t *run, error_t *err) {
    status_t status = STATUS_OK;
    for (size_t s = 0; s < STUDY_SIDES && status == STATUS_OK; s++) {
        const study_side_t *side = &study->sides[s];
        char *text, *path = fs_join(run->folder, side->file);
        size_t size, n;
        bool has_rows = false;
        FILE *out = open_memstream(&text, &size);
        for (size_t i = 0; i < side->n; i++)
            fprintf(out, "%s%s", i > 0 ? "," : "", side->columns[i]);
        fputc('\n', out);
        row_t *rows = rows_of(study, side, run, "cuda", &n);
        if (n == 0 && !case_engine_is_built_in(side->engine)) {
            free(rows);
            rows = rows_of(study, side, run, "cpu", &n);
        }
        for (size_t i = 0; i < n; i++)
            if (i == 0 || rows[i].size != rows[i - 1].size)
                has_rows |= write_row(out, &rows[i], side);
        free(rows);
        status = publish(out, &text, &size, has_rows, path, err);
        free(path);
    }
    return status;
}

status_t results_write_derived(const record_t *run, const struct study *study, error_t *err) {
    char *timings = fs_join(run->folder, "timings.csv");
    status_t status = results_write_timings_csv(run, timings, err);
    free(timings);
    return status == STATUS_OK && study != NULL ? study_csv_write(study, run, err) : status;
}

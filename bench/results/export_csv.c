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

/* Column 0 is the batch, the last is the total of the others. */
enum { STUDY_MOST_COLUMNS = 7 };
typedef struct study_layout {
    const char *engine, *variant;
    size_t n;
    const char *columns[STUDY_MOST_COLUMNS];
    const char *phases[STUDY_MOST_COLUMNS];
} study_layout_t;

/* Charts fit some dozens of batches, and all rows are searched for each. */
enum { BATCHES_LIMIT = 1000 };

static const double NS_PER_MS = 1e6;

static const study_layout_t STUDY_LAYOUTS[STUDY_KINDS] = {
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

/* ==== writing CSVs ============================================================================ */

/* The published study: a 4-5-1 MLP; a cudaMalloc and a pageable copy per array in every sample. */
static const int64_t STUDY_LAYERS[] = {4, 5, 1};
static const struct {
    const char *technique, *choice;
} STUDY_TECHNIQUES[] = {
    {"alloc", "malloc"}, {"copy", "pageable"}, {"weights", "upload"}, {"launch", "stream"}};

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

bool results_is_study_setup(const case_t *spec) {
    for (size_t i = 0; i < sizeof STUDY_TECHNIQUES / sizeof *STUDY_TECHNIQUES; i++) {
        const char *choice = case_technique(spec, STUDY_TECHNIQUES[i].technique);
        if (choice != NULL && strcmp(choice, STUDY_TECHNIQUES[i].choice) != 0)
            return false;
    }
    const value_t *layers = case_param(spec, "layers");
    const value_t study = {.kind = VALUE_INTS,
                           .ints = (int64_t *)STUDY_LAYERS,
                           .n_ints = sizeof STUDY_LAYERS / sizeof *STUDY_LAYERS};
    return (layers == NULL || value_equal(layers, &study)) && strcmp(spec->dtype, "f32") == 0;
}

static bool belongs(const case_result_t *result, const char *engine, const char *device,
                    const char *variant) {
    const case_t *spec = &result->spec;
    return result->status == CASE_OK && strcmp(spec->workload, "mlp_infer") == 0 &&
           strcmp(spec->engine, engine) == 0 && strcmp(spec->device, device) == 0 &&
           fnmatch(variant, spec->variant, 0) == 0 && case_param_int(spec, "batch", -1) > 0 &&
           results_is_study_setup(spec);
}

static int by_batch(const void *a, const void *b) {
    const case_result_t *const *x = a, *const *y = b;
    int64_t m = case_param_int(&(*x)->spec, "batch", 0);
    int64_t n = case_param_int(&(*y)->spec, "batch", 0);
    return (m > n) - (m < n);
}

/* One case per batch: the first rung that matches the pattern. The caller frees the array. */
static const case_result_t **study_rows(const record_t *run, const char *engine, const char *device,
                                        const char *variant, size_t *n_rows) {
    const case_result_t **rows = mem_zeroed(run->n_cases + 1, sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; i < run->n_cases; i++)
        if (belongs(&run->cases[i], engine, device, variant))
            rows[n++] = &run->cases[i];
    qsort(rows, n, sizeof *rows, by_batch);
    *n_rows = 0;
    for (size_t i = 0; i < n; i++)
        if (*n_rows == 0 || by_batch(&rows[*n_rows - 1], &rows[i]) != 0)
            rows[(*n_rows)++] = rows[i];
    return rows;
}

/* On a CPU there is no device to copy to: unmeasured h2d and d2h are zero. A row that lacks any
 * other phase is left out. */
static bool write_study_row(FILE *out, const case_result_t *result, const study_layout_t *layout) {
    const char *const *phases = layout->phases;
    double ms[STUDY_MOST_COLUMNS];
    size_t n = layout->n;
    for (size_t i = 1; i < n; i++) {
        ms[i] = result_median(result, phases[i]) / 1e6;
        bool copy = strcmp(phases[i], "h2d") == 0 || strcmp(phases[i], "d2h") == 0;
        if (isnan(ms[i]) && copy && strcmp(result->spec.device, "cpu") == 0)
            ms[i] = 0;
        if (isnan(ms[i]))
            return false;
    }
    fprintf(out, "%lld", (long long)case_param_int(&result->spec, "batch", 0));
    for (size_t i = 1; i < n; i++)
        fprintf(out, ",%.6f", ms[i]);
    fputc('\n', out);
    return true;
}

status_t results_write_study_csv(const record_t *run, const char *path, const char *engine,
                                 const char *variant, error_t *err) {
    const study_layout_t *layout = NULL;
    for (size_t i = 0; i < STUDY_KINDS; i++)
        if (strcmp(STUDY_LAYOUTS[i].engine, engine) == 0)
            layout = &STUDY_LAYOUTS[i];
    if (layout == NULL)
        return error_set(err, STATUS_USAGE,
                         "%s: the study's format has the engines cuda and pytorch, not '%s'", path,
                         engine);
    size_t n_rows = 0;
    const case_result_t **rows = study_rows(run, engine, "cuda", variant, &n_rows);
    if (n_rows == 0 && strcmp(engine, "pytorch") == 0) {
        free(rows);
        rows = study_rows(run, engine, "cpu", variant, &n_rows);
    }
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < layout->n; i++)
        fprintf(out, "%s%s", i > 0 ? "," : "", layout->columns[i]);
    fputc('\n', out);
    bool has_rows = false;
    for (size_t i = 0; i < n_rows; i++)
        has_rows |= write_study_row(out, rows[i], layout);
    free(rows);
    return publish(out, &text, &size, has_rows, path, err);
}

status_t results_write_derived(const record_t *run, error_t *err) {
    static const struct {
        const char *name, *engine, *variant;
    } STUDY_FILES[] = {{"mlp_timing_log.csv", "cuda", "01_*"},
                       {"mlp_timing_log_pytorch.csv", "pytorch", "eager"}};
    char *timings = fs_join(run->folder, "timings.csv");
    status_t status = results_write_timings_csv(run, timings, err);
    free(timings);
    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        char *path = fs_join(run->folder, STUDY_FILES[i].name);
        status =
            results_write_study_csv(run, path, STUDY_FILES[i].engine, STUDY_FILES[i].variant, err);
        free(path);
    }
    return status;
}

/* Files derived from a run's journal: timings.csv (long form) and the two CSVs in the exact format
 * of the original study. */
#include "results/record.h"

#include "base/memory.h"
#include "io/fs.h"
#include "results/study_csv.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The recorded environment and the measured device. Facts without a dedicated row come last. */
#include "report/columns.h"
#include "report/sections/sections.h"

#include "base/memory.h"
#include "base/units.h"
#include "limits/limits.h"
#include "results/conditions.h"
#include "workloads/device/descriptor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- facts ----------------------------------------------------------------------------------- */

/* Facts in display order; those of the same row share a cell. */
static const struct shown_fact {
    const char *row, *key, *before, *after;
} SHOWN[] = {
    {"GPU", "gpu.name", "", ""},
    {"GPU", "gpu.arch", "", ""},
    {"GPU", "gpu.multiprocessors", "", " multiprocessors"},
    {"GPU", "gpu.memory_bytes", "", " of memory"},
    {"GPU", "gpu.l2_bytes", "", " of L2"},
    {"GPU", "gpu.clock_max_mhz", "SM clock up to ", ""},
    {"GPU", "gpu.power_limit_w", "power limit ", ""},
    {"GPU settings", "gpu.ecc", "ECC ", ""},
    {"GPU settings", "gpu.mig", "MIG ", ""},
    {"GPU settings", "gpu.persistence", "persistence mode ", ""},
    {"GPU settings", "measure.lock_clocks.asked_mhz", "SM clock asked for: ", ""},
    {"GPU settings", "measure.lock_clocks.locked_mhz", "SM clock locked to ", ""},
    {"GPU settings", "measure.lock_clocks.reason", "SM clock not locked: ", ""},
    {"GPU settings", "gpu.uuid", "", ""},
    {"Driver", "gpu.driver", "", ""},
    {"Driver", "versions.cuda_driver", "CUDA ", ""},
    {"CUDA compiler", "versions.cuda_compiler", "", ""},
    {"CUDA compiler", "versions.nvrtc", "NVRTC ", ""},
    {"PyTorch", "versions.pytorch", "", ""},
    {"PyTorch", "versions.torch", "", ""},
    {"CPU", "host.cpu", "", ""},
    {"CPU", "host.cores", "", " cores"},
    {"CPU", "host.memory_bytes", "", " of memory"},
    {"CPU", "host.governor", "frequency governor ", ""},
    {"CPU", "host.load", "load at the start ", ""},
    {"Host", "host.name", "", ""},
    {"Host", "host.os", "", ""},
    {"This program", "versions.bench", "bench ", ""},
    {"This program", "git.revision", "git ", ""},
    {"This program", "git.dirty", "uncommitted changes: ", ""},
    {"This program", "versions.compiler", "compiler ", ""},
    {"Its folder", "git.folder.revision", "git ", ""},
    {"Its folder", "git.folder.dirty", "uncommitted changes: ", ""},
};
enum { N_SHOWN = sizeof SHOWN / sizeof *SHOWN };

/* A number's unit is the suffix of its key; it is shown with the value. */
static const struct unit {
    const char *suffix, *symbol;
    const char *(*print)(char *text, double value);
} UNITS[] = {
    {"_bytes_per_s", NULL, units_rate},
    {"_bytes", NULL, units_bytes},
    {"_ns", NULL, units_time},
    {"_frac", NULL, units_percent},
    {"_mhz", "MHz", NULL},
    {"_w", "W", NULL},
    {"_c", "°C", NULL},
    {"_s", "s", NULL},
};

static const struct unit *unit_of(const fact_t *fact) {
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS && fact->kind == FACT_NUMBER; i++)
        if (text_ends(fact->key, UNITS[i].suffix))
            return &UNITS[i];
    return NULL;
}

/* Safe for markdown. */
static const char *value_of(const report_t *report, const fact_t *fact) {
    if (fact->kind == FACT_TEXT)
        return report_safe(report, fact->value);
    if (fact->kind == FACT_FLAG)
        return strcmp(fact->value, "true") == 0 ? "on" : "off";
    const struct unit *unit = unit_of(fact);
    double number = strtod(fact->value, NULL);
    if (unit != NULL && unit->print != NULL)
        return unit->print(report_buffer(report), number);
    return report_text(report, "%.6g%s%s", number, unit != NULL ? " " : "",
                       unit != NULL ? unit->symbol : "");
}

static const char *last_name(const char *key) {
    const char *dot = strrchr(key, '.');
    return dot != NULL ? dot + 1 : key;
}

/* "workers.cpu.openmp_threads" → "openmp threads", without its unit. */
static const char *label_of(const report_t *report, const fact_t *fact) {
    const char *name = last_name(fact->key);
    const struct unit *unit = unit_of(fact);
    char *label = mem_text_n(name, strlen(name) - (unit != NULL ? strlen(unit->suffix) : 0));
    for (char *c = label; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    return report_safe(report, report_keep(report, label));
}

static bool is_shown(const char *key) {
    for (size_t i = 0; i < N_SHOWN; i++)
        if (strcmp(SHOWN[i].key, key) == 0)
            return true;
    return false;
}

/* Does an earlier fact have this name and value? A worker's "torch" repeats "pytorch". */
static bool repeats(const environment_t *env, const fact_t *fact) {
    const char *name = last_name(fact->key);
    for (const fact_t *other = env->facts; other < fact; other++)
        if (strcmp(other->value, fact->value) == 0 && text_ends(last_name(other->key), name))
            return true;
    return false;
}

static bool has_calibration(const record_t *run) {
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        if (is_calibration(&result->spec))
            return true;
    return false;
}

/* Shown elsewhere: in the device section, or by "gpu.name" and the maximum clock. Or long, and the same in every worker: for
 * those who look into run.json. */
static bool is_left_out(const record_t *run, const fact_t *fact) {
    const environment_t *env = &run->environment;
    const char *most = environment_get(env, "gpu.clock_max_mhz");
    return (text_starts(fact->key, "measured.") && has_calibration(run)) ||
           (strcmp(fact->key, "measure.mode") == 0 && strcmp(fact->value, "steady") == 0) ||
           strcmp(fact->key, "gpu.kind") == 0 || text_ends(fact->key, ".switches") ||
           (strcmp(fact->key, "gpu.clock_mhz") == 0 && most != NULL &&
            strcmp(most, fact->value) == 0);
}

static void add_subject(columns_t *table, const char *subject, text_list_t *parts) {
    const char *const cells[] = {subject, report_join(table->report, parts, ", ")};
    if (cells[1] != NULL)
        columns_row(table, cells);
}

static void add_shown_rows(columns_t *table, const environment_t *env) {
    for (size_t i = 0; i < N_SHOWN;) {
        const char *row = SHOWN[i].row;
        text_list_t parts = {0};
        for (; i < N_SHOWN && strcmp(SHOWN[i].row, row) == 0; i++) {
            const fact_t *fact = environment_find(env, SHOWN[i].key);
            if (fact == NULL)
                continue;
            const char *value = value_of(table->report, fact);
            if (text_ends(SHOWN[i].before, ": ") && fact->kind == FACT_FLAG) /* a yes-or-no fact */
                value = strcmp(value, "on") == 0 ? "yes" : "no";
            text_list_add_format(&parts, "%s%s%s", SHOWN[i].before, value, SHOWN[i].after);
        }
        add_subject(table, row, &parts);
    }
}

/* The part of a key before its last name: "workers.pytorch-cuda". */
static const char *subject_of(const report_t *report, const char *key) {
    const char *dot = strrchr(key, '.');
    return report_keep(report, mem_text_n(key, dot != NULL ? (size_t)(dot - key) : 0));
}

/* A row for each subject that has facts left. */
static void add_other_rows(columns_t *table, const record_t *run) {
    const report_t *report = table->report;
    const environment_t *env = &run->environment;
    text_list_t subjects = {0};
    for (size_t i = 0; i < env->n; i++)
        text_list_add_new(&subjects, subject_of(report, env->facts[i].key));
    for (size_t s = 0; s < subjects.n; s++) {
        const char *subject = subjects.items[s];
        text_list_t parts = {0};
        for (size_t i = 0; i < env->n; i++) {
            const fact_t *fact = &env->facts[i];
            if (strcmp(subject_of(report, fact->key), subject) == 0 && !is_shown(fact->key) &&
                !is_left_out(run, fact) && !repeats(env, fact))
                text_list_add_format(&parts, "%s %s", label_of(report, fact),
                                     value_of(report, fact));
        }
        const bool worker = text_starts(subject, "workers.");
        const char *name = report_safe(report, worker ? strchr(subject, '.') + 1 : subject);
        add_subject(table, worker ? report_text(report, "Worker %s", name) : name, &parts);
    }
    text_list_free(&subjects);
}

static void add_spent_row(columns_t *table, const record_t *run) {
    const spent_t spent = record_spent(run);
    if (spent_total_ns(&spent) > 0)
        columns_row(table,
                    (const char *[]){"Time", report_keep(table->report, spent_text(&spent))});
}

static void print_clocks(const report_t *report) {
    const environment_t *env = &report->run->environment;
    const char *sentence = report_keep(report, lock_clocks_sentence(env));
    if (sentence != NULL)
        print(report, "Clocks: %s. %s\n\n", report_safe(report, sentence),
              isfinite(lock_clocks_recorded_mhz(env))
                  ? "Times hold for this clock, not for a free clock; `throttled` is judged "
                    "against it."
                  : "The clock was free, as without `--lock-clocks`.");
}

void section_environment(const report_t *report) {
    static const column_t COLUMNS[] = {{"What", 'l', false}, {"Value", 'l', false}};
    const environment_t *env = &report->run->environment;
    report_heading(report, 2, "Environment");
    if (env->n == 0) {
        print(report, "The run did not record its machine.\n\n");
        return;
    }
    columns_t table = columns_begin(report, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    add_shown_rows(&table, env);
    add_other_rows(&table, report->run);
    add_spent_row(&table, report->run);
    columns_end(&table, "");
    print_clocks(report);
}

/* ---- the device ------------------------------------------------------------------------------ */

/* GPU cases of `device` and `null` are calibration, not contenders, and share one short section. */

/* Larger than any L2, smaller than the buffers for DRAM calibration. */
enum { LARGEST_L2_BYTES = 1 << 28 };

typedef enum buffer { ANY_SIZE, IN_L2, IN_DRAM } buffer_t;

static const struct gauge {
    const char *workload, *variant, *phase;
    buffer_t buffer;
    const char *name;
    double passes;       /* over `bytes`: a copy reads and writes; 0: show the time, not a rate */
    const char *meaning; /* NULL: not used for limits */
} GAUGES[] = {
    {"device", "copy", "kernel", ANY_SIZE, "DRAM, copying", 2, "the DRAM limit in *of the limit*"},
    {"device", "01_read", "kernel", IN_DRAM, "DRAM, reading", 1, NULL}, /* of older runs */
    {"device", "01_read", "kernel", IN_L2, "L2, reading", 1,
     "the limit for data that stays in the L2"},
    {"device", "bus", "h2d", ANY_SIZE, "Bus to the GPU, pinned memory,", 1,
     "the least time of `h2d`, and of `host_to_host` where the inputs are larger than the outputs"},
    {"device", "bus", "d2h", ANY_SIZE, "Bus from the GPU, pinned memory,", 1,
     "the least time of `d2h`"},
    {"device", "bus", "both", ANY_SIZE, "Bus, each way while both are used,", 1,
     "what copies in both directions at once can reach"},
    {"device", "02_barrier", "barrier", ANY_SIZE, "Barrier of the whole grid", 0,
     "one block per multiprocessor: the lower bound of an epoch or step of a persistent kernel"},
    {"null", "01_empty", "event_pair", ANY_SIZE, "Two events, nothing between", 0,
     "the lower bound of `kernel` and `forward_device`"},
    {"null", "01_empty", "kernel", ANY_SIZE, "Empty kernel, one launch", 0,
     "a `kernel` time near this says little about the kernel"},
    {"null", "01_empty", "kernel_stream", ANY_SIZE, "Empty kernel, back to back", 0,
     "the lower bound of `kernel_stream`: the driver's cost of a launch"},
    {"null", "01_empty", "kernel_graph", ANY_SIZE, "Empty kernel, in a graph", 0,
     "the lower bound of `kernel_graph`, and the *launch* limit of small sizes"},
    {"null", "01_empty", "launch_sync", ANY_SIZE, "Launch and wait, host clock", 0,
     "the lower bound of `host_to_host` with one launch and one synchronisation"},
};

static bool is_gauge(const struct gauge *gauge, const case_t *spec) {
    bool small = case_param_int(spec, "bytes", 0) < LARGEST_L2_BYTES;
    return is_calibration(spec) && strcmp(spec->workload, gauge->workload) == 0 &&
           strcmp(spec->variant, gauge->variant) == 0 &&
           (gauge->buffer == ANY_SIZE || small == (gauge->buffer == IN_L2));
}

/* Older runs timed repeated reads of a buffer far larger than the L2; some of these rates exceed
 * the memory's peak bandwidth. */
static const char *why_not_used(double read_bytes_per_s, double copied_bytes_per_s) {
    return read_bytes_per_s > 1.25 * copied_bytes_per_s
               ? "not used: over 25 % above the copy rate, so not the DRAM rate"
               : "not used: limits come from the copy rate";
}

static void add_gauge(columns_t *table, const struct gauge *gauge, const case_result_t *result,
                      double copied_bytes_per_s) {
    const report_t *report = table->report;
    const phase_t *phase = result_has_times(result) ? result_phase(result, gauge->phase) : NULL;
    if (phase == NULL || phase->summary.n == 0)
        return;
    const summary_t *s = &phase->summary;
    const double bytes = (double)case_param_int(&result->spec, "bytes", 0);
    const double moved = gauge->passes * bytes, bytes_per_s = moved / s->median * 1e9;
    const char *cells[] = {gauge->name, time_text(report, s->median), interval_cell(report, phase),
                           count_cell(report, (double)s->n), gauge->meaning};
    if (gauge->passes > 0) {
        cells[0] =
            report_text(report, "%s %s", gauge->name, units_bytes(report_buffer(report), bytes));
        cells[1] = units_rate(report_buffer(report), bytes_per_s);
        cells[2] = isnan(s->ci95[0])
                       ? "–"
                       : report_text(report, "%s – %s",
                                     units_rate(report_buffer(report), moved / s->ci95[1] * 1e9),
                                     units_rate(report_buffer(report), moved / s->ci95[0] * 1e9));
    }
    if (gauge->meaning == NULL)
        cells[4] = why_not_used(bytes_per_s, copied_bytes_per_s);
    columns_row(table, cells);
}

/* "matmul" times products of one dtype in each phase. */
static void add_matmul(columns_t *table, const case_result_t *result, const device_rates_t *rates,
                       matmul_type_t type) {
    const report_t *report = table->report;
    const phase_t *phase = result_phase(result, matmul_type_name(type));
    if (phase == NULL || phase->summary.n == 0)
        return;
    const summary_t *s = &phase->summary;
    const double n = (double)device_matmul_rows(&result->spec), flops = 2 * n * n * n;
    const double own = rates->own_flops_per_s[type];
    const char *low = units_flops(report_buffer(report), flops / s->ci95[1] * 1e9);
    const char *high = units_flops(report_buffer(report), flops / s->ci95[0] * 1e9);
    const char *cells[] = {
        report_text(report, "cuBLASLt, %s, %.0f × %.0f", matmul_type_name(type), n, n),
        units_flops(report_buffer(report), flops / s->median * 1e9),
        isnan(s->ci95[0]) ? "–" : report_text(report, "%s – %s", low, high),
        count_cell(report, (double)s->n), "the *matmul* limit of this dtype"};
    if (n < DEVICE_MATMUL_ROWS)
        cells[4] = "not used: too small for the rate of a chip";
    else if (own > rates->library_flops_per_s[type])
        cells[4] = report_text(report,
                               "not used: a CUDA case of this run reached %s, the *matmul* "
                               "limit of this dtype",
                               units_flops(report_buffer(report), own));
    columns_row(table, cells);
}

static void add_matmuls(columns_t *table, const record_t *run, const device_rates_t *rates) {
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        for (matmul_type_t type = 0; type < MATMUL_TYPES; type++)
            if (result_has_times(result) && is_calibration(&result->spec) &&
                strcmp(result->spec.variant, DEVICE_MATMUL_VARIANT) == 0)
                add_matmul(table, result, rates, type);
}

void section_device(const report_t *report) {
    const column_t columns[] = {
        {"What", 'l', false},
        {"median", 'r', false},
        {"95 % interval over passes", 'r', !passes_have_intervals(passes_of(report->run))},
        {"samples", 'r', false},
        {"Meaning", 'l', false}};
    const record_t *run = report->run;
    const device_rates_t rates = device_rates_of_record(report->whole);
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (size_t g = 0; g < sizeof GAUGES / sizeof *GAUGES; g++)
        for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
            if (is_gauge(&GAUGES[g], &result->spec))
                add_gauge(&table, &GAUGES[g], result, rates.dram_bytes_per_s);
    add_matmuls(&table, run, &rates);
    columns_end_under(&table, 2, "The device, measured in this run", "%s", "");
}

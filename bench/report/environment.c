#include "report/shown.h"

#include "base/memory.h"
#include "base/units.h"
#include "limits/limits.h"
#include "results/conditions.h"
#include "workloads/device/descriptor.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- facts ----------------------------------------------------------------------------------- */

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
        return strcmp(fact->value, "true") == 0 ? "yes" : "no";
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

/* The part of a key before its last name: "workers.pytorch-cuda". */
static const char *subject_of(const report_t *report, const char *key) {
    const char *dot = strrchr(key, '.');
    return report_keep(report, mem_text_n(key, dot != NULL ? (size_t)(dot - key) : 0));
}

/* A line for each subject, in the order of its first fact. */
static void print_facts(const report_t *report, const record_t *run) {
    const environment_t *env = &run->environment;
    AUTO(text_list_free) text_list_t subjects = {0};
    for (size_t i = 0; i < env->n; i++)
        text_list_add_new(&subjects, subject_of(report, env->facts[i].key));
    for (size_t s = 0; s < subjects.n; s++) {
        text_list_t parts = {0};
        for (size_t i = 0; i < env->n; i++) {
            const fact_t *fact = &env->facts[i];
            if (strcmp(subject_of(report, fact->key), subjects.items[s]) == 0 &&
                !is_left_out(run, fact))
                text_list_add_format(&parts, "%s %s", label_of(report, fact),
                                     value_of(report, fact));
        }
        const char *list = report_join(report, &parts, ", ");
        if (list != NULL)
            print(report, "- %s: %s\n", report_safe(report, subjects.items[s]), list);
    }
}

static void print_clocks(const report_t *report) {
    const environment_t *env = &report->run->environment;
    const char *sentence = report_keep(report, lock_clocks_sentence(env));
    if (sentence != NULL)
        print(report, "- Clocks: %s. %s\n", report_safe(report, sentence),
              isfinite(lock_clocks_recorded_mhz(env))
                  ? "Times hold for this clock, not for a free clock; `throttled` is judged "
                    "against it."
                  : "The clock was free, as without `--lock-clocks`.");
}

void section_environment(const report_t *report) {
    const spent_t spent = record_spent(report->run);
    report_heading(report, 2, "Environment");
    if (report->run->environment.n == 0)
        print(report, "- The run did not record its machine.\n");
    print_facts(report, report->run);
    if (spent_total_ns(&spent) > 0)
        print(report, "- Time: %s\n", report_keep(report, spent_text(&spent)));
    print_clocks(report);
    print(report, "\n");
}

/* ---- the device ------------------------------------------------------------------------------ */

/* GPU cases of `device` and `null` are calibration, not contenders. */

/* Larger than any L2, smaller than the buffers for DRAM calibration. */
enum { LARGEST_L2_BYTES = 1 << 28 };

typedef enum buffer { ANY_SIZE, IN_L2 } buffer_t;

static const struct gauge {
    const char *workload, *variant, *phase;
    buffer_t buffer;
    const char *name;
    double passes; /* over `bytes`: a copy reads and writes; 0: show the time, not a rate */
    const char *meaning;
} GAUGES[] = {
    {"device", "copy", "kernel", ANY_SIZE, "DRAM, copying", 2, "the DRAM limit in *of the limit*"},
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
           strcmp(spec->variant, gauge->variant) == 0 && (gauge->buffer == ANY_SIZE || small);
}

/* "- DRAM, copying 8.59 GB: **4.23 TB/s** (4.21 TB/s – 4.25 TB/s): the DRAM limit" */
static void print_line(const report_t *report, const char *name, const char *value,
                       const char *interval, const char *meaning) {
    print(report, "- %s: **%s**%s%s%s; %s\n", name, value, *interval != '\0' ? " (" : "", interval,
          *interval != '\0' ? ")" : "", meaning);
}

/* How much of something, bytes or operations, the phase does in a second: "4.23 TB/s", and its interval. */
static void print_rate(const report_t *report, const char *name, const summary_t *s, double amount,
                       const char *(*show)(char *text, double per_s), const char *meaning) {
    const char *low = show(report_buffer(report), amount / s->ci95[1] * 1e9);
    const char *high = show(report_buffer(report), amount / s->ci95[0] * 1e9);
    print_line(report, name, show(report_buffer(report), amount / s->median * 1e9),
               isnan(s->ci95[0]) ? "" : report_text(report, "%s – %s", low, high), meaning);
}

static void print_gauge(const report_t *report, const struct gauge *gauge,
                        const case_result_t *result) {
    const phase_t *phase = result_has_times(result) ? result_phase(result, gauge->phase) : NULL;
    const double bytes = (double)case_param_int(&result->spec, "bytes", 0);
    if (phase == NULL || phase->summary.n == 0)
        return;
    const summary_t *s = &phase->summary;
    if (gauge->passes > 0)
        print_rate(report, report_text(report, "%s %s", gauge->name, bytes_text(report, bytes)), s,
                   gauge->passes * bytes, units_rate, gauge->meaning);
    else
        print_line(report, gauge->name, time_text(report, s->median),
                   isnan(s->ci95[0]) ? "" : interval_cell(report, phase), gauge->meaning);
}

/* "matmul" times products of one dtype in each phase. */
static void print_matmul(const report_t *report, const case_result_t *result, matmul_type_t type) {
    const phase_t *phase = result_phase(result, matmul_type_name(type));
    if (phase == NULL || phase->summary.n == 0)
        return;
    const double n = (double)device_matmul_rows(&result->spec);
    print_rate(report,
               report_text(report, "cuBLASLt, %s, %.0f × %.0f", matmul_type_name(type), n, n),
               &phase->summary, 2 * n * n * n, units_flops,
               n < DEVICE_MATMUL_ROWS ? "not used: too small for the rate of a chip"
                                      : "the *matmul* limit of this dtype");
}

void section_device(const report_t *report) {
    const record_t *run = report->run;
    if (!has_calibration(run))
        return;
    report_heading(report, 2, "The device, measured in this run");
    for (size_t g = 0; g < sizeof GAUGES / sizeof *GAUGES; g++)
        for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
            if (is_gauge(&GAUGES[g], &result->spec))
                print_gauge(report, &GAUGES[g], result);
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        for (matmul_type_t type = 0; type < MATMUL_TYPES; type++)
            if (result_has_times(result) && is_calibration(&result->spec) &&
                strcmp(result->spec.variant, DEVICE_MATMUL_VARIANT) == 0)
                print_matmul(report, result, type);
    print(report, "\n");
}

/* ---- how to measure it again ------------------------------------------------------------------ */

/* What follows "--" are options of bench run. */
static bool is_import(const record_t *run) {
    static const char *const NAMES[] = {"workload", "operator"}; /* the second is a former name */
    return run->argv.n > 2 && text_is_one_of(run->argv.items[1], NAMES, 2) &&
           strcmp(run->argv.items[2], "import") == 0;
}

/* How many words from here on are this option with its value: "--out DIR", "--out=DIR", or 0. */
static size_t n_of_option(const char *option, char *const *words, size_t n) {
    const size_t length = strlen(option);
    if (strncmp(words[0], option, length) == 0 && words[0][length] == '=')
        return 1;
    return strcmp(words[0], option) != 0 ? 0 : n > 1 ? 2 : 1;
}

/* How many words of a run's command say where it went, how long it may take or what it tells. */
static size_t n_not_repeated(char *const *words, size_t n) {
    static const char *const FLAGS[] = {"--resume", "--retry", "--quiet", "--json"},
                             *const WITH_VALUE[] = {"--out", "--budget"};
    size_t found = text_is_one_of(words[0], FLAGS, sizeof FLAGS / sizeof *FLAGS);
    for (size_t i = 0; i < sizeof WITH_VALUE / sizeof *WITH_VALUE && found == 0; i++)
        found = n_of_option(WITH_VALUE[i], words, n);
    return found;
}

text_list_t command_again(const char *program, const record_t *run) {
    text_list_t command = {0};
    for (size_t i = 0; i < run->argv.n;) {
        const size_t skipped = n_not_repeated(run->argv.items + i, run->argv.n - i);
        if (skipped == 0)
            text_list_add(&command, i == 0 ? program : run->argv.items[i]);
        i += skipped > 0 ? skipped : 1;
    }
    if (is_import(run) && !text_list_has(&command, "--"))
        text_list_add(&command, "--");
    if (command.n > 0)
        text_list_add_format(&command, "--out=results/again/%s", run->name);
    return command;
}

static void add_word(text_list_t *words, char *word) {
    text_list_take(words, text_shell(word));
    free(word);
}

static const char *value_of_option(const char *option, const record_t *run) {
    for (size_t i = 1; i < run->argv.n; i++) {
        const size_t n = n_of_option(option, run->argv.items + i, run->argv.n - i);
        if (n > 0)
            return n == 2 ? run->argv.items[i + 1] : run->argv.items[i] + strlen(option) + 1;
    }
    return NULL;
}

/* The folder given as --workload, or by its former name; NULL: the run was not called so. */
static const char *folder_of_workload(const record_t *run) {
    const char *text = value_of_option("--workload", run);
    if (text == NULL)
        text = value_of_option("--operator", run);
    return text != NULL && (strchr(text, '/') != NULL || workload_find(text) == NULL) ? text : NULL;
}

/* bench run of the case's workload. What is not of this program is found where the run found it. */
static void add_workload(const record_t *run, const case_t *spec, text_list_t *words) {
    const char *folder = folder_of_workload(run);
    const bool import = is_import(run);
    for (size_t i = 1; import && i < run->argv.n && strcmp(run->argv.items[i], "--") != 0;) {
        const size_t skipped = n_of_option("--out", run->argv.items + i, run->argv.n - i);
        if (skipped == 0)
            add_word(words, mem_text(run->argv.items[i]));
        i += skipped > 0 ? skipped : 1;
    }
    text_list_add(words, import ? "--" : "run --workload");
    if (!import)
        add_word(words, mem_text(folder != NULL ? folder : spec->workload));
}

/* An id has what is not the default. */
char *command_of_case(const char *program, const record_t *run, const case_t *spec) {
    AUTO(text_list_free) text_list_t words = {0}, parts = text_split(spec->id, '/');
    text_list_add(&words, program);
    add_workload(run, spec, &words);
    text_list_add(&words, "--engine");
    add_word(&words, mem_text(spec->engine));
    text_list_add(&words, "--variant");
    add_word(&words, mem_text(spec->variant));
    if (!case_engine_is_built_in(spec->engine))
        add_word(&words, mem_format("--set=device=%s", spec->device));
    for (size_t i = 3; i < parts.n; i++)
        add_word(&words, mem_format("--set=%s", parts.items[i]));
    return text_list_join(&words, " ");
}

/* ---- the section ----------------------------------------------------------------------------- */

void print_command(const report_t *report, char *const *arguments, size_t n) {
    print(report, "   ");
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *word = text_shell(arguments[i]);
        for (char *c = word; (c = strpbrk(c, "\r\n")) != NULL;)
            *c = ' ';
        print(report, " %s", word);
    }
    print(report, "\n");
}

static const char *sweep_names(const report_t *report) {
    text_list_t names = {0};
    for (size_t i = 0; i < report->run->n_sweeps; i++) {
        const sweep_text_t *sweep = &report->run->sweeps[i];
        const char *path = report_code(report, sweep->path);
        json_auto_t *json = json_loads(sweep->text, 0, NULL);
        const char *name = json_string_value(json_object_get(json, "name"));
        if (name != NULL)
            text_list_add_format(&names, "%s (%s)", report_safe(report, name), path);
        else
            text_list_add(&names, path);
    }
    return report_join(report, &names, ", ");
}

static const char *architectures(const report_t *report) {
    text_list_t names = {0};
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const char *arch = report->run->cases[i].resources.arch;
        if (arch != NULL)
            text_list_add_new(&names, arch);
    }
    text_list_sort(&names);
    const char *list = report_join(report, &names, ", ");
    return list != NULL ? report_safe(report, list) : NULL;
}

/* What it ran on is in the environment. */
void section_reproduce(const report_t *report) {
    const record_t *run = report->run;
    const char *arch = architectures(report), *sweeps = sweep_names(report);
    report_heading(report, 2, "Reproduce it");
    print(report,
          "Sweeps, with their text in `run.json`: %s. Seed of data, weights and shuffles: %llu. "
          "%s%s%sRaw "
          "samples, summaries, checks: the folder of the run, %s.\n",
          sweeps != NULL ? sweeps : "not recorded", (unsigned long long)run->seed,
          arch != NULL ? "Kernels for " : "", arch != NULL ? arch : "", arch != NULL ? ". " : "",
          report_code(report, run->name));
    print(report, "\nCommand of the run:\n\n");
    if (run->argv.n > 0)
        print_command(report, run->argv.items, run->argv.n);
    else
        print(report, "    (not recorded)\n");
}

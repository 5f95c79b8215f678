/* What was run on what: the facts that a run recorded, a row a subject. Facts that no row asks for
 * come last, so that nothing recorded is lost. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

/* Facts in the order in which they are shown; those with the same row stand in one cell. */
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
};
enum { N_SHOWN = sizeof SHOWN / sizeof *SHOWN };

/* Numbers carry their unit at the end of the key; it moves to the value. */
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

/* Safe for markdown; the caller frees it. */
static char *value_of(const fact_t *fact) {
    if (fact->kind == FACT_FLAG)
        return mem_text(strcmp(fact->value, "true") == 0 ? "on" : "off");
    const struct unit *unit = unit_of(fact);
    char text[UNITS_TEXT];
    double number = fact->kind == FACT_NUMBER ? strtod(fact->value, NULL) : 0;
    if (unit != NULL && unit->print != NULL)
        return mem_text(unit->print(text, number));
    if (fact->kind == FACT_NUMBER)
        return mem_format("%.6g%s%s", number, unit != NULL ? " " : "",
                          unit != NULL ? unit->symbol : "");
    return markdown_text(fact->value);
}

/* "workers.cpu.openmp_threads" → "openmp threads", without its unit. */
static char *label_of(const fact_t *fact) {
    const char *dot = strrchr(fact->key, '.'), *name = dot != NULL ? dot + 1 : fact->key;
    const struct unit *unit = unit_of(fact);
    char *label = mem_text_n(name, strlen(name) - (unit != NULL ? strlen(unit->suffix) : 0));
    for (char *c = label; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    char *safe = markdown_text(label);
    free(label);
    return safe;
}

static const fact_t *find_fact(const environment_t *env, const char *key) {
    for (size_t i = 0; i < env->n; i++)
        if (strcmp(env->facts[i].key, key) == 0)
            return &env->facts[i];
    return NULL;
}

static bool is_shown(const char *key) {
    for (size_t i = 0; i < N_SHOWN; i++)
        if (strcmp(SHOWN[i].key, key) == 0)
            return true;
    return false;
}

static const char *last_name(const char *key) {
    const char *dot = strrchr(key, '.');
    return dot != NULL ? dot + 1 : key;
}

/* Does an earlier fact of the same name, or one that is shown, say the same? A worker's "torch" is
 * the run's "pytorch". */
static bool repeats(const environment_t *env, const fact_t *fact) {
    const char *name = last_name(fact->key);
    for (size_t i = 0; i < env->n; i++) {
        const fact_t *other = &env->facts[i];
        if (other == fact)
            break;
        if (strcmp(other->value, fact->value) == 0 && text_ends(last_name(other->key), name))
            return true;
    }
    return false;
}

static bool has_calibration(const record_t *run) {
    for (size_t i = 0; i < run->n_cases; i++)
        if (is_calibration(&run->cases[i].spec))
            return true;
    return false;
}

/* Said elsewhere: what was measured, in the device's section; the others by "gpu.name" and by the
 * highest clock. */
static bool is_left_out(const record_t *run, const fact_t *fact) {
    const environment_t *env = &run->environment;
    const fact_t *most = find_fact(env, "gpu.clock_max_mhz");
    return (text_starts(fact->key, "measured.") && has_calibration(run)) ||
           (strcmp(fact->key, "measure.mode") == 0 && strcmp(fact->value, "steady") == 0) ||
           strcmp(fact->key, "gpu.kind") == 0 ||
           (strcmp(fact->key, "gpu.clock_mhz") == 0 && most != NULL &&
            strcmp(most->value, fact->value) == 0);
}

static void add_shown_rows(table_t *table, const environment_t *env) {
    for (size_t i = 0; i < N_SHOWN;) {
        const char *row = SHOWN[i].row;
        text_list_t parts = {0};
        for (; i < N_SHOWN && strcmp(SHOWN[i].row, row) == 0; i++) {
            const fact_t *fact = find_fact(env, SHOWN[i].key);
            if (fact == NULL)
                continue;
            char *value = value_of(fact);
            bool question = text_ends(SHOWN[i].before, ": ") && fact->kind == FACT_FLAG;
            text_list_add_format(&parts, "%s%s%s", SHOWN[i].before,
                                 !question                  ? value
                                 : strcmp(value, "on") == 0 ? "yes"
                                                            : "no",
                                 SHOWN[i].after);
            free(value);
        }
        char *cell = text_list_join(&parts, ", ");
        if (parts.n > 0) {
            table_add(table, row);
            table_add(table, cell);
        }
        free(cell);
        text_list_free(&parts);
    }
}

/* The part of a key before its last name: "workers.pytorch-cuda". */
static char *subject_of(const char *key) {
    return mem_text_n(key, strlen(key) - strlen(last_name(key)) - (strchr(key, '.') != NULL));
}

/* A row for each subject that has facts left. */
static void add_other_rows(table_t *table, const record_t *run) {
    const environment_t *env = &run->environment;
    text_list_t subjects = {0};
    for (size_t i = 0; i < env->n; i++) {
        char *subject = subject_of(env->facts[i].key);
        if (!text_list_has(&subjects, subject))
            text_list_add(&subjects, subject);
        free(subject);
    }
    for (size_t s = 0; s < subjects.n; s++) {
        text_list_t parts = {0};
        for (size_t i = 0; i < env->n; i++) {
            const fact_t *fact = &env->facts[i];
            char *subject = subject_of(fact->key);
            if (strcmp(subject, subjects.items[s]) == 0 && !is_shown(fact->key) &&
                !is_left_out(run, fact) && !repeats(env, fact)) {
                char *label = label_of(fact), *value = value_of(fact);
                text_list_add_format(&parts, "%s %s", label, value);
                free(label);
                free(value);
            }
            free(subject);
        }
        const char *name = subjects.items[s];
        bool worker = text_starts(name, "workers.");
        char *safe = markdown_text(worker ? strchr(name, '.') + 1 : name);
        char *cell = text_list_join(&parts, ", ");
        if (parts.n > 0) {
            table_add_format(table, worker ? "Worker %s" : "%s", safe);
            table_add(table, cell);
        }
        free(safe);
        free(cell);
        text_list_free(&parts);
    }
    text_list_free(&subjects);
}

void section_environment(const report_t *report) {
    static const char *const HEADINGS[] = {"What", "Value"};
    const environment_t *env = &report->run->environment;
    report_heading(report, 2, "What was run on what");
    if (env->n == 0) {
        fputs("The run recorded nothing about its machine.\n\n", report->out);
        return;
    }
    table_t table;
    table_init(&table, HEADINGS, 2);
    add_shown_rows(&table, env);
    add_other_rows(&table, report->run);
    report_table(report, &table);
}

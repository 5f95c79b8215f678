#include "engine/session.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ==== the recorder ============================================================================ */

unsigned recorder_phase(recorder_t *recorder, const char *name, clock_domain_t clock) {
    assert(recorder->n_phases < RECORDER_MAX_PHASES);
    recorder->phases[recorder->n_phases].name = name;
    recorder->phases[recorder->n_phases].clock = clock;
    return (unsigned)recorder->n_phases++;
}

void recorder_add(recorder_t *recorder, unsigned phase, double ns) {
    assert(phase < recorder->n_phases);
    mem_grow(&recorder->phases[phase].ns, recorder->phases[phase].n,
             &recorder->phases[phase].capacity, sizeof(double));
    /* Averages of batches have more digits than any clock: round to 0.1 ns. */
    recorder->phases[phase].ns[recorder->phases[phase].n++] = round(ns * 10) / 10;
}

void recorder_add_between(recorder_t *recorder, unsigned phase, double ns, int64_t from_ns,
                          int64_t to_ns) {
    const recorder_watch_t *watch = recorder->watch;
    recorder_add(recorder, phase, ns);
    if (watch != NULL)
        watch->on_sample(watch->context, recorder->phases[phase].name,
                         recorder->phases[phase].clock, ns, from_ns, to_ns);
}

recorder_t recorder_alike(const recorder_t *recorder) {
    recorder_t alike = *recorder;
    for (size_t i = 0; i < alike.n_phases; i++) {
        alike.phases[i].ns = NULL;
        alike.phases[i].n = alike.phases[i].capacity = 0;
    }
    return alike;
}

void recorder_clear(recorder_t *recorder) {
    for (size_t i = 0; i < recorder->n_phases; i++)
        recorder->phases[i].n = 0;
}

void recorder_free(recorder_t *recorder) {
    for (size_t i = 0; i < recorder->n_phases; i++)
        free(recorder->phases[i].ns);
    *recorder = (recorder_t){0};
}

/* ==== sessions ================================================================================ */

void session_add_probe(session_t *session, const char *name,
                       status_t (*run)(session_t *, recorder_t *, error_t *)) {
    assert(session->n_probes < SESSION_MAX_PROBES);
    session->probes[session->n_probes++] = (probe_t){.name = name, .run = run};
}

void session_add_once(session_t *session, const char *name, double ns) {
    assert(session->n_once < SESSION_MAX_ONCE);
    session->once[session->n_once++] = (named_ns_t){(char *)name, ns};
}

/* ==== the host ================================================================================ */

/* The rest of the first line of `path` that starts with `prefix`. False if there is none. */
static bool find_line(const char *path, const char *prefix, char text[HOST_TEXT]) {
    FILE *file = fopen(path, "r");
    char line[512];
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = text_starts(line, prefix);
    if (file != NULL)
        fclose(file);
    if (found)
        snprintf(text, HOST_TEXT, "%.*s", (int)strcspn(line, "\n") - (int)strlen(prefix),
                 line + strlen(prefix));
    return found;
}

const char *host_cpu_name(char text[HOST_TEXT]) {
    if (!find_line("/proc/cpuinfo", "model name\t: ", text))
        snprintf(text, HOST_TEXT, "unknown CPU");
    return text;
}

double host_available_bytes(void) {
    char text[HOST_TEXT];
    return find_line("/proc/meminfo", "MemAvailable:", text) ? strtod(text, NULL) * 1024 : NAN;
}

void host_describe(environment_t *env) {
    char text[HOST_TEXT];
    struct utsname system;
    if (uname(&system) == 0) {
        environment_set(env, "host.name", system.nodename);
        snprintf(text, sizeof text, "%.60s %.60s", system.sysname, system.release);
        environment_set(env, "host.os", text);
    }
    environment_set(env, "host.cpu", host_cpu_name(text));
    environment_set_number(env, "host.cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
    environment_set_number(env, "host.memory_bytes",
                           (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
    static const char GOVERNOR[] = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    environment_set(env, "host.governor", find_line(GOVERNOR, "", text) ? text : "not readable");
    double load[1];
    if (getloadavg(load, 1) == 1)
        environment_set_number(env, "host.load", round(100 * load[0]) / 100);
}

#include "engine/host_info.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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

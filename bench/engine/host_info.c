#include "engine/host_info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

const char *host_cpu_name(char text[HOST_TEXT]) {
    snprintf(text, HOST_TEXT, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        snprintf(text, HOST_TEXT, "%s", colon + 2);
        text[strcspn(text, "\n")] = '\0';
        break;
    }
    if (file != NULL)
        fclose(file);
    return text;
}

double host_available_bytes(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    char line[256];
    double kib = NAN;
    while (file != NULL && isnan(kib) && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lf kB", &kib) != 1)
            kib = NAN;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

static void governor(environment_t *env) {
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "r");
    char text[64] = "";
    if (file != NULL && fgets(text, sizeof text, file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        environment_set(env, "host.governor", text);
    } else {
        environment_set(env, "host.governor", "not readable");
    }
    if (file != NULL)
        fclose(file);
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
    governor(env);
    double load[1];
    if (getloadavg(load, 1) == 1)
        environment_set_number(env, "host.load", round(100 * load[0]) / 100);
}

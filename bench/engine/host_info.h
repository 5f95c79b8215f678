/* Describes the host: CPU, cores, memory, governor, load. */
#ifndef BENCH_ENGINE_HOST_INFO_H
#define BENCH_ENGINE_HOST_INFO_H

#include "model/environment.h"

enum { HOST_TEXT = 128 };

const char *host_cpu_name(char text[HOST_TEXT]); /* or "unknown CPU" */
/* Memory available without swapping; NaN if unknown. */
double host_available_bytes(void);
/* host.name, host.os, host.cpu, host.cores, host.governor, host.load, host.memory_bytes. */
void host_describe(environment_t *env);

#endif

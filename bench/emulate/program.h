/* A rung compiled as C++ for this machine's CPU, with kernels/emulation in place of CUDA. */
#ifndef BENCH_EMULATE_PROGRAM_H
#define BENCH_EMULATE_PROGRAM_H

#include "base/error.h"
#include "base/text.h"
#include "compile/source.h"
#include "workloads/described/data.h"
#include "workloads/described/described.h"

/* A run of a described workload's rung on this machine's CPU, in a process of its own. Its program is that of
 * emulate/program.h: the rung, kernels/emulation/host_cuda.h before it and rung.h behind it. */

typedef enum emulated {
    EMULATED_RUN,     /* NAME.npy of each output is in the folder */
    EMULATED_SKIPPED, /* no GPU can launch it at these sizes */
    EMULATED_FAILED,  /* it died, did not end, or wrote where it must not */
} emulated_t;

/* `folder` is for its files alone. The caller frees `*reason`; NULL if it has run. An error: this machine cannot. */
status_t emulation_run(const char *program, const case_t *spec, const described_data_t *data,
                       const char *folder, emulated_t *how, char **reason, error_t *err);

enum { EMULATED_ARCH = 90 };

typedef struct host_program {
    char *path;      /* of the program; NULL: there is none … */
    char *reason;    /* … because of this … */
    bool skips;      /* … which is the rung's own `#error SKIP: …` */
    bool broken;     /* … which no compiler would take … */
    bool lacks_name; /* … which may be a call or a type that the emulation lacks */
} host_program_t;

typedef struct host_tools {
    char *compiler;
    const char *root; /* the project's folder */
    const char
        *headers; /* folder of the emulation's header, compiled: programs then take half as long */
} host_tools_t;

/* Find the C++ compiler: $CXX, g++, c++ or clang++. STATUS_USAGE: there is none, and how to install one. */
status_t host_tools_open(const char *root, host_tools_t *tools, error_t *err);
/* Fill `headers`. */
status_t host_tools_prepare(host_tools_t *tools, const char *headers, error_t *err);
void host_tools_close(host_tools_t *tools);

/* Compile a source with these definitions, "NAME=value". Its files go to `folder`, which is for this program alone. What
 * cannot be emulated is no error. */
status_t host_program_build(const host_tools_t *tools, const source_t *source,
                            const text_list_t *defines, const char *folder, host_program_t *program,
                            error_t *err);
void host_program_free(host_program_t *program);

#endif

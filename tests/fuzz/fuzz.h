/* What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput(); `make fuzz`
 * links it with libFuzzer, `make fuzz-replay` with replay.c, which runs the kept inputs once. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Called first: the workloads of kernels/ are known. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the program, which is how a target reports a finding. Works without assert(), which may be
 * compiled out. */
#define FUZZ_CHECK(condition) fuzz_check((condition), #condition, __FILE__, __LINE__)
void fuzz_check(int holds, const char *condition, const char *file, int line);

/* What every refusal must be: a failure with a message of whole UTF-8 characters, none of which
 * moves a terminal's cursor. */
void fuzz_check_refusal(status_t status, const error_t *err);

/* The input as a text: a NUL is added. The caller frees it. */
char *fuzz_text(const uint8_t *data, size_t size);
/* The input as a file in memory; the path holds until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* A folder of this process's own, which goes at exit. */
const char *fuzz_folder(void);
/* A file in that folder. */
void fuzz_write(const char *name, const void *data, size_t size);

#endif

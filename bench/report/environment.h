/* The recorded environment, the device as it was measured, and how to measure a run again, or one of its cases: commands
 * are called in the project's folder. */
#ifndef BENCH_REPORT_ENVIRONMENT_H
#define BENCH_REPORT_ENVIRONMENT_H

#include "report/words.h"

void section_environment(const report_t *report);
void section_device(const report_t *report);
void section_reproduce(const report_t *report);
/* "    bench run 'a b.json'": quoted for a POSIX shell; indented, because a fenced block could be closed
 * by its content. */
void print_command(const report_t *report, char *const *arguments, size_t n);

/* The words of the command that measures a run again, into a folder of its own; empty if it did not record how it was
 * called. */
text_list_t command_again(const char *program, const record_t *run);
/* The command that measures a case of a run alone, for a shell; the caller frees it. */
char *command_of_case(const char *program, const record_t *run, const case_t *spec);

#endif

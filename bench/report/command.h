/* Commands that a report prints: to measure a run again, or one of its cases. They are called in the project's folder. */
#ifndef BENCH_REPORT_COMMAND_H
#define BENCH_REPORT_COMMAND_H

#include "results/record.h"

/* The words of the command that measures a run again, into a folder of its own; empty if it did not record how it was
 * called. */
text_list_t command_again(const char *program, const record_t *run);
/* The command that measures a case of a run alone, for a shell; the caller frees it. */
char *command_of_case(const char *program, const record_t *run, const case_t *spec);

#endif

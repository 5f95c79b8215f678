/* What `bench help` prints, all of it from the table of commands: the overview, the man page, and completion for
 * shells. */
#ifndef BENCH_HELP_HELP_H
#define BENCH_HELP_HELP_H

#include "cli/args.h"

void help_overview(FILE *out);
/* bench.1 */
void help_man(FILE *out);
/* For the shell "bash" or "zsh". */
status_t help_completion(const char *shell, FILE *out, error_t *err);

#endif

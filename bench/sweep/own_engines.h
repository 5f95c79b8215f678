/* Engines of the user's own: NAME, if reference_NAME/worker.py exists and this program does not know it. */
#ifndef BENCH_SWEEP_OWN_ENGINES_H
#define BENCH_SWEEP_OWN_ENGINES_H

#include "base/error.h"
#include "base/text.h"

bool is_own_engine(const char *root, const char *name);
/* Their names, sorted. */
status_t own_engines(const char *root, text_list_t *names, error_t *err);

#endif

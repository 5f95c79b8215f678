/* What a contender is called in charts and reports: its rung or mode, and what sets it apart from
 * others of the same one. */
#ifndef BENCH_CONTENDER_NAME_H
#define BENCH_CONTENDER_NAME_H

#include "ground/text.h"
#include "nouns/case.h"

/* The techniques that are not the workload's defaults, in its order: "copy=pinned", … */
text_list_t changed_techniques(const case_t *spec);

/* "03_vectorized", or "03_vectorized + arena, pinned, resident": the variant and what was chosen
 * for the techniques that differ from the defaults. The caller frees it. */
char *contender_name(const case_t *spec);

#endif

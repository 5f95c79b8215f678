/* Names of rivals in sentences, and their columns in tables by size. */
#ifndef BENCH_REPORT_RIVALS_H
#define BENCH_REPORT_RIVALS_H

#include "report/columns.h"

/* "PyTorch", "JAX", "triton": the name of a case's engine. */
const char *who(const report_t *report, const case_result_t *result);
/* "PyTorch graph", "CUDA 03_vectorized + arena". */
const char *who_and_name(const report_t *report, const case_result_t *result);
/* What stands for the strongest rival of a set: "PyTorch" if it is the only one, else "the
 * strongest rival"; its case: "graph" or "PyTorch graph". */
const char *their_name(const report_t *report, const comparison_set_t *set);
const char *their_case(const report_t *report, const comparison_set_t *set,
                       const case_result_t *theirs);
/* "PyTorch's fastest mode", "the strongest rival". */
const char *their_best(const report_t *report, const comparison_set_t *set);
/* "PyTorch", "PyTorch and JAX": the rivals of several sets. NULL: none. */
const char *rivals_of_sets(const report_t *report, const comparison_set_list_t *sets);

/* For each rival of the set: its fastest time at each size, the case, and our speed-up over it. Of
 * several rivals the strongest is bold. Returns the number of columns or cells. */
enum { RIVAL_COLUMNS = 3 };
size_t rival_columns(const report_t *report, const comparison_set_t *set, column_t *columns);
size_t rival_cells(const report_t *report, const comparison_set_t *set, const size_row_t *row,
                   const char **cells);
/* "*vs PyTorch*, *vs JAX*: the rival's median over ours (…)": what the columns mean, as a sentence. */
const char *rival_columns_meaning(const report_t *report, const comparison_set_t *set);

#endif

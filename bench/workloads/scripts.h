/* The ways in which an operator's Python file NAME.py is run, as far as its text tells; its worker, which
 * imports it, has the last word (reference_python/ways.py). */
#ifndef BENCH_WORKLOADS_SCRIPTS_H
#define BENCH_WORKLOADS_SCRIPTS_H

#include "base/text.h"

#include <stdbool.h>

/* Append the file's variants:
 *   NAME          called as it is; with GRAPH = True in the file captured in a CUDA graph;
 *   NAME+graph    captured by the harness, unless the file sets GRAPH;
 *   NAME+compile  compiled by torch.compile, if the file has COMPILE = True, or is plain PyTorch and
 *                 sets neither COMPILE nor GRAPH. */
void script_add_variants(const char *folder, const char *stem, text_list_t *variants);

/* Does "*" leave out the variant on the CPU? Graphs need a GPU; there, compiling takes longer than
 * measuring, so only imported problems and files with COMPILE = True are compiled. */
bool script_variant_is_for_gpu(const char *folder, const char *variant);

#endif

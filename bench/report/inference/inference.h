/* Findings and tables for mlp_infer and own operators. */
#ifndef BENCH_REPORT_INFERENCE_INFERENCE_H
#define BENCH_REPORT_INFERENCE_INFERENCE_H

#include "report/rivals.h"

void inference_findings(const report_t *report, const comparison_set_list_t *sets);
void inference_tables(const report_t *report, const comparison_set_list_t *sets);

/* Does either side have a time at this size? */
bool has_contender(const size_row_t *row);

/* kernel_times.c: the computation alone. */
void section_compute(const report_t *report, const comparison_set_t *set);
bool comparison_set_has_limit(const comparison_set_t *set); /* for any case */

/* bus.c */
void finding_bus(const report_t *report, const comparison_set_t *set);

/* techniques.c: gains from host techniques, polling and a constant batch. */
void finding_techniques(const report_t *report, const comparison_set_t *set);
void finding_polling(const report_t *report, const comparison_set_t *set);
void finding_batch_constant(const report_t *report, const comparison_set_t *set);
void section_techniques(const report_t *report, const comparison_set_t *set);
/* Does CUDA's fastest case poll? The fastest cases of both sides that synchronise. */
bool is_by_polling(const size_row_t *row);
speedup_t speedup_synchronising(const comparison_set_t *set, const size_row_t *row);

#endif

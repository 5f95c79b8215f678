/* Line types of contenders: numbers of plots/style.gp, the same in every chart of a run. */
#ifndef BENCH_PLOT_STYLES_H
#define BENCH_PLOT_STYLES_H

#include "results/record.h"

int style_of_case(const record_t *run, const case_t *spec);
/* Of the fastest of a case's engine, if it is not the same contender at every size. */
int style_of_mixed(const record_t *run, const case_t *spec);

#endif

/* Did all contenders of a training learn the same? Only then can their times be compared. */
#ifndef BENCH_REPORT_LEARNING_H
#define BENCH_REPORT_LEARNING_H

#include "report/sets.h"

/* Of the trainings that do a set's work, at any size and seed and on any device: their accuracy. Prints nothing for
 * other workloads. */
void finding_dataset(const report_t *report);
void findings_on_learning(const report_t *report, const comparison_set_t *set);

#endif

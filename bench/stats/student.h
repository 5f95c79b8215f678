/* Student's t, and corrections for many tests. */
#ifndef BENCH_STATS_STUDENT_H
#define BENCH_STATS_STUDENT_H

#include <stddef.h>

/* P(T > t) with `df` > 0 degrees of freedom, and the t for which it is `p` (0 < p < 0.5). */
double stats_student_tail(double t, double df);
double stats_student_quantile(double p, double df);

/* Holm (1979), "A simple sequentially rejective multiple test procedure": adjusted[i] is the
 * smallest family-wise error rate at which test i is still significant. */
void stats_holm(const double *p, size_t n, double *adjusted);
/* Benjamini & Hochberg (1995), "Controlling the false discovery rate": adjusted[i] is the smallest rate of
 * false ones among all that are called significant at which test i is. If no test has anything to find,
 * that is the chance of any false one. */
void stats_false_discovery(const double *p, size_t n, double *adjusted);

#endif

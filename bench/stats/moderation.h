/* Many variances, each of few values: the others of its kind say what one of them is likely to be.
 * Smyth (2004), "Linear models and empirical Bayes methods for assessing differential expression in
 * microarray experiments", Stat. Appl. Genet. Mol. Biol. 3(1), sections 3 and 6.2. */
#ifndef BENCH_STATS_MODERATION_H
#define BENCH_STATS_MODERATION_H

#include <stddef.h>

/* Variances of one kind are `variance` times `df` over a chi-square with `df` degrees of freedom. */
typedef struct stats_prior {
    double variance, df; /* df 0: nothing is known. At most STATS_PRIOR_MOST_DF */
} stats_prior_t;

/* More would be sure of too much: a few cells whose processes have two states hide among many quiet ones. */
static const double STATS_PRIOR_MOST_DF = 30;

/* From the variances of a kind and their degrees of freedom; those of 0, or NaN, have no part. Fewer
 * than three say nothing. */
stats_prior_t stats_prior_of(const double *variances, const double *dfs, size_t n);

/* The variance, and its degrees of freedom, once the prior is known. */
double stats_moderated(const stats_prior_t *prior, double variance, double df);

#endif

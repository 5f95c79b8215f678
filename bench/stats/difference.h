/* How far an array is from the one that is expected: as a whole, and its worst element, row and column. */
#ifndef BENCH_STATS_DIFFERENCE_H
#define BENCH_STATS_DIFFERENCE_H

#include "io/npy.h"
#include "stats/passes.h"

#include <stddef.h>

/* Many variances, each of few values: the others of its kind say what one of them is likely to be.
 * Smyth (2004), "Linear models and empirical Bayes methods for assessing differential expression in
 * microarray experiments", Stat. Appl. Genet. Mol. Biol. 3(1), sections 3 and 6.2. */

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

/* Statistics of the regression gate: how far one side of a comparison exceeds the other, from the
 * passes of both. All functions are pure. */

/* The evidence of one side. */
typedef struct stats_side {
    stats_pass_t units[STATS_MOST_PASSES];
    size_t n;
    bool are_passes; /* false: fewer than STATS_FEWEST_PASSES; the units are rounds, and what
                      * differs between processes is unknown */
    bimodal_t bimodal;
} stats_side_t;

/* Of all rounds, pass after pass; pass p has the rounds pass_starts[p] … pass_starts[p + 1] - 1.
 * Units beyond STATS_MOST_PASSES are joined with their neighbours. */
stats_side_t stats_side_of(const stats_rounds_t *rounds, const size_t *pass_starts, size_t n_passes,
                           const bimodal_t *bimodal);

/* Candidate over base. */
typedef struct stats_change {
    double log_ratio; /* of the centres; NaN if a side has no time */
    double low, high; /* 95 % interval of the ratio; NaN with too few units */
    double se, df;    /* of log_ratio; NaN with too few units */
    double range_log; /* how far the units of one side differ, the wider one */
    /* If processes have two states: the chance that all are slow on one side and fast on the other.
     * No spread within a side shows that. */
    double chance_of_states;
    bool are_passes; /* on both sides */
    double mean_log; /* as log_ratio, of means of logarithms: `se` is its standard error */
    double weight;   /* se² is the variance between passes times this: 1 / n of each side */
    double values_log
        [2]; /* if a side has two values: the ends of their ratios; else log_ratio twice */
} stats_change_t;

/* Of runs measured one after the other. The interval is that between the ends of the two runs' own
 * intervals, each widened by a quarter of its passes' range: wider than one of the difference,
 * because slow drift moves a whole run. `se` and `df` as Welch and Satterthwaite. If a side has two values, the interval covers the ratios of both. */
stats_change_t stats_change(const stats_side_t *base, const stats_side_t *candidate);
/* Of interleaved runs with the same number of passes: the ratios of each pass, in which drift that
 * both share cancels. Otherwise stats_change(). */
stats_change_t stats_change_paired(const stats_side_t *base, const stats_side_t *candidate);

/* Probability of a change this large or larger (stats_change_below(): smaller) if the true ratio is
 * `ratio`; 1 without a standard error. */
double stats_change_above(const stats_change_t *change, double ratio);
double stats_change_below(const stats_change_t *change, double ratio);

/* The worst row or column. */
typedef struct line {
    double squares; /* of its error, relative to its own norm or that of an average line */
    size_t index;
} line_t;

typedef struct difference {
    double squares, max_abs; /* NaN anywhere makes both NaN */
    size_t worst;            /* element of max_abs */
    double found;            /* there */
    line_t row, column;      /* of no use if an element is NaN */
} difference_t;

/* What is compared: a file of the expected shape, or the mean of two arrays, or zeros. */
typedef struct found {
    const npy_file_t *file;
    const npy_t *before; /* it is the change since then that is compared; NULL: the file's values */
    const npy_t *of[2];  /* without a file; NULL: zeros */
} found_t;

/* The columns are the last axis, the rows all others; a vector is one column. */
size_t difference_columns(const npy_t *array);

/* Compare in one pass over both, on all cores that this thread may use; how many there are changes no bit. `norm`: squared, of
 * what is expected. */
status_t difference_find(const found_t *found, const npy_t *expected, double norm,
                         difference_t *difference, error_t *err);
/* The squared norm of an array without its infinities: where one is expected, anything else is infinitely wrong. */
double difference_norm(const npy_t *array);

#endif

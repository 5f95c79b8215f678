#include "stats/student.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Regularised incomplete beta function I_x(a, b) by its continued fraction (DLMF 8.17.22),
 * evaluated by Lentz's method; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x) {
    enum { MOST_TERMS = 300 };
    static const double TINY = 1e-300, PRECISION = 1e-14;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < TINY ? TINY : d);
    double value = d;
    for (int m = 1; m <= MOST_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double terms[] = {even, odd};
        double factor = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < TINY ? TINY : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < TINY ? TINY : c;
            factor = c * d;
            value *= factor;
        }
        if (fabs(factor - 1) < PRECISION)
            break;
    }
    return value;
}

static double log_beta(double a, double b) {
    int sign;
    return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
}

static double incomplete_beta(double a, double b, double x) {
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(a * log(x) + b * log1p(-x) - log_beta(a, b));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_student_tail(double t, double df) {
    if (isnan(t) || isnan(df))
        return NAN;
    double tail = incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2;
    return t >= 0 ? tail : 1 - tail;
}

/* Newton on the logarithm of the tail, which is nearly a parabola or, far out, nearly a line in log t. */
double stats_student_quantile(double p, double df) {
    enum { MOST_STEPS = 100 };
    static const double PRECISION = 1e-9;
    double log_scale = -log_beta(df / 2, 0.5) - log(df) / 2, t = 0;
    for (int i = 0; i < MOST_STEPS; i++) {
        double tail = stats_student_tail(t, df);
        double density = exp(log_scale - (df + 1) / 2 * log1p(t * t / df));
        double next = t + log(tail / p) * tail / density;
        double step = fmax(next, t / 2) - t; /* the quantile is positive */
        t += step;
        if (fabs(step) <= PRECISION * t)
            break;
    }
    return t;
}

typedef struct ranked {
    double p;
    size_t index;
} ranked_t;

static int by_p(const void *a, const void *b) {
    const ranked_t *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p) - (x->p < y->p)
                        : (x->index > y->index) - (x->index < y->index);
}

/* Ascending; the caller frees it. */
static ranked_t *ranked(const double *p, size_t n) {
    ranked_t *order = mem_alloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (ranked_t){p[i], i};
    if (n > 0)
        qsort(order, n, sizeof *order, by_p);
    return order;
}

void stats_holm(const double *p, size_t n, double *adjusted) {
    ranked_t *order = ranked(p, n);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fmin(1, order[i].p * (double)(n - i)));
        adjusted[order[i].index] = most;
    }
    free(order);
}

void stats_false_discovery(const double *p, size_t n, double *adjusted) {
    ranked_t *order = ranked(p, n);
    double least = 1;
    for (size_t i = n; i-- > 0;) {
        least = fmin(least, order[i].p * (double)n / (double)(i + 1));
        adjusted[order[i].index] = least;
    }
    free(order);
}

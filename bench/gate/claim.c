#include "gate/claim.h"

#include "stats/passes.h"
#include "stats/summary.h"

#include <math.h>

/* More are as good as infinitely many, and lgamma() stays precise. */
static const double MOST_DF = 1e4;

double claim_quantile(double p, double df) {
    return stats_student_quantile(p, fmin(df, MOST_DF));
}

double claim_chance(double change_log, double variance, double df) {
    if (isnan(change_log) || isnan(variance))
        return 1;
    if (!(variance > 0))
        return change_log > 0 ? 0 : 1;
    return stats_student_tail(change_log / sqrt(variance), fmin(df, MOST_DF));
}

double claim_run_variance(bool paired, double pass_variance, double spread) {
    return paired ? 0 : 2 * STATS_SHARED * pass_variance + spread * spread;
}

double claim_detectable(const claim_t *claim) {
    static const double MISSED = 0.1;
    const double sd = sqrt(claim->alarm_variance);
    const double significant =
        claim_quantile(claim->alarm_rate_frac, claim->alarm_df) * sd + claim->doubt_log;
    const double beyond = log1p(claim->threshold_frac) +
                          claim_quantile(CLAIM_OUTSIDE, claim->df) * sqrt(claim->variance);
    return expm1(fmax(significant, beyond) + claim_quantile(MISSED, claim->alarm_df) * sd);
}

/* How often does a run's interval hold what a run of very many passes would give? Makes up runs
 * whose truth is known and prints, for each kind of noise and number of passes: the coverage of the
 * interval, its half width, how often the intervals of two runs overlap, and how often one run's
 * centre lies in the other's interval. The last two columns are the coverage and half width
 * of passes that share no variance, as kernel_graph's: stats/passes.h.
 *
 *     interval_truth [--runs N] [--rounds N] [--precision PART] [--seed N]
 *
 * A pass takes 4 to 16 rounds, as many as its own error needs to come under the precision (0.02);
 * with --rounds always that many. */
#include "base/memory.h"
#include "noise.h"
#include "stats/passes.h"

#include <getopt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES_A_ROUND = 16, MOST_ROUNDS = 64, TRUE_PASSES = 4000, SLOW = 300 };

/* When a pass stops. */
typedef struct rule {
    size_t fewest, most; /* rounds */
    double precision;    /* of its own error, as a part of its median */
} rule_t;

/* Standard deviations as parts of the time; states are a step from fast to slow. */
typedef struct kind {
    const char *name;
    double sample, round, process;      /* normal noise of each */
    double process_step, process_share; /* a process is slower by the step, with this probability */
    double round_step, round_share;     /* … a round is */
    double interrupted; /* part of the rounds that end with one sample, SLOW times as long */
    double run;         /* normal noise that all passes of a run share */
    double wave;        /* amplitude of a slow wave over one to four run lengths: drift */
    double tick;        /* of the clock */
    bool ratio;         /* of two sides that share the wave, paired by pass */
} kind_t;

static const kind_t KINDS[] = {
    {.name = "samples and rounds only", .sample = 0.02, .round = 0.01},
    {.name = "processes, normal", .sample = 0.02, .round = 0.01, .process = 0.03},
    {.name = "processes in two states, 3/7 slow",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.01,
     .process_step = 0.126,
     .process_share = 3 / 7.0},
    {.name = "processes in two states, 20 % slow",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.01,
     .process_step = 0.126,
     .process_share = 0.2},
    {.name = "processes in two states, 50 % slow",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.01,
     .process_step = 0.126,
     .process_share = 0.5},
    {.name = "rounds in two states, 40 % apart",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.01,
     .round_step = 0.4,
     .round_share = 0.3},
    {.name = "rounds cut short, 3 %",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.02,
     .interrupted = 0.03},
    {.name = "kernel in a graph", .sample = 0.004, .round = 0.001, .process = 0.004, .tick = 0.002},
    {.name = "ratio, two states on each side",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.01,
     .process_step = 0.126,
     .process_share = 3 / 7.0,
     .ratio = true},
    {.name = "passes that share a third",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.02,
     .run = 0.0115},
    {.name = "drift of 3 %", .sample = 0.02, .round = 0.01, .process = 0.01, .wave = 0.03},
    {.name = "ratio under drift of 3 %",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.01,
     .wave = 0.03,
     .ratio = true},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

typedef struct samples {
    double values[MOST_ROUNDS * SAMPLES_A_ROUND];
    size_t starts[MOST_ROUNDS + 1], n_rounds;
} samples_t;

/* Returns how many samples it has. */
static size_t add_round(source_t *source, const kind_t *kind, double level, double *values) {
    level +=
        kind->round * normal(source) + (uniform(source) < kind->round_share ? kind->round_step : 0);
    if (uniform(source) < kind->interrupted) {
        values[0] = SLOW * level;
        return 1;
    }
    for (size_t i = 0; i < SAMPLES_A_ROUND; i++) {
        const double value = level + kind->sample * normal(source);
        values[i] = kind->tick > 0 ? kind->tick * floor(value / kind->tick + 0.5) : value;
    }
    return SAMPLES_A_ROUND;
}

static stats_pass_t make_pass(source_t *source, const kind_t *kind, double level,
                              const rule_t *rule, samples_t *samples) {
    stats_pass_t pass = {0};
    level += kind->process * normal(source);
    if (uniform(source) < kind->process_share)
        level += kind->process_step;
    *samples = (samples_t){.n_rounds = 0};
    while (samples->n_rounds < rule->fewest ||
           (samples->n_rounds < rule->most && sqrt(pass.variance_log) > rule->precision)) {
        const size_t start = samples->starts[samples->n_rounds++];
        samples->starts[samples->n_rounds] =
            start + add_round(source, kind, level, &samples->values[start]);
        const stats_rounds_t rounds = {samples->values, samples->starts, samples->n_rounds};
        pass = stats_pass_of(&rounds);
    }
    return pass;
}

/* The interval of a run, by passes that share nothing, and a part of their variance. */
typedef struct run {
    stats_interval_t alone, shared;
    double rounds; /* per pass */
} run_t;

static run_t make_run(source_t *source, const kind_t *kind, size_t n_passes, const rule_t *rule) {
    stats_pass_t passes[STATS_MOST_PASSES];
    samples_t samples;
    run_t run = {.rounds = 0};
    const double base = 1 + kind->run * normal(source);
    const double period = (double)n_passes * (1 + 3 * uniform(source)), phase = uniform(source);
    for (size_t p = 0; p < n_passes; p++) {
        const double level = base + kind->wave * sin(2 * PI * ((double)p / period + phase));
        passes[p] = make_pass(source, kind, level, rule, &samples);
        run.rounds += (double)samples.n_rounds / (double)n_passes;
        if (kind->ratio) {
            const stats_pass_t other = make_pass(source, kind, level, rule, &samples);
            passes[p] = stats_pass_ratio(&passes[p], &other);
        }
    }
    run.alone = stats_interval_of(passes, n_passes);
    passes[0].shared = STATS_SHARED;
    run.shared = stats_interval_of(passes, n_passes);
    return run;
}

/* What a run of very many passes would give: the estimator of many, in parts that it has room for.
 */
static double truth_of(source_t *source, const kind_t *kind, const rule_t *rule) {
    double *logs = mem_alloc(TRUE_PASSES * sizeof *logs);
    samples_t samples;
    for (size_t p = 0; p < TRUE_PASSES; p++) {
        const double level =
            1 + kind->wave * sin(2 * PI * uniform(source)) + kind->run * normal(source);
        stats_pass_t pass = make_pass(source, kind, level, rule, &samples);
        if (kind->ratio) {
            const stats_pass_t other = make_pass(source, kind, level, rule, &samples);
            pass = stats_pass_ratio(&pass, &other);
        }
        logs[p] = pass.log_value;
    }
    /* The median of averages of pairs, from pairs drawn at random. */
    enum { PAIRS = 400000 };
    double *averages = mem_alloc(PAIRS * sizeof *averages);
    for (size_t i = 0; i < PAIRS; i++)
        averages[i] = (logs[(size_t)(uniform(source) * TRUE_PASSES)] +
                       logs[(size_t)(uniform(source) * TRUE_PASSES)]) /
                      2;
    stats_sort(averages, PAIRS);
    const double truth = exp(stats_quantile(averages, PAIRS, 0.5));
    free(averages);
    free(logs);
    return truth;
}

typedef struct counts {
    size_t covered, overlapping, centred, covered_alone;
    double half_width, half_width_alone, rounds;
} counts_t;

static bool holds(const stats_interval_t *interval, double value) {
    return interval->low <= value && value <= interval->high;
}

static void count_run(source_t *source, const kind_t *kind, size_t n_passes, const rule_t *rule,
                      double truth, counts_t *counts) {
    const run_t one = make_run(source, kind, n_passes, rule);
    const run_t other = make_run(source, kind, n_passes, rule);
    const stats_interval_t *a = &one.shared, *b = &other.shared;
    counts->covered += holds(a, truth);
    counts->overlapping += a->low <= b->high && b->low <= a->high;
    counts->centred += holds(b, a->centre);
    counts->covered_alone += holds(&one.alone, truth);
    counts->half_width += (a->high - a->low) / 2 / a->centre;
    counts->half_width_alone += (one.alone.high - one.alone.low) / 2 / one.alone.centre;
    counts->rounds += one.rounds;
}

static void print_kind(const kind_t *kind, size_t n_runs, const rule_t *rule, uint64_t seed) {
    static const size_t PASSES[] = {5, 6, 7, 8};
    source_t source = source_of(seed);
    const double truth = truth_of(&source, kind, rule);
    for (size_t k = 0; k < sizeof PASSES / sizeof *PASSES; k++) {
        counts_t sum = {0};
#pragma omp parallel for schedule(dynamic, 16)
        for (size_t run = 0; run < n_runs; run++) {
            counts_t counts = {0};
            source_t own = source_of(seed * 1000003 + run * 16 + k);
            count_run(&own, kind, PASSES[k], rule, truth, &counts);
#pragma omp critical
            {
                sum.covered += counts.covered;
                sum.overlapping += counts.overlapping;
                sum.centred += counts.centred;
                sum.covered_alone += counts.covered_alone;
                sum.half_width_alone += counts.half_width_alone;
                sum.half_width += counts.half_width;
                sum.rounds += counts.rounds;
            }
        }
        const double percent = 100.0 / (double)n_runs;
        printf("%-36s %zu x %-4.1f %7.1f %% %8.2f %% %8.1f %% %8.1f %% %8.1f %% %8.2f %%\n",
               k == 0 ? kind->name : "", PASSES[k], sum.rounds / (double)n_runs,
               percent * (double)sum.covered, percent * sum.half_width,
               percent * (double)sum.overlapping, percent * (double)sum.centred,
               percent * (double)sum.covered_alone, percent * sum.half_width_alone);
    }
}

int main(int argc, char **argv) {
    static const struct option OPTIONS[] = {{"runs", required_argument, NULL, 'n'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"precision", required_argument, NULL, 'p'},
                                            {"seed", required_argument, NULL, 's'},
                                            {0}};
    size_t n_runs = 4000;
    rule_t rule = {.fewest = 4, .most = 16, .precision = 0.02};
    uint64_t seed = 1;
    for (int c; (c = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        if (c == 'n')
            n_runs = strtoull(optarg, NULL, 10);
        else if (c == 'r')
            rule.fewest = rule.most = strtoull(optarg, NULL, 10);
        else if (c == 'p')
            rule.precision = strtod(optarg, NULL);
        else if (c == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    if (n_runs == 0 || rule.most == 0 || rule.most > MOST_ROUNDS) {
        fprintf(stderr, "interval_truth: --runs at least 1, --rounds 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    printf("%-36s %-8s %9s %10s %10s %10s %10s %10s\n", "noise", "passes", "coverage", "± width",
           "overlap", "centre in", "alone", "± width");
    for (size_t k = 0; k < N_KINDS; k++)
        print_kind(&KINDS[k], n_runs, &rule, seed + k);
    return 0;
}

/* How often does a run's interval hold what a run of very many passes would give? Makes up runs
 * whose truth is known and prints, for each kind of noise and number of passes: the coverage of the
 * interval, its half width, how often the intervals of two runs overlap, and how often one run's
 * centre lies in the other's interval. The last two columns are the coverage and half width
 * of passes that share no variance, as kernel_graph's: stats/passes.h.
 *
 *     interval_truth [--runs N] [--rounds N] [--precision PART] [--open[=PART]] [--seed N] [RUN…]
 *
 * A pass takes 4 to 16 rounds, as many as its own error needs to come under the precision (0.02), from the third
 * on no more than matter beside the spread between the passes before; with --rounds always that many.
 *
 * With --open the number of passes is open, 5 to 12 (stats_has_enough()): a run ends when its interval is as narrow as
 * asked, ±2 % or PART. Then there are two rows of each kind, of that and of whatever is asked at worst: of a third to
 * twice the width that 6 passes have, what gives the lowest coverage.
 *
 * With RUN…, folders of saved runs, a row of each instead: passes are drawn from those of one of its cases, again and
 * again, and the truth is what very many of them give. */
#include "analysis/speedup.h"
#include "base/memory.h"
#include "noise.h"
#include "results/record.h"
#include "stats/passes.h"

#include <getopt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES_A_ROUND = 16,
    MOST_ROUNDS = 64,
    TRUE_PASSES = 4000,
    SLOW = 300,
    OPEN_FEWEST = 5,
    OPEN_MOST = 12,
};

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
    bool heavy;         /* processes: Student's t with 3 degrees of freedom instead */
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
    {.name = "processes, heavy tails",
     .sample = 0.02,
     .round = 0.01,
     .process = 0.015,
     .heavy = true},
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

static double student_3(source_t *source) {
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += pow(normal(source), 2);
    return normal(source) / sqrt(sum / 3);
}

static stats_pass_t make_pass(source_t *source, const kind_t *kind, double level,
                              const rule_t *rule, double between, samples_t *samples) {
    stats_pass_t pass = {0};
    level += kind->process * (kind->heavy ? student_3(source) : normal(source));
    if (uniform(source) < kind->process_share)
        level += kind->process_step;
    *samples = (samples_t){.n_rounds = 0};
    while (samples->n_rounds < rule->fewest ||
           (samples->n_rounds < rule->most && sqrt(pass.variance_log) > rule->precision &&
            !stats_spread_dominates(&pass, between))) {
        const size_t start = samples->starts[samples->n_rounds++];
        samples->starts[samples->n_rounds] =
            start + add_round(source, kind, level, &samples->values[start]);
        const stats_rounds_t rounds = {samples->values, samples->starts, samples->n_rounds};
        pass = stats_pass_of(&rounds);
    }
    return pass;
}

/* What the passes of a run gave, in order, and how many rounds one took. */
typedef struct run {
    stats_pass_t passes[STATS_MOST_PASSES];
    size_t n;
    double rounds;
} run_t;

static run_t make_run(source_t *source, const kind_t *kind, size_t n_passes, const rule_t *rule) {
    stats_pass_t sides[2][STATS_MOST_PASSES];
    samples_t samples;
    run_t run = {.n = n_passes};
    const double base = 1 + kind->run * normal(source);
    const double usual = (double)(n_passes < OPEN_MOST ? n_passes : OPEN_FEWEST + 1);
    const double period = usual * (1 + 3 * uniform(source)), phase = uniform(source);
    for (size_t p = 0; p < n_passes; p++) {
        const double level = base + kind->wave * sin(2 * PI * ((double)p / period + phase));
        for (size_t side = 0; side < (kind->ratio ? 2 : 1); side++)
            sides[side][p] = make_pass(source, kind, level, rule,
                                       stats_variance_between(sides[side], p), &samples);
        run.rounds += (double)samples.n_rounds / (double)n_passes;
        run.passes[p] = kind->ratio ? stats_pass_ratio(&sides[0][p], &sides[1][p]) : sides[0][p];
    }
    return run;
}

/* The interval of its first passes. */
static stats_interval_t interval_after(const run_t *run, size_t n, double shared) {
    stats_pass_t passes[STATS_MOST_PASSES];
    memcpy(passes, run->passes, n * sizeof *passes);
    passes[0].shared = shared;
    return stats_interval_of(passes, n);
}

/* How many passes it takes with an open number. */
static size_t passes_taken(const run_t *run, double shared, double asked) {
    const stats_aim_t aim = {.half_width = asked, .fewest = OPEN_FEWEST, .most = OPEN_MOST};
    stats_pass_t passes[STATS_MOST_PASSES];
    memcpy(passes, run->passes, run->n * sizeof *passes);
    passes[0].shared = shared;
    size_t n = OPEN_FEWEST;
    while (!stats_has_enough(passes, n, &aim))
        n++;
    return n;
}

/* What a run of very many passes would give: the estimator of many, in parts that it has room for.
 */
static double truth_of(source_t *source, const kind_t *kind, const rule_t *rule) {
    AUTO_FREE double *logs = mem_alloc(TRUE_PASSES * sizeof *logs);
    samples_t samples;
    for (size_t p = 0; p < TRUE_PASSES; p++) {
        const double level =
            1 + kind->wave * sin(2 * PI * uniform(source)) + kind->run * normal(source);
        stats_pass_t pass = make_pass(source, kind, level, rule, NAN, &samples);
        if (kind->ratio) {
            const stats_pass_t other = make_pass(source, kind, level, rule, NAN, &samples);
            pass = stats_pass_ratio(&pass, &other);
        }
        logs[p] = pass.log_value;
    }
    /* The median of averages of pairs, from pairs drawn at random. */
    enum { PAIRS = 400000 };
    AUTO_FREE double *averages = mem_alloc(PAIRS * sizeof *averages);
    for (size_t i = 0; i < PAIRS; i++)
        averages[i] = (logs[(size_t)(uniform(source) * TRUE_PASSES)] +
                       logs[(size_t)(uniform(source) * TRUE_PASSES)]) /
                      2;
    stats_sort(averages, PAIRS);
    const double truth = exp(stats_quantile(averages, PAIRS, 0.5));
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
    const stats_interval_t a = interval_after(&one, n_passes, STATS_SHARED),
                           b = interval_after(&other, n_passes, STATS_SHARED),
                           alone = interval_after(&one, n_passes, 0);
    counts->covered += holds(&a, truth);
    counts->overlapping += a.low <= b.high && b.low <= a.high;
    counts->centred += holds(&b, a.centre);
    counts->covered_alone += holds(&alone, truth);
    counts->half_width += stats_half_width(&a);
    counts->half_width_alone += stats_half_width(&alone);
    counts->rounds += one.rounds;
}

static void add_counts(counts_t *sum, const counts_t *counts) {
    sum->covered += counts->covered;
    sum->overlapping += counts->overlapping;
    sum->centred += counts->centred;
    sum->covered_alone += counts->covered_alone;
    sum->half_width_alone += counts->half_width_alone;
    sum->half_width += counts->half_width;
    sum->rounds += counts->rounds;
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
            add_counts(&sum, &counts);
        }
        const double percent = 100.0 / (double)n_runs;
        printf("%-36s %zu x %-4.1f %7.1f %% %8.2f %% %8.1f %% %8.1f %% %8.1f %% %8.2f %%\n",
               k == 0 ? kind->name : "", PASSES[k], sum.rounds / (double)n_runs,
               percent * (double)sum.covered, percent * sum.half_width,
               percent * (double)sum.overlapping, percent * (double)sum.centred,
               percent * (double)sum.covered_alone, percent * sum.half_width_alone);
    }
}

/* ---- an open number of passes ---------------------------------------------------------------- */

/* Of runs that all ask for one width. */
typedef struct open {
    double asked, covered, passes, half_width; /* the last three: sums */
} open_t;

static void count_open(const run_t *runs, size_t n_runs, double shared, double truth,
                       open_t *open) {
    for (size_t r = 0; r < n_runs; r++) {
        const size_t n = passes_taken(&runs[r], shared, open->asked);
        const stats_interval_t interval = interval_after(&runs[r], n, shared);
        open->covered += holds(&interval, truth);
        open->passes += (double)n;
        open->half_width += stats_half_width(&interval);
    }
}

/* Of a third to twice the width that 6 passes have, what gives the lowest coverage. */
static open_t find_worst(const run_t *runs, size_t n_runs, double shared, double truth) {
    static const double PARTS[] = {0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.1, 1.3, 1.6, 2};
    open_t worst = {.covered = (double)n_runs + 1};
    double usual = 0;
    for (size_t r = 0; r < n_runs; r++) {
        const stats_interval_t interval = interval_after(&runs[r], 6, shared);
        usual += stats_half_width(&interval) / (double)n_runs;
    }
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        open_t open = {.asked = PARTS[i] * usual};
        count_open(runs, n_runs, shared, truth, &open);
        if (open.covered < worst.covered)
            worst = open;
    }
    return worst;
}

static void print_open(const kind_t *kind, size_t n_runs, const rule_t *rule, uint64_t seed,
                       double asked) {
    static const double SHARED[] = {STATS_SHARED, 0};
    source_t source = source_of(seed);
    const double truth = truth_of(&source, kind, rule), percent = 100.0 / (double)n_runs;
    run_t *runs = mem_alloc(n_runs * sizeof *runs);
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t r = 0; r < n_runs; r++) {
        source_t own = source_of(seed * 1000003 + r);
        runs[r] = make_run(&own, kind, OPEN_MOST, rule);
    }
    printf("%-36s", kind->name);
    for (size_t i = 0; i < 2; i++) {
        open_t open = {.asked = asked};
        count_open(runs, n_runs, SHARED[i], truth, &open);
        const open_t worst = find_worst(runs, n_runs, SHARED[i], truth);
        printf(" %7.1f %% %6.1f %6.2f %%   %6.1f %% %6.1f %6.2f %%", percent * open.covered,
               open.passes / (double)n_runs, percent * open.half_width, percent * worst.covered,
               worst.passes / (double)n_runs, 100 * worst.asked);
    }
    printf("\n");
    free(runs);
}

static void print_open_head(double asked) {
    printf("5 to 12 passes, asked ±%.1f %%; then at worst, with what is asked there; both again of "
           "passes that share nothing\n%-36s",
           100 * asked, "noise");
    for (size_t i = 0; i < 2; i++)
        printf(" %9s %6s %8s   %8s %6s %8s", "coverage", "passes", "± width", "worst", "passes",
               "asked ±");
    printf("\n");
}

/* ---- passes of saved runs -------------------------------------------------------------------- */

/* The passes of a case, by the phase that it is compared by; 0: too few. */
static size_t passes_of_case(const case_result_t *result, stats_pass_t *passes) {
    const phase_t *phase = result_has_times(result) ? compared_phase(result) : NULL;
    if (phase == NULL || is_calibration(&result->spec) || phase->n_passes < STATS_FEWEST_PASSES)
        return 0;
    for (size_t p = 0; p < phase->n_passes; p++) {
        passes[p] = phase_pass(phase, p);
        if (!isfinite(passes[p].log_value))
            return 0;
    }
    return phase->n_passes;
}

static double truth_of_passes(const stats_pass_t *passes, size_t n) {
    double averages[STATS_MOST_PASSES * STATS_MOST_PASSES];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            averages[i * n + k] = (passes[i].log_value + passes[k].log_value) / 2;
    return exp(stats_median(averages, n * n));
}

/* What `n_runs` of each case add up to, and how many cases there are. */
typedef struct drawn {
    double covered, passes, covered_fixed, covered_alone;
    size_t n, n_cases;
} drawn_t;

static void draw_case(source_t *source, const case_result_t *result, size_t n_runs, double asked,
                      drawn_t *drawn) {
    stats_pass_t passes[STATS_MOST_PASSES];
    const size_t n = passes_of_case(result, passes);
    if (n == 0)
        return;
    const double truth = truth_of_passes(passes, n), shared = passes[0].shared;
    drawn->n_cases++;
    for (size_t r = 0; r < n_runs; r++, drawn->n++) {
        run_t run = {.n = OPEN_MOST};
        for (size_t p = 0; p < OPEN_MOST; p++) {
            run.passes[p] = passes[(size_t)(uniform(source) * (double)n)];
            run.passes[p].shared = 0; /* interval_after() sets it */
        }
        const size_t taken = passes_taken(&run, shared, asked);
        const stats_interval_t alone = interval_after(&run, passes_taken(&run, 0, asked), 0);
        const stats_interval_t open = interval_after(&run, taken, shared),
                               fixed = interval_after(&run, 6, shared);
        drawn->passes += (double)taken;
        drawn->covered += holds(&open, truth);
        drawn->covered_alone += holds(&alone, truth);
        drawn->covered_fixed += holds(&fixed, truth);
    }
}

static int print_runs(char *const *folders, size_t n_runs, uint64_t seed, double asked) {
    printf("%-32s %6s %9s %7s %12s %7s\n", "run", "cases", "coverage", "passes", "of 6 passes",
           "alone");
    for (; *folders != NULL; folders++) {
        record_t run;
        error_t err = ERROR_INIT;
        drawn_t drawn = {0};
        source_t source = source_of(seed);
        if (record_load(*folders, &run, &err) != STATUS_OK) {
            fprintf(stderr, "interval_truth: %s\n", err.text);
            return 2;
        }
        for (const case_result_t *result = NULL; (result = record_next(&run, result)) != NULL;)
            draw_case(&source, result, n_runs, asked, &drawn);
        const double n = (double)drawn.n, percent = 100 / n;
        printf("%-32s %6zu %7.1f %% %7.1f %10.1f %% %5.1f %%\n", run.name, drawn.n_cases,
               percent * drawn.covered, drawn.passes / n, percent * drawn.covered_fixed,
               percent * drawn.covered_alone);
        record_free(&run);
    }
    return 0;
}

int main(int argc, char **argv) {
    static const struct option OPTIONS[] = {
        {"runs", required_argument, NULL, 'n'},      {"rounds", required_argument, NULL, 'r'},
        {"precision", required_argument, NULL, 'p'}, {"open", optional_argument, NULL, 'o'},
        {"seed", required_argument, NULL, 's'},      {0}};
    size_t n_runs = 4000;
    rule_t rule = {.fewest = 4, .most = 16, .precision = 0.02};
    uint64_t seed = 1;
    double asked = 0; /* a fixed number of passes */
    for (int c; (c = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        if (c == 'n')
            n_runs = strtoull(optarg, NULL, 10);
        else if (c == 'r')
            rule.fewest = rule.most = strtoull(optarg, NULL, 10);
        else if (c == 'p')
            rule.precision = strtod(optarg, NULL);
        else if (c == 'o')
            asked = optarg != NULL ? strtod(optarg, NULL) : 0.02;
        else if (c == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    if (n_runs == 0 || rule.most == 0 || rule.most > MOST_ROUNDS) {
        fprintf(stderr, "interval_truth: --runs at least 1, --rounds 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    if (optind < argc)
        return print_runs(argv + optind, n_runs, seed, asked > 0 ? asked : 0.02);
    if (asked > 0)
        print_open_head(asked);
    else
        printf("%-36s %-8s %9s %10s %10s %10s %10s %10s\n", "noise", "passes", "coverage",
               "± width", "overlap", "centre in", "alone", "± width");
    for (size_t k = 0; k < N_KINDS; k++)
        if (asked > 0)
            print_open(&KINDS[k], n_runs, &rule, seed + k, asked);
        else
            print_kind(&KINDS[k], n_runs, &rule, seed + k);
    return 0;
}

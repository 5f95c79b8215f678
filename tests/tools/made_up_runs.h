/* Made-up runs whose truth is known: samples in rounds in passes, with the kinds of noise that
 * docs/compare.md describes. A pass takes 4 to 16 rounds, as many as its own error needs to come under
 * 0.5 %, or a fixed number. */
#ifndef TESTS_TOOLS_MADE_UP_RUNS_H
#define TESTS_TOOLS_MADE_UP_RUNS_H

#include "noise.h"
#include "stats/difference.h"

enum {
    SAMPLES_A_ROUND = 16,
    FEWEST_ROUNDS = 4,
    PASS_ROUNDS = 16,
    MOST_PASSES = 8,
    MOST_ROUNDS = 64 /* of a pass */
};

/* ---- kinds of noise -------------------------------------------------------------------------- */

/* Standard deviations as parts of the time; a step is a state that is slower by that much. */
typedef struct kind {
    const char *name;
    double sample, round, process;   /* normal noise of each */
    bool heavy;                      /* samples: Student's t with 2 degrees of freedom instead */
    double round_step, process_step; /* a round, a process is slower by this … */
    double share;                    /* … with this probability */
    double wave;                     /* of a slow wave over one to four run lengths: drift */
    size_t rounds;                   /* of every pass; 0: as many as its error needs */
} kind_t;

/* Noise of x % in all: half of its variance between samples, a quarter each between rounds and
 * between processes. */
#define NORMAL(x) .sample = 0.707 * (x), .round = 0.5 * (x), .process = 0.5 * (x)
/* Two clocks, 2 x apart. */
#define CLOCKS(x) .sample = 0.4 * (x), .round_step = 2 * (x), .share = 0.3
#define DRIFT(x) .sample = 0.45 * (x), .wave = 1.27 * (x)
/* As measured on an H200: rounds of 9.6 and 17 us; processes up to 12 % apart, three of seven slow. */
#define STATES(step, slow) NORMAL(0.01), .process_step = (step), .share = (slow)

static const kind_t KINDS[] = {
    {.name = "normal 0.5 %", NORMAL(0.005)},
    {.name = "normal 1 %", NORMAL(0.01)},
    {.name = "normal 3 %", NORMAL(0.03)},
    {.name = "normal 1 %, 4 rounds a pass", NORMAL(0.01), .rounds = 4},
    {.name = "normal 3 %, 4 rounds a pass", NORMAL(0.03), .rounds = 4},
    {.name = "heavy tails 1 %", NORMAL(0.01), .heavy = true},
    {.name = "heavy tails 3 %", NORMAL(0.03), .heavy = true},
    {.name = "two clocks 2 % apart", CLOCKS(0.01)},
    {.name = "two clocks 6 % apart", CLOCKS(0.03)},
    {.name = "two clocks 77 % apart", NORMAL(0.01), .round_step = 0.77, .share = 0.3},
    {.name = "the same, 4 rounds a pass",
     NORMAL(0.01),
     .round_step = 0.77,
     .share = 0.3,
     .rounds = 4},
    {.name = "processes 5 % apart, 3 of 7 slow", STATES(0.05, 3 / 7.0)},
    {.name = "processes 12 % apart, 3 of 7 slow", STATES(0.12, 3 / 7.0)},
    {.name = "processes 12 % apart, half slow", STATES(0.12, 0.5)},
    {.name = "processes 12 % apart, 1 of 5 slow", STATES(0.12, 0.2)},
    {.name = "drift 1 %", DRIFT(0.01)},
    {.name = "drift 3 %", DRIFT(0.03)},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

typedef struct wave {
    double period, phase; /* in run lengths */
} wave_t;

static wave_t make_wave(source_t *source) {
    const double period = 1 + 3 * uniform(source);
    return (wave_t){period, uniform(source)};
}

/* Half of the rounds keep the state of the one before. */
static void fill_round(source_t *source, const kind_t *kind, double level, bool *slow,
                       double *samples) {
    if (uniform(source) < 0.5)
        *slow = uniform(source) < kind->share;
    level += kind->round * normal(source) + (*slow ? kind->round_step : 0);
    for (size_t i = 0; i < SAMPLES_A_ROUND; i++) {
        double deviation = normal(source);
        if (kind->heavy) /* its quartiles are at 0.816, those of a normal distribution at 0.674 */
            deviation *= 0.674 / 0.816 / sqrt(-log(uniform(source)));
        samples[i] = level * exp(kind->sample * deviation);
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct setting {
    const kind_t *kind;
    size_t n_passes, n_rounds, n_floor_runs; /* n_rounds 0: as the kind says */
} setting_t;

typedef struct side {
    double samples[MOST_PASSES * MOST_ROUNDS * SAMPLES_A_ROUND];
    size_t n, n_rounds, starts[MOST_PASSES * MOST_ROUNDS + 1], pass_starts[MOST_PASSES + 1];
    stats_side_t evidence;
} side_t;

static bool is_precise(const side_t *side, size_t first) {
    const stats_rounds_t rounds = {side->samples, side->starts + first, side->n_rounds - first};
    return sqrt(stats_pass_of(&rounds).variance_log) <= 0.005;
}

static void add_pass(const setting_t *setting, source_t *source, double when, const wave_t *wave,
                     side_t *side) {
    const kind_t *kind = setting->kind;
    const size_t first = side->n_rounds,
                 fixed = setting->n_rounds > 0 ? setting->n_rounds : kind->rounds;
    const size_t fewest = fixed > 0 ? fixed : FEWEST_ROUNDS, most = fixed > 0 ? fixed : PASS_ROUNDS;
    double process = 1 + kind->process * normal(source);
    if (uniform(source) < kind->share)
        process += kind->process_step;
    bool slow = uniform(source) < kind->share;
    for (size_t r = 0; r < fewest || (r < most && !is_precise(side, first)); r++) {
        const double part = (when + (double)r / (double)most) / (double)setting->n_passes;
        const double drift = kind->wave * sin(2 * PI * (part / wave->period + wave->phase));
        fill_round(source, kind, process + drift, &slow, side->samples + side->n);
        side->n += SAMPLES_A_ROUND;
        side->starts[++side->n_rounds] = side->n;
    }
}

static bimodal_t find_bimodal(const side_t *side, size_t n_passes) {
    double medians[MOST_PASSES * MOST_ROUNDS];
    for (size_t r = 0; r < side->n_rounds; r++)
        medians[r] = stats_median(side->samples + side->starts[r], SAMPLES_A_ROUND);
    return bimodal_of(medians, side->pass_starts, n_passes, 0);
}

/* Sides measured in turns share the wave. */
static void measure(const setting_t *setting, source_t *source, const wave_t *wave, side_t *side) {
    side->n = side->n_rounds = 0;
    for (size_t p = 0; p < setting->n_passes; p++) {
        add_pass(setting, source, (double)p, wave, side);
        side->pass_starts[p + 1] = side->n_rounds;
    }
    const stats_rounds_t rounds = {side->samples, side->starts, side->n_rounds};
    const bimodal_t bimodal = find_bimodal(side, setting->n_passes);
    side->evidence = stats_side_of(&rounds, side->pass_starts, setting->n_passes, &bimodal);
}

#endif

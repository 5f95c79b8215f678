/* How often does the regression gate give a false alarm, and how often does it find a slowdown?
 * Makes up sweeps whose truth is known, decides them by the functions that `bench compare` uses,
 * and beside it, on the same samples, by two rules that are common elsewhere:
 *
 *     means > 5 %      the mean is more than 5 % larger
 *     Mann-Whitney     two-sided p < 0.05 over all samples, and slower; not corrected for many cells
 *
 *     gate_truth [--sweeps N] [--passes N] [--rounds N] [--floor-runs N] [--seed N] [--json]
 *
 * Each sweep has 50 cells, of which one, or all, may be slowed down. With --rounds a pass has always that
 * many. */
#include "base/memory.h"
#include "gate/decision.h"
#include "made_up_runs.h"

#include <getopt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 50, AGAINST_PASSES = 8, MOST_FLOOR_RUNS = 64, SWEEPS_A_MACHINE = 10 };

/* ---- the rules ------------------------------------------------------------------------------- */

/* What a rule is asked about each sweep, and what is planted for it: nothing, in one cell, in all.
 * UNDECIDED counts cells. */
enum { ALARM, FINDS_10, FINDS_5, FINDS_3_OF_ALL, UNDECIDED, N_QUESTIONS };
static const double PLANTED[] = {0, 0.10, 0.05, 0.03};

enum { GATE_5, GATE_5_FLOOR, GATE_2_FLOOR, AGAINST, MEANS, MANN_WHITNEY, N_RULES };
static const char *const RULES[N_RULES] = {"gate 5 %",  "gate 5 %, floors", "gate 2 %, floors",
                                           "--against", "means > 5 %",      "Mann-Whitney"};

typedef struct tally {
    unsigned counts[N_RULES][N_QUESTIONS];
} tally_t;

/* ---- one sweep ------------------------------------------------------------------------------- */

static double mean_of(const double *values, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

/* Ranks of `candidate` times `factor` among both; normal approximation (no ties: the samples are
 * continuous). Both are sorted. */
static bool mann_whitney_slower(const side_t *base, const side_t *candidate, double factor) {
    double wins = 0, m = (double)base->n, n = (double)candidate->n;
    for (size_t i = 0, below = 0; i < candidate->n; i++) {
        while (below < base->n && base->samples[below] < candidate->samples[i] * factor)
            below++;
        wins += (double)below;
    }
    return (wins - m * n / 2) / sqrt(m * n * (m + n + 1) / 12) > 1.959963984540054;
}

static double learn_floor(const setting_t *setting, source_t *source, side_t *side) {
    stats_side_t runs[MOST_FLOOR_RUNS];
    for (size_t i = 0; i < setting->n_floor_runs; i++) {
        const wave_t wave = make_wave(source);
        measure(setting, source, &wave, side);
        runs[i] = side->evidence;
    }
    return gate_floor_of_runs(runs, setting->n_floor_runs);
}

/* The evidence of all cells. */
typedef struct evidence {
    stats_side_t sides[2][CELLS];
    bool paired;
} evidence_t;

static stats_side_t slowed_down(const stats_side_t *side, double planted) {
    stats_side_t slower = *side;
    for (size_t i = 0; i < slower.n; i++)
        slower.units[i].log_value += log1p(planted);
    slower.bimodal.low *= 1 + planted;
    slower.bimodal.high *= 1 + planted;
    return slower;
}

/* `candidates`: room for as many. */
static void plant(const evidence_t *evidence, int question, size_t slowed,
                  stats_side_t candidates[CELLS], sweep_cell_t cells[CELLS]) {
    for (size_t c = 0; c < CELLS; c++) {
        sweep_cell_t *cell = &cells[c];
        candidates[c] =
            slowed_down(&evidence->sides[1][c],
                        c == slowed || question == FINDS_3_OF_ALL ? PLANTED[question] : 0);
        cell->sides[0] = &evidence->sides[0][c];
        cell->sides[1] = &candidates[c];
        cell->gate.change =
            (evidence->paired ? stats_change_paired : stats_change)(cell->sides[0], cell->sides[1]);
    }
}

/* How often does the gate raise an alarm (nothing planted), find what was slowed down, or leave cells
 * undecided? */
static void ask_gate(const evidence_t *evidence, const double floors[CELLS], double threshold_frac,
                     size_t slowed, unsigned counts[N_QUESTIONS]) {
    stats_side_t *candidates = mem_alloc(CELLS * sizeof *candidates);
    for (int q = ALARM; q <= FINDS_3_OF_ALL; q++) {
        sweep_cell_t cells[CELLS] = {{.group = 0}};
        sweep_group_t all = {.spread = SWEEP_SPREAD_OURS};
        unsigned of[GATE_UNDECIDED + 1] = {0};
        for (size_t c = 0; c < CELLS; c++)
            cells[c].gate.floor_frac = floors != NULL ? floors[c] : 0;
        plant(evidence, q, slowed, candidates, cells);
        tested_sweep_t sweep = {.cells = cells,
                                .n_cells = CELLS,
                                .groups = &all,
                                .n_groups = 1,
                                .threshold_frac = threshold_frac,
                                .alarm_rate_frac = GATE_ALARM_RATE,
                                .paired = evidence->paired};
        sweep_decide(&sweep);
        for (size_t c = 0; c < CELLS; c++)
            of[cells[c].gate.verdict]++;
        if (q == ALARM)
            counts[UNDECIDED] += of[GATE_UNDECIDED];
        counts[q] += q == ALARM            ? of[GATE_REGRESSED] > 0 || all.verdict == GATE_REGRESSED
                     : q == FINDS_3_OF_ALL ? all.verdict == GATE_REGRESSED
                                           : cells[slowed].gate.verdict == GATE_REGRESSED;
    }
    free(candidates);
}

/* Of the two rules elsewhere: which cells they call slower when slowed down by each amount. */
static void ask_others(side_t *base, side_t *candidate, bool slowed,
                       bool answers[N_RULES][N_QUESTIONS]) {
    const double ratio =
        mean_of(candidate->samples, candidate->n) / mean_of(base->samples, base->n);
    stats_sort(base->samples, base->n);
    stats_sort(candidate->samples, candidate->n);
    for (int q = ALARM; q <= FINDS_5; q++) {
        if (q != ALARM && !slowed)
            continue;
        if (ratio * (1 + PLANTED[q]) > 1.05)
            answers[MEANS][q] = true;
        if (mann_whitney_slower(base, candidate, 1 + PLANTED[q]))
            answers[MANN_WHITNEY][q] = true;
    }
}

static void measure_in_turns(const setting_t *setting, source_t *source, side_t *side,
                             stats_side_t *base, stats_side_t *candidate) {
    setting_t turns = *setting;
    turns.n_passes = AGAINST_PASSES;
    const wave_t wave = make_wave(source);
    measure(&turns, source, &wave, side);
    *base = side->evidence;
    measure(&turns, source, &wave, side);
    *candidate = side->evidence;
}

/* `sides`: room for two; `evidence`: of runs apart, and in turns. */
static void run_sweep(const setting_t *setting, source_t *source, const double floors[CELLS],
                      size_t slowed, side_t sides[2], evidence_t evidence[2], tally_t *tally) {
    evidence_t *apart = &evidence[0], *in_turns = &evidence[1];
    bool answers[N_RULES][N_QUESTIONS] = {{false}};
    apart->paired = false;
    in_turns->paired = true;
    for (size_t c = 0; c < CELLS; c++) {
        for (int i = 0; i < 2; i++) {
            const wave_t wave = make_wave(source);
            measure(setting, source, &wave, &sides[i]);
            apart->sides[i][c] = sides[i].evidence;
        }
        ask_others(&sides[0], &sides[1], c == slowed, answers);
        measure_in_turns(setting, source, &sides[0], &in_turns->sides[0][c],
                         &in_turns->sides[1][c]);
    }
    ask_gate(apart, NULL, 0.05, slowed, tally->counts[GATE_5]);
    ask_gate(apart, floors, 0.05, slowed, tally->counts[GATE_5_FLOOR]);
    ask_gate(apart, floors, 0.02, slowed, tally->counts[GATE_2_FLOOR]);
    ask_gate(in_turns, NULL, 0.05, slowed, tally->counts[AGAINST]);
    for (int rule = MEANS; rule < N_RULES; rule++)
        for (int q = 0; q < N_QUESTIONS; q++)
            tally->counts[rule][q] += answers[rule][q];
}

/* Floors are learnt once a machine and used for several sweeps, as one would. */
static tally_t run_scenario(const setting_t *setting, size_t n_sweeps, uint64_t seed) {
    tally_t tally = {{{0}}};
    size_t n_machines = (n_sweeps + SWEEPS_A_MACHINE - 1) / SWEEPS_A_MACHINE;
#pragma omp parallel for schedule(dynamic)
    for (size_t machine = 0; machine < n_machines; machine++) {
        source_t source = source_of(seed * 1000003u + machine);
        AUTO_FREE side_t *sides = mem_zeroed(2, sizeof *sides);
        AUTO_FREE evidence_t *evidence = mem_zeroed(2, sizeof *evidence);
        tally_t own = {{{0}}};
        double floors[CELLS];
        for (size_t c = 0; c < CELLS; c++)
            floors[c] = learn_floor(setting, &source, sides);
        for (size_t s = machine * SWEEPS_A_MACHINE;
             s < (machine + 1) * SWEEPS_A_MACHINE && s < n_sweeps; s++)
            run_sweep(setting, &source, floors, s % CELLS, sides, evidence, &own);
#pragma omp critical
        for (int rule = 0; rule < N_RULES; rule++)
            for (int q = 0; q < N_QUESTIONS; q++)
                tally.counts[rule][q] += own.counts[rule][q];
    }
    return tally;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void print_heading(size_t n_sweeps, const setting_t *setting) {
    printf(
        "%zu sweeps of %d cells each, rounds of %d samples, %zu passes a side (--against: %d); "
        "floors from %zu runs of one build.\nIn each column: sweeps with a false alarm / 10 %% of "
        "one cell found / 5 %% of one / 3 %% of all / cells undecided, in %%.\n\n| noise |",
        n_sweeps, CELLS, SAMPLES_A_ROUND, setting->n_passes, AGAINST_PASSES, setting->n_floor_runs);
    for (int rule = 0; rule < N_RULES; rule++)
        printf(" %s |", RULES[rule]);
    fputs("\n|---|", stdout);
    for (int rule = 0; rule < N_RULES; rule++)
        fputs("---:|", stdout);
    putchar('\n');
}

static void print_row(const char *kind, const tally_t *tally, size_t n_sweeps) {
    printf("| %s |", kind);
    for (int rule = 0; rule < N_RULES; rule++) {
        for (int q = ALARM; q <= (rule < MEANS ? FINDS_3_OF_ALL : FINDS_5); q++)
            printf("%s%.1f", q > 0 ? " / " : " ",
                   100.0 * tally->counts[rule][q] / (double)n_sweeps);
        if (rule < MEANS)
            printf(" / %.0f", 100.0 * tally->counts[rule][UNDECIDED] / (double)n_sweeps / CELLS);
        fputs(" |", stdout);
    }
    putchar('\n');
    fflush(stdout);
}

static void print_json(const char *kind, const tally_t *tally, size_t n_sweeps) {
    for (int rule = 0; rule < N_RULES; rule++) {
        const unsigned *counts = tally->counts[rule];
        printf("{\"noise\": \"%s\", \"rule\": \"%s\", \"sweeps\": %zu, \"alarms\": %u, "
               "\"found_10\": %u, \"found_5\": %u, \"found_3_of_all\": %u, \"undecided\": %u}\n",
               kind, RULES[rule], n_sweeps, counts[ALARM], counts[FINDS_10], counts[FINDS_5],
               counts[FINDS_3_OF_ALL], counts[UNDECIDED]);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

typedef struct command {
    setting_t setting;
    size_t n_sweeps, seed;
    bool json;
} command_t;

static bool read_number(const char *text, size_t least, size_t most, size_t *value) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *value = number;
    return *text != '\0' && *end == '\0' && number >= least && number <= most;
}

static bool read_command(int argc, char **argv, command_t *command) {
    static const struct option OPTIONS[] = {{"sweeps", required_argument, NULL, 'n'},
                                            {"passes", required_argument, NULL, 'p'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"floor-runs", required_argument, NULL, 'f'},
                                            {"json", no_argument, NULL, 'j'},
                                            {0}};
    setting_t *setting = &command->setting;
    bool understood = true;
    for (int c; understood && (c = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
        understood = c == 'n'   ? read_number(optarg, 1, 1000000, &command->n_sweeps)
                     : c == 'p' ? read_number(optarg, 1, MOST_PASSES, &setting->n_passes)
                     : c == 'r' ? read_number(optarg, 1, MOST_ROUNDS, &setting->n_rounds)
                     : c == 'f' ? read_number(optarg, 2, MOST_FLOOR_RUNS, &setting->n_floor_runs)
                     : c == 's' ? read_number(optarg, 0, 1000000, &command->seed)
                                : c == 'j' && (command->json = true);
    return understood && optind == argc;
}

int main(int argc, char **argv) {
    command_t command = {
        .setting = {.n_passes = 6, .n_floor_runs = 8}, .n_sweeps = 1000, .seed = 2};
    if (!read_command(argc, argv, &command)) {
        fputs(
            "usage: gate_truth [--sweeps N] [--passes N] [--rounds N] [--floor-runs N] [--seed N] "
            "[--json]\n",
            stderr);
        return 2;
    }
    if (!command.json)
        print_heading(command.n_sweeps, &command.setting);
    for (size_t k = 0; k < N_KINDS; k++) {
        command.setting.kind = &KINDS[k];
        const tally_t tally =
            run_scenario(&command.setting, command.n_sweeps, command.seed * 1000 + k);
        (command.json ? print_json : print_row)(KINDS[k].name, &tally, command.n_sweeps);
    }
    return 0;
}

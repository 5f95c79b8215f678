/* How often does `bench fleet` name a machine that is as the others, and how often does it find one
 * that is slower? Makes up fleets whose truth is known and decides them as the command does.
 *
 *     fleet_truth [--fleets N] [--machines N] [--passes N] [--seed N] [--json]
 *
 * Each machine has 46 cells: 16 bound by memory and 14 by launches on the device's clock, 16 on the
 * host's. One machine may be slower in the 16. */
#include "base/memory.h"
#include "fleet/fleet.h"
#include "made_up_runs.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MACHINES = 64 };

enum { MEMORY, LAUNCH, HOST, N_GROUPS };
static const struct group_kind {
    const char *name;
    clock_domain_t clock;
    size_t n_cells;
} GROUPS[N_GROUPS] = {
    {"dram", CLOCK_DEVICE, 16}, {"launch", CLOCK_DEVICE, 14}, {"host", CLOCK_HOST, 16}};
enum { CELLS = 46 };

/* ---- kinds of fleets ------------------------------------------------------------------------- */

typedef struct fleet_kind {
    const char *name, *device, *host; /* the noise of their cells: names of KINDS */
    double pass;                      /* normal noise that the cells of a pass share */
    double machine;                   /* by which machines differ */
} fleet_kind_t;

static const fleet_kind_t FLEETS[] = {
    {"normal 0.5 %", "normal 0.5 %", "normal 0.5 %", 0, 0},
    {"normal 1 %", "normal 1 %", "normal 1 %", 0, 0},
    {"normal 3 %", "normal 3 %", "normal 3 %", 0, 0},
    {"heavy tails 1 %", "heavy tails 1 %", "heavy tails 1 %", 0, 0},
    {"two clocks 2 % apart", "two clocks 2 % apart", "two clocks 2 % apart", 0, 0},
    {"processes 12 % apart, 3 of 7 slow", "processes 12 % apart, 3 of 7 slow",
     "processes 12 % apart, 3 of 7 slow", 0, 0},
    {"the same, host's cells only", "normal 0.5 %", "processes 12 % apart, 3 of 7 slow", 0, 0},
    {"passes share 1 %", "normal 0.5 %", "normal 0.5 %", 0.01, 0},
    {"machines differ by 1 %", "normal 0.5 %", "normal 0.5 %", 0, 0.01},
    {"drift 1 %, all cells at once", "drift 1 %", "drift 1 %", 0, 0},
    {"drift 3 %, all cells at once", "drift 3 %", "drift 3 %", 0, 0},
};
enum { N_FLEETS = sizeof FLEETS / sizeof *FLEETS };

static const kind_t *kind_named(const char *name) {
    size_t k = 0;
    while (k < N_KINDS && strcmp(KINDS[k].name, name) != 0)
        k++;
    return &KINDS[k < N_KINDS ? k : 0];
}

/* ---- one fleet ------------------------------------------------------------------------------- */

/* What is asked about each fleet; WRONG_NAME: another machine than the planted one is named. */
enum { ALARM, FINDS_6, FINDS_10, UNDECIDED, WRONG_NAME, N_QUESTIONS };
static const double PLANTED[] = {0, 0.06, 0.10};

typedef struct tally {
    unsigned counts[N_QUESTIONS];
} tally_t;

typedef struct command {
    const fleet_kind_t *kind;
    size_t n_fleets, n_machines, n_passes, seed;
    bool json;
} command_t;

static fleet_evidence_t make_evidence(size_t n_machines) {
    fleet_evidence_t fleet = {.n_machines = n_machines,
                              .cells = mem_zeroed(CELLS, sizeof *fleet.cells),
                              .groups = mem_zeroed(N_GROUPS, sizeof *fleet.groups),
                              .n_groups = N_GROUPS};
    for (size_t g = 0; g < N_GROUPS; g++) {
        fleet.groups[g] = (fleet_group_t){.name = GROUPS[g].name,
                                          .clock = GROUPS[g].clock,
                                          .n_cells = GROUPS[g].n_cells,
                                          .of = deviation_make(n_machines)};
        for (size_t c = 0; c < GROUPS[g].n_cells; c++)
            fleet.cells[fleet.n_cells++] =
                (fleet_cell_t){.group = g, .of = deviation_make(n_machines)};
    }
    return fleet;
}

static void free_evidence(fleet_evidence_t *fleet) {
    for (size_t c = 0; c < fleet->n_cells; c++)
        deviation_free(&fleet->cells[c].of);
    for (size_t g = 0; g < fleet->n_groups; g++)
        deviation_free(&fleet->groups[g].of);
    free(fleet->cells);
    free(fleet->groups);
}

static void shift(stats_side_t *side, size_t unit, double log_factor) {
    side->units[unit].log_value += log_factor;
}

/* All cells of a machine have its waves and share the noise of its passes. */
static void measure_machine(const command_t *command, source_t *source, size_t machine,
                            side_t *side, fleet_evidence_t *fleet) {
    const double level = command->kind->machine * normal(source);
    const wave_t wave = make_wave(source);
    double of_pass[MOST_PASSES];
    for (size_t p = 0; p < command->n_passes; p++)
        of_pass[p] = level + command->kind->pass * normal(source);
    for (size_t c = 0; c < CELLS; c++) {
        const bool host = fleet->cells[c].group == HOST;
        const setting_t setting = {
            .kind = kind_named(host ? command->kind->host : command->kind->device),
            .n_passes = command->n_passes};
        measure(&setting, source, &wave, side);
        for (size_t p = 0; p < side->evidence.n && side->evidence.are_passes; p++)
            shift(&side->evidence, p, of_pass[p]);
        fleet->cells[c].of.sides[machine] = side->evidence;
    }
}

static void plant(fleet_evidence_t *fleet, size_t machine, double log_factor) {
    for (size_t c = 0; c < CELLS; c++) {
        stats_side_t *side = &fleet->cells[c].of.sides[machine];
        for (size_t u = 0; fleet->cells[c].group == MEMORY && u < side->n; u++)
            shift(side, u, log_factor);
    }
}

static bool is_named(const fleet_evidence_t *fleet, size_t machine) {
    bool named = false;
    for (size_t g = 0; g < N_GROUPS; g++)
        named |= deviation_is_outlier(&fleet->groups[g].of, machine);
    for (size_t c = 0; c < CELLS; c++)
        named |= deviation_is_outlier(&fleet->cells[c].of, machine);
    return named;
}

static void ask(fleet_evidence_t *fleet, size_t slowed, tally_t *tally) {
    for (int q = ALARM; q <= FINDS_10; q++) {
        plant(fleet, slowed, log1p(PLANTED[q]));
        fleet_decide(fleet, GATE_THRESHOLD);
        bool others = false;
        for (size_t m = 0; m < fleet->n_machines; m++)
            others |= (m != slowed || q == ALARM) && is_named(fleet, m);
        if (q == ALARM)
            for (size_t m = 0; m < fleet->n_machines; m++)
                for (size_t g = 0; g < N_GROUPS; g++)
                    tally->counts[UNDECIDED] +=
                        fleet->groups[g].of.gates[m].verdict == GATE_UNDECIDED;
        tally->counts[q] +=
            q == ALARM ? others : fleet->groups[MEMORY].of.gates[slowed].verdict == GATE_REGRESSED;
        tally->counts[WRONG_NAME] += q != ALARM && others;
        plant(fleet, slowed, -log1p(PLANTED[q]));
    }
}

static tally_t run_fleets(const command_t *command) {
    tally_t tally = {{0}};
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < command->n_fleets; i++) {
        source_t source =
            source_of(command->seed * 1000003u + (size_t)(command->kind - FLEETS) * 10007u + i);
        fleet_evidence_t fleet = make_evidence(command->n_machines);
        AUTO_FREE side_t *side = mem_zeroed(1, sizeof *side);
        tally_t own = {{0}};
        for (size_t m = 0; m < command->n_machines; m++)
            measure_machine(command, &source, m, side, &fleet);
        ask(&fleet, i % command->n_machines, &own);
        free_evidence(&fleet);
#pragma omp critical
        for (int q = 0; q < N_QUESTIONS; q++)
            tally.counts[q] += own.counts[q];
    }
    return tally;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void print_row(const command_t *command, const tally_t *tally) {
    const unsigned *counts = tally->counts;
    if (command->json) {
        printf("{\"noise\": \"%s\", \"fleets\": %zu, \"alarms\": %u, \"found_6\": %u, "
               "\"found_10\": %u, \"undecided\": %u, \"wrong_name\": %u}\n",
               command->kind->name, command->n_fleets, counts[ALARM], counts[FINDS_6],
               counts[FINDS_10], counts[UNDECIDED], counts[WRONG_NAME]);
        return;
    }
    const double n = (double)command->n_fleets / 100;
    printf("| %s | %.1f | %.1f | %.1f | %.1f | %.0f |\n", command->kind->name, counts[ALARM] / n,
           counts[FINDS_6] / n, counts[FINDS_10] / n, counts[WRONG_NAME] / n / 2,
           counts[UNDECIDED] / n / (double)command->n_machines / N_GROUPS);
    fflush(stdout);
}

static bool read_number(const char *text, size_t least, size_t most, size_t *value) {
    char *end;
    *value = strtoul(text, &end, 10);
    return *text != '\0' && *end == '\0' && *value >= least && *value <= most;
}

static bool read_command(int argc, char **argv, command_t *command) {
    static const struct option OPTIONS[] = {
        {"fleets", required_argument, NULL, 'n'}, {"machines", required_argument, NULL, 'm'},
        {"passes", required_argument, NULL, 'p'}, {"seed", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},         {0}};
    bool understood = true;
    for (int c; understood && (c = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
        understood = c == 'n' ? read_number(optarg, 1, 1000000, &command->n_fleets)
                     : c == 'm'
                         ? read_number(optarg, FLEET_FEWEST, MOST_MACHINES, &command->n_machines)
                     : c == 'p' ? read_number(optarg, 1, MOST_PASSES, &command->n_passes)
                     : c == 's' ? read_number(optarg, 0, 1000000, &command->seed)
                                : c == 'j' && (command->json = true);
    return understood && optind == argc;
}

int main(int argc, char **argv) {
    command_t command = {.n_fleets = 200, .n_machines = 8, .n_passes = 6, .seed = 2};
    if (!read_command(argc, argv, &command)) {
        fputs("usage: fleet_truth [--fleets N] [--machines N] [--passes N] [--seed N] [--json]\n",
              stderr);
        return 2;
    }
    if (!command.json)
        printf("%zu fleets of %zu machines, %zu passes each, in %%:\n\n"
               "| noise | false alarm | 6 %% found | 10 %% found | another named | groups "
               "undecided |\n"
               "|---|---:|---:|---:|---:|---:|\n",
               command.n_fleets, command.n_machines, command.n_passes);
    for (size_t k = 0; k < N_FLEETS; k++) {
        command.kind = &FLEETS[k];
        const tally_t tally = run_fleets(&command);
        print_row(&command, &tally);
    }
    return 0;
}

/* fleet/deviation: what the made-up fleets of tests/tools/fleet_truth.c do not tell apart. */
#include "checks.h"
#include "fleet/fleet.h"

enum { MACHINES = 5, CELLS = 3, PASSES = 6, SLOW = 3, HOST = 1 };

/* Cells 0 and 1 on the device's clock, cell 2 on the host's; 1 µs, and noise of 0.1 %. */
static fleet_evidence_t make_fleet(void) {
    static const clock_domain_t CLOCKS[] = {CLOCK_DEVICE, CLOCK_HOST};
    fleet_evidence_t fleet = {.n_machines = MACHINES,
                              .cells = calloc(CELLS, sizeof *fleet.cells),
                              .n_cells = CELLS,
                              .groups = calloc(2, sizeof *fleet.groups),
                              .n_groups = 2};
    for (size_t g = 0; g < 2; g++)
        fleet.groups[g] = (fleet_group_t){.name = g == HOST ? "host" : "dram",
                                          .clock = CLOCKS[g],
                                          .n_cells = g == HOST ? 1 : 2,
                                          .of = deviation_make(MACHINES)};
    for (size_t c = 0; c < CELLS; c++) {
        fleet.cells[c] = (fleet_cell_t){.group = c == 2 ? HOST : 0, .of = deviation_make(MACHINES)};
        for (size_t m = 0; m < MACHINES; m++) {
            stats_side_t *side = &fleet.cells[c].of.sides[m];
            *side = (stats_side_t){.n = PASSES, .are_passes = true};
            for (size_t p = 0; p < PASSES; p++)
                side->units[p].log_value =
                    log(1000) + 0.001 * sin((double)(7 * p + 3 * m + 11 * c));
        }
    }
    return fleet;
}

static void free_fleet(fleet_evidence_t *fleet) {
    for (size_t c = 0; c < CELLS; c++)
        deviation_free(&fleet->cells[c].of);
    for (size_t g = 0; g < 2; g++)
        deviation_free(&fleet->groups[g].of);
    free(fleet->cells);
    free(fleet->groups);
}

static stats_side_t *slow_down(fleet_evidence_t *fleet, size_t cell, double factor) {
    stats_side_t *side = &fleet->cells[cell].of.sides[SLOW];
    for (size_t p = 0; p < PASSES; p++)
        side->units[p].log_value += log(factor);
    return side;
}

static gate_verdict_t verdict_of(const fleet_evidence_t *fleet, size_t group) {
    return fleet->groups[group].of.gates[SLOW].verdict;
}

static void each_clock_is_decided(void **state) {
    fleet_evidence_t fleet = make_fleet();
    slow_down(&fleet, 2, 1.1);
    fleet_decide(&fleet, GATE_THRESHOLD);
    assert_int_equal(verdict_of(&fleet, HOST), GATE_REGRESSED);
    assert_int_equal(verdict_of(&fleet, 0), GATE_UNCHANGED);
    assert_int_equal(fleet.cells[2].of.gates[SLOW].verdict, GATE_REGRESSED);
    assert_int_equal(fleet.cells[0].of.gates[SLOW].verdict, GATE_UNCHANGED);
    free_fleet(&fleet);
}

static void faster_cells_are_counted_too(void **state) {
    fleet_evidence_t fleet = make_fleet();
    slow_down(&fleet, 0, 1 / 1.1);
    slow_down(&fleet, 1, 1 / 1.2);
    fleet_decide(&fleet, GATE_THRESHOLD);
    assert_int_equal(verdict_of(&fleet, 0), GATE_IMPROVED);
    assert_int_equal(fleet_beyond(&fleet, 0, SLOW), 2);
    free_fleet(&fleet);
}

/* One of two cells has two values: the other one is the group. */
static void two_values_belong_to_no_group(void **state) {
    fleet_evidence_t fleet = make_fleet();
    stats_side_t *side = slow_down(&fleet, 0, 1.5);
    side->bimodal = (bimodal_t){.found = true, .low = 1000, .high = 2000, .share_high = 0.5};
    fleet_decide(&fleet, GATE_THRESHOLD);
    assert_int_equal(verdict_of(&fleet, 0), GATE_UNCHANGED);
    assert_int_equal(fleet.cells[0].of.gates[SLOW].verdict, GATE_UNDECIDED);
    free_fleet(&fleet);
}

/* Rounds of one pass: a deviation, but no verdict. */
static void without_passes_the_centre_is_told(void **state) {
    fleet_evidence_t fleet = make_fleet();
    stats_side_t *side = slow_down(&fleet, 2, 1.1);
    side->units[0].log_value += 1; /* an odd round */
    for (size_t m = 0; m < MACHINES; m++)
        fleet.cells[2].of.sides[m].are_passes = false;
    fleet_decide(&fleet, GATE_THRESHOLD);
    assert_int_equal(verdict_of(&fleet, HOST), GATE_UNDECIDED);
    assert_true(fabs(fleet.groups[HOST].of.gates[SLOW].change.log_ratio - log(1.1)) < 0.01);
    free_fleet(&fleet);
}

static void two_machines_have_no_median(void **state) {
    fleet_evidence_t fleet = make_fleet();
    slow_down(&fleet, 2, 2);
    for (size_t m = 0; m < MACHINES; m++)
        if (m != SLOW && m != 0)
            fleet.cells[2].of.sides[m].n = 0;
    fleet_decide(&fleet, GATE_THRESHOLD);
    assert_false(deviation_is_known(&fleet.cells[2].of, SLOW));
    assert_false(deviation_is_outlier(&fleet.groups[HOST].of, SLOW));
    free_fleet(&fleet);
}

#include "run_tests.h"

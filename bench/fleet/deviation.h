/* How far each machine of a fleet is from the fleet's median, and which ones are outliers. All
 * functions are pure; the gate decides (gate/decision.h). Method: docs/fleet.md. */
#ifndef BENCH_FLEET_DEVIATION_H
#define BENCH_FLEET_DEVIATION_H

#include "gate/decision.h"
#include "model/result.h"

/* With two machines neither is the median. */
enum { FLEET_FEWEST = 3 };

/* What is measured on every machine. */
typedef struct deviation {
    stats_side_t *sides; /* by machine; without units: not measured there */
    /* Decided: */
    gate_cell_t *gates; /* by machine: over `reference` */
    size_t reference;   /* the machine whose time is the fleet's median … */
    double log_centre;  /* … and the logarithm of that, in ns */
} deviation_t;

/* A phase of a case. */
typedef struct fleet_cell {
    const char *id, *phase;
    size_t group;
    deviation_t of;
} fleet_cell_t;

/* Cells that the same thing bounds, as one: the median of their deviations, pass by pass. */
typedef struct fleet_group {
    const char *name; /* "dram", "l2", …; of times on the host's clock "host", and "cpu" */
    clock_domain_t clock;
    size_t n_cells;
    deviation_t of;
} fleet_group_t;

typedef struct fleet_evidence {
    size_t n_machines;
    fleet_cell_t *cells;
    size_t n_cells;
    fleet_group_t *groups;
    size_t n_groups;
} fleet_evidence_t;

/* Room for `n_machines`. */
deviation_t deviation_make(size_t n_machines);
void deviation_free(deviation_t *deviation);

/* Make the sides of the groups from those of the cells, and decide both. The chance of any false
 * alarm is at most GATE_ALARM_RATE over all machines, cells and groups. */
void fleet_decide(fleet_evidence_t *fleet, double threshold_frac);

/* Was it measured on that machine, and on FLEET_FEWEST? */
bool deviation_is_known(const deviation_t *deviation, size_t machine);
/* Slower or faster than the fleet? */
bool deviation_is_outlier(const deviation_t *deviation, size_t machine);
/* Cells of a group whose centres deviate by more than the threshold, to the side of the group's. */
size_t fleet_beyond(const fleet_evidence_t *fleet, size_t group, size_t machine);

#endif

/* `bench fleet RUN…`: the same cases on every machine of a fleet, a run each; which GPU is slower or
 * faster than the fleet's median, and in what? docs/fleet.md explains the method and the output. */
#ifndef BENCH_FLEET_FLEET_H
#define BENCH_FLEET_FLEET_H

#include "base/memory.h"
#include "gate/decision.h"
#include "results/record.h"

/* ---- how far each machine is from the median, all functions pure; the gate decides (gate/decision.h) ---- */

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

/* ---- the command ----------------------------------------------------------------------------- */

typedef struct fleet_options {
    const text_list_t *runs; /* folders */
    text_list_t phases;      /* instead of the default ones; the caller owns the lists */
    text_list_t allow;       /* as in `bench compare` */
    double threshold_frac;
    bool json;
} fleet_options_t;

typedef struct fleet_machine {
    const record_t *run;
    const char *name;             /* "node17 GPU-1a2b3c4d"; the host's alone without a GPU */
    size_t n_cases;               /* with times */
    size_t n_missing;             /* that other machines have times of, and that this run lacks */
    size_t n_throttled;           /* cases, some or all of whose samples were throttled */
    text_list_t throttle_reasons; /* NVML's names */
    size_t n_power_limited;       /* cases that reached the board's power limit */
    double lowest_sm_mhz;         /* around a round of any case; NaN if unknown */
    /* "3 cases throttled (ID and 2 more)": throttled, wrong, implausible or failed here, and measured
     * on most machines */
    text_list_t odd;
    text_list_t left_out; /* "ID: self-reported": cases whose times may not be compared */
} fleet_machine_t;

typedef struct fleet {
    const fleet_options_t *options;
    const record_t *runs;
    fleet_machine_t *machines; /* evidence.n_machines, in the order of the runs */
    fleet_evidence_t evidence;
    text_list_t allowed; /* what differs between the runs, and may */
    arena_t texts;
} fleet_t;

/* STATUS_FAILED if there are outliers, STATUS_INCOMPARABLE, or STATUS_OK. `err` stays empty if the
 * output explains the status. */
status_t fleet_runs(const fleet_options_t *options, error_t *err);

/* collect.c: fill in machines and cells. The run of each machine is `fleet->runs[i]`. */
status_t fleet_collect(fleet_t *fleet, error_t *err);
/* Slower, faster, or with cases that only it could not measure? */
bool fleet_is_outlier(const fleet_t *fleet, size_t machine);

#endif

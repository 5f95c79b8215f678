/* One contender of a group while it is measured: its case, its worker, and what they say to each
 * other. Whatever goes wrong ends up as the result's status and reason; the sweep goes on. */
#ifndef BENCH_MEASURE_CONTENDER_H
#define BENCH_MEASURE_CONTENDER_H

#include "compile/compile.h"
#include "cuda/nvml.h"
#include "measure/stopping.h"
#include "measure/verify.h"
#include "worker/client.h"

typedef struct contender_settings {
    measure_options_t measure;
    uint64_t seed;
    double timeout_s;  /* longest wait for one answer */
    nvml_t *nvml;      /* NULL: clocks are not read */
    double max_sm_mhz; /* the highest, or what it is locked to; NaN when unknown */
    bool clock_is_locked;
    bool profile; /* one run, nothing else */
    bool cold;    /* phases are those of cold_start.h, not the worker's */
} contender_settings_t;

typedef struct contender {
    case_result_t result;
    worker_link_t *worker;
    const program_t *program; /* NULL: needs none */
    const contender_settings_t *settings;
    bool active;         /* may still be measured */
    bool is_long;        /* a sample takes so long that one is warm-up enough */
    unsigned generation; /* of the worker that it is open in */
    stopping_t stopping;
    case_result_t throttled_rounds; /* phases of the rounds that were set apart as throttled */
    struct contender *paired; /* the same case in another build: both take rounds until both have
                               enough, side by side; NULL: none */
} contender_t;

void contender_init(contender_t *contender, const case_t *spec, worker_link_t *worker,
                    const program_t *program, const contender_settings_t *settings);
void contender_free(contender_t *contender);

/* Take it out of the running: nothing more is asked of it, and its result says why. */
void contender_drop(contender_t *contender, case_status_t status, const char *reason);
/* Start the worker if need be and open the case. On failure the contender is not active any more.
 */
void contender_open(contender_t *contender);
/* What a worker is asked to open a case; the caller owns it. */
json_t *contender_open_request(const case_t *spec, const program_t *program, uint64_t seed,
                               bool profile);
/* Open the case of an oracle and have its output in `reference`. */
status_t contender_reference(contender_t *oracle, reference_t *reference, error_t *err);
/* Run once on poisoned buffers and compare; a wrong one is not active any more. */
void contender_check(contender_t *contender, const reference_t *reference, double tolerance,
                     check_t *check);
/* Warm up: at least 3 samples and 50 ms, and until the clock has stopped rising; at most 3 s. */
void contender_warm_up(contender_t *contender);
/* One round; afterwards result.stop is not STOP_NONE if it was the last. */
void contender_round(contender_t *contender);

/* The parts of a round, for those who time the worker itself (cold_start.h). Each is false when it
 * failed; the contender is not active any more then. */

/* Open the case, unless it is open, in a worker that took another one's place. */
bool contender_reopen(contender_t *contender);
/* One run without warm-up; `*run_ns` is what it took by the worker's clock, from host to host. */
bool contender_run_once(contender_t *contender, double *run_ns);
bool contender_close(contender_t *contender);

/* May its result stand if nothing more follows? It has all its rounds, and was checked behind them
 * as before; or it was dropped. */
bool contender_is_finished(const contender_t *contender);

/* Close the case and summarise. */
void contender_finish(contender_t *contender);

#endif

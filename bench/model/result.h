/* The result of a case as plain data: a line of cases.jsonl is one pass over it, and the passes joined
 * are the input of report, plot and compare. */
#ifndef BENCH_MODEL_RESULT_H
#define BENCH_MODEL_RESULT_H

#include "base/text.h"
#include "model/case.h"
#include "model/flag.h"
#include "stats/passes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Results of RESULT_OLDEST_SCHEMA and later can be read; those of schema 1 have one pass. */
enum { RESULT_SCHEMA = 2, RESULT_OLDEST_SCHEMA = 1, MOST_DRAWS = 16 };

typedef enum case_status {
    CASE_OK,
    CASE_SKIPPED,     /* not possible here (needs sm_90, no GPU, does not fit) */
    CASE_WRONG,       /* its output differs from the reference output */
    CASE_FAILED,      /* crashed, hung, did not compile, … */
    CASE_THROTTLED,   /* too few samples at full clocks */
    CASE_IMPLAUSIBLE, /* reserved: times that cannot be */
} case_status_t;

typedef enum stop_reason {
    STOP_NONE,
    STOP_PRECISE,
    STOP_SPREAD,      /* precise enough beside the spread between passes */
    STOP_NOISE_FLOOR, /* schema 1 only */
    STOP_MOST_ROUNDS,
    STOP_TIME_LIMIT,
    STOP_FIXED_COUNT, /* --cold: a planned number of samples */
    STOP_SINGLE,      /* --profile */
} stop_reason_t;

/* How far the times of a case are vouched for. */
typedef enum trust {
    TRUST_UNKNOWN,       /* no times, or of a run that did not ask */
    TRUST_SEALED,        /* timed by this program; a rung's author runs no host code */
    TRUST_AUDITED,       /* a worker's claim that agrees with the supervisor's clock */
    TRUST_SELF_REPORTED, /* a worker's claim that does not */
} trust_t;

/* Do two runs on the same inputs give the same bits? Of joined passes, the largest. */
typedef enum determinism { DETERMINISM_UNKNOWN, DETERMINISTIC, NONDETERMINISTIC } determinism_t;

typedef enum clock_domain { CLOCK_HOST, CLOCK_DEVICE } clock_domain_t;

#define PHASE_UNIT "ns" /* of all times; a line with others is refused */

/* A case from which other programs took more than this share of the CPU time is flagged (FLAG_BUSY): its times may be
 * too long by more than that, as threads that wait for each other at barriers all wait for the one without a core. */
#define BUSY_FRAC 0.05

/* Times in ns; NaN without samples. */
typedef struct summary {
    size_t n;
    double median;  /* of several passes: the centre of their medians (stats_interval_of()) */
    double ci95[2]; /* its 95 % interval; NaN with fewer than STATS_FEWEST_PASSES passes */
    double q25, q75, p5, p95, p99, min, max, mad;
} summary_t;

/* One more sample of a round, on inputs that were new. */
typedef struct fresh_sample {
    double ns;
    double waited_ns; /* for how long the worker's threads waited for a core, in the whole round */
} fresh_sample_t;

typedef struct phase {
    char *name; /* "malloc", "h2d", "kernel", "total", "residual", "host_to_host", … */
    clock_domain_t clock;
    summary_t summary; /* over the kept samples */
    double *samples;   /* ns, in the order taken, without throttled ones */
    size_t n_samples;
    size_t *round_starts; /* n_rounds + 1 offsets into samples */
    size_t n_rounds;
    size_t *pass_starts; /* n_passes + 1 offsets into the rounds */
    size_t n_passes;
    fresh_sample_t *fresh; /* not in `samples` */
    size_t n_fresh;
    double *rewritten; /* ns, not in `samples`: on inputs drawn again with the same seed */
    size_t n_rewritten;
    bimodal_t bimodal;  /* of the medians of all rounds */
    size_t n_throttled; /* samples left out because the GPU was throttled */
    size_t n_slow_core; /* … because the worker's core became slow (measure/machine.h) */
} phase_t;

typedef struct check {
    bool done;
    bool ok;
    bool varies;                       /* joined: passes found different errors */
    double rel_l2, max_abs, tolerance; /* tolerance applies to rel_l2 */
    double row_rel_l2, column_rel_l2;  /* of the worst row and column; NaN: older runs */
} check_t;

/* Times that a script claims, against the supervisor's clock (result_add_claim()). */
typedef struct claims {
    unsigned n;                       /* passes in which they were compared */
    double ratios[STATS_MOST_PASSES]; /* supervisor's over claimed; NaN: no answer to an audit */
} claims_t;

typedef struct named_ns {
    char *name; /* "process", "context", "module_load", "first_run", "compile", … */
    double ns;
} named_ns_t;

typedef struct resources {
    char *arch; /* "sm_90"; NULL without a GPU program */
    int64_t registers, shared_bytes, spill_bytes;
    char *code_hash;   /* XXH3-128 of the machine code in hex; NULL without one */
    text_list_t flags; /* compiler options and -D constants, without paths */
    int64_t peak_device_bytes;
    double occupancy_frac; /* NaN if unknown */
} resources_t;

/* The time of a kernel at the hardware's rates (limits/limits.h). `bound` is NULL if it is unknown. */
typedef struct limit {
    double bytes, flops;
    char *bound;     /* "dram", "l2", "matmul", "fp32", "launch" */
    double limit_ns; /* NaN if unknown */
    double frac;     /* limit_ns / measured compute time; NaN if unknown */
    char *phase;     /* the phase that frac is taken from */
} limit_t;

typedef struct device_state {
    char *name;       /* "NVIDIA H200", or the CPU's model */
    double sm_mhz[2]; /* lowest and highest reading around the rounds; NaN without one */
    double power_w[2];
    double temperature_c[2];
    text_list_t throttle; /* NVML's names of the reasons seen */
} device_state_t;

/* Findings of compute-sanitizer in the case's program: one verdict per tool. */
typedef struct sanitize {
    char *version;               /* NULL: not installed */
    char *example;               /* id of the case that it ran, with the same program */
    text_list_t tools, verdicts; /* "memcheck"; "clean", "3 errors", "not run: why" */
} sanitize_t;

/* One compilation, without earlier choices, by a compiler that tunes, and how fast its code was. */
typedef struct draw {
    named_ns_t *medians; /* of each phase; none if it failed */
    size_t n_medians;
    double compile_ns; /* NaN if unknown */
} draw_t;

typedef struct case_result {
    case_t spec;
    unsigned pass; /* counted from 1; 0: several passes, joined, or a draw without a pass */
    unsigned draw; /* of the draws, counted from 1: which one's code ran; 0: none */
    uint64_t seed; /* of the data */
    case_status_t status;
    char *reason; /* why not ok; NULL if ok */
    flag_list_t flags;
    check_t before, after;
    determinism_t determinism; /* of described workloads */
    trust_t trust;
    claims_t claims;
    draw_t *draws; /* of joined passes: draw k + 1 */
    size_t n_draws;
    named_ns_t *once; /* one-time costs */
    size_t n_once;
    resources_t resources;
    sanitize_t sanitize; /* no tools: not run */
    phase_t *phases;
    size_t n_phases;
    char *results_json; /* results specific to the workload as JSON ("{…}"), or NULL */
    limit_t limit;
    device_state_t device;
    unsigned rounds;
    stop_reason_t stop;              /* of joined passes, the last in the order of the enum */
    unsigned stops[STOP_SINGLE + 1]; /* joined passes by their reason; see result_stops() */
    double warmup_ns;
    double worker_ns; /* in which its worker answered requests for it; NaN: unknown */
    double
        cpu_taken_frac; /* of the CPU time that its worker could have had while samples were taken, what other
                              programs took; joined: in the worst pass; NaN: unknown */
} case_result_t;

const char *case_status_name(case_status_t status); /* "ok", … */
const char *stop_reason_name(stop_reason_t stop);   /* "precise", …; "none" */
const char *clock_domain_name(clock_domain_t clock);
const char *trust_name(trust_t trust); /* "sealed", …; NULL if unknown */
/* The inverse; false for an unknown name. */
bool case_status_parse(const char *name, case_status_t *status);
bool stop_reason_parse(const char *name, stop_reason_t *stop);
bool clock_domain_parse(const char *name, clock_domain_t *clock);
bool trust_parse(const char *name, trust_t *trust);
/* Add a comparison of claims; the median of all decides how far a worker is trusted. */
void result_add_claim(case_result_t *result, double ratio);
/* Its times are its worker's own word if something may have worked while no clock ran (FLAG_BESIDE). */
void result_distrust(case_result_t *result);

double claims_ratio(const claims_t *claims); /* the median; NaN if one is */
bool claims_agree(const claims_t *claims); /* by the median; of few passes it may be farther off */
bool claim_agrees(double ratio);           /* as of many */

/* Does a verdict of sanitize_t report errors? */
bool sanitize_is_finding(const char *verdict);
void sanitize_free(sanitize_t *sanitize);

/* Has it times, of a machine that was busy (BUSY_FRAC)? */
bool result_is_busy(const case_result_t *result);
/* May the times be shown (ok, or throttled: then marked)? */
bool result_has_times(const case_result_t *result);
/* Wrong or failed? */
bool result_is_broken(const case_result_t *result);
/* How many of its passes stopped for that reason? */
unsigned result_stops(const case_result_t *result, stop_reason_t stop);
/* The phase of that name, or NULL. Names that mean the same for every contender stand for the first
 * of several phases that has times:
 *   CALL_IN_GRAPH  one of many calls in a CUDA graph: "kernel_graph" or "forward_graph";
 *   ONE_CALL       "kernel", "train_device", "forward_device" or "forward";
 *   EAGER_CALL     the same, of a case that is neither captured in a CUDA graph nor compiled;
 *   COMPUTATION    the former, else the latter. */
const phase_t *result_phase(const case_result_t *result, const char *name);
/* The phase of this very name, with or without samples; or NULL. */
const phase_t *result_phase_named(const case_result_t *result, const char *name);

#define CALL_IN_GRAPH "call_in_graph"
#define HOST_CALL "forward" /* one call on a CPU */
#define ONE_CALL "one_call"
#define EAGER_CALL "eager_call"
#define COMPUTATION "computation"
#define PHASE_TRAIN "train"
#define PHASE_STEP "step" /* of a training: `train` over the number of steps */

/* What the phases of a call's parts begin with, each timed alone: "part_NAME". */
#define PART_PHASE "part_"

/* Can the phase take so long? A whole sample and what a device measured take time; another part may take less than
 * the clock shows; `residual`, a difference, may be negative. */
bool phase_can_take(const case_result_t *result, const phase_t *phase, double ns);
/* Is it CALL_IN_GRAPH, ONE_CALL, EAGER_CALL or HOST_CALL: the computation alone, without copies? */
bool phase_is_call(const char *name);
/* Median of a phase in ns; NaN without times or without the phase. */
double result_median(const case_result_t *result, const char *phase);
/* "kernel" (cuda), "train" (a training, of which "forward" is a part) or "forward" (cpu, pytorch);
 * or NULL. */
const phase_t *result_compute_phase(const case_result_t *result);

/* The phase that covers all of a sample: "host_to_host", else "total"; or NULL. */
const phase_t *result_whole_phase(const case_result_t *result);

/* A value of results_json, which the caller frees; NULL if absent. */
json_t *result_value(const case_result_t *result, const char *key);
/* A number of these, such as "w"; NaN if absent. */
double result_number(const case_result_t *result, const char *key);
/* A text, such as "dataset"; NULL if absent. The caller frees it. */
char *result_string(const case_result_t *result, const char *key);
/* Does the case use a different algorithm for the same result (`"algorithmic": true`)? Then it is
 * marked, and left out of every "best", ratio and headline. */
bool result_is_algorithmic(const case_result_t *result);

/* Copies spec; other fields become NaN, NULL or 0. */
void result_init(case_result_t *result, const case_t *spec);
void result_free(case_result_t *result);
phase_t *result_add_phase(case_result_t *result, const char *name, clock_domain_t clock);
/* Append one round of samples to the last pass of a phase. */
void phase_add_round(phase_t *phase, const double *samples, size_t n);
void phase_add_fresh(phase_t *phase, const fresh_sample_t *samples, size_t n);
void phase_add_rewritten(phase_t *phase, const double *samples, size_t n);
/* Append the rounds of `more` to the last pass. */
void phase_add_rounds(phase_t *phase, const phase_t *more);
/* Begin another pass. */
void phase_start_pass(phase_t *phase);
/* The rounds of one pass, counted from 0; offsets are those of the phase. */
stats_rounds_t phase_rounds(const phase_t *phase, size_t pass);
/* What a pass says about the phase: its median and the error of that. */
stats_pass_t phase_pass(const phase_t *phase, size_t pass);
/* Recompute phase->summary and phase->bimodal from its samples. */
void phase_summarise(phase_t *phase);
/* Append the passes of `more`, the same case in other passes. The status is the worse of the two;
 * one-time costs, results_json and resources stay. Call result_summarise() after the last. */
void result_add_passes(case_result_t *result, const case_result_t *more);
/* phase_summarise() of all phases, and the fraction of the limit. */
void result_summarise(case_result_t *result);
void result_add_once(case_result_t *result, const char *name, double ns);
double result_once(const case_result_t *result, const char *name); /* NaN if absent */
/* Of a line, not of joined passes: is it a compilation that was only timed to choose one? */
bool result_is_draw(const case_result_t *result);
/* Note the draw that a line is of. */
void result_add_draw(case_result_t *result, const case_result_t *line);
double draw_median(const draw_t *draw, const char *phase); /* NaN if it has none */

/* Times that cannot be those of the work that was asked for (docs/cheating.md). */

/* Is a whole time, or a time by the device's clock, slower on inputs that it has not seen before than
 * caches explain? Then the case keeps results, or the machine interrupted it. More than seven
 * eighths of its fresh samples (phase_t) must be slow: that one was interrupted says nothing. */
bool implausible_is_doubted(const case_result_t *result);
/* The longest that a run on new inputs plausibly takes. */
double implausible_from_ns(const case_result_t *result, const phase_t *phase);

/* Flag what at least four fresh samples make doubted. A case with that flag, or faster than its limit,
 * is implausible; if the worker's threads waited for cores in too many of them to tell, and it was
 * audited, it is self-reported. Of a pass, and of all passes of a case: one has few fresh samples if
 * they are long. */
void implausible_find(case_result_t *result);

/* As JSON: the format of cases.jsonl (docs/results-format.md). */

json_t *result_to_json(const case_result_t *result);
/* On failure nothing is left to free. Summaries of one pass are read, not recomputed. */
status_t result_from_json(const json_t *json, case_result_t *result, error_t *err);
/* The same of a line of cases.jsonl. Thread-safe. */
status_t result_from_text(const char *line, size_t length, case_result_t *result, error_t *err);

#endif

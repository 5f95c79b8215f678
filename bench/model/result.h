/* What is known of a case after it ran: one line of cases.jsonl as plain data. Everything to the
 * right of results/ (report, plot, compare, merge) reads these and nothing else. */
#ifndef BENCH_MODEL_RESULT_H
#define BENCH_MODEL_RESULT_H

#include "base/text.h"
#include "model/case.h"
#include "model/flag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESULT_SCHEMA = 1 };

typedef enum case_status {
    CASE_OK,
    CASE_SKIPPED,   /* could not apply here (needs sm_90, no GPU, does not fit) */
    CASE_WRONG,     /* ran, and its output differs from the oracle's */
    CASE_FAILED,    /* crashed, hung, did not compile, … */
    CASE_THROTTLED, /* too few samples were taken at full clocks */
} case_status_t;

typedef enum stop_reason {
    STOP_NONE,
    STOP_PRECISE,
    STOP_NOISE_FLOOR,
    STOP_TIME_LIMIT,
    STOP_FIXED_COUNT, /* --cold, --against: as many as were planned, however far apart they lie */
    STOP_SINGLE,      /* --profile */
} stop_reason_t;

typedef enum clock_domain { CLOCK_HOST, CLOCK_DEVICE } clock_domain_t;

/* Times in ns. NaN where there are no samples. */
typedef struct summary {
    size_t n;
    double median, ci95[2]; /* 95 % interval of the median */
    double q25, q75, p5, p95, p99, min, max, mad;
} summary_t;

typedef struct phase {
    char *
        name; /* "malloc", "h2d", "kernel", "d2h", "free", "total", "residual", "host_to_host", … */
    clock_domain_t clock;
    summary_t summary; /* over the kept samples */
    double *samples;   /* ns, kept ones in the order taken */
    size_t n_samples;
    size_t *round_starts; /* n_rounds + 1 offsets into samples */
    size_t n_rounds;
    size_t n_throttled; /* samples set apart because a throttle reason was set */
} phase_t;

typedef struct check {
    bool done; /* false: was not checked */
    bool ok;
    double rel_l2, max_abs, tolerance; /* tolerance applies to rel_l2 */
} check_t;

typedef struct named_ns {
    char *name; /* "process", "context", "module_load", "first_run", "compile", … */
    double ns;
} named_ns_t;

typedef struct resources {
    char *arch; /* "sm_90"; NULL for no GPU program */
    int64_t registers, shared_bytes, spill_bytes;
    char *code_hash;   /* XXH3-128 of the machine code, hex; NULL for none */
    text_list_t flags; /* of the compiler: options and -D constants; without paths */
    int64_t peak_device_bytes;
    double occupancy_frac; /* NaN when unknown */
} resources_t;

/* The least that the hardware allows for this case. `bound` is NULL where no limit is known. */
typedef struct limit {
    double bytes, flops;
    char *bound;     /* "dram", "l2", "fp32", "launch" */
    double limit_ns; /* NaN when unknown */
    double frac;     /* limit_ns / measured compute time; NaN when unknown */
    char *phase;     /* the phase that frac is taken from */
} limit_t;

typedef struct device_state {
    char *name;       /* "NVIDIA H200", or the CPU's model */
    double sm_mhz[2]; /* lowest and highest reading around the rounds; NaN when unread */
    double power_w[2];
    double temperature_c[2];
    text_list_t throttle; /* reasons seen, in NVML's words */
} device_state_t;

/* What compute-sanitizer found in the case's program; `verdicts` are of `tools`, one each. */
typedef struct sanitize {
    char *version; /* NULL: was not there */
    char *example; /* id of the case that was run under it; its program is this one's */
    text_list_t tools, verdicts; /* "memcheck"; "clean", "3 errors", "not run: why" */
} sanitize_t;

typedef struct case_result {
    case_t spec;
    case_status_t status;
    char *reason; /* why not ok; NULL when ok */
    flag_list_t flags;
    check_t before, after;
    named_ns_t *once; /* one-time costs */
    size_t n_once;
    resources_t resources;
    sanitize_t sanitize; /* no tools: was not asked for */
    phase_t *phases;
    size_t n_phases;
    char *results_json; /* workload's own results as JSON text ("{…}"), or NULL */
    limit_t limit;
    device_state_t device;
    unsigned rounds;
    stop_reason_t stop;
    double warmup_ns;
} case_result_t;

const char *case_status_name(case_status_t status); /* "ok", … */
const char *stop_reason_name(stop_reason_t stop);   /* "precise", …; "none" */
const char *clock_domain_name(clock_domain_t clock);
/* True and the value when `name` is one of the names above. */
bool case_status_parse(const char *name, case_status_t *status);
bool stop_reason_parse(const char *name, stop_reason_t *stop);
bool clock_domain_parse(const char *name, clock_domain_t *clock);

/* Does a verdict of sanitize_t tell of errors? */
bool sanitize_is_finding(const char *verdict);
void sanitize_free(sanitize_t *sanitize);

/* Does the case have times that may be shown (ok, or throttled and then marked)? */
bool result_has_times(const case_result_t *result);
/* Is it wrong or failed? */
bool result_is_broken(const case_result_t *result);
const phase_t *result_phase(const case_result_t *result, const char *name); /* or NULL */
/* Median of a phase in ns; NaN when the case has no times or no such phase. */
double result_median(const case_result_t *result, const char *phase);
/* The phase that does the work: "kernel" (cuda) or "forward" (cpu, pytorch), "train" of a training,
 * of which "forward" is a part; or NULL. */
const phase_t *result_compute_phase(const case_result_t *result);

/* A number of results_json, such as "w"; NaN when there is none. */
double result_number(const case_result_t *result, const char *key);
/* A text of results_json, such as "dataset"; NULL when there is none. The caller frees it. */
char *result_string(const case_result_t *result, const char *key);
/* Does the case reach the same result by another algorithm (`"algorithmic": true`)? Then it is in
 * no "best", ratio or headline, and is marked wherever it is shown. */
bool result_is_algorithmic(const case_result_t *result);

void result_init(case_result_t *result,
                 const case_t *spec); /* copies spec; NaN and NULL elsewhere */
void result_free(case_result_t *result);
phase_t *result_add_phase(case_result_t *result, const char *name, clock_domain_t clock);
/* Append one round of samples to a phase. */
void phase_add_round(phase_t *phase, const double *samples, size_t n);
/* Recompute phase->summary from its samples. */
void phase_summarise(phase_t *phase);
summary_t summary_of(const double *samples, size_t n);
/* Make one round of all rounds of each phase. */
void result_join_rounds(case_result_t *result);
/* Append the rounds of `more`, the same case measured once more; where that went wrong, so did the
 * whole. What is paid once, limits and results stay those of the first time. */
void result_extend(case_result_t *whole, const case_result_t *more);
void result_add_once(case_result_t *result, const char *name, double ns);

#endif

/* One contender of a group while it is measured: its case, its worker and the requests to it. Every
 * failure becomes the result's status and reason; the sweep continues. */
#ifndef BENCH_MEASURE_CONTENDER_H
#define BENCH_MEASURE_CONTENDER_H

#include "compile/compile.h"
#include "cuda/nvml.h"
#include "engine/session.h"
#include "measure/machine.h"
#include "measure/made_inputs.h"
#include "measure/verify.h"
#include "model/result.h"
#include "stats/spent.h"
#include "sweep/sweep.h"
#include "worker/client.h"
#include "worker/cpu_use.h"
#include "worker/pool.h"

#include <jansson.h>
#include <limits.h>
#include <signal.h>

/* The stopping rule for all contenders (docs/measuring.md). It ends a pass; how many passes a case takes is
 * stats_has_enough(). */

/* Beyond the 16th round a pass gains little: what differs between processes remains. */
enum { STOPPING_MOST_ROUNDS = 16, STOPPING_PATIENCE = 4, STOPPING_PHASES = 2 };

typedef struct stopping {
    const measure_options_t *measure;         /* of one pass */
    double spent_s;                           /* in this contender's rounds */
    unsigned rounds, n_void;                  /* void ones are among them, and give no samples */
    double variance_between[STOPPING_PHASES]; /* of the passes before; NaN: not known */
} stopping_t;

void stopping_init(stopping_t *stopping, const measure_options_t *measure);

/* After a round that took `round_s`: STOP_NONE to continue, or why to stop. Looks at two
 * phases: host_to_host (or total), and kernel_graph (or the compute phase).
 *
 *   precise      the standard error of each median is within the precision for the phase's clock
 *   spread       or so small beside the spread of the passes before that it hardly matters
 *   most_rounds  STOPPING_MOST_ROUNDS, or min_rounds if that is more
 *   time_limit   */
stop_reason_t stopping_after_round(stopping_t *stopping, const case_result_t *result,
                                   double round_s);

/* The phases that it looks at; NULL: the result has none. */
const phase_t *stopping_phase(const case_result_t *result, size_t i);

/* What remains of a case's limits for one of its passes. */
measure_options_t stopping_share(const measure_options_t *measure);

/* What a worker claims to have measured, held against what is possible. */

typedef struct sample_claim {
    const json_t *answer; /* to a `sample` request … */
    size_t most;          /* … for at most so many samples of each phase … */
    bool fresh;           /* … and one more, the last, on inputs that were new */
    bool is_probe;        /* that one alone, of the phases in the answer */
    double waited_ns;     /* for how long the worker's threads waited for a core meanwhile */
    double took_ns;       /* from the request to the answer; INFINITY: times need not fit into it */
} sample_claim_t;

/* Add the round's samples to each phase of `into`, a fresh one to phase->fresh unless it is the only
 * one. NULL, or why not, which the caller frees: a phase
 * has none, or more than were asked for; a time is not a number, under 0, or longer than the request
 * took; or the times of the phase that cases are compared by are 0 or together longer than that. */
char *samples_add(case_result_t *into, const sample_claim_t *claim);

typedef struct contender_settings {
    measure_options_t measure;
    unsigned pass; /* the current one, counted from 1; 0: a draw */
    unsigned draw;
    const char *compiled; /* folder for what tuning compilers choose */
    const char *
        refill; /* program that fills inputs of described workloads on the device; NULL: the host does */
    uint64_t seed;
    double timeout_s;  /* for one answer */
    nvml_t *nvml;      /* NULL: do not read clocks */
    double max_sm_mhz; /* highest or locked clock; NaN: unknown */
    bool clock_is_locked;
    const char *gpu_uuid; /* of the GPU that is measured; NULL: unknown */
    cores_t *cores;       /* NULL: workers run on any core */
    guard_t *guard;       /* NULL: nobody looks at what others do */
    spent_t *spent;       /* NULL: nobody counts */
    bool profile;         /* one run only */
} contender_settings_t;

typedef struct contender contender_t;

/* What the outputs of one input are held against. */
typedef struct expectation {
    uint64_t seed;                /* of the refill of the inputs; 0: as opened */
    const reference_t *reference; /* no names: nothing to compare */
    double tolerance;
    contender_t
        *verifier; /* the oracle, whose verify() decides if reference->verified; else NULL */
} expectation_t;

enum { AUDIT_LAST = INT_MAX, AUDIT_MOST_PHASES = 3 };

/* What was timed is checked: for each phase that cases are compared by, in one round, which nobody can
 * know before, the output that its timed sample on new inputs left is compared with the reference for
 * these inputs. */
typedef struct audit {
    expectation_t expected;  /* seed 0: no audit (`refill` in docs/worker-protocol.md) */
    expectation_t as_opened; /* for a call in the middle of a graph */
    struct {
        const char *name; /* of the result */
        unsigned round;   /* counted from 0; AUDIT_LAST: one more, after the others */
        bool done;
    } phases[AUDIT_MOST_PHASES]; /* the first is that of a whole sample */
    size_t n_phases;
    bool has_seed; /* its inputs are those of the seed */
} audit_t;

struct contender {
    case_result_t result;
    worker_link_t *worker;
    const program_t *program; /* NULL: needs none */
    const contender_settings_t *settings;
    bool active;         /* may still be measured */
    bool is_long;        /* samples are long enough that one warms up */
    unsigned draw;       /* which of the tuning compiler's choices to run; 0: the first */
    unsigned generation; /* of the worker in which it is open */
    bool may_retry;      /* if its worker dies, open it once more in a new process */
    char *first_death;   /* why its worker died before that; NULL: it did not */
    double compile_ns;   /* of what opening it only loads; 0: it loads nothing */
    made_inputs_t *made; /* files of its inputs; NULL: none */
    made_reader_t reads; /* … as this contender gets them */
    audit_t audit;       /* seed 0: none, and the inputs stay those of opening the case */
    stopping_t stopping;
    case_result_t throttled_rounds; /* phases of the rounds taken at low clocks */
    case_result_t slow_rounds;      /* … on a core that became slow */
    case_result_t void_rounds;      /* … that count nowhere (worker/pool.h) */
    bool is_void;                   /* the current round */
    bool is_doubted;                /* more rounds decide whether it is plausible */
    char *foul;        /* why its next round is void (worker/pool.h); NULL: it is not */
    char *void_reason; /* of the first void round; NULL: there was none */
    cpu_share_t share; /* of its worker, in all its rounds */
    json_t *
        curves; /* of a described training: {"loss": [[step, value], …]}; NULL: none, or not checked yet */
    contender_t *paired; /* the same case in another build, or NULL; both take adjacent
                                       rounds until both have enough */
};

void contender_init(contender_t *contender, const case_t *spec, worker_link_t *worker,
                    const program_t *program, const contender_settings_t *settings);
void contender_free(contender_t *contender);

/* The functions below drop a contender that fails: it becomes inactive, and its result has this
 * status and reason. Returns false. A contender whose worker dies is first opened again in a new
 * process, once, which takes the request that the other died of. */
bool contender_drop(contender_t *contender, case_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A new temporary folder where its worker writes; NULL: it is dropped. */
char *contender_folder(contender_t *contender);
/* Contexts that a new worker made in its start. */
void contender_note_contexts(spent_t *spent, const worker_link_t *link);
/* If its program cannot be had. */
void contender_drop_unbuilt(contender_t *contender);
/* Start the worker if needed and open the case. */
void contender_open(contender_t *contender);
/* The same with the bounds of this case, whose techniques may change them; only its bounds are to be freed. */
reference_t reference_for(const reference_t *reference, const case_t *spec);
/* Load the output of an oracle, which is open, into `reference`, with its bounds: of the inputs of this seed, 0: those
 * of opening it. A described workload's verify(), if it has one, must accept it. */
status_t contender_reference(contender_t *oracle, uint64_t seed, reference_t *reference,
                             error_t *err);
/* Checks that can fail: refuse the outputs of a workload's oracle, `first` of the inputs as opened and `other` of a refill,
 * which its inputs are now, if any is NaN or infinite, or if for any array zeros, what it held before the run, or one output
 * for both inputs would pass. Leaves the oracle with other inputs. */
status_t contender_refuse_fakes(contender_t *oracle, const reference_t *first,
                                const reference_t *other, error_t *err);
/* Have the `evaluate` of a workload's reference.py look at what its oracle has computed. */
status_t contender_evaluate(contender_t *oracle, const reference_t *reference, error_t *err);
/* Are the outputs in `folder`, of the inputs as opened, right by `reference` of this oracle? Sets `check`; the caller frees
 * `*reason`, NULL if they are. */
status_t contender_verify(contender_t *oracle, const reference_t *reference, const char *folder,
                          check_t *check, char **reason, error_t *err);
/* Run once, with outputs filled at random before, and compare them with what is expected. Of a workload's contender this
 * runs a second time, and finds result.determinism. */
void contender_check(contender_t *contender, const expectation_t *expected, check_t *check);
/* One round, audited if it is the audit's; sets result.stop if it was the last. */
void contender_round(contender_t *contender);
/* Find the phases that cases are compared by, and choose the rounds of their audits by `drawn`. */
void contender_plan_audit(contender_t *contender, uint64_t drawn);
/* Compare what the last timed sample left; it must have run on the audit's inputs. `phase`: which one it
 * was of, for the reason. */
void contender_check_last(contender_t *contender, const char *phase);
/* A contender that uses a GPU runs alone on a fast core while it is timed (machine.h). Leaving it, false: it
 * has become slow. */
void contender_enter_core(contender_t *contender);
bool contender_leave_core(contender_t *contender);
/* Set right what other programs have changed since its worker was last asked: its next round is void. */
void contender_guard(contender_t *contender);
/* After the rounds: more of them if the case is doubted (implausible_find()), and that of the audit if they
 * ended before it. */
void contender_audit(contender_t *contender);
/* After the rounds: which of them count, those on slow cores and at low clocks included? */
void contender_settle(contender_t *contender);

/* Have the files of inputs of a refill seed before a request with it; made_inputs_drop() comes after. Where a training
 * continues, those in place are not needed. */
bool contender_have_inputs(contender_t *contender, uint64_t refill, bool continues);

/* Does its worker know this key of a request, which not all do (`request_keys` in the answer to hello)? */
bool contender_may_ask(const contender_t *contender, const char *key);

/* A request with the contender's case, to be sent by the functions below. */
json_t *contender_request(const contender_t *contender, const char *op);
/* Send a request, which names its op (takes the reference). False if no answer came; the reason then
 * names the request. The caller owns `*answer`, which may have any status. */
bool contender_exchange(contender_t *contender, json_t *request, json_t **answer);
/* One with the key "path". */
json_t *contender_arrays_request(const contender_t *c, const char *op, const char *folder);
/* Any answer but ok is a failure, too: then NULL. */
json_t *contender_ask(contender_t *contender, json_t *request);

/* Have it use the inputs of this seed; if it `continues`, which it may be asked, but for arrays in place, which stay as its
 * last output left them. False on failure. */
bool contender_refill(contender_t *contender, uint64_t seed, bool continues);
/* Does this pass give the results that all passes share? */
bool contender_needs_results(const contender_t *contender);
/* What a training has recorded in a call, from the arrays in `folder`: by name [[step, value], …]; owned by the caller. */
json_t *curves_read(const case_t *spec, const char *folder);
/* If there is a whole training (described_whole()), do it, call after call, each from what the last one left, on inputs of
 * its own: curves of all steps replace those of a call, and `evaluate` of the reference adds what was learned. Losses that
 * are not finite are a failure. `oracle` may be NULL: then nothing is evaluated. Ends early when `*interrupted` becomes
 * non-zero. */
void contender_train(contender_t *contender, contender_t *oracle,
                     const volatile sig_atomic_t *interrupted);

/* Open the case if a new worker process replaced the one in which it was open. False on failure. */
bool contender_reopen(contender_t *contender);

/* Is the result complete: all rounds taken and all outputs verified afterwards, or dropped? */
bool contender_is_finished(const contender_t *contender);

/* Close the case and summarise. */
void contender_finish(contender_t *contender);

/* The order of rounds. Contenders of a group take turns in a shuffled order, forwards and backwards
 * (A B C, C B A, then a new shuffle), so that clock drift affects all equally, until each has
 * stopped. Paired contenders are adjacent and take equally many rounds. */

/* Warm up every active contender, then sample them in turns until all have stopped. */
void schedule_rounds(contender_t *contenders, size_t n, uint64_t seed, uint32_t stream,
                     const volatile sig_atomic_t *interrupted);

/* The request that opens a case (docs/worker-protocol.md). */

/* The caller owns it. `program` may be NULL. */
json_t *open_request_make(const case_t *spec, const program_t *program, uint64_t seed,
                          bool profile);
/* Does the worker that gave this answer to hello run the case in code that a tuning compiler makes? */
bool open_request_is_tuned(const json_t *hello, const case_t *spec);
/* Let the compiler keep its code and choices in <folder>/<draw>. */
void open_request_set_cache(json_t *request, const char *folder, unsigned draw);
/* Say where the reader finds the inputs. */
void open_request_set_inputs(json_t *request, const made_inputs_t *made,
                             const made_reader_t *reader);
/* Another pass gives its results: the worker that gave this answer to hello may leave out what only
 * they take. */
void open_request_without_results(json_t *request, const json_t *hello);

/* How far a contender's times are vouched for.
 *
 * A worker that is a script times itself. The supervisor asks it for N and for 2N runs without
 * clocks (`audit` in docs/worker-protocol.md); by its own clock the difference is N runs, without
 * what a request costs. It is divided by the claims' third quartile: samples of one process go up and
 * down between two values (docs/measuring.md), and the audit meets one of them. A little below is not
 * suspicious: runs in a row overlap with what each of them leaves behind. */

/* The phase that an audit must be of: "host_to_host", else "train", else "batch" (of `allocate`), else
 * "total"; NULL: none has samples. */
const phase_t *trust_audited_phase(const case_result_t *result);

/* What a script claims that a run takes. If contenders are compared by "step", no more than so many of
 * its steps: a true "train" must not vouch for another "step". */
double trust_claimed_ns(const case_result_t *result, const phase_t *audited);

/* Set the result's trust, after its rounds. */
void trust_find(contender_t *contender);

#endif

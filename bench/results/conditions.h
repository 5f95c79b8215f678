/* What makes times comparable, for every reader: one table of what a run records of its conditions, and one of
 * what a case has (conditions.c). `bench compare`, `history` and `fleet` ask for COMPARED, reports and charts with
 * other boots for BOOTS, `bench merge` for PARTS, `bench run --resume` for RESUMED. */
#ifndef BENCH_RESULTS_CONDITIONS_H
#define BENCH_RESULTS_CONDITIONS_H

#include "base/text.h"
#include "model/environment.h"
#include "model/result.h"

/* The result of --lock-clocks in run.json: measure.lock_clocks in the run's environment. */

/* `asked_mhz` is 0 if no lock was asked for; `locked_mhz` is 0 if it failed, for `reason`. */
void lock_clocks_record(environment_t *env, unsigned asked_mhz, unsigned locked_mhz,
                        const char *reason);
/* NaN if the clock was not locked. */
double lock_clocks_recorded_mhz(const environment_t *env);
/* "the SM clock was locked to 1500 MHz", or why it was not; NULL if no lock was asked for. The
 * caller frees it. */
char *lock_clocks_sentence(const environment_t *env);

/* What two runs are to each other. What must agree in one must agree in those below it. */
typedef enum relation {
    COMPARED, /* runs whose times are compared */
    BOOTS,    /* starts of a machine of one kind: their ratios are shown as one */
    PARTS,    /* of one run */
    RESUMED,  /* a run, and the machine that goes on with it, of which not all is known yet */
} relation_t;

/* A fact in which two runs differ. All but `changes` is borrowed; a value is NULL if the run lacks it. */
typedef struct difference_of_runs {
    const char *key, *first, *other;
    const char *allow; /* its name in --allow; NULL: cannot be allowed */
} run_difference_t;

typedef struct run_differences {
    run_difference_t *items;
    size_t n, capacity;
} run_differences_t;

/* The facts that must agree and do not, in the order of the table. Free the list with conditions_free(). */
run_differences_t conditions_broken(const environment_t *first, const environment_t *other,
                                    relation_t relation);
/* The facts that differ and may in runs that are COMPARED: likely causes of a change. */
run_differences_t conditions_changed(const environment_t *first, const environment_t *other);
/* "host.cpus: 0-15 → 0-7"; the caller frees it. */
char *run_difference_text(const run_difference_t *difference);
/* Do two numbers that are measured, and never the same, differ so far that it may explain something? */
bool condition_is_notable(double a, double b);
/* Does the fact say which machine it is, or how it was at the time? Machines of a fleet differ in it. */
bool condition_is_of_machine(const char *key);
/* Is it about the code that is measured, not the machine? */
bool condition_is_of_code(const char *key);
void conditions_free(run_differences_t *differences);

/* Why times of `b` may not be compared with those of `a`, the same case in another run, in these phases:
 * "self-reported in CANDIDATE"; NULL if they may. `allow` has names of rules that are not asked; NULL: none.
 * `names` are those of the runs. The caller frees the text. */
char *conditions_of_pair(const case_result_t *a, const case_result_t *b, const text_list_t *phases,
                         const text_list_t *allow, const char *const names[2]);
/* The same of one case alone. */
char *conditions_of_case(const case_result_t *result, const text_list_t *phases,
                         const text_list_t *allow);

/* The names for --allow, those of runs first. */
text_list_t conditions_names(void);

#endif

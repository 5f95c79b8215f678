/* Who is compared with whom, and what may be called the fastest. Reports, charts and the terminal
 * follow these rules. Ours is what this program runs itself, the engines "cuda" and "cpu", with the
 * reference `ref` among the cases of "cpu", or the files of a workload without these
 * (platform_of()); a rival is any other engine but "null". */
#ifndef BENCH_ANALYSIS_CONTENDERS_H
#define BENCH_ANALYSIS_CONTENDERS_H

#include "model/environment.h"
#include "model/result.h"
#include "results/record.h"
#include "workloads/common/workload.h"

bool engine_is_ours(const char *engine);
bool engine_is_rival(const char *engine);

/* "CUDA", "C", "PyTorch", "JAX"; an unknown engine's own name. */
const char *engine_name(const char *engine);
/* As strcmp(): the order of engines in tables and legends. Ours, then rivals known by name, then
 * others by their names. */
int engine_order(const char *a, const char *b);
void sort_engines(const char **engines, size_t n);

/* 0, 1, … of the rivals known by name, which have a fixed colour; KNOWN_RIVALS for others. */
enum { KNOWN_RIVALS = 2 };

size_t known_rival(const char *engine);

/* The version of a rival, as its worker recorded it under the engine's name (PyTorch: "torch"); NULL
 * if it did not. */
const char *rival_version(const environment_t *env, const case_t *spec);

/* The phase, if the case is ok and has a median for it; else NULL. The case may be NULL. */
const phase_t *timed_phase(const case_result_t *result, const char *name);
/* Has it times that its own worker claims, and the supervisor's clock does not confirm (trust_t)? */
bool is_self_reported(const case_result_t *result);

/* Why a case may not be called the fastest, or the fastest by a phase. */
typedef enum exclusion {
    EXCLUDED_NOT,
    EXCLUDED_NO_TIME, /* it has none of the phase */
    EXCLUDED_STATUS,  /* it is not ok */
    EXCLUDED_SELF_REPORTED,
    EXCLUDED_ALGORITHMIC, /* result_is_algorithmic() */
    EXCLUDED_ROUGHER,     /* is_rougher() */
} exclusion_t;

/* `phase` NULL: by any. */
exclusion_t exclusion_of(const case_result_t *result, const char *phase);
bool can_be_fastest(const case_result_t *result); /* EXCLUDED_NOT by any phase */
/* What the case is or does: "is self-reported", "was skipped", "has no time of one_call". The caller
 * frees it. */
char *exclusion_text(const case_result_t *result, const char *phase);

/* Who stands for one side of a comparison, by a phase: start with {0} and add its cases. Any may be NULL. */
typedef struct standing {
    const case_result_t *fastest;  /* of those that may be compared */
    const case_result_t *claimed;  /* of the self-reported */
    const case_result_t *excluded; /* of all that have a time but may not be compared */
    const case_result_t *timeless; /* one without a time; rather a wrong one than a skipped */
} standing_t;

void standing_add(standing_t *standing, const case_result_t *result, const char *phase);
void standing_join(standing_t *standing, const standing_t *more, const char *phase);
/* The fastest, else that of the self-reported; or NULL. */
const case_result_t *standing_compared(const standing_t *standing);
/* The fastest, else whoever comes nearest to it; NULL: the side has no case. */
const case_result_t *standing_shown(const standing_t *standing);
/* One that may not be compared and has a lower time than the fastest; NULL: none. */
const case_result_t *standing_faster(const standing_t *standing, const char *phase);

/* One kind of device, and the engine that stands for ours on it. */
typedef struct platform {
    const char *device, *engine;
    const char *name;  /* "CUDA" */
    const char *place; /* "on the GPU" */
} platform_t;

/* The engine of this program there; of a workload that has only files in Python there, as an imported
 * problem, those. */
const platform_t *platform_of(const record_t *run, const char *workload, const char *device);
bool platform_is_of_candidates(const platform_t *platform); /* the latter */
/* Is the case ours on its device, or a rival's? Neither: of the engine "null". */
bool platform_is_ours(const platform_t *platform, const case_t *spec);
bool platform_is_rival(const platform_t *platform, const case_t *spec);

/* Techniques that differ from the workload's defaults, in its order: "copy=pinned", … */
text_list_t changed_techniques(const case_t *spec);

/* "03_vectorized + arena, pinned": variant and changed techniques. The caller frees it. */
char *contender_name(const case_t *spec);

/* Was a new process started for each sample? Such cases are never shown with others. */
bool is_cold_start(const case_result_t *result);

/* The phase that the case is compared by: its workload's, else host_to_host, total, or of a cold start
 * the first answer; NULL without a time of one. */
const phase_t *compared_phase(const case_result_t *result);

/* Do its techniques have a larger tolerance than the defaults (sums in float16)? Shown, but
 * not compared with rivals. */
bool is_rougher(const case_t *spec);

#endif

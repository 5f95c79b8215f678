/* Who is compared with whom, and what may be called the fastest. Reports, charts and the terminal
 * follow these rules. Ours is what this program runs itself, the engines "cuda" and "cpu", with the
 * reference `ref` among the cases of "cpu"; a rival is any other engine but "null". */
#ifndef BENCH_ANALYSIS_CONTENDERS_H
#define BENCH_ANALYSIS_CONTENDERS_H

#include "model/environment.h"
#include "model/result.h"

bool engine_is_ours(const char *engine);
bool engine_is_rival(const char *engine);

/* "CUDA", "C", "PyTorch", "JAX"; an unknown engine's own name. */
const char *engine_name(const char *engine);
/* As strcmp(): the order of engines in tables and legends. Ours, then rivals known by name, then
 * others by their names. */
int engine_order(const char *a, const char *b);
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
/* May the case be called the fastest? It is ok, not self-reported (trust_t), uses the common algorithm
 * (result_is_algorithmic()) and the common tolerance (is_rougher()). */
bool can_be_fastest(const case_result_t *result);
/* The faster of two cases by a phase, the first if equal. Either may be NULL or not ok, and then
 * has no time; NULL if neither has one. */
const case_result_t *faster_case(const case_result_t *a, const case_result_t *b, const char *phase);

#endif

#include "analysis/contenders.h"

#include "analysis/labels.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ours first. A rival that is not listed needs no entry. */
static const struct known_engine {
    const char *engine, *name;
} KNOWN[] = {{"cuda", "CUDA"}, {"cpu", "C"}, {"pytorch", "PyTorch"}, {"jax", "JAX"}};
enum { N_KNOWN = sizeof KNOWN / sizeof *KNOWN };
_Static_assert(N_KNOWN == 2 + KNOWN_RIVALS, "two of ours");

static size_t place_of(const char *engine) {
    size_t i = 0;
    while (i < N_KNOWN && strcmp(KNOWN[i].engine, engine) != 0)
        i++;
    return i;
}

bool engine_is_ours(const char *engine) {
    return case_engine_is_built_in(engine) && strcmp(engine, "null") != 0;
}

bool engine_is_rival(const char *engine) {
    return !case_engine_is_built_in(engine);
}

const char *engine_name(const char *engine) {
    const size_t place = place_of(engine);
    if (place < N_KNOWN)
        return KNOWN[place].name;
    return strcmp(engine, "python") == 0 ? "Python" : engine; /* operators' scripts, by default */
}

int engine_order(const char *a, const char *b) {
    const size_t left = place_of(a), right = place_of(b);
    return left != right ? (left < right ? -1 : 1) : strcmp(a, b);
}

size_t known_rival(const char *engine) {
    const size_t place = place_of(engine);
    return engine_is_rival(engine) && place < N_KNOWN ? place + KNOWN_RIVALS - N_KNOWN
                                                      : KNOWN_RIVALS;
}

const char *rival_version(const environment_t *env, const case_t *spec) {
    if (strcmp(spec->engine, "pytorch") == 0) {
        const char *version = environment_get(env, "versions.pytorch");
        return version != NULL ? version : environment_get(env, "versions.torch");
    }
    char label[32];
    case_engine_label(spec, label);
    char *of_engine = mem_format("workers.%s.%s", label, spec->engine);
    char *of_variant = mem_format("workers.%s-%s.%s", label, spec->variant, spec->engine);
    const char *version = environment_get(env, of_engine);
    if (version == NULL) /* each implementation of an operator has a worker of its own */
        version = environment_get(env, of_variant);
    free(of_engine);
    free(of_variant);
    return version;
}

const phase_t *timed_phase(const case_result_t *result, const char *name) {
    if (result == NULL || result->status != CASE_OK)
        return NULL;
    const phase_t *phase = result_phase(result, name);
    return phase != NULL && isfinite(phase->summary.median) ? phase : NULL;
}

bool is_self_reported(const case_result_t *result) {
    return result_has_times(result) && result->trust == TRUST_SELF_REPORTED;
}

bool can_be_fastest(const case_result_t *result) {
    return result->status == CASE_OK && !is_self_reported(result) &&
           !result_is_algorithmic(result) && !is_rougher(&result->spec);
}

const case_result_t *faster_case(const case_result_t *a, const case_result_t *b,
                                 const char *phase) {
    const phase_t *left = timed_phase(a, phase), *right = timed_phase(b, phase);
    if (left == NULL || right == NULL)
        return left != NULL ? a : right != NULL ? b : NULL;
    return right->summary.median < left->summary.median ? b : a;
}

/* What a contender computes: is it right, and the same twice? */
#include "io/json.h"
#include "measure/contender.h"

#include "base/memory.h"
#include "base/rng.h"
#include "io/fs.h"
#include "model/case.h"
#include "workloads/described/described.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== outputs ================================================================================= */

json_t *contender_arrays_request(const contender_t *c, const char *op, const char *folder) {
    json_t *request = contender_request(c, op);
    json_object_set_new(request, "path", json_string(folder));
    return request;
}

/* `op` is output, last or verify. */
static json_t *ask_arrays(contender_t *c, const char *op, const char *folder) {
    return contender_ask(c, contender_arrays_request(c, op, folder));
}

static text_list_t names_of(const json_t *answer) {
    text_list_t names = {0};
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(answer, "arrays"), i, name) {
        if (json_is_string(name))
            text_list_add(&names, json_string_value(name));
    }
    return names;
}

bool contender_refill(contender_t *c, uint64_t seed, bool continues) {
    json_t *request = contender_request(c, "refill");
    json_object_set_new(request, "seed", json_integer((json_int_t)seed));
    if (continues)
        json_object_set_new(request, "continues", json_true());
    if (!contender_have_inputs(c, seed, continues)) {
        json_decref(request);
        return false;
    }
    json_auto_t *answer = contender_ask(c, request);
    made_inputs_drop(c->made, seed, &c->reads);
    return answer != NULL;
}

static repeats_t repeats_of(const contender_t *c) {
    return workload_find(c->result.spec.workload)->repeats;
}

/* ---- the oracle ------------------------------------------------------------------------------ */

/* Let verify(), if the oracle has one, check the outputs in `folder`. False if it cannot be asked. `defined` may be NULL. The
 * caller frees the complaint; NULL: they are right. */
static bool ask_verify(contender_t *oracle, const char *folder, bool *defined, char **complaint) {
    json_auto_t *answer = ask_arrays(oracle, "verify", folder);
    const char *text = json_string_value(json_object_get(answer, "complaint"));
    if (defined != NULL)
        *defined = json_is_true(json_object_get(answer, "defined"));
    *complaint = mem_text(text);
    return answer != NULL;
}

/* The caller frees them. */
static bounds_t *bounds_of(const case_t *spec, const reference_t *reference) {
    const workload_t *workload = workload_find(spec->workload);
    bounds_t *bounds = mem_zeroed(reference->names.n, sizeof *bounds);
    for (size_t i = 0; i < reference->names.n; i++)
        bounds[i] = reference->verified ? (bounds_t){INFINITY, INFINITY, false, 0}
                                        : workload->bounds(spec, reference->names.items[i]);
    return bounds;
}

reference_t reference_for(const reference_t *reference, const case_t *spec) {
    reference_t own = *reference;
    if (reference->bounds == NULL)
        return own;
    own.bounds = bounds_of(spec, reference);
    for (size_t i = 0; i < reference->names.n; i++)
        own.bounds[i].of_change = reference->bounds[i].of_change;
    return own;
}

static status_t read_reference(contender_t *oracle, const json_t *answer, const char *folder,
                               reference_t *reference, error_t *err) {
    AUTO_FREE char *complaint = NULL;
    AUTO(text_list_free) text_list_t names = names_of(answer);
    TRY(reference_load(folder, &names, reference, err));
    status_t status = STATUS_OK;
    const case_t *spec = &oracle->result.spec;
    const bool may_decide = strcmp(spec->engine, "pytorch") == 0;
    if (may_decide && !ask_verify(oracle, folder, &reference->verified, &complaint))
        status = error_set(err, STATUS_FAILED, "%s", oracle->result.reason);
    else if (complaint != NULL)
        status =
            error_set(err, STATUS_FAILED, "verify refuses what reference returns: %s", complaint);
    if (status != STATUS_OK)
        reference_free(reference);
    else if (workload_find(spec->workload)->bounds != NULL && names.n > 0)
        reference_bound(reference, bounds_of(spec, reference));
    return status;
}

status_t contender_reference(contender_t *oracle, uint64_t seed, reference_t *reference,
                             error_t *err) {
    AUTO(fs_remove_temporary) char *folder = NULL;
    *reference = (reference_t){0};
    TRY(fs_temporary_folder_in(oracle->worker->folder, &folder, err));
    json_auto_t *answer = oracle->active && (seed == 0 || contender_refill(oracle, seed, false))
                              ? ask_arrays(oracle, "output", folder)
                              : NULL;
    return answer != NULL ? read_reference(oracle, answer, folder, reference, err)
                          : error_set(err, STATUS_FAILED, "%s", oracle->result.reason);
}

/* ---- can a check fail? -------------------------------------------------------------------------- */

/* Any output for all inputs that passes for two of them is within the tolerance of both, and so is their mean: it stands
 * for those of other inputs, of inputs of zeros, and for whatever else a contender could have kept. */
typedef enum fake { FAKE_ZEROS, FAKE_INITIAL, FAKE_MEAN, FAKES } fake_t;

/* A few coarse values may be equal by chance: what passes must pass for so many further inputs. One bool then remains with
 * 1 in 2^7. */
enum { MORE_INPUTS = 6 };

typedef struct pair {
    contender_t *oracle; /* its inputs are those of `other` */
    const reference_t *first, *other;
    double tolerance;
} pair_t;

/* Of array `i` for the inputs of `reference`. False: there is none. */
static bool make_fake(const pair_t *pair, fake_t fake, size_t i, const reference_t *reference,
                      const npy_t *of[2]) {
    of[0] = of[1] = NULL;
    if (fake == FAKE_INITIAL && reference->bounds[i].of_change)
        return false; /* zeros stand for it */
    if (fake == FAKE_INITIAL)
        of[0] = of[1] = &reference->initial[i];
    if (fake == FAKE_MEAN) {
        of[0] = &pair->first->arrays[i];
        of[1] = &pair->other->arrays[i];
    }
    return fake == FAKE_ZEROS || of[0]->values != NULL;
}

/* Does it pass for both inputs? Then `*check` has the larger error. */
static bool passes(const pair_t *pair, fake_t fake, size_t i, check_t *check) {
    const reference_t *const references[2] = {pair->first, pair->other};
    check_t checks[2];
    for (int k = 0; k < 2; k++) {
        const npy_t *of[2];
        AUTO_FREE char *reason = NULL;
        if (!make_fake(pair, fake, i, references[k], of))
            return false;
        verify_mean(references[k], i, of, pair->tolerance, &checks[k], &reason);
        if (!checks[k].ok)
            return false;
    }
    *check = checks[checks[1].rel_l2 > checks[0].rel_l2];
    return true;
}

/* Zeros, or the outputs for other inputs; means are no outputs there. */
static status_t write_outputs(const reference_t *reference, bool zeros, const char *folder,
                              error_t *err) {
    for (size_t i = 0; i < reference->names.n; i++) {
        const npy_t *array = &reference->arrays[i];
        AUTO_FREE char *path = mem_format("%s/%s.npy", folder, reference->names.items[i]);
        AUTO_FREE double *nothing = zeros ? mem_zeroed(array->n, sizeof *nothing) : NULL;
        TRY(npy_write(path, "f8", zeros ? nothing : array->values, array->shape,
                      array->n_dimensions, err));
    }
    return STATUS_OK;
}

static status_t ask_whether_right(const pair_t *pair, fake_t fake, bool *right, error_t *err) {
    AUTO_FREE char *complaint = NULL;
    AUTO(fs_remove_temporary) char *folder = NULL;
    TRY(fs_temporary_folder(&folder, err));
    TRY(write_outputs(pair->first, fake == FAKE_ZEROS, folder, err));
    if (!ask_verify(pair->oracle, folder, NULL, &complaint))
        return error_set(err, STATUS_FAILED, "%s", pair->oracle->result.reason);
    *right = complaint == NULL;
    return STATUS_OK;
}

/* Does the fake pass? `i` and `*check` are of no use where verify() decides. */
static status_t try_pair(const pair_t *pair, fake_t fake, size_t i, bool *right, check_t *check,
                         error_t *err) {
    if (pair->first->verified)
        return ask_whether_right(pair, fake, right, err);
    *right = passes(pair, fake, i, check);
    return STATUS_OK;
}

static status_t confirm(const pair_t *pair, fake_t fake, size_t i, bool *right, check_t *check,
                        error_t *err) {
    pair_t own = *pair;
    for (int more = 0; more < MORE_INPUTS && *right; more++) {
        AUTO(reference_free) reference_t further = {0};
        TRY(contender_reference(pair->oracle, secret_seed(), &further, err));
        own.other = &further;
        TRY(try_pair(&own, fake, i, right, check, err));
    }
    return STATUS_OK;
}

static char *error_text(const reference_t *reference, size_t i, const check_t *check) {
    const bounds_t bounds = reference->bounds[i];
    return isfinite(bounds.rel_l2) && bounds.rel_l2 > 0
               ? mem_format("relative L2 error %.3g, allowed %.3g", check->rel_l2, bounds.rel_l2)
               : mem_format("largest error %.3g, allowed %.3g", check->max_abs, bounds.max_abs);
}

static status_t refuse(const pair_t *pair, fake_t fake, size_t i, const check_t *check,
                       error_t *err) {
    static const char *const WHAT[FAKES] = {
        [FAKE_ZEROS] = "zeros would pass",
        [FAKE_INITIAL] = "what it holds before the run would pass",
        [FAKE_MEAN] = "one output would pass for different inputs"};
    static const char CHANGE[] =
        "so what computes nothing would be right; lower the tolerance, or choose inputs and sizes "
        "for which the output differs";
    if (pair->first->verified)
        return error_set(err, STATUS_USAGE, "verify accepts %s: have it refuse them",
                         fake == FAKE_ZEROS ? "zeros" : "the outputs for other inputs");
    AUTO_FREE char *error = error_text(pair->first, i, check);
    return error_set(err, STATUS_USAGE, "%s: %s (%s), %s", pair->first->names.items[i], WHAT[fake],
                     error, CHANGE);
}

/* NaN is no number to be near to. */
static status_t refuse_not_finite(const reference_t *reference, error_t *err) {
    for (size_t i = 0; i < reference->names.n; i++)
        for (size_t k = 0; k < reference->arrays[i].n; k++) {
            const double value = reference->arrays[i].values[k];
            if (!isfinite(value))
                return error_set(err, STATUS_USAGE,
                                 "%s: element %zu of the reference is %s, so that nothing can be "
                                 "right; check its formula, and what inputs are filled with",
                                 reference->names.items[i], k, isnan(value) ? "NaN" : "infinite");
        }
    return STATUS_OK;
}

/* A count of a training's steps, say: in place, and the same bit by bit whatever is drawn. */
static bool is_count(const pair_t *pair, size_t i) {
    const npy_t *a = &pair->first->arrays[i], *b = &pair->other->arrays[i];
    return pair->first->initial[i].values != NULL && a->n == b->n &&
           memcmp(a->values, b->values, a->n * sizeof *a->values) == 0;
}

/* Those say nothing of a contender, but what is beside them does. */
static bool are_all_counts(const pair_t *pair) {
    for (size_t i = 0; i < pair->first->names.n; i++)
        if (!is_count(pair, i))
            return false;
    return true;
}

status_t contender_refuse_fakes(contender_t *oracle, const reference_t *first,
                                const reference_t *other, error_t *err) {
    const case_t *spec = &oracle->result.spec;
    const workload_t *workload = workload_find(spec->workload);
    if (described_find(spec->workload) == NULL)
        return STATUS_OK;
    const pair_t pair = {oracle, first, other, workload->tolerance(spec)};
    const size_t n = first->verified ? 1 : first->names.n;
    if (!first->verified)
        TRY(refuse_not_finite(first, err));
    const bool spares = !first->verified && !are_all_counts(&pair);
    for (size_t i = 0; i < n; i++)
        for (int fake = 0; fake < FAKES; fake++) {
            bool right = false;
            check_t check = {0};
            if (first->verified && fake == FAKE_INITIAL)
                continue;
            if (fake == FAKE_MEAN && spares && is_count(&pair, i))
                continue;
            TRY(try_pair(&pair, (fake_t)fake, i, &right, &check, err));
            TRY(confirm(&pair, (fake_t)fake, i, &right, &check, err));
            if (right)
                return refuse(&pair, (fake_t)fake, i, &check, err);
        }
    return STATUS_OK;
}

status_t contender_evaluate(contender_t *oracle, const reference_t *reference, error_t *err) {
    AUTO(fs_remove_temporary) char *folder = NULL;
    TRY(fs_temporary_folder_in(oracle->worker->folder, &folder, err));
    TRY(write_outputs(reference, false, folder, err));
    json_auto_t *answer = ask_arrays(oracle, "evaluate", folder);
    return answer != NULL ? STATUS_OK : error_set(err, STATUS_FAILED, "%s", oracle->result.reason);
}

status_t contender_verify(contender_t *oracle, const reference_t *reference, const char *folder,
                          check_t *check, char **reason, error_t *err) {
    const workload_t *workload = workload_find(oracle->result.spec.workload);
    *reason = NULL;
    verify_outputs(reference, folder, workload->tolerance(&oracle->result.spec), check, reason);
    if (!check->ok || !reference->verified)
        return STATUS_OK;
    AUTO_FREE char *complaint = NULL;
    if (!ask_verify(oracle, folder, NULL, &complaint))
        return error_set(err, STATUS_FAILED, "%s", oracle->result.reason);
    check->ok = complaint == NULL;
    if (complaint != NULL)
        *reason = mem_format("verify: %s", complaint);
    return STATUS_OK;
}

/* ---- right? ---------------------------------------------------------------------------------- */

/* Compare what is in `folder`, and let the verifier decide. Drops a contender that is wrong; the caller frees the reason, and
 * NULL means right, or dropped already. */
static char *why_wrong(contender_t *c, const expectation_t *expected, const char *folder,
                       check_t *check) {
    char *reason = NULL;
    const reference_t own = reference_for(expected->reference, &c->result.spec);
    verify_outputs(&own, folder, expected->tolerance, check, &reason);
    free(own.bounds);
    if (!check->ok || !own.verified)
        return reason;
    contender_t *verifier = expected->verifier;
    if (!contender_reopen(verifier) || !contender_refill(verifier, expected->seed, false) ||
        !ask_verify(verifier, folder, NULL, &reason)) {
        check->ok = false;
        contender_drop(c, CASE_FAILED, "%s", verifier->result.reason);
    } else if (reason != NULL) {
        AUTO_FREE char *complaint = reason;
        check->ok = false;
        reason = mem_format("verify: %s", complaint);
    }
    return reason;
}

/* The caller frees it; NULL: the inputs are what they were. */
static char *why_changed(const json_t *answer) {
    const char *name = json_string_value(json_object_get(answer, "changed"));
    return name != NULL ? mem_format("a run changes its input %s; only an array that is input and "
                                     "output may change",
                                     name)
                        : NULL;
}

/* The check has read the arrays. */
json_t *curves_read(const case_t *spec, const char *folder) {
    const description_t *d = described_find(spec->workload);
    json_t *curves = json_object();
    for (size_t i = 0; d != NULL && i < d->n_arrays; i++) {
        described_shape_t shape;
        npy_t array;
        if (!d->arrays[i].is_curve || d->arrays[i].n_dimensions > 1 ||
            description_shape(d, i, spec, &shape, NULL) != STATUS_OK)
            continue;
        AUTO_FREE char *path = mem_format("%s/%s.npy", folder, d->arrays[i].name);
        json_t *points = json_array();
        if (npy_read(path, &array, NULL) == STATUS_OK) {
            for (size_t k = 0; k < array.n; k++)
                json_array_append_new(points, json_pack("[I, o]", (json_int_t)(k * shape.every),
                                                        json_finite(array.values[k])));
            npy_free(&array);
        }
        json_object_set_new(curves, d->arrays[i].name, points);
    }
    return curves;
}

/* Run once more on the same inputs, and compare the bits with those in `folder`. */
static void run_again(contender_t *c, const reference_t *reference, const char *folder) {
    AUTO_FREE char *difference = NULL;
    AUTO(fs_remove_temporary) char *again = contender_folder(c);
    error_t err = ERROR_INIT;
    json_auto_t *answer = again != NULL ? ask_arrays(c, "output", again) : NULL;
    if (answer != NULL &&
        verify_same_bits(&reference->names, folder, again, &difference, &err) != STATUS_OK) {
        contender_drop(c, CASE_FAILED, "%s", err.text);
    } else if (answer != NULL) {
        c->result.determinism = difference == NULL ? DETERMINISTIC : NONDETERMINISTIC;
        if (difference != NULL && repeats_of(c) == REPEATS_MUST_BE_EQUAL)
            contender_drop(c, CASE_WRONG,
                           "two runs on the same inputs differ: %s; workload.json has "
                           "\"deterministic\": \"required\"",
                           difference);
    }
}

static void check_output(contender_t *c, const expectation_t *expected, check_t *check) {
    AUTO(fs_remove_temporary) char *folder = contender_folder(c);
    json_auto_t *answer =
        folder != NULL && contender_reopen(c) ? ask_arrays(c, "output", folder) : NULL;
    if (answer != NULL) {
        AUTO_FREE char *reason = why_wrong(c, expected, folder, check);
        if (reason == NULL)
            reason = why_changed(answer);
        if (reason != NULL) {
            check->ok = false;
            contender_drop(c, CASE_WRONG, "%s", reason);
        }
        if (check->ok && c->curves == NULL)
            c->curves = curves_read(&c->result.spec, folder);
    }
    if (c->active && repeats_of(c) != REPEATS_ARE_NOT_COMPARED &&
        c->result.determinism == DETERMINISM_UNKNOWN)
        run_again(c, expected->reference, folder);
}

void contender_check(contender_t *c, const expectation_t *expected, check_t *check) {
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_CHECK);
    if (c->active)
        check_output(c, expected, check);
    spent_switch(c->settings->spent, before);
}

/* ---- the last timed sample ------------------------------------------------------------------- */

/* An array that a timed sample must leave, and this one did not; or NULL. */
static const char *left_out(const expectation_t *expected, const text_list_t *names) {
    const text_list_t *all = &expected->reference->names;
    for (size_t i = 0; i < all->n; i++)
        if (!text_list_has(names, all->items[i]))
            return all->items[i];
    return NULL;
}

/* Of a phase after another the worse counts. */
static void add_check(check_t *sum, const check_t *check) {
    if (!sum->done || !check->ok || check->rel_l2 * sum->tolerance > sum->rel_l2 * check->tolerance)
        *sum = *check;
}

/* The caller frees the reason; NULL: right. */
static char *compare_arrays(contender_t *c, const expectation_t *expected, const text_list_t *names,
                            const char *folder) {
    check_t check = {0};
    const char *missing = left_out(expected, names);
    if (missing != NULL) {
        c->result.after = (check_t){.done = true, .tolerance = expected->tolerance};
        return mem_format("the answer to last leaves out the array %s", missing);
    }
    char *reason = why_wrong(c, expected, folder, &check);
    add_check(&c->result.after, &check);
    return reason;
}

/* A call in the middle of a graph had the inputs as opened, others than the last one. */
static char *compare_middle(contender_t *c, const text_list_t *names, const char *folder) {
    AUTO_FREE char *middle = mem_format("%s/middle", folder);
    AUTO_FREE char *why = compare_arrays(c, &c->audit.as_opened, names, middle);
    return why != NULL ? mem_format("a call in the middle of the graph: %s", why) : NULL;
}

static char *compare_last(contender_t *c, const json_t *answer, const char *folder) {
    AUTO(text_list_free) text_list_t names = names_of(answer);
    char *reason = why_changed(answer);
    if (reason == NULL)
        reason = compare_arrays(c, &c->audit.expected, &names, folder);
    if (reason == NULL && c->active && json_is_true(json_object_get(answer, "middle")))
        reason = compare_middle(c, &names, folder);
    return reason;
}

void contender_check_last(contender_t *c, const char *phase) {
    if (c->audit.expected.reference->names.n == 0)
        return;
    AUTO(fs_remove_temporary) char *folder = contender_folder(c);
    json_auto_t *answer = folder != NULL ? ask_arrays(c, "last", folder) : NULL;
    AUTO_FREE char *why = answer != NULL ? compare_last(c, answer, folder) : NULL;
    if (why != NULL)
        contender_drop(c, CASE_WRONG,
                       "the output of a timed sample of %s, inputs refilled with seed %llu: %s",
                       phase, (unsigned long long)c->audit.expected.seed, why);
}

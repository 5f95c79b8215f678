/* What a contender computes: is it right, and the same twice? */
#include "measure/contender.h"

#include "base/memory.h"
#include "io/fs.h"
#include "measure/band.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* `op` is output, last or verify. */
static json_t *ask_arrays(contender_t *c, const char *op, const char *folder) {
    json_t *request = contender_request(c, op);
    json_object_set_new(request, "path", json_string(folder));
    return contender_ask(c, request);
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

static bool refill(contender_t *c, uint64_t seed) {
    json_t *request = contender_request(c, "refill");
    json_object_set_new(request, "seed", json_integer((json_int_t)seed));
    json_t *answer = contender_ask(c, request);
    json_decref(answer);
    return answer != NULL;
}

static repeats_t repeats_of(const contender_t *c) {
    return workload_find(c->result.spec.workload)->repeats;
}

/* ---- the oracle ------------------------------------------------------------------------------ */

/* Let verify(), if the oracle has one, judge the outputs in `folder`. False if it cannot be asked. The caller frees the
 * complaint; NULL: they are right. */
static bool ask_verify(contender_t *oracle, const char *folder, bool *defined, char **complaint) {
    json_t *answer = ask_arrays(oracle, "verify", folder);
    const char *text = json_string_value(json_object_get(answer, "complaint"));
    *defined = json_is_true(json_object_get(answer, "defined"));
    *complaint = text != NULL ? mem_text(text) : NULL;
    json_decref(answer);
    return answer != NULL;
}

static status_t read_reference(contender_t *oracle, const json_t *answer, const char *folder,
                               reference_t *reference, error_t *err) {
    char *complaint = NULL;
    text_list_t names = names_of(answer);
    status_t status = reference_load(folder, &names, reference, err);
    text_list_free(&names);
    if (status != STATUS_OK || repeats_of(oracle) == REPEATS_ARE_NOT_COMPARED)
        return status;
    if (!ask_verify(oracle, folder, &reference->verified, &complaint))
        status = error_set(err, STATUS_FAILED, "%s", oracle->result.reason);
    else if (complaint != NULL)
        status =
            error_set(err, STATUS_FAILED, "verify refuses what reference returns: %s", complaint);
    if (status != STATUS_OK)
        reference_free(reference);
    free(complaint);
    return status;
}

status_t contender_reference(contender_t *oracle, uint64_t seed, reference_t *reference,
                             error_t *err) {
    char *folder;
    *reference = (reference_t){0};
    TRY(fs_temporary_folder(&folder, err));
    json_t *answer = oracle->active && (seed == 0 || refill(oracle, seed))
                         ? ask_arrays(oracle, "output", folder)
                         : NULL;
    const status_t status = answer != NULL
                                ? read_reference(oracle, answer, folder, reference, err)
                                : error_set(err, STATUS_FAILED, "%s", oracle->result.reason);
    json_decref(answer);
    fs_remove_tree(folder, NULL);
    free(folder);
    return status;
}

/* ---- right? ---------------------------------------------------------------------------------- */

/* Compare what is in `folder`, and let the judge decide. Drops a contender that is wrong; the caller frees the reason, and
 * NULL means right, or dropped already. */
static char *why_wrong(contender_t *c, const expectation_t *expected, const reference_t *reference,
                       const char *folder, check_t *check) {
    char *reason = NULL;
    bool defined;
    verify_outputs(reference, folder, expected->tolerance, check, &reason);
    if (!check->ok || expected->judge == NULL)
        return reason;
    contender_t *judge = expected->judge;
    if (!contender_reopen(judge) || !refill(judge, expected->seed) ||
        !ask_verify(judge, folder, &defined, &reason)) {
        check->ok = false;
        contender_drop(c, CASE_FAILED, judge->result.reason);
    } else if (reason != NULL) {
        char *complaint = reason;
        check->ok = false;
        reason = mem_format("verify: %s", complaint);
        free(complaint);
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

/* Run once more on the same inputs, and compare the bits with those in `folder`. */
static void run_again(contender_t *c, const reference_t *reference, const char *folder) {
    char *again, *difference = NULL;
    error_t err = ERROR_INIT;
    if (fs_temporary_folder(&again, &err) != STATUS_OK)
        return (void)contender_drop(c, CASE_FAILED, err.text);
    json_t *answer = ask_arrays(c, "output", again);
    if (answer != NULL &&
        verify_same_bits(&reference->names, folder, again, &difference, &err) != STATUS_OK) {
        contender_drop(c, CASE_FAILED, err.text);
    } else if (answer != NULL) {
        c->result.determinism = difference == NULL ? DETERMINISTIC : NONDETERMINISTIC;
        if (difference != NULL && repeats_of(c) == REPEATS_MUST_BE_EQUAL) {
            char *reason = mem_format("two runs on the same inputs differ: %s; operator.json has "
                                      "\"deterministic\": \"required\"",
                                      difference);
            contender_drop(c, CASE_WRONG, reason);
            free(reason);
        }
    }
    free(difference);
    json_decref(answer);
    fs_remove_tree(again, NULL);
    free(again);
}

void contender_check(contender_t *c, const expectation_t *expected, check_t *check) {
    char *folder;
    error_t err = ERROR_INIT;
    if (!c->active)
        return;
    if (fs_temporary_folder(&folder, &err) != STATUS_OK)
        return (void)contender_drop(c, CASE_FAILED, err.text);
    json_t *answer = contender_reopen(c) ? ask_arrays(c, "output", folder) : NULL;
    if (answer != NULL) {
        char *reason = why_wrong(c, expected, expected->reference, folder, check);
        if (reason == NULL)
            reason = why_changed(answer);
        if (reason != NULL) {
            check->ok = false;
            contender_drop(c, CASE_WRONG, reason);
        }
        free(reason);
    }
    if (c->active && repeats_of(c) != REPEATS_ARE_NOT_COMPARED &&
        c->result.determinism == DETERMINISM_UNKNOWN)
        run_again(c, expected->reference, folder);
    json_decref(answer);
    fs_remove_tree(folder, NULL);
    free(folder);
}

/* ---- the last timed sample ------------------------------------------------------------------- */

/* The arrays of `all` with these names; they stay those of `all`. */
static reference_t part_of(const reference_t *all, const text_list_t *names) {
    reference_t part = {
        .arrays = mem_zeroed(names->n + 1, sizeof *part.arrays),
        .norms = mem_zeroed(names->n + 1, sizeof *part.norms),
        .bounds = all->bounds != NULL ? mem_zeroed(names->n + 1, sizeof *part.bounds) : NULL,
        .verified = all->verified};
    for (size_t i = 0; i < all->names.n; i++)
        if (text_list_has(names, all->names.items[i])) {
            part.arrays[part.names.n] = all->arrays[i];
            part.norms[part.names.n] = all->norms[i];
            if (all->bounds != NULL)
                part.bounds[part.names.n] = all->bounds[i];
            text_list_add(&part.names, all->names.items[i]);
        }
    return part;
}

/* An array that a timed sample must leave, and this one did not; or NULL. */
static const char *left_out(const contender_t *c, const text_list_t *names) {
    const char *const *of_sample = workload_find(c->result.spec.workload)->sampled_arrays;
    const text_list_t *all = &c->audit.expected.reference->names;
    for (; of_sample != NULL && *of_sample != NULL; of_sample++)
        if (!text_list_has(names, *of_sample))
            return *of_sample;
    for (size_t i = 0; of_sample == NULL && i < all->n; i++)
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
    const char *missing = left_out(c, names);
    if (missing != NULL) {
        c->result.after = (check_t){.done = true, .tolerance = expected->tolerance};
        return mem_format("the answer to last leaves out the array %s", missing);
    }
    reference_t part = part_of(expected->reference, names);
    if (workload_find(c->result.spec.workload)->sample_is_epoch)
        part.epochs = case_param_int(&c->result.spec, "epochs", 1);
    char *reason = why_wrong(c, expected, &part, folder, &check);
    add_check(&c->result.after, &check);
    text_list_free(&part.names);
    free(part.arrays);
    free(part.norms);
    free(part.bounds);
    return reason;
}

/* A call in the middle of a graph had the inputs as opened, others than the last one. */
static char *compare_middle(contender_t *c, const text_list_t *names, const char *folder) {
    char *middle = mem_format("%s/middle", folder);
    char *why = compare_arrays(c, &c->audit.as_opened, names, middle);
    char *reason = why != NULL ? mem_format("a call in the middle of the graph: %s", why) : NULL;
    free(why);
    free(middle);
    return reason;
}

static char *compare_last(contender_t *c, const json_t *answer, const char *folder) {
    text_list_t names = names_of(answer);
    char *reason = why_changed(answer);
    if (reason == NULL)
        reason = compare_arrays(c, &c->audit.expected, &names, folder);
    if (reason == NULL && c->active) {
        reason = band_check(c->audit.band, c, text_list_has(&names, "weights") ? folder : NULL);
        c->result.after.ok = reason == NULL;
    }
    if (reason == NULL && c->active && json_is_true(json_object_get(answer, "middle")))
        reason = compare_middle(c, &names, folder);
    text_list_free(&names);
    return reason;
}

void contender_check_last(contender_t *c, const char *phase) {
    char *folder;
    error_t err = ERROR_INIT;
    if (c->audit.expected.reference->names.n == 0)
        return;
    if (fs_temporary_folder(&folder, &err) != STATUS_OK)
        return (void)contender_drop(c, CASE_FAILED, err.text);
    json_t *answer = ask_arrays(c, "last", folder);
    if (answer != NULL) {
        char *why = compare_last(c, answer, folder);
        if (why != NULL) {
            char *reason = mem_format("the output of a timed sample of %s, inputs refilled with "
                                      "seed %llu: %s",
                                      phase, (unsigned long long)c->audit.expected.seed, why);
            contender_drop(c, CASE_WRONG, reason);
            free(reason);
        }
        free(why);
    }
    json_decref(answer);
    fs_remove_tree(folder, NULL);
    free(folder);
}

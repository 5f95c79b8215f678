/* The whole training of a described workload, of which a sample is the first call: what it records and learns. */
#include "base/memory.h"
#include "io/fs.h"
#include "measure/contender.h"
#include "workloads/described/described.h"

/* A curve of more values has every tenth, and the last. */
enum { MOST_VALUES = 1000, THINNED = 10 };

/* Keys of inputs are of the case's seed ^ the refill's (fill_key()), so each run has these inputs, and no sample has. */
static uint64_t refill_of(const contender_t *c, uint64_t seed, size_t call) {
    const uint64_t refill = ((seed << 24) + call + 1) ^ c->settings->seed;
    return refill != 0 ? refill : 1;
}

/* Append what a call has recorded. False: a value is not finite, from this step on. */
static bool append(json_t *curves, const json_t *of_call, json_int_t first_step, json_int_t *bad) {
    const char *name;
    json_t *points;
    json_object_foreach((json_t *)of_call, name, points) {
        json_t *all = json_object_get(curves, name), *point;
        size_t i;
        if (all == NULL)
            json_object_set_new(curves, name, all = json_array());
        json_array_foreach(points, i, point) {
            *bad = first_step + json_integer_value(json_array_get(point, 0));
            if (json_is_null(json_array_get(point, 1)))
                return false;
            json_array_append_new(all, json_pack("[I, O]", *bad, json_array_get(point, 1)));
        }
    }
    return true;
}

static void thin(json_t *curves) {
    const char *name;
    json_t *points;
    void *next;
    json_object_foreach_safe(curves, next, name, points) {
        const size_t n = json_array_size(points);
        json_t *some = json_array();
        for (size_t i = 0; i < n; i++)
            if (n <= MOST_VALUES || i % THINNED == 0 || i + 1 == n)
                json_array_append(some, json_array_get(points, i));
        json_object_set_new(curves, name, some);
    }
}

/* A call from what the one before left; arrays in place are only in `folder` after the last. */
static bool call(contender_t *c, uint64_t seed, size_t number, bool is_last, const char *folder) {
    const uint64_t refill = refill_of(c, seed, number);
    if (!contender_refill(c, refill, number > 0))
        return false;
    json_t *request = contender_arrays_request(c, "output", folder);
    if (!is_last)
        json_object_set_new(request, "continues", json_true());
    json_auto_t *answer = contender_ask(c, request);
    return answer != NULL;
}

/* On the inputs as opened, which are as good as any. */
static void evaluate(contender_t *c, contender_t *oracle, const char *folder, json_t *results) {
    if (oracle == NULL)
        return;
    json_auto_t *answer =
        contender_reopen(oracle)
            ? contender_ask(oracle, contender_arrays_request(oracle, "evaluate", folder))
            : NULL;
    if (answer == NULL) /* also for those after the first */
        contender_drop(c, CASE_FAILED, "%s", oracle->result.reason);
    json_object_update(results, json_object_get(answer, "results"));
}

static void train(contender_t *c, contender_t *oracle, uint64_t seed, size_t calls, json_t *results,
                  const volatile sig_atomic_t *interrupted) {
    const json_int_t steps =
        (json_int_t)description_steps_of(described_find(c->result.spec.workload), &c->result.spec);
    for (size_t i = 0; i < calls && c->active && !*interrupted; i++) {
        AUTO(fs_remove_temporary) char *folder = contender_folder(c);
        json_int_t bad;
        if (folder == NULL || !call(c, seed, i, i + 1 == calls, folder))
            return;
        json_auto_t *curves = curves_read(&c->result.spec, folder);
        if (!append(results, curves, (json_int_t)i * steps, &bad))
            return (void)contender_drop(
                c, CASE_FAILED, "the whole training: a loss is not finite from step %lld on",
                (long long)bad);
        if (i + 1 < calls)
            continue;
        thin(results);
        evaluate(c, oracle, folder, results);
    }
    if (c->active)
        contender_refill(c, 0, false);
}

void contender_train(contender_t *c, contender_t *oracle,
                     const volatile sig_atomic_t *interrupted) {
    size_t calls;
    uint64_t seed = 0;
    /* The case has passed workload_check(). */
    if (!c->active || !contender_needs_results(c) || !contender_may_ask(c, "continues") ||
        described_whole(&c->result.spec, &calls, &seed, NULL) != STATUS_OK || calls == 0)
        return;
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_CHECK);
    json_t *results = json_object();
    train(c, oracle, seed, calls, results, interrupted);
    json_decref(c->curves);
    c->curves = results;
    spent_switch(c->settings->spent, before);
}

/* What a worker's answer adds to a result. */
#include "checks.h"
#include "measure/contender.h"

static case_result_t make(void) {
    case_t spec = {.id = mem_text("null/cpu/steady"), .workload = mem_text("null")};
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    result_add_phase(&result, "total", CLOCK_HOST);
    return result;
}

static void the_last_sample_is_fresh(void **state) {
    case_result_t result = make();
    json_t *answer = json_pack("{s: {s: [i, i, i]}}", "phases", "total", 100, 110, 900);
    sample_claim_t claim = {
        .answer = answer, .most = 2, .fresh = true, .waited_ns = 700, .took_ns = 2000};
    assert_null(samples_add(&result, &claim));
    const phase_t *phase = &result.phases[0];
    assert_int_equal(phase->n_samples, 2);
    assert_int_equal(phase->n_fresh, 1);
    assert_true(phase->fresh[0].ns == 900);
    assert_true(phase->fresh[0].waited_ns == 700);
    claim.fresh = false; /* then it is one too many */
    char *reason = samples_add(&result, &claim);
    assert_non_null(reason);
    free(reason);
    json_decref(answer);
    result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_last_sample_is_fresh)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

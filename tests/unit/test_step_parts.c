/* Which part of a step a phase belongs to, and what they add up to. */
#include "planted_mnist.h"

#include "analysis/learning.h"

static void phases_are_parts_by_name(void **state) {
    (void)state;
    static const struct {
        const char *phase;
        step_part_t part;
    } EXPECTED[] = {
        {"gather", PART_GATHER},
        {"forward", PART_FORWARD},
        {"forward_0", PART_FORWARD},
        {"forward_device", N_STEP_PARTS}, /* another clock of `forward` */
        {"loss", PART_LOSS},
        {"backward_3", PART_BACKWARD},
        {"backward_weights", PART_BACKWARD},
        {"update", PART_UPDATE},
        {"sgd", PART_UPDATE},
        {"fused", PART_FUSED},
        {"train", N_STEP_PARTS},
        {"h2d", N_STEP_PARTS},
        {"losses", N_STEP_PARTS},
        {"", N_STEP_PARTS},
    };
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++)
        assert_int_equal(step_part_of(EXPECTED[i].phase), EXPECTED[i].part);
    assert_string_equal(step_part_name(PART_BACKWARD), "backward");
}

static case_result_t with_phases(network_phase_t a, network_phase_t b, network_phase_t c) {
    return network_result(&(network_t){
        "cuda", "03_tensor_cores", 128, 1, 1, CASE_OK, NULL, {a, b, c, {"train", 9e6}}});
}

static void parts_are_sums_of_medians(void **state) {
    (void)state;
    case_result_t result =
        with_phases((network_phase_t){"forward_0", 1e3}, (network_phase_t){"forward_1", 2e3},
                    (network_phase_t){"backward_1", 4e3});
    assert_true(fabs(step_part_ns(&result, PART_FORWARD) - 3e3) < 1e-6);
    assert_true(fabs(step_part_ns(&result, PART_BACKWARD) - 4e3) < 1e-6);
    assert_true(isnan(step_part_ns(&result, PART_LOSS)));
    assert_true(fabs(step_parts_sum_ns(&result) - 7e3) < 1e-6);
    assert_true(has_backward_part(&result));
    result.status = CASE_WRONG;
    assert_false(has_backward_part(&result));
    result_free(&result);
}

static void what_is_fused_is_no_part_of_the_sum(void **state) {
    (void)state;
    case_result_t result =
        with_phases((network_phase_t){"fused", 5e3}, (network_phase_t){"total", 6e3},
                    (network_phase_t){"h2d", 7e3});
    assert_true(isnan(step_parts_sum_ns(&result)));
    assert_true(has_backward_part(&result));
    result_free(&result);
    result = with_phases((network_phase_t){"step", 5e3}, (network_phase_t){"total", 6e3},
                         (network_phase_t){"h2d", 7e3});
    assert_false(has_backward_part(&result));
    result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_are_parts_by_name),
        cmocka_unit_test(parts_are_sums_of_medians),
        cmocka_unit_test(what_is_fused_is_no_part_of_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

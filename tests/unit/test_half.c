/* f16 against what IEEE 754 says: every half survives the way to float and back, and halfway cases
 * go to the even neighbour. */
#include "ground/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_half_survives(void **state) {
    (void)state;
    for (uint32_t half = 0; half <= 0xFFFF; half++) {
        float value = half_to_float((uint16_t)half);
        if (isnan(value))
            assert_true((half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0);
        else
            assert_int_equal(half_from_float(value), half);
    }
}

static void rounds_to_the_nearest(void **state) {
    (void)state;
    for (uint32_t half = 0; half < 0x7BFF; half++) {
        float low = half_to_float((uint16_t)half), high = half_to_float((uint16_t)(half + 1));
        float middle = low + (high - low) / 2; /* exact in float32 */
        assert_int_equal(half_from_float(middle), half % 2 == 0 ? half : half + 1);
        assert_int_equal(half_from_float(nextafterf(middle, low)), half);
        assert_int_equal(half_from_float(nextafterf(middle, high)), half + 1);
    }
}

static void knows_special_values(void **state) {
    (void)state;
    assert_int_equal(half_from_float(1.0f), 0x3C00);
    assert_int_equal(half_from_float(-2.0f), 0xC000);
    assert_int_equal(half_from_float(65504.0f), 0x7BFF);
    assert_int_equal(half_from_float(65519.996f), 0x7BFF);
    assert_int_equal(half_from_float(65520.0f), 0x7C00);
    assert_int_equal(half_from_float(-INFINITY), 0xFC00);
    assert_int_equal(half_from_float(-0.0f), 0x8000);
    assert_int_equal(half_from_float(1e-9f), 0);
    assert_true(isnan(half_to_float(half_from_float(NAN))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_survives),
        cmocka_unit_test(rounds_to_the_nearest),
        cmocka_unit_test(knows_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

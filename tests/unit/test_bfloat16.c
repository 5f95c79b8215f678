/* bf16: every one survives the way to float and back, and halfway cases go to the even neighbour. */
#include "base/half.h"
#include "checks.h"

static void every_bfloat16_survives(void **state) {
    for (uint32_t bits = 0; bits <= 0xFFFF; bits++) {
        const float value = bfloat16_to_float((uint16_t)bits);
        if (isnan(value))
            assert_true(isnan(bfloat16_to_float(bfloat16_from_float(value))));
        else
            assert_int_equal(bfloat16_from_float(value), bits);
    }
}

static void rounds_to_the_nearest(void **state) {
    for (uint32_t bits = 0; bits < 0x7F7F; bits++) {
        const float low = bfloat16_to_float((uint16_t)bits);
        const float middle = low + (bfloat16_to_float((uint16_t)(bits + 1)) - low) / 2; /* exact */
        assert_int_equal(bfloat16_from_float(middle), bits % 2 == 0 ? bits : bits + 1);
        assert_int_equal(bfloat16_from_float(nextafterf(middle, 0)), bits);
        assert_int_equal(bfloat16_from_float(nextafterf(-middle, -INFINITY)), 0x8000 + bits + 1);
    }
}

static void knows_special_values(void **state) {
    assert_int_equal(bfloat16_from_float(1.0f), 0x3F80);
    assert_int_equal(bfloat16_from_float(-0.0f), 0x8000);
    assert_int_equal(bfloat16_from_float(0x1.FFFFFEp127f), 0x7F80); /* the largest float32 */
    assert_int_equal(bfloat16_from_float(-INFINITY), 0xFF80);
    const uint32_t bits = 0x7F800001; /* a NaN by a bit that is dropped */
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    assert_true(isnan(bfloat16_to_float(bfloat16_from_float(nan))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bfloat16_survives),
        cmocka_unit_test(rounds_to_the_nearest),
        cmocka_unit_test(knows_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

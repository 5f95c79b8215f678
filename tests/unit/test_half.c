/* f16 against what IEEE 754 says: every half survives the way to float and back, and halfway cases
 * go to the even neighbour. */
#include "base/half.h"

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

/* Arrays: around every half and every middle between two, of both signs. */
static void check_rounding(float value) {
    for (int sign = -1; sign <= 1; sign += 2) {
        float single = (float)sign * value;
        double wide = single;
        const float expected = half_to_float(half_from_float(single));
        half_round(&single, 1);
        half_round_doubles(&wide, 1);
        assert_true(single == expected && wide == expected);
        assert_int_equal(signbit(single) != 0, signbit(expected) != 0);
        assert_int_equal(signbit(wide) != 0, signbit(expected) != 0);
    }
}

static void arrays_are_rounded_alike(void **state) {
    (void)state;
    for (uint32_t half = 0; half < 0x7C00; half++) {
        const float low = half_to_float((uint16_t)half);
        const float high = half == 0x7BFF ? 65536.0f : half_to_float((uint16_t)(half + 1));
        const float middle = low + (high - low) / 2;
        check_rounding(low);
        check_rounding(nextafterf(low, 1e9f));
        check_rounding(middle);
        check_rounding(nextafterf(middle, 0));
        check_rounding(nextafterf(middle, 1e9f));
    }
    check_rounding(1e9f);
    check_rounding(INFINITY);
    float single = NAN;
    double wide = NAN;
    half_round(&single, 1);
    half_round_doubles(&wide, 1);
    assert_true(isnan(single) && isnan(wide));
}

/* What float32 cannot hold decides, too: halfway between two halves, and a little more. */
static void doubles_are_rounded_once(void **state) {
    (void)state;
    double values[] = {1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1 + 3 * 0x1p-11 - 0x1p-40, 0x1p-25,
                       0x1p-25 + 0x1p-70};
    static const double ROUNDED[] = {1, 1 + 0x1p-10, 1 + 0x1p-10, 0, 0x1p-24};
    half_round_doubles(values, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(values[i] == ROUNDED[i]);
}

/* Of the 256 numbers of FP8, NaN stays one, and what is larger than the largest becomes that. */
static void every_fp8_survives(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 256; bits++) {
        const float e4m3 = e4m3_to_float((uint8_t)bits), e5m2 = e5m2_to_float((uint8_t)bits);
        assert_int_equal(isnan(e4m3), (bits & 0x7F) == 0x7F);
        if (!isnan(e4m3))
            assert_int_equal(e4m3_from_float(e4m3), bits);
        assert_int_equal(isinf(e5m2) != 0, (bits & 0x7F) == 0x7C);
        assert_int_equal(isnan(e5m2), (bits & 0x7F) > 0x7C);
        if (isfinite(e5m2))
            assert_int_equal(e5m2_from_float(e5m2), bits);
    }
    assert_true(e4m3_to_float(0x7E) == 448 && e5m2_to_float(0x7B) == 57344);
    assert_int_equal(e4m3_from_float(1e9f), 0x7E);
    assert_int_equal(e5m2_from_float(-INFINITY), 0xFB);
    assert_true(isnan(e4m3_to_float(e4m3_from_float(NAN))));
    assert_int_equal(e4m3_from_float(0x1p-10f), 0); /* half of the least: to even */
    assert_int_equal(e4m3_from_float(0x1.8p-9f), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_survives),      cmocka_unit_test(rounds_to_the_nearest),
        cmocka_unit_test(knows_special_values),     cmocka_unit_test(arrays_are_rounded_alike),
        cmocka_unit_test(doubles_are_rounded_once), cmocka_unit_test(every_fp8_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

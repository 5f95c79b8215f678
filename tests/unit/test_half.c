/* Numbers of 16 bits: f16 and bf16 against what IEEE 754 says. */
#include "base/half.h"
#include "checks.h"

/* ---- f16 against what IEEE 754 says: every half survives the way to float and back, and halfway
 * cases go to the even neighbour. */

static void every_half_survives(void **state) {
    for (uint32_t half = 0; half <= 0xFFFF; half++) {
        float value = half_to_float((uint16_t)half);
        if (isnan(value))
            assert_true((half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0);
        else
            assert_int_equal(half_from_float(value), half);
    }
}

static void rounds_to_the_nearest(void **state) {
    for (uint32_t half = 0; half < 0x7BFF; half++) {
        float low = half_to_float((uint16_t)half), high = half_to_float((uint16_t)(half + 1));
        float middle = low + (high - low) / 2; /* exact in float32 */
        assert_int_equal(half_from_float(middle), half % 2 == 0 ? half : half + 1);
        assert_int_equal(half_from_float(nextafterf(middle, low)), half);
        assert_int_equal(half_from_float(nextafterf(middle, high)), half + 1);
    }
}

static void knows_special_values(void **state) {
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

/* Of the 256 numbers of FP8, NaN stays one, and what is larger than the largest becomes that. */
static void every_fp8_survives(void **state) {
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

/* ---- bf16: every one survives the way to float and back, and halfway cases go to the even neighbour. */

static void every_bfloat16_survives(void **state) {
    for (uint32_t bits = 0; bits <= 0xFFFF; bits++) {
        const float value = bfloat16_to_float((uint16_t)bits);
        if (isnan(value))
            assert_true(isnan(bfloat16_to_float(bfloat16_from_float(value))));
        else
            assert_int_equal(bfloat16_from_float(value), bits);
    }
}

static void bfloat16_rounds_to_the_nearest(void **state) {
    for (uint32_t bits = 0; bits < 0x7F7F; bits++) {
        const float low = bfloat16_to_float((uint16_t)bits);
        const float middle = low + (bfloat16_to_float((uint16_t)(bits + 1)) - low) / 2; /* exact */
        assert_int_equal(bfloat16_from_float(middle), bits % 2 == 0 ? bits : bits + 1);
        assert_int_equal(bfloat16_from_float(nextafterf(middle, 0)), bits);
        assert_int_equal(bfloat16_from_float(nextafterf(-middle, -INFINITY)), 0x8000 + bits + 1);
    }
}

static void bfloat16_knows_special_values(void **state) {
    assert_int_equal(bfloat16_from_float(1.0f), 0x3F80);
    assert_int_equal(bfloat16_from_float(-0.0f), 0x8000);
    assert_int_equal(bfloat16_from_float(0x1.FFFFFEp127f), 0x7F80); /* the largest float32 */
    assert_int_equal(bfloat16_from_float(-INFINITY), 0xFF80);
    const uint32_t bits = 0x7F800001; /* a NaN by a bit that is dropped */
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    assert_true(isnan(bfloat16_to_float(bfloat16_from_float(nan))));
}

#include "run_tests.h"

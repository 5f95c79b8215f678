/* Numbers of 16 bits: f16 and bf16 against what IEEE 754 says, and a float32 in two of them. */
#include "base/half.h"
#include "base/rng.h"
#include "checks.h"
#include "workloads/mnist_train/cublaslt.h"

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
    double values[] = {1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1 + 3 * 0x1p-11 - 0x1p-40, 0x1p-25,
                       0x1p-25 + 0x1p-70};
    static const double ROUNDED[] = {1, 1 + 0x1p-10, 1 + 0x1p-10, 0, 0x1p-24};
    half_round_doubles(values, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(values[i] == ROUNDED[i]);
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

/* ---- A float32 weight in two words of 16 bits: exact, except for the smallest. */

static float kept(float weight) {
    return split_joined(half_from_float(weight), split_low_half(weight));
}

static void check(float weight, double by) {
    const float found = kept(weight);
    if (!(fabs((double)found - weight) <= by) || signbit(found) != signbit(weight))
        fail_msg("%a is kept as %a", weight, found);
}

/* The nearest float16 may be the next power of two. */
static void test_weights_are_exact(void **state) {
    enum { N = 4096 };
    float values[N];
    for (int exponent = -14; exponent < 15; exponent++) {
        const float low = ldexpf(1, exponent);
        rng_fill_uniform(values, N, (rng_position_t){1, (uint32_t)exponent + 100, 0}, low, 2 * low);
        for (size_t i = 0; i < N; i++) {
            check(values[i], 0);
            check(-values[i], 0);
        }
        check(low, 0);
        check(nextafterf(2 * low, 0), 0);
        check(nextafterf(low * (1 + 0x1p-11f), 0), 0); /* halfway between two float16 */
        check(low * (1 + 0x1p-11f), 0);
        check(nextafterf(low * (1 + 0x1p-11f), 2 * low), 0);
    }
}

static void test_small_weights_are_multiples_of_2_to_the_minus_37(void **state) {
    for (float weight = 0x1p-14f; weight > 0x1p-60f; weight *= 0.99f) {
        check(weight, 0x1p-38);
        check(-weight, 0x1p-38);
    }
    check(0, 0);
    check(-0.0f, 0);
    assert_true(kept(0x1p-37f) == 0x1p-37f);
}

/* A refill flips the signs of the float16 only. */
static void test_low_half_has_no_sign(void **state) {
    assert_int_equal(split_low_half(0.0123456f), split_low_half(-0.0123456f));
}

#include "run_tests.h"

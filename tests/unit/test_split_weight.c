/* A float32 weight in two words of 16 bits: exact, except for the smallest. */
#include "base/half.h"
#include "base/rng.h"
#include "checks.h"
#include "workloads/mnist_train/cublaslt.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_are_exact),
        cmocka_unit_test(test_small_weights_are_multiples_of_2_to_the_minus_37),
        cmocka_unit_test(test_low_half_has_no_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Compares numbers in tests: cmocka 1.1.5's assert_float_equal() lets NaN pass as equal to any. */
#ifndef TESTS_NEAR_H
#define TESTS_NEAR_H

#include <math.h>

#define assert_near(found, expected, epsilon)                                                      \
    do {                                                                                           \
        const double found_ = (found), expected_ = (expected);                                     \
        if (found_ != expected_ && !(fabs(found_ - expected_) <= (epsilon)))                       \
            fail_msg("%s is %.17g, expected %.17g", #found, found_, expected_);                    \
    } while (0)

#endif

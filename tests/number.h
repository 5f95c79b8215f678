/* Compares numbers: cmocka's assert_float_equal() of version 1.1.5 lets NaN pass as equal to any. */
#ifndef TESTS_NUMBER_H
#define TESTS_NUMBER_H

#include <math.h>

/* `most` is absolute, and relative for numbers above 1. */
#define assert_number(found, expected, most)                                                       \
    do {                                                                                           \
        const double found_ = (found), expected_ = (expected);                                     \
        if (found_ != expected_ && !(fabs(found_ - expected_) <= (most)*fmax(1, fabs(expected_)))) \
            fail_msg("%s is %.17g, expected %.17g", #found, found_, expected_);                    \
    } while (0)

#endif

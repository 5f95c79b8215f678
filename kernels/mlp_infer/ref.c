/* The reference as a contender: plain loops in float32, on one core. */
#if !DTYPE_F32
#error SKIP: for dtype f32 only
#endif
#define ONE_CORE
#include "reference.c"

// Idea    The batch as a compile-time constant, as in the study: does it help?
// Change  Rung 04 with BATCH instead of its argument `batch`; one program per batch instead of one for all.
// Buys    Little: if the batch is a multiple of 1024, the compiler drops eight comparisons per thread, none of them on
//         the critical path. Expect rung 04's times within noise, for one compilation (tens of ms) per batch.
// Limits  DRAM, as rung 04.
#define COUNT BATCH
#include "04_four_in_flight.cu"

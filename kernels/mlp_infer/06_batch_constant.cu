// Idea    The batch as a compile-time constant, as the study has it: does it help a kernel to know?
// Change  Rung 04 with BATCH where it had its argument `batch`; one program per batch instead of one for all.
// Buys    Little: where the batch is a multiple of 1024 the compiler drops eight comparisons of a thread, and nothing
//         waits for those. Expect rung 04's times within noise, at the price of a compilation (tens of ms) per batch.
// Limits  DRAM, as rung 04.
#define COUNT BATCH
#include "04_four_in_flight.cu"

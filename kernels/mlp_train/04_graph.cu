// Idea    The host need not say each time what it said before: the steps of an epoch are captured once and replayed.
// Change  Rung 03's kernels in two CUDA graphs: one of up to 512 whole batches, replayed, and one of what is left, the
//         smaller last batch at its end. Addresses are what the allocator gave at the capture; an epoch asks for none.
// Buys    What is left of the host: 7 launches of 2.5 us in a stream become part of the graph, about 0.7 us each on the
//         device, half of it hidden. 26 us a step as in rung 03, but from widths where 18 us of launches would show:
//         width 256 goes from 18 to about 12 us a step. Measured: 44.6 to 43.1 us, width 256 26.8 to 24.5 (H200):
//         kernels take longer than their launches.
// Limits  The chain of 7 kernels, each of which starts, fills and drains the chip: rung 05.
#define IN_GRAPH 1
#include "03_registers.cu"

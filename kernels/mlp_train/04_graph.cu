// Idea    Remove the host's repeated launches: the steps of an epoch are captured once and replayed.
// Change  Rung 03's kernels in two CUDA graphs: one of up to 512 whole batches, replayed, and one of the rest, with the
//         smaller last batch. Addresses are those of the capture; an epoch allocates nothing.
// Buys    The host's remaining time: 7 launches of 2.5 us in a stream become about 0.7 us each on the device, half of
//         it hidden. 26 us per step as in rung 03, but at widths where 18 us of launches show: width 256 from 18 to
//         about 12 us per step. Measured: 44.0 to 43.1 us, width 256 25.6 to 23.9 (H200): kernels take longer than
//         their launches.
// Limits  The chain of 7 kernels, each of which starts, fills and drains the chip: rung 05.
#define IN_GRAPH 1
#include "03_registers.cu"

// Idea    Take the host out of the loop: all launches are captured once, and a training is one replay. From sm_90 on,
//         an epoch's kernel also starts before the previous one ends (programmatic dependent launch).
// Change  Rung 04 in a CUDA graph. On sm_90 its blocks take half a multiprocessor, so that the kernels of two epochs
//         fit side by side: the next one loads its first 16 points per thread, then waits (griddepcontrol.wait) for w
//         and b.
// Buys    A launch costs 0.5 to 1.0 us in a graph, 3.5 in a stream; starting early hides that and the latency of the
//         first loads: 3 us for 32 MB from the L2 and a tail of 1.2 us, 4.2 to 4.7 us per epoch.
// Limits  An H200 measured 7.4 us per epoch at 4 M training points, of which 3.1 remain at 4,000: kernel to kernel in a
//         graph, ticket, last block. The other 4.3 are the points, 7.4 TB/s from the L2. |w - w64| < 1e-5 as in rung
//         04.
#define IN_GRAPH 1
#include "04_last_block.cu"
LAUNCHED_AS_GRAPH;

// Idea    With 32 images a step is bound by its weights: 192 operations for 3 accesses of 2 bytes, 32 a byte, where an
//         H200 has 200 a byte. So stream them: read once forward, once backward, written back in the same pass.
// Change  Rung 03 with tiles that come through a ring in shared memory (cp.async, sm_80), private to each thread: no
//         barrier, and 64 to 144 KB on their way to a multiprocessor. Blocks twice as wide halve what is read of inputs
//         and deltas; their sums still need no other block's. From sm_90 on stages overlap (programmatic dependent
//         launch): a stage asks for its first weights, then waits (griddepcontrol.wait) for its inputs. Only forward_0
//         waits first, since the stage in front of it, backward_0, writes its weights.
// Buys    3 * W at 4.3 TB/s: H = 8192 has 281 MB, 196 us; the 8 stages' starts and ends, 2 us each, are half hidden,
//         together about 205. H = 4096 has 74 MB, 51 us; the L2 (50 MB) still holds W_2 when backward_2 comes, and W_1
//         when the next forward_1 does, 67 of 221 MB, so about 36 us + 8. Below 2048 the ring is left out, and what
//         remains is the overlap: about 0.7 us a stage, 9 us a step at H = 128 … 512.
// Limits  128 blocks, one a multiprocessor, for H = 1024 … 8192: 3 % of an H200 have none. Writes between reads cost
//         the memory turnarounds; and the chain of stages, which rung 05 shortens.
#define STREAMED 1
#include "03_tensor_cores.cu"

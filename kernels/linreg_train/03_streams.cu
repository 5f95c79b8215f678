// Idea    As in the study: the points in four parts, each on its own stream, so that the kernels overlap.
// Change  Four fused launches per epoch on four streams; events order them and the update.
// Buys    Nothing, which is the lesson: one launch of 489 blocks already fills the device, and an epoch now costs five
//         launches and thirteen event calls, each 1 to 2 us on the host. Expect 2 to 4 times rung 02's time.
// Limits  The host. The sums are rung 02's, so |w - w64| < 1e-5 for the same reason.
#define PARTS 4
#define PART index
#define FUSED INDEXED_KERNEL(fused)
#include "02_fused.cu"

LAUNCHES = {
    side_by_side("4", {"fused", {{"ceil_div(ceil_div(points - points / 5, 4), ", POINTS_PER_BLOCK, ")"}}, {THREADS}}),
    {"update"},
};

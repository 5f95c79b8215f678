// Idea    The study's: the points in four parts, each part's kernel on a stream of its own, so that they overlap.
// Change  Four fused launches an epoch on four streams; events make them wait for the last update, and the update for
//         them.
// Buys    Nothing here, and that is the lesson: one launch of 489 blocks already fills the device, and an epoch now
//         costs five launches and thirteen event calls, each 1 to 2 us of the host's time. Expect 2 to 4 times rung
//         02's.
// Limits  The host. Sums are rung 02's, so |w - w64| < 1e-5 for the same reason.
#define PARTS 4
#include "02_fused.cu"

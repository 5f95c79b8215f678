// Idea    Rung 08 without tensor cores: how far do 32-bit lanes get when weights stay on the chip?
// Change  Rung 08's kernel with on_chip_lanes.cuh for its products and gradients. What limits these is reading shared
//         memory: of 128 lanes 32 can load a number per clock, so one load must serve four multiply-adds. A warp has 16
//         neurons and 64 rows; a lane that has 4 by 8 of them loads 12 numbers for 32 multiply-adds, too many. So the
//         two halves of a warp have the same sums, 8 by 8 a lane, of different terms: 16 numbers for 64. A gradient, 8
//         neurons by 7 terms a lane, of every other row: 15 for 56. In the end lanes exchange half of their sums.
// Buys    Predicted, width 784: a product is 64 x 104 x 64 multiply-adds a block, 3,330 clocks of 128 lanes; a warp
//         takes 7 of 13 pieces, with loads and exchange 4,500, 2.3 us; a gradient 2.4. Rung 08's chain with these:
//         forward three times 2.3 + 1.5 to 2.6; the last layer 2.1; backward twice 5.4; the first layer's update 3.2:
//         30 us a step, 28 ms an epoch, where rung 04 takes 40.4 and rung 08 is predicted to take 17. Width 256: 15 us,
//         14 ms (04: 23.0). Measured: 56.8 ms and, at 256, 23.2: never the fastest.
// Limits  Multiply-adds: 10 products and gradients of 3,330 clocks are 17 us a step, where 8 on 132 multiprocessors
//         would be 9.5. 104 blocks cost 1.27 of the difference, the transposed tiles' gradients 1.25, padding 1.12.
//         Without transposed tiles backward sums would go through the L2, 26 KB a block and one more exchange a layer:
//         saves 4.8 us, costs about 2. With five layers of 784 some registers go to memory. The rest as rung 08.
#define ON_LANES 1
#include "08_on_chip_split_tf32.cu"
